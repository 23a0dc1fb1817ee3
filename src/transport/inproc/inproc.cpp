// SPDX-License-Identifier: Apache-2.0
#include "transport/inproc/inproc.hpp"

#include <exception>
#include <future>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "transport/inproc/inproc_job.hpp"
#include "transport/inproc/thread_limit.hpp"
#include "transport/inproc/world.hpp"
#include "transport/model/model_clock.hpp"
#include "transport/model/model_job.hpp"
#include "transport/model/virtual_ranks.hpp"

namespace nearfetch {
namespace {

/// Runs body(rank) in a thread per rank. All run or none: they wait until the last has started.
void run_ranks(Rank ranks, const std::function<void()>& all_have_started,
               const std::function<void(Rank)>& body) {
    std::promise<bool> started;
    const std::shared_future<bool> go = started.get_future().share();
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
    started.set_value(refused.empty());
    if (refused.empty()) all_have_started();
    for (std::thread& thread : threads)
        thread.join();
    if (!refused.empty()) {
        throw Error("the threads of " + std::to_string(ranks) + " ranks cannot be started", refused,
                    "use fewer ranks");
    }
}

void check_ranks(Rank ranks) {
    if (ranks < 1)
        throw Error("ranks is " + std::to_string(ranks), "a program has at least one rank", "use 1 or more");
    const ThreadLimit limit = thread_limit();
    if (static_cast<std::uint64_t>(ranks) > limit.threads)
        throw Error(std::to_string(ranks) + " ranks as threads of this process",
                    "it can have at most " + std::to_string(limit.threads) + " by " + limit.source,
                    "use fewer ranks, or processes of MPI");
}

void run_main(InprocWorld& world, Job& job, const std::function<void(Job&)>& main) {
    try {
        main(job);
    } catch (...) {
        world.fail(std::current_exception());
    }
    world.end(job.rank());
}

void run_on_wall(InprocWorld& world, const ModelSettings& settings, Network& network,
                 const std::function<void(Job&)>& main) {
    WallClock clock(world.oversubscribed());
    run_ranks(
        world.ranks(), [] {},
        [&](Rank rank) {
            InprocJob job(world, rank);
            ModelJob modelled(job, settings, network, clock, nullptr);
            run_main(world, modelled, main);
        });
}

void run_virtual(InprocWorld& world, const ModelSettings& settings, Network& network,
                 const std::function<void(Job&)>& main) {
    VirtualRanks virtual_ranks(world.ranks(), settings.seed);
    Simulation& simulation = virtual_ranks.simulation();
    std::vector<Simulation::Actor*> actors;
    for (Rank rank = 0; rank < world.ranks(); ++rank) {
        actors.push_back(&simulation.add("rank " + std::to_string(rank), 0));
    }
    world.set_on_failure([&simulation] {
        simulation.fail("this rank cannot go on", "another rank failed", "see that rank's error");
    });
    run_ranks(
        world.ranks(), [&] { simulation.run(); },
        [&](Rank rank) {
            simulation.enter(*actors[static_cast<std::size_t>(rank)]);
            {
                InprocJob job(world, rank);
                ModelJob modelled(job, settings, network, virtual_ranks.clock(), &virtual_ranks);
                run_main(world, modelled, main);
            }
            simulation.leave();
        });
}

}  // namespace

void launch_inproc(const InprocConfig& config, const std::function<void(Job&)>& main) {
    check_ranks(config.ranks);
    const ModelSettings settings{
        .seed = config.seed, .jitter_ns = config.jitter_ns, .late_effects = config.late_effects};
    NetworkModel model;
    if (config.model)
        model = *config.model;
    else if (!config.network.empty())
        model = network_model(config.network);
    Network network(std::move(model), config.ranks);

    InprocWorld world(config.ranks, config.segment_bytes);
    if (config.virtual_time) {
        run_virtual(world, settings, network, main);
    } else if (config.model || !config.network.empty() || config.jitter_ns > 0 || config.late_effects) {
        run_on_wall(world, settings, network, main);
    } else {
        run_ranks(
            config.ranks, [] {},
            [&](Rank rank) {
                InprocJob job(world, rank);
                run_main(world, job, main);
            });
    }
    if (world.failure()) std::rethrow_exception(world.failure());
}

}  // namespace nearfetch
