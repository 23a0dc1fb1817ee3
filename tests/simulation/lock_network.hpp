// SPDX-License-Identifier: Apache-2.0
#pragma once

// A library with lock epochs in virtual time, and what all ranks share: memory, locks, the words of leases.
// Each rank has a clock that runs at a speed of its own, within what leases allow, and is stopped at random.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/ticks.hpp"
#include "dice.hpp"
#include "fault.hpp"
#include "lock_program.hpp"
#include "rma/leases.hpp"
#include "transport/model/simulation.hpp"
#include "transport/window_transfers.hpp"

namespace nearfetch::simulation {

/// What all ranks share; it belongs to the running one.
struct LockMemory {
    explicit LockMemory(const LockProgram& program);

    struct Target {
        std::vector<std::byte> bytes;
        /// The shared bytes after each exclusive epoch; the first as they were in the beginning.
        std::vector<std::vector<std::byte>> states;
        int writers = 0;  ///< that hold the exclusive lock
        int readers = 0;  ///< and shared ones
        std::uint64_t word = 0;
    };
    Target& at(Rank target) { return targets[static_cast<std::size_t>(target)]; }

    Simulation simulation;
    std::vector<Target> targets;
};

/// One rank's way to the others. Made and used by the rank's own thread.
class LockNetwork final : public WindowTransfers, public LeaseWords {
  public:
    LockNetwork(const LockProgram& program, Fault fault, LockMemory& memory, Rank self);

    /// How long what follows takes is decided by an operation's seed.
    void begin_operation(std::uint64_t seed) { dice_ = Dice(seed); }
    std::uint64_t now_ns() const { return memory_.simulation.now_ns(); }
    /// Lets time pass, and other ranks do something.
    void pass(std::uint64_t ns);

    // The library's calls. A shared lock that is held is not taken again.
    void lock_exclusive(Rank target);
    int lock_shared(Rank target, int assertion) override;
    int unlock(Rank target) override;
    /// Not a call: into the rank's own memory, under its exclusive lock.
    void store(std::uint64_t offset, std::span<const std::byte> bytes);
    int flush_local(Rank target) override;
    int start_get(Rank target, std::span<const ByteRun> runs) override;
    int start_put(Rank target, std::span<const ByteRun> runs) override;
    void progress() override {}

    int fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) override;
    int start_fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) override;
    int complete() override;
    void wait_until(std::uint64_t end_ticks) override;

    /// Whether the program's own get is under way: what is fetched else is fetched again.
    bool is_in_get = false;

  private:
    enum class Lock : std::uint8_t { none, shared, exclusive };
    struct Epoch {
        Lock asked = Lock::none;
        bool is_taken = false;
    };
    struct Get {
        Rank target;
        ByteRun run;
    };
    struct Put {
        Rank target;
        std::uint64_t offset;
        std::vector<std::byte> bytes;
    };
    struct Add {
        Rank target;
        std::uint64_t amount;
        std::uint64_t* before;
    };

    Epoch& epoch(Rank target) { return epochs_[static_cast<std::size_t>(target)]; }
    std::uint64_t latency() { return 1 + dice_.below(latency_ns_); }
    void take(Rank target);
    /// What was started towards the target is done.
    void deliver(Rank target);
    void read(const Get& get);
    /// Additions that were started take effect in order.
    void add_started();
    std::uint64_t add(Rank target, std::uint64_t amount);

    LockMemory& memory_;
    Rank self_;
    Fault fault_;
    Dice dice_;
    bool takes_locks_late_;
    std::uint64_t latency_ns_;
    std::uint64_t lease_ns_;
    std::uint64_t speed_;  ///< of the clock, in thousandths
    SimulatedTicks clock_;
    std::vector<Epoch> epochs_;
    std::vector<Get> gets_;
    std::vector<Put> puts_;
    std::deque<Add> adds_;
};

}  // namespace nearfetch::simulation
