// SPDX-License-Identifier: Apache-2.0
#pragma once

// Virtual time. Each rank's thread is an actor with a clock of its own. Exactly one of them runs at a time:
// it holds the baton, computes for real in no time at all, and its clock stands until it says that time
// passes or waits for something. Before it does what others can see, actors whose clocks are behind come
// first: so what is seen is in the order of the clocks, the same in every run. Actors whose clocks agree go
// in an order by the seed, a different one at each time, so that other seeds are other schedules of the same
// program.
//
// The actors are threads of the operating system, which the sanitizers know, and the baton is a semaphore of
// each: handing it on is all that is ever synchronised, and the simulation's own data belong to who holds it.
// A thread that waits for another by other means than the simulation's keeps the baton, and everybody stands.
//
// When nobody can run any more and somebody is left, they wait for each other: that ends all their waits with
// an Error. So does the failure of one of them.

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

    /// An actor that begins at `start_ns`. By whoever sets the simulation up, or by the running actor.
    /// \param name for messages: "rank 3"
    Actor& add(std::string name, std::uint64_t start_ns);
    /// Takes back an actor that has not run yet.
    void remove(Actor& actor);
    /// Hands the baton to the first actor. Once, when all that have been added have threads.
    void run();
    /// The calling thread is this actor; returns when it is its turn.
    void enter(Actor& actor);
    /// The calling actor is over; its thread may end.
    void leave();

    // By the running actor, about itself:

    std::uint64_t now_ns() const;
    Actor& self() const;
    void advance(std::uint64_t ns);
    void sleep_until(std::uint64_t ns);
    void let_others_come();
    /// Waits for anything to happen: the next move of another actor, or `next_ns`.
    /// \throws Error when there has been nothing but yields for very long
    void yield(std::uint64_t next_ns);
    /// Something has been done that others may have been yielding for.
    void note_progress() noexcept { idle_yields_ = 0; }
    /// Waits until `ns` (or never_ns) or an earlier time by wake().
    /// \param what "in a barrier" \throws Error when nothing can come any more
    void block_until(std::uint64_t ns, const char* what);
    /// Ends `actor`'s block_until() at `ns`, if it is in one. By another actor.
    void wake(Actor& actor, std::uint64_t ns);
    /// Returns when `actor` has left, at that time or later; also after a failure.
    void join(Actor& actor);

    /// Ends all block_until() by an Error.
    void fail(const std::string& problem, const std::string& why, const std::string& what_to_do);

  private:
    struct Turn {
        std::uint64_t time_ns;
        std::uint64_t tie;
        Actor* actor;
        std::uint64_t version;  ///< void unless it is the actor's

        bool operator>(const Turn& other) const noexcept {
            return time_ns != other.time_ns ? time_ns > other.time_ns : tie > other.tie;
        }
    };

    std::uint64_t tie_of(const Actor& actor, std::uint64_t ns) const noexcept;
    void queue(Actor& actor, std::uint64_t ns);
    /// Whether nobody else's turn is before that of the running actor at `ns`.
    bool is_first(std::uint64_t ns);
    void drop_void_turns();
    Actor* next();
    void hand_on();
    void switch_from(Actor& actor);
    void fail_deadlocked();
    void throw_if_failed() const;

    std::uint64_t seed_;
    std::vector<std::unique_ptr<Actor>> actors_;
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
    std::uint64_t idle_yields_ = 0;
    std::vector<std::string> failure_;  ///< an Error's three parts
};

/// What waits for its turn, sleeps, or runs.
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
    std::uint64_t turn_ns_ = 0;  ///< when it is queued; never_ns when it is not
    std::uint64_t version_ = 0;
    const char* blocked_ = nullptr;  ///< what it waits for that another does
    Actor* joiner_ = nullptr;
    bool over_ = false;
    sem_t baton_;
};

}  // namespace nearfetch
