// SPDX-License-Identifier: Apache-2.0
#pragma once

// Virtual time. Each rank's thread is an actor with its own clock. Exactly one runs at a time: it holds the
// baton. Its computation takes no virtual time; its clock advances when it says so, or when it waits. Before
// an actor does anything that others can see, actors with earlier clocks run. So effects are in clock order,
// the same in every run. Ties are broken by the seed, so other seeds are other schedules.
//
// Actors are threads of the operating system, so sanitizers work. The baton is a semaphore per actor. The
// simulation's data belong to the holder. A thread that waits by other means keeps the baton and blocks all.
//
// When no actor can run and some are left, they have a deadlock: all waits end with an Error. They also do if
// one actor fails.

#include <semaphore.h>

#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <vector>

namespace nearfetch {

class Simulation {
  public:
    class Actor;

    explicit Simulation(std::uint64_t seed);
    ~Simulation();
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    /// Adds an actor that begins at `start_ns`. By the set-up, or by the running actor.
    /// \param name for messages: "rank 3"
    Actor& add(std::string name, std::uint64_t start_ns);
    /// Removes an actor that has not run.
    void remove(Actor& actor);
    /// Gives the baton to the first actor. Once, when all actors have threads.
    void run();
    /// Makes the calling thread this actor; returns when it is scheduled.
    void enter(Actor& actor);
    /// The calling actor ends; its thread may exit.
    void leave();

    // By the running actor, about itself:

    std::uint64_t now_ns() const;
    Actor& self() const;
    void advance(std::uint64_t ns);
    void sleep_until(std::uint64_t ns);
    void run_earlier_events();
    /// Waits for any event: the next move of another actor, or `next_ns`.
    /// \throws Error after very many yields without progress
    void yield(std::uint64_t next_ns);
    /// Others may have been waiting for what was done.
    void note_progress() noexcept { idle_yields_ = 0; }
    /// Waits until `ns` (or never_ns), or an earlier time by wake().
    /// \param what for messages: "in a barrier" \throws Error if no event can end the wait
    void block_until(std::uint64_t ns, const char* what);
    /// Ends the block_until() of `actor`, if any, at `ns`. By another actor.
    void wake(Actor& actor, std::uint64_t ns);
    /// Returns when `actor` has left, at that time or later; also after a failure.
    void join(Actor& actor);

    /// Ends all block_until() with an Error.
    void fail(const std::string& problem, const std::string& why, const std::string& what_to_do);

  private:
    struct Event {
        std::uint64_t time_ns;
        std::uint64_t tie;
        Actor* actor;
        std::uint64_t version;  ///< void unless it is the actor's version

        bool operator>(const Event& other) const noexcept {
            return time_ns != other.time_ns ? time_ns > other.time_ns : tie > other.tie;
        }
    };

    std::uint64_t tie_of(const Actor& actor, std::uint64_t ns) const noexcept;
    void queue(Actor& actor, std::uint64_t ns);
    /// Whether the running actor at `ns` is the first in clock order.
    bool is_first(std::uint64_t ns);
    void drop_void_events();
    Actor* next();
    void hand_on();
    void switch_from(Actor& actor);
    void fail_deadlocked();
    void throw_if_failed() const;

    std::uint64_t seed_;
    std::vector<std::unique_ptr<Actor>> actors_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::uint64_t idle_yields_ = 0;
    std::vector<std::string> failure_;  ///< the three parts of an Error
};

/// An actor: queued, blocked or running.
class Simulation::Actor {
  public:
    Actor(std::string name, std::uint64_t number, std::uint64_t start_ns);
    ~Actor();
    Actor(const Actor&) = delete;
    Actor& operator=(const Actor&) = delete;

  private:
    friend class Simulation;

    std::string name_;
    std::uint64_t number_;
    std::uint64_t clock_ns_;
    std::uint64_t queued_ns_ = 0;  ///< time of its event; never_ns if none is queued
    std::uint64_t version_ = 0;
    const char* blocked_ = nullptr;  ///< what it waits for
    Actor* joiner_ = nullptr;
    bool over_ = false;
    sem_t baton_;
};

}  // namespace nearfetch
