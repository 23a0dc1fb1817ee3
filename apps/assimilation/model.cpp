// SPDX-License-Identifier: Apache-2.0
#include "assimilation/model.hpp"

#include <bit>
#include <cmath>
#include <cstddef>

#include "assimilation/filter.hpp"

namespace nearfetch::assimilation {

namespace {

constexpr std::uint64_t prime = 2147483647;  // 2^31 - 1
constexpr double forcing = 8;
constexpr double time_step = 0.05;
constexpr int spin_up_steps = 200;

/// Streams of random numbers: the truth's, each cycle's, then each member's.
std::uint64_t truth_stream() { return 0; }
std::uint64_t cycle_stream(int cycle) { return 1 + static_cast<std::uint64_t>(cycle); }
std::uint64_t member_stream(const Options& options, int member) {
    return cycle_stream(options.cycles) + static_cast<std::uint64_t>(member);
}

void derive(const std::vector<double>& x, std::vector<double>& slope) {
    const std::size_t n = x.size();
    for (std::size_t i = 0; i < n; ++i) {
        const double after = x[i + 1 < n ? i + 1 : 0];
        const double before = x[i >= 1 ? i - 1 : n - 1];
        const double before_that = x[i >= 2 ? i - 2 : n + i - 2];
        slope[i] = (after - before_that) * before - x[i] + forcing;
    }
}

std::vector<double> start(const Options& options, std::uint64_t stream) {
    PortableRandom random(options.seed, stream);
    std::vector<double> state(static_cast<std::size_t>(options.elements));
    for (double& x : state)
        x = forcing + random.normal();
    advance(state, spin_up_steps);
    return state;
}

}  // namespace

PortableRandom::PortableRandom(std::uint64_t seed, std::uint64_t stream)
    : engine_(static_cast<std::uint32_t>(1 + (seed * 1000003 + stream * 7919) % (prime - 1))) {
    // Streams whose numbers are close begin alike.
    engine_.discard(10);
}

double PortableRandom::normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i)
        sum += static_cast<double>(next()) / static_cast<double>(prime);
    return sum;
}

void advance(std::vector<double>& state, int steps) {
    const std::size_t n = state.size();
    std::vector<double> moved(n), slope(n), sum(n);
    const auto move = [&](double time) {
        for (std::size_t i = 0; i < n; ++i)
            moved[i] = state[i] + time * slope[i];
    };
    const auto add = [&](double weight) {
        for (std::size_t i = 0; i < n; ++i)
            sum[i] += weight * slope[i];
    };
    for (int step = 0; step < steps; ++step) {
        derive(state, slope);
        sum = slope;
        move(time_step / 2);
        derive(moved, slope);
        add(2);
        move(time_step / 2);
        derive(moved, slope);
        add(2);
        move(time_step);
        derive(moved, slope);
        add(1);
        for (std::size_t i = 0; i < n; ++i)
            state[i] += time_step / 6 * sum[i];
    }
}

Nature::Nature(const Options& options) : options_(options), truth_(start(options, truth_stream())) {}

void Nature::advance() { assimilation::advance(truth_, options_.steps); }

std::vector<Observation> Nature::observe(int cycle) const {
    PortableRandom random(options_.seed, cycle_stream(cycle));
    std::vector<Observation> observations(static_cast<std::size_t>(options_.observations));
    const std::size_t n = truth_.size();
    for (Observation& observation : observations) {
        const std::size_t first = random.next() % n;
        double sum = 0;
        for (int i = 0; i < options_.span; ++i)
            sum += truth_[(first + static_cast<std::size_t>(i)) % n];
        observation = {static_cast<int>(first), sum / options_.span + options_.error * random.normal()};
    }
    return observations;
}

double Nature::error(const std::vector<double>& ensembles) const {
    const auto members = static_cast<std::size_t>(options_.members);
    double sum = 0;
    for (std::size_t i = 0; i < truth_.size(); ++i) {
        const double difference = mean({ensembles.data() + i * members, members}) - truth_[i];
        sum += difference * difference;
    }
    return std::sqrt(sum / static_cast<double>(truth_.size()));
}

std::vector<double> first_member(const Options& options, int member) {
    return start(options, member_stream(options, member));
}

std::uint64_t digest(const std::vector<double>& values) {
    std::uint64_t result = 1;
    for (const double value : values) {
        const auto bits = std::bit_cast<std::uint64_t>(value);
        result = (result * 65599 + (bits & 0xffffffff)) % prime;
        result = (result * 65599 + (bits >> 32)) % prime;
    }
    return result;
}

}  // namespace nearfetch::assimilation
