// SPDX-License-Identifier: Apache-2.0
#pragma once

// A rank of an SPMD program: its job, its allocations, and who answers when another rank runs something here.
//
// One thread, the server, receives requests; each is run by a worker, a thread with a cache of its own, so
// that a request may wait for another one, here or elsewhere. Workers stay for the next request. What is
// short, and uses nothing but this rank's own memory, the server runs itself.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nearfetch/pgas.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "cache/prefetch_buffer/prefetch_buffer.hpp"
#include "pgas/context.hpp"
#include "transport/job.hpp"

namespace nearfetch::pgas {

/// Of each rank: what the options say, in whole pages, so that no page reaches beyond it.
std::uint64_t segment_bytes(const LaunchOptions& options) noexcept;

class Runtime {
  public:
    /// Where the program, in the calling thread, has called what it is in: "file:line".
    using Site = std::function<std::string()>;

    /// \param anchor a place in the program's code
    /// \param site for programs in another language; else it is what C++ says
    Runtime(Job& job, const LaunchOptions& options, void (*anchor)(), Site site = nullptr);
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    /// Runs the program's main in this rank. Ends when all ranks' have ended.
    void run(const std::function<void()>& main);

    Job& job() noexcept { return job_; }
    const LaunchOptions& options() const noexcept { return options_; }
    /// The same place in all ranks, which ask for the same in the same order; zero there.
    /// \throws Error when the segment has no room
    std::uint64_t allocate(std::size_t bytes);
    /// Other memory in place of some that was allocated, which may be among it; zero, too. Collective: nobody
    /// uses the old memory any more, and nobody the new one before all have it. Else as allocate(); what
    /// fails leaves all as it was.
    std::uint64_t reallocate(std::uint64_t address, std::size_t bytes, std::size_t wanted_bytes);
    /// As allocate(), and it may be dropped. When the segment has no room, what all ranks have dropped is
    /// there again: that takes two barriers, which are both an acquire and a release.
    std::uint64_t allocate_droppable(std::size_t bytes);
    /// This rank does not use it any more. Any thread.
    void drop(std::uint64_t address, std::size_t bytes) noexcept;
    std::unique_ptr<Job::Thread> start_task(std::function<void()> body);

    /// All ranks come, with the same. \param collective that of the calling thread, or nullptr
    void barrier(detail::Collective* collective);
    /// The next barrier finds out whether all ranks have called it.
    void add_earlier(const detail::Collective& collective);
    std::uint64_t barriers() const noexcept { return barriers_.load(std::memory_order_relaxed); }
    const Site& site() const noexcept { return site_; }

    /// Of all its threads.
    RankClock& clock() noexcept { return clock_; }
    PrefetchBuffer& prefetch_buffer() noexcept { return prefetch_buffer_; }

    /// A port of the caller's own, until it gives it back.
    Port take_port();
    void give_port(Port port);

    std::int64_t code_offset(detail::Code code) const noexcept {
        return reinterpret_cast<const std::byte*>(code) - reinterpret_cast<const std::byte*>(anchor_);
    }
    /// Whether no thread but the caller runs what the program has written. One that begins after that
    /// acquires first.
    bool single_threaded() const noexcept { return running_.load() == 1; }
    /// Whether others' requests are answered.
    bool answers() const noexcept { return job_.threads(); }

    static constexpr Port server_port = 0;
    static constexpr Port exchange_port = 1;  ///< of collective functions
    static constexpr Port memory_port = 2;    ///< of what is dropped
    static constexpr Port last_port = port_max;

  private:
    /// Of the segment: from where to where.
    using Range = std::pair<std::uint64_t, std::uint64_t>;
    struct Worker {
        Port port;
        std::unique_ptr<Job::Thread> thread;
    };

    /// While it lives, one more thread runs what the program has written.
    class Running {
      public:
        explicit Running(Runtime& runtime) noexcept : running_(runtime.running_) { ++running_; }
        ~Running() { --running_; }
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;

      private:
        std::atomic<int>& running_;
    };

    /// What a thread that answers has from its first request on.
    struct Answering {
        std::optional<Context> context;
        std::optional<Context::Use> use;
    };

    /// Of the segment, what an allocation takes that begins there.
    std::uint64_t end_of(std::uint64_t address, std::size_t bytes) const noexcept;
    void give_back(std::uint64_t begin, std::uint64_t end);
    std::optional<std::uint64_t> find_room(std::size_t bytes);
    [[noreturn]] void no_room(std::size_t bytes) const;
    /// Collective. \return whether there is more room now
    bool reclaim();
    /// What all ranks have among these, sorted. Collective.
    std::vector<Range> common(std::vector<Range> own);
    void clear(std::uint64_t begin, std::uint64_t end);
    void stop_server();
    void serve();
    Port idle_worker(std::vector<Worker>& workers);
    void work(Port port);
    std::vector<std::byte> answer(std::span<const std::byte> request, Answering& answering);
    std::vector<std::byte> result_of(std::span<const std::byte> request);

    Job& job_;
    LaunchOptions options_;
    void (*anchor_)();
    Site site_;
    std::atomic<std::uint64_t> barriers_{0};
    std::uint64_t earlier_sum_ = 0;  ///< of what was called since the last barrier, and waits for nobody
    std::string earlier_text_;
    std::uint64_t allocated_ = 0;                  ///< up to here, but for what was given back
    std::map<std::uint64_t, std::uint64_t> free_;  ///< from where to where; apart from each other, and zero
    bool droppable_ = false;                       ///< something was allocated that may be dropped
    RankClock clock_;
    PrefetchBuffer prefetch_buffer_;
    std::atomic<int> running_{0};

    std::mutex mutex_;  ///< of what follows
    std::vector<Port> spare_ports_;
    Port next_port_ = memory_port + 1;
    std::vector<Range> dropped_;
    std::vector<Port> idle_workers_;

    std::unique_ptr<Job::Thread> server_;  ///< ends before what it uses
};

}  // namespace nearfetch::pgas
