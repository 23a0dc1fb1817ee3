// SPDX-License-Identifier: Apache-2.0
//
// The model and the filter of the assimilation program.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "assimilation/filter.hpp"
#include "assimilation/model.hpp"
#include "assimilation/options.hpp"
#include "assimilation/reference.hpp"

namespace nearfetch::assimilation {
namespace {

double variance(const std::vector<double>& values) {
    double squares = 0;
    for (const double value : values)
        squares += (value - mean(values)) * (value - mean(values));
    return squares / static_cast<double>(values.size() - 1);
}

Options small() {
    Options options;
    options.elements = 60;
    options.observations = 80;
    options.members = 12;
    options.cycles = 4;
    return options;
}

TEST(AssimilationModel, StaysWhereItBalances) {
    std::vector<double> state(7, 8.0);
    advance(state, 20);
    EXPECT_EQ(state, std::vector<double>(7, 8.0));
}

TEST(AssimilationModel, IsTheSameAllAroundTheRing) {
    std::vector<double> state = first_member(small(), 3);
    std::vector<double> turned = state;
    std::rotate(turned.begin(), turned.begin() + 11, turned.end());
    advance(state, 50);
    advance(turned, 50);
    std::rotate(state.begin(), state.begin() + 11, state.end());
    EXPECT_EQ(state, turned);
}

TEST(AssimilationModel, RandomNumbersAreNearlyNormalAndStreamsDiffer) {
    std::vector<double> first, second;
    PortableRandom one(1, 0), other(1, 1);
    for (int i = 0; i < 20000; ++i) {
        first.push_back(one.normal());
        second.push_back(other.normal());
    }
    // Five standard deviations of the mean, and about as many of the variance.
    EXPECT_NEAR(mean(first), 0, 0.036);
    EXPECT_NEAR(variance(first), 1, 0.05);
    double products = 0;
    for (std::size_t i = 0; i < first.size(); ++i)
        products += first[i] * second[i];
    EXPECT_NEAR(products / static_cast<double>(first.size()), 0, 0.036);
}

TEST(AssimilationModel, ObservationsAreMeansOfTheTruth) {
    Options options = small();
    options.error = 1e-3;
    Options without_error = options;
    without_error.error = 0;
    const auto observed = Nature(options).observe(2);
    const auto exact = Nature(without_error).observe(2);
    ASSERT_EQ(observed.size(), 80U);
    for (std::size_t j = 0; j < observed.size(); ++j) {
        EXPECT_EQ(observed[j].first, exact[j].first);
        EXPECT_NE(observed[j].value, exact[j].value);
        EXPECT_NEAR(observed[j].value, exact[j].value, 6e-3);
    }
    // What spans the ring is the same from everywhere.
    options.span = options.elements;
    options.error = 0;
    const double all = Nature(options).observe(0)[0].value;
    for (const Observation& observation : Nature(options).observe(1))
        EXPECT_NEAR(observation.value, all, 1e-12);
}

TEST(AssimilationModel, DigestsDependOnEachBit) {
    const std::vector<double> values = {1, 2, 3};
    EXPECT_EQ(digest(values), digest(values));
    EXPECT_NE(digest(values), digest({2, 1, 3}));
    EXPECT_NE(digest(values), digest({1, 2, std::nextafter(3.0, 4.0)}));
    EXPECT_NE(digest({0.0}), digest({-0.0}));
}

TEST(AssimilationFilter, LocalizationFallsToZero) {
    EXPECT_EQ(localization(0, 3), 1);
    EXPECT_NEAR(localization(3, 3), 5.0 / 24, 1e-15);
    EXPECT_NEAR(localization(3 + 1e-9, 3), 5.0 / 24, 1e-8);
    EXPECT_NEAR(localization(6 - 1e-3, 3), 0, 1e-6);
    EXPECT_EQ(localization(6, 3), 0);
    EXPECT_EQ(localization(100, 3), 0);
    for (int i = 0; i < 59; ++i)
        EXPECT_GT(localization(0.1 * i, 3), localization(0.1 * (i + 1), 3));
}

TEST(AssimilationFilter, RingIsVisitedAroundItsEnd) {
    Options options;
    options.elements = 20;
    options.span = 3;
    options.cutoff = 2;
    const Ring ring(options);
    const double centre = ring.centre({18, 0});  // of 18, 19 and 0
    EXPECT_EQ(centre, 19);
    std::vector<int> visited;
    ring.for_each_in_reach(centre, [&](int element, double weight) {
        visited.push_back(element);
        EXPECT_EQ(weight, ring.weight(centre, element));
    });
    EXPECT_EQ(visited, (std::vector<int>{16, 17, 18, 19, 0, 1, 2}));
    EXPECT_EQ(ring.weight(19, 0), localization(1, 2));
    EXPECT_EQ(ring.weight(1, 19), localization(2, 2));
}

TEST(AssimilationFilter, InflationKeepsTheMean) {
    std::vector<double> ensemble = {1, 2, 4, 9};
    inflate(ensemble, 2.25);
    EXPECT_NEAR(mean(ensemble), 4, 1e-14);
    EXPECT_NEAR(variance(ensemble), 2.25 * variance({1, 2, 4, 9}), 1e-12);
}

TEST(AssimilationFilter, PosteriorIsThatOfKalman) {
    const std::vector<double> prior = {1, 2, 4, 9, 3};
    const double spread = variance(prior), error = 2.5, observed = 6;
    Update update(5);
    update.compute(prior, observed, error);
    std::vector<double> posterior = prior;
    update.regress(posterior, 1);
    const double gain = spread / (spread + error);
    EXPECT_NEAR(mean(posterior), mean(prior) + gain * (observed - mean(prior)), 1e-13);
    EXPECT_NEAR(variance(posterior), (1 - gain) * spread, 1e-13);
    std::vector<double> far = prior;
    update.regress(far, 0);
    EXPECT_EQ(far, prior);
    // Half as wide, and the other way around.
    std::vector<double> related;
    for (const double value : prior)
        related.push_back(7 - value / 2);
    update.regress(related, 1);
    for (std::size_t m = 0; m < prior.size(); ++m)
        EXPECT_NEAR(related[m], 7 - posterior[m] / 2, 1e-13);
}

TEST(AssimilationFilter, MembersThatAgreeLearnNothing) {
    Update update(3);
    update.compute(std::vector<double>{5, 5, 5}, 1, 1);
    std::vector<double> ensemble = {1, 2, 3};
    update.regress(ensemble, 1);
    EXPECT_EQ(ensemble, (std::vector<double>{1, 2, 3}));
}

TEST(AssimilationReference, ObservationsReduceTheError) {
    Options options = small();
    options.cycles = 12;
    options.members = 20;
    Nature nature(options);
    for (int cycle = 0; cycle < options.cycles; ++cycle)
        nature.advance();
    const Reference many = run_serially(options);
    EXPECT_LT(nature.error(many.ensembles), 0.75 * many.error_without);
    // Whatever is observed: the run without assimilation is the same.
    options.error = 1000;
    const Reference useless = run_serially(options);
    EXPECT_EQ(useless.error_without, many.error_without);
    EXPECT_GT(nature.error(useless.ensembles), 0.75 * useless.error_without);
}

}  // namespace
}  // namespace nearfetch::assimilation
