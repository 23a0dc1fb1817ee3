// SPDX-License-Identifier: Apache-2.0
#pragma once

// A rank of an SPMD program: its job, its memory, and the server for requests of other ranks.
//
// The server thread receives requests. A worker thread with its own cache runs each of them, so that a
// request may wait for another. Workers are reused, and so are the threads of tasks and their caches: there
// are as many as ever ran at the same time. The server itself runs short requests, which use only this
// rank's own memory.

#include <atomic>
#include <functional>
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
#include "pgas/symmetric_heap.hpp"
#include "transport/job.hpp"

namespace nearfetch::pgas {

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
    /// The same for a program that is no function: from its construction to finish(), in one thread.
    class Main;

    Job& job() noexcept { return job_; }
    const LaunchOptions& options() const noexcept { return options_; }
    SymmetricHeap& heap() noexcept { return heap_; }
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
    static constexpr Port memory_port = 2;    ///< for memory that all ranks have dropped, and empty segments

  private:
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
    SymmetricHeap heap_;
    RankClock clock_;
    std::optional<NodeSharing> node_sharing_;
    PrefetchBuffer prefetch_buffer_;
    Ports ports_{memory_port + 1};
    std::atomic<int> running_{0};

    std::mutex mutex_;  ///< guards the members below
    std::vector<Port> idle_workers_;
    Ended ended_;
    std::vector<std::unique_ptr<Context>> idle_contexts_;  ///< of ended tasks; nothing is unreleased

    std::unique_ptr<Job::Thread> server_;  ///< ends before what it uses
};

class Runtime::Main {
  public:
    explicit Main(Runtime& runtime);
    /// Without finish() it waits for no rank.
    ~Main();
    Main(const Main&) = delete;
    Main& operator=(const Main&) = delete;

    /// Returns when all ranks are here: nothing is on its way any more. \param what names the end in errors
    void finish(const char* what);

  private:
    void leave() noexcept;
    void end();

    Runtime& runtime_;
    std::optional<Running> running_;
    std::optional<Context> context_;
    std::optional<Context::Use> use_;
};

}  // namespace nearfetch::pgas
