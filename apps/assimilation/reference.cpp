// SPDX-License-Identifier: Apache-2.0
#include "assimilation/reference.hpp"

#include <cstddef>
#include <span>

#include "assimilation/filter.hpp"
#include "assimilation/model.hpp"

namespace nearfetch::assimilation {

namespace {

/// Ensembles of all elements, each one's members side by side.
class Ensembles {
  public:
    explicit Ensembles(const Options& options) : options_(options) {
        values_.resize(static_cast<std::size_t>(options.elements) * members());
        for (std::size_t m = 0; m < members(); ++m)
            set_member(m, first_member(options, static_cast<int>(m)));
    }

    std::span<double> of(int element) {
        return {values_.data() + static_cast<std::size_t>(element) * members(), members()};
    }
    const std::vector<double>& values() const { return values_; }

    void advance(int steps) {
        std::vector<double> state(static_cast<std::size_t>(options_.elements));
        for (std::size_t m = 0; m < members(); ++m) {
            for (std::size_t i = 0; i < state.size(); ++i)
                state[i] = values_[i * members() + m];
            assimilation::advance(state, steps);
            set_member(m, state);
        }
    }

  private:
    std::size_t members() const { return static_cast<std::size_t>(options_.members); }
    void set_member(std::size_t m, const std::vector<double>& state) {
        for (std::size_t i = 0; i < state.size(); ++i)
            values_[i * members() + m] = state[i];
    }

    const Options& options_;
    std::vector<double> values_;
};

std::vector<double> observed(const Options& options, const Observation& observation, Ensembles& ensembles) {
    std::vector<double> result(static_cast<std::size_t>(options.members), 0.0);
    for (int i = 0; i < options.span; ++i) {
        const auto ensemble = ensembles.of((observation.first + i) % options.elements);
        for (std::size_t m = 0; m < result.size(); ++m)
            result[m] += ensemble[m];
    }
    for (double& value : result)
        value /= options.span;
    return result;
}

void assimilate(const Options& options, const std::vector<Observation>& observations, Ensembles& ensembles) {
    std::vector<std::vector<double>> priors;
    priors.reserve(observations.size());
    for (const Observation& observation : observations)
        priors.push_back(observed(options, observation, ensembles));
    const Ring ring(options);
    Update update(options.members);
    for (std::size_t j = 0; j < observations.size(); ++j) {
        const double centre = ring.centre(observations[j]);
        update.compute(priors[j], observations[j].value, options.error * options.error);
        ring.for_each_in_reach(
            centre, [&](int element, double weight) { update.regress(ensembles.of(element), weight); });
        for (std::size_t later = j + 1; later < observations.size(); ++later) {
            const double weight = ring.weight(centre, ring.centre(observations[later]));
            if (weight > 0) update.regress(priors[later], weight);
        }
    }
}

}  // namespace

Reference run_serially(const Options& options) {
    Nature nature(options);
    Ensembles with(options);
    Ensembles without = with;
    for (int cycle = 0; cycle < options.cycles; ++cycle) {
        nature.advance();
        with.advance(options.steps);
        without.advance(options.steps);
        for (int i = 0; i < options.elements; ++i)
            inflate(with.of(i), options.inflation);
        assimilate(options, nature.observe(cycle), with);
    }
    return {with.values(), nature.error(without.values())};
}

}  // namespace nearfetch::assimilation
