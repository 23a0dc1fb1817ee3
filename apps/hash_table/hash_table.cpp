// SPDX-License-Identifier: Apache-2.0
//
// A distributed hash table, as in k-mer counters, sparse assemblers and key-value stores. Each rank inserts
// its share of the keys by fetch-and-add and put. Then it looks up keys, some much more often than others, by
// a get and a flush per slot. Between rounds of look-ups some values may change. A shared counter may be
// incremented every so many look-ups. The program computes the expected results itself. With --lock-free it
// is another table: of results that ranks store and look up at the same time (lock_free.hpp).

#include <mpi.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "common/mpi_support.hpp"
#include "common/mpi_window.hpp"
#include "common/stopwatch.hpp"
#include "hash_table/keys.hpp"
#include "hash_table/lock_free.hpp"
#include "hash_table/options.hpp"
#include "hash_table/table.hpp"

namespace nearfetch::hash_table {
namespace {

struct Result {
    std::uint64_t found = 0, absent = 0, wrong = 0, checksum = 0;
    double seconds = 0;  ///< time of this rank's look-ups
};

/// One rank's look-ups of a round.
void look_up(const Options& options, const Popularity& popular, const Versions& versions, Table& table,
             Counters& counter, apps::Random& random, Result& result) {
    apps::Stopwatch watch;
    for (std::uint64_t i = 1; i <= options.lookups; ++i) {
        const std::uint64_t key = popular.draw(random);
        watch.start();
        const std::uint64_t value = table.find(key);
        if (options.counter_every != 0 && i % options.counter_every == 0) counter.add(0, 0, 1);
        watch.stop();
        ++(value == kNone ? result.absent : result.found);
        if (value != (key <= options.keys ? versions.value(key) : kNone)) ++result.wrong;
        result.checksum += apps::mixed(key ^ value);
    }
    result.seconds += watch.seconds();
}

/// This rank's share of a round's changes; all ranks record all of them.
void change(const apps::MpiSession& mpi, const Options& options, std::uint64_t round, Versions& versions,
            Table& table) {
    apps::Random random(apps::mixed(options.seed + round));
    for (std::uint64_t i = 0; i < options.changes; ++i) {
        const std::uint64_t key = 1 + random.next() % options.keys;
        versions.raise(key);
        // By the rank that has inserted it, so that the order of changes is the same everywhere.
        if (owner(key, mpi.ranks()) == mpi.rank()) table.change(key, versions.value(key));
    }
}

void report(const apps::MpiSession& mpi, const Options& options, const Table& table, const Result& sums,
            std::uint64_t counted, double build_seconds, double seconds, apps::Report& out) {
    out.add("ranks", mpi.ranks());
    out.add("keys", options.keys);
    out.add("slots", table.slots());
    out.add("lookups", sums.found + sums.absent);
    out.add("found", sums.found);
    out.add("absent", sums.absent);
    out.add("counted", counted);
    out.add("checksum", sums.checksum);
    out.add("wrong", sums.wrong);
    out.add("build_seconds", build_seconds);
    out.add("communication_seconds", seconds);
}

int compute(const apps::MpiSession& mpi, const Options& options) {
    apps::check_infos(options.common.window.infos);
    std::ofstream json;
    if (!apps::root_succeeds(mpi, "hash_table", [&] { apps::open_output(json, options.common.json_path); }))
        return apps::kBadUse;
    if (options.lock_free) return share_results(mpi, options, json);
    Table table(mpi, options);
    Versions versions(options.keys);
    const Popularity popular(options);
    Counters counter(mpi, 1, options.common.window);
    apps::Random random(apps::mixed(~options.seed) + static_cast<std::uint64_t>(mpi.rank()));
    apps::Stopwatch building;
    building.start();
    // One rank at a time, so that every key has the same slot, and takes as many gets, in every run.
    for (int inserting_rank = 0; inserting_rank < mpi.ranks(); ++inserting_rank) {
        for (std::uint64_t key = 1; inserting_rank == mpi.rank() && key <= options.keys; ++key)
            if (owner(key, mpi.ranks()) == inserting_rank) table.insert(key, versions.value(key));
        table.synchronize();
    }
    building.stop();
    Result result;
    for (std::uint64_t round = 0; round < options.rounds; ++round) {
        if (round != 0) {
            // No look-ups during changes.
            table.synchronize();
            change(mpi, options, round, versions, table);
            table.synchronize();
        }
        look_up(options, popular, versions, table, counter, random, result);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const std::uint64_t counted = counter.add(0, 0, 0);
    const std::uint64_t gets = apps::sum_over_ranks(table.remote_gets());
    const auto per_rank = apps::gather_at_root(mpi, std::vector{table.remote_gets()});
    result.found = apps::sum_over_ranks(result.found);
    result.absent = apps::sum_over_ranks(result.absent);
    result.wrong = apps::sum_over_ranks(result.wrong);
    result.checksum = apps::sum_over_ranks(result.checksum);
    const double build_seconds = apps::max_over_ranks(building.seconds());
    const double seconds = apps::max_over_ranks(result.seconds);
    int code = result.wrong == 0 ? 0 : 1;
    if (mpi.is_root()) {
        apps::Report out;
        report(mpi, options, table, result, counted, build_seconds, seconds, out);
        out.add("remote_gets", gets);
        out.add("remote_gets_per_rank", per_rank);
        code = std::max(code, apps::deliver("hash_table", out, json));
    }
    return code;
}

}  // namespace
}  // namespace nearfetch::hash_table

int main(int argc, char** argv) {
    using namespace nearfetch;
    return apps::run_program<hash_table::Options>(argc, argv, "hash_table", hash_table::parse_options,
                                                  hash_table::compute);
}
