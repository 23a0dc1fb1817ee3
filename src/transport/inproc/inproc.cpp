// SPDX-License-Identifier: Apache-2.0
#include "transport/inproc/inproc.hpp"

#include <exception>
#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "transport/inproc/inproc_job.hpp"
#include "transport/inproc/world.hpp"

namespace nearfetch {
namespace {

/// Runs body(rank) in a thread for each rank. All run or none: the first waits until the last has started.
void run_ranks(Rank ranks, const std::function<void(Rank)>& body) {
    std::promise<bool> all_started;
    const std::shared_future<bool> go = all_started.get_future().share();
    std::vector<std::thread> threads;
    std::string refused;
    try {
        for (Rank rank = 0; rank < ranks; ++rank) {
            threads.emplace_back([&body, go, rank] {
                if (go.get()) body(rank);
            });
        }
    } catch (const std::system_error& error) {
        refused = error.what();
    }
    all_started.set_value(refused.empty());
    for (std::thread& thread : threads)
        thread.join();
    if (!refused.empty()) {
        throw Error("the threads of " + std::to_string(ranks) + " ranks cannot be started", refused,
                    "use fewer ranks");
    }
}

}  // namespace

void launch_inproc(const InprocConfig& config, const std::function<void(Job&)>& main) {
    if (config.ranks < 1) {
        throw Error("ranks is " + std::to_string(config.ranks), "a program has at least one rank",
                    "use 1 or more");
    }
    InprocWorld world(config.ranks, config.segment_bytes);
    run_ranks(config.ranks, [&](Rank rank) {
        InprocJob job(world, rank);
        try {
            main(job);
        } catch (...) {
            world.fail(std::current_exception());
        }
        world.end(rank);
    });
    if (world.failure()) std::rethrow_exception(world.failure());
}

}  // namespace nearfetch
