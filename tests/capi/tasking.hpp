// SPDX-License-Identifier: Apache-2.0
#pragma once

// A small tasking runtime with a simulated network, as a user of the C API. Tasks are fibres of one thread,
// and the network's wait runs other tasks. It does so in both ways that runtimes have: it switches to another
// task's stack, or starts a new task on top of its own.

#include <nearfetch/nearfetch.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace nearfetch::testing {

/// The defaults with changes.
nearfetch_cache_settings settings_with(const std::function<void(nearfetch_cache_settings&)>& change);

/// Tasks of one thread, each on a stack of its own, chosen at random.
class Tasks {
  public:
    explicit Tasks(std::uint64_t seed);
    ~Tasks();
    Tasks(const Tasks&) = delete;
    Tasks& operator=(const Tasks&) = delete;

    void add(std::function<void()> body);
    /// Returns when all have ended.
    void run();
    /// By the running task: others may run now.
    void yield();
    /// Runs a new task to its end, on the running one's stack. \return false: none left
    bool run_on_top();

  private:
    struct Fibre;
    static void enter(unsigned high, unsigned low);
    void switch_to(Fibre& to);
    Fibre* pick();

    std::mt19937_64 random_;
    std::vector<std::unique_ptr<Fibre>> fibres_;
    std::unique_ptr<Fibre> scheduler_;
    Fibre* running_ = nullptr;
};

/// Memories of ranks, with a network on which operations take time and overtake each other. Its table has all
/// functions.
class SimulatedNetwork {
  public:
    struct Behaviour {
        std::uint64_t seed = 1;
        unsigned delay_max = 20;        ///< ticks; each poll of the network is one
        unsigned refusals_percent = 0;  ///< starts that are refused
        unsigned failures_percent = 0;  ///< operations that complete with an error, whether done or not
        bool push = false;              ///< a handler marks what is done; else only the caller
    };
    /// Registered memory. Of some the runtime cannot say that it is.
    struct Region {
        std::uint64_t begin = 0, end = 0;
        bool known = true;
    };
    static constexpr int refused = 77;
    static constexpr int failed = 88;

    SimulatedNetwork(const Behaviour& behaviour, int ranks, std::uint64_t segment_bytes);

    nearfetch_transport table();
    std::vector<std::byte>& memory(int rank) { return memories_[static_cast<std::size_t>(rank)]; }
    Behaviour& behaviour() { return behaviour_; }
    /// Ascending. At the start all memory is one region.
    void set_regions(int rank, std::vector<Region> regions);
    bool registered(int rank, std::uint64_t address, std::uint64_t bytes) const;
    /// Runs other tasks during a wait, and anything else at each tick.
    std::function<void()> while_waiting = [] {};
    /// Runs other tasks during a start: before the network knows of the operation, and after.
    std::function<void()> while_starting = [] {};
    std::function<void()> at_tick = [] {};

    std::uint64_t gets = 0, puts = 0;  ///< started
    std::uint64_t bytes_got = 0, bytes_put = 0;
    std::uint64_t overtaken = 0;  ///< operations that were done before an earlier one
    std::uint64_t refusals = 0, failures = 0;
    std::uint64_t questions = 0;         ///< calls of `readable`
    std::uint64_t outside = 0;           ///< starts beyond registered memory
    unsigned starting = 0;               ///< starts that have not returned
    unsigned starting_most = 0;          ///< the largest number at a time
    std::uint64_t waits_for_starts = 0;  ///< calls of wait_some without operations
    unsigned waiting = 0;                ///< calls of wait_some that have not returned
    unsigned waiting_most = 0;           ///< the largest number at a time
    std::size_t under_way() const { return slots_.size() - spare_.size(); }

  private:
    struct Flight {
        nearfetch_operation* operation = nullptr;  ///< nullptr: the slot is free
        bool get = false;
        int rank = 0;
        std::uint64_t address = 0, bytes = 0;
        std::byte* to = nullptr;
        const std::byte* from = nullptr;
        std::uint64_t number = 0, due = 0;
        bool fails = false;
        bool early = false;  ///< takes effect at its start; else at its end
        std::vector<std::byte> taken;
    };
    static SimulatedNetwork& of(void* context) { return *static_cast<SimulatedNetwork*>(context); }
    int readable(int rank, std::uint64_t address, std::uint64_t& begin, std::uint64_t& end) const;
    int start(Flight flight);
    int start_now(Flight flight);
    void effect(Flight& flight);
    void finish(std::size_t slot);
    bool look(nearfetch_operation* operation);
    void wait_some(nearfetch_operation* const* operations, std::size_t count);
    void tick();
    bool chance(unsigned percent) { return random_() % 100 < percent; }

    Behaviour behaviour_;
    std::mt19937_64 random_;
    std::vector<std::vector<std::byte>> memories_;
    std::vector<std::vector<Region>> regions_;
    std::vector<Flight> slots_;
    std::vector<std::size_t> spare_;
    std::uint64_t now_ = 0, started_ = 0;
};

}  // namespace nearfetch::testing
