// SPDX-License-Identifier: Apache-2.0
//
// Random reads of single elements in a small neighbourhood between barriers, as programs with neighbour
// lists, bins or short-range forces do. In each round every rank changes some of its elements. Then it reads
// elements of a neighbourhood in another rank's part: each by a get and a flush, or several at a time by gets
// with requests. Optionally it then writes elements of such a neighbourhood, each by a put and a flush_local,
// as programs do that deposit, scatter or transpose; each part is written by one other rank. The program
// computes the expected values itself.

#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/mpi_support.hpp"
#include "common/mpi_window.hpp"
#include "common/random.hpp"
#include "common/validators.hpp"

namespace nearfetch::nearby {
namespace {

struct Options {
    apps::CommonOptions common;
    std::uint64_t elements = 65536;
    std::uint64_t neighbourhood = 2048;
    std::uint64_t rounds = 20;
    std::uint64_t reads = 2000;
    std::uint64_t writes = 0;
    std::uint64_t changes = 100;
    std::uint64_t seed = 1;
    std::uint64_t requests = 0;
};

apps::Parsed parse_options(int argc, const char* const* argv, Options& options) {
    CLI::App app(
        "Reads and writes elements of nearby memory of other ranks at random, by MPI one-sided "
        "communication.",
        "nearby");
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    apps::add_number(app, "--elements", options.elements, 1, most, "of 8 bytes, on each rank");
    apps::add_number(app, "--neighbourhood", options.neighbourhood, 1, most,
                     "elements from which a round's reads (writes) are drawn; --elements at most");
    apps::add_number(app, "--rounds", options.rounds, 1, most, "between barriers");
    apps::add_number(app, "--reads", options.reads, 0, most, "of each rank in a round");
    apps::add_number(app, "--writes", options.writes, 0, most, "of each rank in a round");
    apps::add_number(app, "--changes", options.changes, 0, most, "of each rank in a round");
    app.add_option("--seed", options.seed, "of all that is left to chance")
        ->check(apps::whole_number())
        ->capture_default_str();
    apps::add_number(app, "--requests", options.requests, 0, most,
                     "reads are so many MPI_Rgets and an MPI_Waitall each time; 0: an MPI_Get and a flush");
    apps::add_common_options(app, options.common);
    apps::Parsed parsed = apps::parse(app, argc, argv);
    if (parsed.run && options.neighbourhood > options.elements)
        parsed = {false, apps::kBadUse,
                  "nearby: a neighbourhood of " + std::to_string(options.neighbourhood) +
                      " elements (a rank has " + std::to_string(options.elements) +
                      "): give a smaller one, or more --elements\n"};
    return parsed;
}

/// The expected values of all ranks' elements.
class Expected {
  public:
    Expected(const Options& options, int ranks)
        : options_(options),
          parts_(static_cast<std::size_t>(ranks), std::vector<std::uint64_t>(options.elements)) {}

    const std::vector<std::uint64_t>& part(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }

    /// A round's changes; calls `write(index, value)` for this rank's.
    template <class Write>
    void change(std::uint64_t round, int self, Write&& write) {
        for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
            apps::Random random(apps::mixed(apps::mixed(options_.seed + round) + rank));
            for (std::uint64_t i = 0; i < options_.changes; ++i) {
                const std::uint64_t index = random.next() % options_.elements;
                const std::uint64_t value = random.next();
                parts_[rank][index] = value;
                if (static_cast<int>(rank) == self) write(index, value);
            }
        }
    }

    /// A round's puts; calls `write(target, index, value)` for this rank's.
    template <class Write>
    void put(std::uint64_t round, int self, Write&& write) {
        const std::size_t ranks = parts_.size();
        const std::size_t shift = ranks == 1 ? 0 : 1 + round % (ranks - 1);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            apps::Random random(apps::mixed(apps::mixed(~options_.seed + round) + rank));
            const std::size_t target = (rank + shift) % ranks;
            const std::uint64_t first = random.next() % (options_.elements - options_.neighbourhood + 1);
            for (std::uint64_t i = 0; i < options_.writes; ++i) {
                const std::uint64_t index = first + random.next() % options_.neighbourhood;
                const std::uint64_t value = random.next();
                parts_[target][index] = value;
                if (static_cast<int>(rank) == self) write(static_cast<int>(target), index, value);
            }
        }
    }

  private:
    const Options& options_;
    std::vector<std::vector<std::uint64_t>> parts_;
};

struct Result {
    std::uint64_t sum = 0;
    std::uint64_t wrong = 0;
    double seconds = 0;  ///< time of this rank's reads and writes
};

