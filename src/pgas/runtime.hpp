// SPDX-License-Identifier: Apache-2.0
#pragma once

// A rank of an SPMD program: its job, its allocations, and the server for requests of other ranks.
//
// The server thread receives requests. A worker thread with its own cache runs each of them, so that a
// request may wait for another. Workers are reused, and so are the threads of tasks and their caches: there
// are as many as ever ran at the same time. The server itself runs short requests, which use only this
// rank's own memory.

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
#include "pgas/node_sharing.hpp"
#include "pgas/ports.hpp"
#include "transport/job.hpp"

namespace nearfetch::pgas {

/// Segment size of each rank: that of the options in whole pages, so that no page reaches beyond it.
std::uint64_t segment_bytes(const LaunchOptions& options) noexcept;

class Runtime {
  public:
    /// Source location of the calling thread's collective call: "file:line".
    using Site = std::function<std::string()>;

    /// \param anchor a function of the program, the origin of code offsets
    /// \param site for programs in other languages; else std::source_location is used
    /// \param node what ranks of this node share; nullptr: as the job says
    Runtime(Job& job, const LaunchOptions& options, void (*anchor)(), Site site = nullptr,
            const NodeMemory* node = nullptr);
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    /// Runs the program's main in this rank. Returns when main has ended in all ranks.
    void run(const std::function<void()>& main);

    Job& job() noexcept { return job_; }
    const LaunchOptions& options() const noexcept { return options_; }
    /// Allocates zeroed memory (at least a byte, so that addresses differ) at the same address in all ranks,
    /// which call it in the same order.
    /// \throws Error when the segment is full
    std::uint64_t allocate(std::size_t bytes);
    /// Ends such an allocation in this rank. All ranks have stopped to access it.
    /// \throws Error when none begins there
    void free(std::uint64_t address);
    /// Replaces an allocation by another, which may overlap it; zeroed. Collective: nobody uses the old
    /// memory any more, or the new memory before all ranks have it. On failure nothing changes.
    std::uint64_t reallocate(std::uint64_t address, std::size_t bytes, std::size_t wanted_bytes);
    /// As allocate(), for memory that may be dropped. If the segment is full, memory that all ranks have
    /// dropped is reclaimed. That takes two barriers, each an acquire and a release.
    std::uint64_t allocate_droppable(std::size_t bytes);
    /// Marks memory as unused by this rank. Thread-safe.
    void drop(std::uint64_t address, std::size_t bytes) noexcept;
    std::unique_ptr<Job::Thread> start_task(std::function<void()> body);

    /// A barrier that compares the collective functions in which the ranks call it. It acquires of what ranks
    /// of the node share.
    void barrier();
    /// The next barrier checks that all ranks have called it.
    void add_earlier(const detail::Collective& collective);
    std::uint64_t barriers() const noexcept { return barriers_.load(std::memory_order_relaxed); }
    const Site& site() const noexcept { return site_; }

    struct Ended {
        TransferStatistics statistics;    ///< of tasks and calls that have ended in this rank
        std::uint64_t contexts_made = 0;  ///< by tasks, each with its cache
    };
    Ended ended();

    /// Shared by all threads of the rank.
    RankClock& clock() noexcept { return clock_; }
    PrefetchBuffer& prefetch_buffer() noexcept { return prefetch_buffer_; }
    /// nullptr: ranks of this node share nothing.
    NodeSharing* node_sharing() noexcept { return node_sharing_ ? &*node_sharing_ : nullptr; }

    Ports& ports() noexcept { return ports_; }

    std::int64_t code_offset(detail::Code code) const noexcept {
        return reinterpret_cast<const std::byte*>(code) - reinterpret_cast<const std::byte*>(anchor_);
    }
    /// Whether the caller is the only thread that runs program code. A thread that begins later acquires
    /// first.
    bool single_threaded() const noexcept { return running_.load() == 1; }

    static constexpr Port server_port = 0;
    static constexpr Port exchange_port = 1;  ///< for collective functions
    static constexpr Port memory_port = 2;    ///< for dropped memory

  private:
    /// A range of the segment: begin and end.
    using Range = std::pair<std::uint64_t, std::uint64_t>;
    struct Worker {
        Port port;
        std::unique_ptr<Job::Thread> thread;
    };

    /// Counts a thread that runs program code.
    class Running {
      public:
        explicit Running(Runtime& runtime) noexcept : running_(runtime.running_) { ++running_; }
        ~Running() { --running_; }
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;

      private:
        std::atomic<int>& running_;
    };

    /// Adds to ended() what the context has counted until its end.
    class Counted {
      public:
        Counted(Runtime& runtime, Context& context) noexcept : runtime_(runtime), context_(context) {}
        ~Counted();
        Counted(const Counted&) = delete;
        Counted& operator=(const Counted&) = delete;

      private:
        Runtime& runtime_;
        Context& context_;
    };

    /// State of a thread that answers requests, made at the first.
    struct Answering {
        std::optional<Context> context;
        std::optional<Context::Use> use;
    };

    /// End of an allocation at that address, with padding.
    std::uint64_t end_of(std::uint64_t address, std::size_t bytes) const noexcept;
    std::uint64_t take_memory(std::size_t bytes);
    void give_back(std::uint64_t begin, std::uint64_t end);
    std::optional<std::uint64_t> find_room(std::size_t bytes);
    [[noreturn]] void no_room(std::size_t bytes) const;
    /// Collective. \return whether memory was reclaimed
    bool reclaim();
    /// The intersection of all ranks' ranges, sorted. Collective.
    std::vector<Range> common(std::vector<Range> own);
    void clear(std::uint64_t begin, std::uint64_t end);
    void stop_server();
    void serve();
    void run_task(const std::function<void()>& body);
    std::unique_ptr<Context> take_context();
    Port idle_worker(std::vector<Worker>& workers);
    void work(Port port);
    std::vector<std::byte> answer(std::span<const std::byte> request, Answering& answering);
    std::vector<std::byte> result_of(std::span<const std::byte> request);

    Job& job_;
    LaunchOptions options_;
    void (*anchor_)();
    Site site_;
    std::atomic<std::uint64_t> barriers_{0};
    std::uint64_t earlier_sum_ = 0;  ///< checksum of the calls since the last barrier
    std::string earlier_text_;
    std::uint64_t allocated_ = 0;                      ///< end of the allocated part
    std::map<std::uint64_t, std::uint64_t> free_;      ///< begin to end of free ranges: disjoint and zeroed
    std::map<std::uint64_t, std::uint64_t> freeable_;  ///< begin to end of what may be freed
    bool droppable_ = false;                           ///< whether droppable memory was ever allocated
    RankClock clock_;
    PrefetchBuffer prefetch_buffer_;
    Ports ports_{memory_port + 1};
    std::optional<NodeSharing> node_sharing_;
    std::atomic<int> running_{0};

    std::mutex mutex_;  ///< guards the members below
    std::vector<Range> dropped_;
    std::vector<Port> idle_workers_;
    Ended ended_;
    std::vector<std::unique_ptr<Context>> idle_contexts_;  ///< of ended tasks; nothing is unreleased

    std::unique_ptr<Job::Thread> server_;  ///< ends before what it uses
};

}  // namespace nearfetch::pgas
