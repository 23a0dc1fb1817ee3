// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "common/command_line.hpp"
#include "common/mpi_session.hpp"
#include "common/report.hpp"

namespace nearfetch::apps {

/// Sends any number of bytes; MPI's own count ends at 2^31 - 1.
void send_bytes(const void* data, std::uint64_t bytes, int target);
void receive_bytes(void* data, std::uint64_t bytes, int source);
void broadcast_bytes(void* data, std::uint64_t bytes, int root);

/// Rank 0's `items` on every rank, which keeps them in its own. Ranks that are simulated are of one process:
/// they all read rank 0's, which must outlive the last reader. Collective.
std::span<const std::uint64_t> replicate(std::vector<std::uint64_t>& items);

/// Runs `work` on rank 0. If it throws, rank 0 prints `PROGRAM: problem` and every rank returns false.
template <typename Work>
bool root_succeeds(const MpiSession& mpi, const std::string& program, Work work);

/// Prints `text` as an error of rank 0.
void complain(const MpiSession& mpi, const std::string& program, const std::string& text);

/// Opens a file for results; does nothing if `path` is empty. @throws UsageError on failure
void open_output(std::ofstream& file, const std::string& path);

/// Prints the results and writes them to `json` if open. Returns the program's exit status.
int deliver(const std::string& program, const Report& report, std::ofstream& json);

/// The items of all ranks, in rank order, on rank 0; empty on the others. Collective.
template <typename Item>
std::vector<Item> gather_at_root(const MpiSession& mpi, const std::vector<Item>& local);

double sum_over_ranks(double value);
std::uint64_t sum_over_ranks(std::uint64_t value);
double max_over_ranks(double value);

template <typename Work>
bool root_succeeds(const MpiSession& mpi, const std::string& program, Work work) {
    int good = 1;
    if (mpi.is_root()) {
        try {
            work();
        } catch (const std::bad_alloc&) {
            complain(mpi, program,
                     "not enough memory (the input is too large for rank 0): give a smaller one");
            good = 0;
        } catch (const std::exception& error) {
            complain(mpi, program, error.what());
            good = 0;
        }
    }
    MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return good != 0;
}

template <typename Item>
std::vector<Item> gather_at_root(const MpiSession& mpi, const std::vector<Item>& local) {
    static_assert(std::is_trivially_copyable_v<Item>);
    std::uint64_t count = local.size();
    if (!mpi.is_root()) {
        send_bytes(&count, sizeof count, 0);
        send_bytes(local.data(), count * sizeof(Item), 0);
        return {};
    }
    std::vector<Item> all = local;
    for (int rank = 1; rank < mpi.ranks(); ++rank) {
        receive_bytes(&count, sizeof count, rank);
        all.resize(all.size() + count);
        receive_bytes(all.data() + (all.size() - count), count * sizeof(Item), rank);
    }
    return all;
}

/// The common main function: MPI, command line, errors. Every rank returns the same exit status. @param parse
/// `Parsed parse(argc, argv, Options&)` @param work `int work(const MpiSession&, const Options&)`; may throw
/// UsageError, then on every rank
template <typename Options, typename Parse, typename Work>
int run_program(int argc, char** argv, const std::string& name, Parse parse, Work work) {
    const MpiSession mpi(&argc, &argv);
    try {
        Options options;
        const Parsed parsed = parse(argc, argv, options);
        if (parsed.run) return work(mpi, options);
        if (mpi.is_root()) (parsed.exit_code == 0 ? std::cout : std::cerr) << parsed.text << std::flush;
        return parsed.exit_code;
    } catch (const UsageError& error) {
        complain(mpi, name, error.what());
        return kBadUse;
    } catch (const std::bad_alloc&) {
        std::cerr << name + ": out of memory (rank " + std::to_string(mpi.rank()) +
                         " cannot go on): give a smaller problem or more ranks\n";
    } catch (const std::exception& error) {
        std::cerr << name + ": " + error.what() + " (rank " + std::to_string(mpi.rank()) +
                         " cannot go on): report it\n";
    }
    // Other ranks may wait for this one.
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
}

}  // namespace nearfetch::apps
