// SPDX-License-Identifier: Apache-2.0
//
// Mismatched collective calls on a real network. Each mismatch is an error in all ranks, which then go on.
// With a rank that never arrives the program ends; that is the last case, by an argument.

#include <chrono>
#include <cstdio>
#include <cstring>
#include <nearfetch/pgas_mpi.hpp>
#include <thread>

#include "collective_cases.hpp"

using namespace nearfetch;

namespace {

int failures = 0;

void expect(bool right, const std::string& what) {
    if (right) return;
    ++failures;
    std::fprintf(stderr, "rank %d: %s\n", rank(), what.c_str());
}

void go_through_all() {
    test::CollectiveArrays arrays;
    for (const test::Mismatch& one : test::mismatches()) {
        expect(!test::told_of(one, arrays).empty(), one.title);
        arrays.b.evict_prefetch();
        arrays.a.fill(2);
        expect(arrays.a.sum() == 24, std::string("the sum after ") + one.title);
        expect(BlockArray<long, 1>({7}).sum() == 0, std::string("an array after ") + one.title);
    }
    // Longer than ranks wait for each other.
    if (rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1300));
    expect(arrays.a.sum() == 24, "the sum that a rank comes late for");
}

/// The last rank calls nothing. A timely error is reported by an exit status.
void meet_without_the_last() {
    BlockArray<long, 1> a({12});
    barrier();
    const auto begin = std::chrono::steady_clock::now();
    try {
        if (rank() == ranks() - 1)
            std::this_thread::sleep_for(std::chrono::seconds(60));
        else if (rank() == 0)
            a.sum();
        else
            barrier();
    } catch (const CollectiveError& error) {
        const std::string text = error.what();
        const auto took = std::chrono::steady_clock::now() - begin;
        expect(took < std::chrono::seconds(2), "it takes too long");
        expect(text.find("rank 0 in sum at ") != std::string::npos, text);
        expect(text.find("rank 1 in barrier at ") != std::string::npos || ranks() > 3, text);
        expect(text.find("nowhere yet: ") != std::string::npos, text);
        if (failures == 0) std::printf("told in time\n");
        std::fflush(stdout);
        throw;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bool without_the_last = argc > 1 && std::strcmp(argv[1], "missing") == 0;
    LaunchOptions options;
    launch_mpi(options, &argc, &argv, without_the_last ? meet_without_the_last : go_through_all);
    return failures == 0 ? 0 : 1;
}