/// One rank's reads of a round.
void read(const apps::MpiSession& mpi, const Options& options, const Expected& expected, MPI_Win win,
          apps::Random& random, Result& result) {
    const int target =
        (mpi.rank() + 1 +
         static_cast<int>(random.next() % static_cast<std::uint64_t>(std::max(mpi.ranks() - 1, 1)))) %
        mpi.ranks();
    const std::uint64_t first = random.next() % (options.elements - options.neighbourhood + 1);
    const std::uint64_t at_once = std::min(std::max<std::uint64_t>(options.requests, 1), options.reads);
    std::vector<std::uint64_t> indices(at_once), values(at_once);
    std::vector<MPI_Request> requests(at_once);
    const double begin = MPI_Wtime();
    for (std::uint64_t done = 0; done < options.reads; done += at_once) {
        const std::uint64_t count = std::min(at_once, options.reads - done);
        for (std::uint64_t i = 0; i < count; ++i) {
            indices[i] = first + random.next() % options.neighbourhood;
            const auto displacement = static_cast<MPI_Aint>(indices[i]);
            if (options.requests != 0)
                MPI_Rget(&values[i], 1, MPI_UINT64_T, target, displacement, 1, MPI_UINT64_T, win,
                         &requests[i]);
            else
                MPI_Get(&values[i], 1, MPI_UINT64_T, target, displacement, 1, MPI_UINT64_T, win);
        }
        if (options.requests != 0)
            MPI_Waitall(static_cast<int>(count), requests.data(), MPI_STATUSES_IGNORE);
        else
            MPI_Win_flush(target, win);
        for (std::uint64_t i = 0; i < count; ++i) {
            result.sum += values[i];
            if (values[i] != expected.part(target)[indices[i]]) ++result.wrong;
        }
    }
    result.seconds += MPI_Wtime() - begin;
}

/// One rank's writes of a round.
void write(const apps::MpiSession& mpi, std::uint64_t round, Expected& expected, MPI_Win win,
           Result& result) {
    struct Write {
        int target;
        std::uint64_t index, value;
    };
    std::vector<Write> writes;
    expected.put(round, mpi.rank(), [&](int target, std::uint64_t index, std::uint64_t value) {
        writes.push_back({target, index, value});
    });
    const double begin = MPI_Wtime();
    for (const Write& each : writes) {
        const std::uint64_t value = each.value;
        MPI_Put(&value, 1, MPI_UINT64_T, each.target, static_cast<MPI_Aint>(each.index), 1, MPI_UINT64_T,
                win);
        MPI_Win_flush_local(each.target, win);  // `value` is reused
    }
    MPI_Win_flush_all(win);
    result.seconds += MPI_Wtime() - begin;
}

int compute(const apps::MpiSession& mpi, const Options& options) {
    apps::check_infos(options.common.window.infos);
    std::ofstream json;
    if (!apps::root_succeeds(mpi, "nearby", [&] { apps::open_output(json, options.common.json_path); }))
        return apps::kBadUse;
    const std::size_t bytes = options.elements * sizeof(std::uint64_t);
    apps::Window window(bytes, sizeof(std::uint64_t), options.common.window);
    window.clear(mpi.rank(), bytes);
    auto* const own = static_cast<std::uint64_t*>(window.memory());
    Expected expected(options, mpi.ranks());
    apps::Random random(apps::mixed(options.seed) + static_cast<std::uint64_t>(mpi.rank()));
    Result result;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window.handle());
    for (std::uint64_t round = 0; round < options.rounds; ++round) {
        expected.change(round, mpi.rank(),
                        [&](std::uint64_t index, std::uint64_t value) { own[index] = value; });
        MPI_Win_sync(window.handle());
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(window.handle());
        read(mpi, options, expected, window.handle(), random, result);
        MPI_Barrier(MPI_COMM_WORLD);
        if (options.writes == 0) continue;
        write(mpi, round, expected, window.handle(), result);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(window.handle());
        for (std::uint64_t i = 0; i < options.elements; ++i)
            if (own[i] != expected.part(mpi.rank())[i]) ++result.wrong;
    }
    MPI_Win_unlock_all(window.handle());
    const std::uint64_t sum = apps::sum_over_ranks(result.sum);
    const std::uint64_t wrong = apps::sum_over_ranks(result.wrong);
    const double seconds = apps::max_over_ranks(result.seconds);
    int code = wrong == 0 ? 0 : 1;
    if (mpi.is_root()) {
        apps::Report report;
        report.add("ranks", mpi.ranks());
        report.add("reads", options.rounds * options.reads * static_cast<std::uint64_t>(mpi.ranks()));
        report.add("writes", options.rounds * options.writes * static_cast<std::uint64_t>(mpi.ranks()));
        report.add("sum", sum);
        report.add("wrong", wrong);
        report.add("communication_seconds", seconds);
        code = std::max(code, apps::deliver("nearby", report, json));
    }
    return code;
}

}  // namespace
}  // namespace nearfetch::nearby

int main(int argc, char** argv) {
    using namespace nearfetch;
    return apps::run_program<nearby::Options>(argc, argv, "nearby", nearby::parse_options, nearby::compute);
}
