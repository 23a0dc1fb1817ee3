// SPDX-License-Identifier: Apache-2.0
#include "transport/model/simulation.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "transport/model/model_clock.hpp"
#include "transport/model/random.hpp"

namespace nearfetch {
namespace {

thread_local Simulation::Actor* running = nullptr;

/// Cost of a yield.
constexpr std::uint64_t yield_ns = 100;
/// After so many yields in a row, nothing will happen any more.
constexpr std::uint64_t idle_yields_max = 200'000;

}  // namespace

Simulation::Actor::Actor(std::string name, std::uint64_t number, std::uint64_t start_ns)
    : name_(std::move(name)), number_(number), clock_ns_(start_ns) {
    sem_init(&baton_, 0, 0);
}

Simulation::Actor::~Actor() { sem_destroy(&baton_); }

Simulation::Simulation(std::uint64_t seed) : seed_(mixed(seed)) {}

Simulation::~Simulation() = default;

Simulation::Actor& Simulation::add(std::string name, std::uint64_t start_ns) {
    actors_.push_back(std::make_unique<Actor>(std::move(name), actors_.size(), start_ns));
    queue(*actors_.back(), start_ns);
    return *actors_.back();
}

void Simulation::remove(Actor& actor) {
    actor.over_ = true;
    ++actor.version_;
}

void Simulation::run() { hand_on(); }

void Simulation::enter(Actor& actor) {
    while (sem_wait(&actor.baton_) != 0 && errno == EINTR) {
    }
    running = &actor;
}

void Simulation::leave() {
    Actor& actor = self();
    running = nullptr;
    actor.over_ = true;
    note_progress();
    if (actor.joiner_ != nullptr) wake(*actor.joiner_, actor.clock_ns_);
    hand_on();
}

std::uint64_t Simulation::now_ns() const { return self().clock_ns_; }

Simulation::Actor& Simulation::self() const {
    NF_EXPECT(running != nullptr);
    return *running;
}

void Simulation::advance(std::uint64_t ns) {
    self().clock_ns_ += ns;
    note_progress();
}

void Simulation::sleep_until(std::uint64_t ns) {
    Actor& actor = self();
    actor.clock_ns_ = std::max(actor.clock_ns_, ns);
    note_progress();
    run_earlier_events();
}

void Simulation::run_earlier_events() {
    Actor& actor = self();
    if (is_first(actor.clock_ns_)) return;
    queue(actor, actor.clock_ns_);
    switch_from(actor);
}

void Simulation::yield(std::uint64_t next_ns) {
    throw_if_failed();
    if (++idle_yields_ > idle_yields_max) {
        fail("the program does not go on", "all that its ranks still do is to yield",
             "look for what they wait for: nobody will do it");
        throw_if_failed();
    }
    Actor& actor = self();
    drop_void_events();
    const std::uint64_t others_ns = events_.empty() ? never_ns : events_.top().time_ns;
    const std::uint64_t event_ns = std::min(next_ns, others_ns);
    const std::uint64_t soon_ns = actor.clock_ns_ + yield_ns;
    actor.clock_ns_ = event_ns == never_ns ? soon_ns : std::max(soon_ns, event_ns);
    run_earlier_events();
}

void Simulation::block_until(std::uint64_t ns, const char* what) {
    throw_if_failed();
    Actor& actor = self();
    if (ns != never_ns) queue(actor, std::max(ns, actor.clock_ns_));
    actor.blocked_ = what;
    switch_from(actor);
    actor.blocked_ = nullptr;
    throw_if_failed();
}

void Simulation::wake(Actor& actor, std::uint64_t ns) {
    if (actor.blocked_ == nullptr) return;
    const std::uint64_t due_ns = std::max(ns, actor.clock_ns_);
    if (due_ns < actor.queued_ns_) queue(actor, due_ns);
}

void Simulation::join(Actor& actor) {
    Actor& waiter = self();
    note_progress();
    while (!actor.over_) {
        actor.joiner_ = &waiter;
        waiter.blocked_ = "for a thread's end";
        switch_from(waiter);
        waiter.blocked_ = nullptr;
    }
    waiter.clock_ns_ = std::max(waiter.clock_ns_, actor.clock_ns_);
}

void Simulation::fail(const std::string& problem, const std::string& why, const std::string& what_to_do) {
    if (!failure_.empty()) return;
    failure_ = {problem, why, what_to_do};
    for (const auto& actor : actors_) {
        if (actor->blocked_ != nullptr && !actor->over_) wake(*actor, actor->clock_ns_);
    }
}

std::uint64_t Simulation::tie_of(const Actor& actor, std::uint64_t ns) const noexcept {
    return mixed(seed_ ^ mixed(ns) ^ (actor.number_ << 1));
}

void Simulation::queue(Actor& actor, std::uint64_t ns) {
    actor.queued_ns_ = ns;
    events_.push({ns, tie_of(actor, ns), &actor, ++actor.version_});
}

bool Simulation::is_first(std::uint64_t ns) {
    drop_void_events();
    if (events_.empty()) return true;
    return events_.top() > Event{ns, tie_of(self(), ns), &self(), 0};
}

void Simulation::drop_void_events() {
    while (!events_.empty() && events_.top().version != events_.top().actor->version_)
        events_.pop();
}

Simulation::Actor* Simulation::next() {
    drop_void_events();
    if (events_.empty()) return nullptr;
    Actor* const actor = events_.top().actor;
    events_.pop();
    actor->clock_ns_ = std::max(actor->clock_ns_, actor->queued_ns_);
    actor->queued_ns_ = never_ns;
    ++actor->version_;
    return actor;
}

void Simulation::hand_on() {
    Actor* actor = next();
    if (actor == nullptr) {
        fail_deadlocked();
        actor = next();
    }
    if (actor != nullptr) sem_post(&actor->baton_);
}

void Simulation::switch_from(Actor& actor) {
    Actor* chosen = next();
    if (chosen == nullptr) {
        fail_deadlocked();
        chosen = next();
    }
    if (chosen == nullptr) {
        // All waits were ended, and the remaining actors join each other: a deadlock that cannot be resolved.
        std::fputs(
            "nearfetch: threads wait for each other's end: each has to be joined by one that does not\n",
            stderr);
        std::abort();
    }
    if (chosen == &actor) return;
    sem_post(&chosen->baton_);
    enter(actor);
}

void Simulation::fail_deadlocked() {
    constexpr int shown_max = 8;
    int waiting = 0;
    std::string who;
    for (const auto& actor : actors_) {
        if (actor->over_ || actor->blocked_ == nullptr) continue;
        if (++waiting > shown_max) continue;
        who += (waiting == 1 ? "" : ", ") + actor->name_ + " waits " + actor->blocked_;
    }
    if (waiting == 0) return;  // all have left
    if (waiting > shown_max) who += ", and " + std::to_string(waiting - shown_max) + " more";
    fail("the program cannot go on: a deadlock", who, "let each rank wait only for what another one will do");
}

void Simulation::throw_if_failed() const {
    if (!failure_.empty()) throw Error(failure_[0], failure_[1], failure_[2]);
}

}  // namespace nearfetch
