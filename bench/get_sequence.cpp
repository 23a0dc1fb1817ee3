// SPDX-License-Identifier: Apache-2.0
//
// The micro-benchmark of 001, section IV-A, over MPI: rank 0 issues a sequence of gets towards rank 1, each
// completed by a flush. Each --config is run with a new window, whose settings it is; in every round all of
// them take a turn. One JSON object per run and line: config, round, seconds, and nearfetch's counters. Each
// get's first and last byte is checked.

#include <cstdio>
#include <vector>

#include "sequence.hpp"
#include "windows.hpp"

namespace nearfetch::bench {
namespace {

/// Seconds; negative when a byte was wrong.
double run_sequence(const BenchWindow& window, const std::vector<SequenceGet>& gets,
                    std::vector<std::byte>& buffer) {
    bool right = true;
    window.lock_all();
    const double begin = now_ns();
    for (const SequenceGet& get : gets) {
        window.get(buffer.data(), get.offset, get.size);
        window.flush();
        right = right && buffer[0] == pattern_byte(get.offset) &&
                buffer[get.size - 1] == pattern_byte(get.offset + get.size - 1);
    }
    const double seconds = (now_ns() - begin) / 1e9;
    window.unlock_all();
    return right ? seconds : -1;
}

int run(const apps::MpiSession& mpi, const std::vector<SequenceGet>& gets, const std::vector<Config>& configs,
        std::uint64_t rounds) {
    const int rank = mpi.rank();
    const std::uint64_t bytes = extent_bytes(gets);
    std::vector<std::byte> buffer(largest_size(gets));
    int wrong = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        for (std::size_t turn = 0; turn < configs.size(); ++turn) {
            const Config& config = configs[round % 2 == 0 ? turn : configs.size() - 1 - turn];
            const BenchWindow window(mpi, config, bytes, false);
            if (rank == origin_rank) {
                const double seconds = run_sequence(window, gets, buffer);
                if (seconds < 0) wrong = 1;
                std::printf("{\"config\": \"%s\", \"round\": %llu, \"seconds\": %.6g, \"counters\": %s}\n",
                            config.name.c_str(), static_cast<unsigned long long>(round), seconds,
                            Counters::of(window).json().c_str());
                std::fflush(stdout);
            }
            // The target waits inside MPI, where it serves.
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    if (wrong != 0)
        std::fprintf(stderr, "get_sequence: wrong bytes were read (a bug of nearfetch or MPI): report it\n");
    return wrong;
}

}  // namespace
}  // namespace nearfetch::bench

int main(int argc, char** argv) {
    using namespace nearfetch;
    using namespace nearfetch::bench;
    const Arguments arguments(argc, argv, {"--sequence", "--config", "--rounds"});
    const std::vector<SequenceGet> gets = read_sequence(arguments.text("--sequence", ""));
    std::vector<Config> configs = arguments.configs();
    if (configs.empty()) configs.push_back({"plain", {}});
    const std::uint64_t rounds = arguments.number("--rounds", 1);
    return run_two_ranks(argc, argv,
                         [&](const apps::MpiSession& mpi) { return run(mpi, gets, configs, rounds); });
}
