// SPDX-License-Identifier: Apache-2.0
//
// hand_over: blocks of data pass from one thread to another, with what Chapel has for that, each of which is
// a fence (Ferguson and Buettner 2015, section III-D): sync variables, `on`, or tasks. A block is read
// element by element.

#include <array>
#include <nearfetch/sync_var.hpp>
#include <vector>

#include "common/random.hpp"
#include "common/validators.hpp"
#include "pgas/program.hpp"

using namespace nearfetch;

namespace {

using Blocks = GlobalPtr<std::int64_t>;

struct Options {
    std::string by = "sync";
    std::int64_t blocks = 100;
    std::int64_t elements = 256;
};

std::int64_t value(Rank from, std::int64_t block, std::int64_t i) {
    return static_cast<std::int64_t>(apps::mixed((static_cast<std::uint64_t>(from) << 40) +
                                                 (static_cast<std::uint64_t>(block) << 20) +
                                                 static_cast<std::uint64_t>(i)) >>
                                     40);
}

/// Writes a block of the calling rank's, where it is.
void write(std::int64_t* to, const Options& options, std::int64_t block) {
    for (std::int64_t i = 0; i < options.elements; ++i)
        to[i] = value(rank(), block, i);
}

std::int64_t sum_of(Blocks from, std::int64_t begin, std::int64_t end) {
    std::int64_t sum = 0;
    for (std::int64_t i = begin; i < end; ++i)
        sum += get(from + i);
    return sum;
}

Rank next() { return (rank() + 1) % ranks(); }

constexpr std::int64_t slots = 2;

/// Even ranks write blocks to slots of their own. The odd rank behind each waits for them, reads them, and
/// gives the slots back.
std::int64_t by_sync(const Options& options, Blocks mine) {
    using Signal = SyncVar<std::int64_t>;
    const auto filled = allocate<Signal::Cell>(slots), returned = allocate<Signal::Cell>(slots);
    if (rank() % 2 == 0 && rank() + 1 == ranks()) return 0;
    const Rank writer = rank() - rank() % 2;
    std::int64_t sum = 0;
    for (std::int64_t block = 0; block < options.blocks; ++block) {
        const std::int64_t slot = block % slots;
        const Signal is_filled(filled.at_rank(writer) + slot), is_returned(returned.at_rank(writer) + slot);
        const Blocks data = mine.at_rank(writer) + slot * options.elements;
        if (rank() == writer) {
            if (block >= slots) is_returned.read_fe();
            write(data.local(), options, block);
            is_filled.write_ef(block);
        } else {
            is_filled.read_fe();
            sum += sum_of(data, 0, options.elements);
            is_returned.write_ef(block);
        }
    }
    return sum;
}

/// Each rank has its blocks added up at the next rank.
std::int64_t by_on(const Options& options, Blocks mine) {
    std::int64_t sum = 0;
    for (std::int64_t block = 0; block < options.blocks; ++block) {
        write(mine.local(), options, block);
        sum += on(next(), [mine, count = options.elements] { return sum_of(mine, 0, count); });
    }
    return sum;
}

/// Tasks of each rank add up shares of the next rank's block.
std::int64_t by_tasks(const Options& options, Blocks mine) {
    constexpr std::int64_t tasks = 4;
    std::int64_t sum = 0;
    for (std::int64_t block = 0; block < options.blocks; ++block) {
        write(mine.local(), options, block);
        barrier();
        std::array<std::int64_t, tasks> sums{};
        std::vector<Task> started;
        for (std::int64_t task = 0; task < tasks; ++task)
            started.push_back(spawn([&, task, there = mine.at_rank(next())] {
                sums.at(static_cast<std::size_t>(task)) =
                    sum_of(there, options.elements * task / tasks, options.elements * (task + 1) / tasks);
            }));
        for (Task& task : started)
            task.join();
        for (const std::int64_t share : sums)
            sum += share;
        barrier();
    }
    return sum;
}

/// What this rank has to have read.
std::int64_t expected(const Options& options) {
    Rank from = rank();
    if (options.by == "tasks") from = next();
    if (options.by == "sync") {
        if (rank() % 2 == 0) return 0;
        from = rank() - 1;
    }
    std::int64_t sum = 0;
    for (std::int64_t block = 0; block < options.blocks; ++block)
        for (std::int64_t i = 0; i < options.elements; ++i)
            sum += value(from, block, i);
    return sum;
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("hand_over", "Passes blocks of data from thread to thread.");
    Options options;
    program.options()
        .add_option("--by", options.by, "sync variables, on, or tasks")
        ->check(CLI::IsMember({"sync", "on", "tasks"}))
        ->capture_default_str();
    apps::add_number(program.options(), "--blocks", options.blocks, 1, std::int64_t{1} << 20, "handed over");
    apps::add_number(program.options(), "--elements", options.elements, 1, std::int64_t{1} << 20,
                     "of a block, 8 bytes each");
    return program.run(argc, argv, [&](programs::Run& run) {
        const Blocks mine = allocate<std::int64_t>(slots * options.elements);
        run.begin();
        const std::int64_t sum = options.by == "sync" ? by_sync(options, mine)
                                 : options.by == "on" ? by_on(options, mine)
                                                      : by_tasks(options, mine);
        run.end();
        run.result(static_cast<std::uint64_t>(sum), sum == expected(options));
        const auto blocks = static_cast<std::uint64_t>(options.blocks);
        const auto bytes = 8 * blocks * static_cast<std::uint64_t>(options.elements);
        run.least({.get_messages = blocks, .get_bytes = bytes, .round_trips = blocks});
    });
}
