// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/mpi_job.hpp"

#include <mpi.h>
#include <stdlib.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/job_thread.hpp"
#include "transport/mpi/mpi_job_barrier.hpp"
#include "transport/mpi/mpi_job_endpoint.hpp"
#include "transport/mpi/mpi_job_messages.hpp"
#include "transport/mpi/mpi_job_segments.hpp"
#include "transport/mpi/node_segment.hpp"

namespace nearfetch {

namespace {

/// A private duplicate of a communicator.
class Communicator {
  public:
    explicit Communicator(MPI_Comm of) {
        check_mpi(PMPI_Comm_dup(of, &comm_), "MPI_Comm_dup", ask_the_others);
        check_mpi(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler",
                  "report this");
    }
    ~Communicator() { PMPI_Comm_free(&comm_); }
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    operator MPI_Comm() const noexcept { return comm_; }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Whether all ranks fail with the same text, as for a common invalid argument. A rank that does not come
/// within half a second counts as different.
bool all_report(const std::string& what, MPI_Comm ends) {
    // MPI may still use them when this returns.
    static std::array<std::uint64_t, 2> mine, most;
    mine = {std::hash<std::string>{}(what), ~std::hash<std::string>{}(what)};
    MPI_Request request = MPI_REQUEST_NULL;
    int code = PMPI_Iallreduce(mine.data(), most.data(), 2, MPI_UINT64_T, MPI_MAX, ends, &request);
    int done = 0;
    for (int polls = 0; polls < 500 && code == MPI_SUCCESS && !done; ++polls) {
        code = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return done && mine == most;
}

/// The ranks of a communicator as users know them. \param rank alone; negative: all
std::string name_of(MPI_Comm comm, int rank) {
    int ranks = 1, world_rank = 0, world_ranks = 1;
    PMPI_Comm_size(comm, &ranks);
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
    const bool is_part = ranks != world_ranks;
    if (rank < 0) return is_part ? "all ranks of the communicator" : "all ranks";
    return "rank " + std::to_string(rank) +
           (is_part ? " of the communicator (" + std::to_string(world_rank) + " of MPI_COMM_WORLD)" : "");
}

/// Aborts all ranks because of an exception of this one. \param ends communicator for this purpose only
[[noreturn]] void abort_job(const std::exception_ptr& failure, MPI_Comm ends) {
    std::string what = "the program threw something that is no std::exception";
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& error) {
        what = error.what();
    } catch (...) {
    }
    int rank = 0, ranks = 1;
    PMPI_Comm_rank(ends, &rank);
    PMPI_Comm_size(ends, &ranks);
    std::fflush(stdout);
    const bool alike = ranks > 1 && all_report(what, ends);
    if (alike && rank > 0) std::this_thread::sleep_for(std::chrono::seconds(10));  // rank 0 aborts for all
    std::fprintf(stderr, "nearfetch: %s: %s\n", name_of(ends, alike ? -1 : rank).c_str(), what.c_str());
    std::fflush(stderr);
    // MPICH's launcher drops output that it has not forwarded when the job ends.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    PMPI_Abort(MPI_COMM_WORLD, 1);
    std::_Exit(1);
}

class MpiJob final : public Job {
  public:
    /// \param of whose processes are the ranks \param ends for abort_job()
    MpiJob(MPI_Comm of, const MpiJobConfig& config, bool threads, MPI_Comm ends)
        : comm_(of),
          messages_(comm_),
          barrier_(comm_, messages_),
          segments_(comm_, config.segment_bytes),
          threads_(threads),
          ends_(ends) {
        PMPI_Comm_rank(comm_, &rank_);
        share_with_node(config.node);
    }

    Rank rank() const noexcept override { return rank_; }
    Rank ranks() const noexcept override { return segments_.ranks(); }
    using Job::segment;
    std::span<std::byte> segment(std::uint64_t address) noexcept override { return segments_.mine(address); }
    AddedSegment add_segment(std::uint64_t bytes) override { return segments_.add(bytes); }
    void remove_segment(std::uint64_t address) override { segments_.remove(address); }
    bool is_idle(std::uint64_t address) const noexcept override {
        const MpiSegment* const segment = segments_.find(address, 1);
        return segment == nullptr || segment->outstanding_ops.load() == 0;
    }
    std::unique_ptr<Transport> endpoint() override;
    const NodeMemory* node_memory() const noexcept override {
        return node_segment_ == nullptr ? nullptr : &node_memory_;
    }
    bool threads() const noexcept override { return threads_; }
    std::uint64_t atomic(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                         std::uint64_t compare) override;
    void start_addition(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t amount) override;
    void finish_additions() override;
    void send(Rank target, Port port, std::span<const std::byte> bytes) override;
    bool receive(Port port, Message& message, bool wait) override;
    using Job::barrier;
    void barrier(const CollectiveCall& call) override;
    void compute(std::uint64_t ns) override;
    bool virtual_time() const noexcept override { return false; }
    std::unique_ptr<Thread> start_thread(std::function<void()> body) override;
    std::uint64_t threads_made() const override { return pool_.threads_made(); }

    /// Collective, at the end of the program.
    void finish() {
        barrier();
        messages_.finish();
    }

  private:
    void share_with_node(const MpiJobConfig::Node& node);
    const MpiSegment& check_atomic(Rank target, std::uint64_t address) const;

    Communicator comm_;
    MpiJobMessages messages_;
    MpiJobBarrier barrier_;
    MpiJobSegments segments_;
    std::unique_ptr<NodeSegment> node_segment_;  ///< nullptr: nothing is shared
    NodeMemory node_memory_;
    Rank rank_ = 0;
    const bool threads_;
    const MPI_Comm ends_;
    const std::thread::id first_thread_ = std::this_thread::get_id();
    std::atomic<std::uint32_t> atomics_ = 0;
    std::mutex additions_mutex_;         ///< guards the next two, and a flush of them
    std::deque<std::uint64_t> amounts_;  ///< of outstanding additions: MPI reads them later
    std::set<MPI_Win> added_to_;         ///< their windows
    ThreadPool pool_;
};

/// Collective. Ranks that differ about the bytes share nothing.
void MpiJob::share_with_node(const MpiJobConfig::Node& node) {
    struct Sharing {
        std::uint64_t node, bytes;
    };
    const Sharing mine{this_node(node.ranks), node.bytes};
    std::vector<Sharing> all(static_cast<std::size_t>(ranks()));
    check_mpi(PMPI_Allgather(&mine, 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, comm_), "MPI_Allgather",
              ask_the_others);
    std::vector<std::uint64_t> nodes;
    for (const Sharing& one : all) {
        if (one.bytes == 0 || one.bytes != all.front().bytes) return;
        nodes.push_back(one.node);
    }
    if (!NodeSegment::is_of_use(nodes)) return;
    node_segment_ = NodeSegment::make(comm_, nodes, node.bytes, node.prepare);
    if (node_segment_ == nullptr) return;
    node_memory_.data = node_segment_->data();
    node_memory_.descriptor = node_segment_->descriptor();
    for (const std::uint64_t other : nodes)
        node_memory_.is_here.push_back(other == mine.node);
}

std::unique_ptr<Transport> MpiJob::endpoint() {
    if (!threads_ && std::this_thread::get_id() != first_thread_)
        throw Error("this thread cannot have an endpoint",
                    "the MPI library was not started, or does not work, with MPI_THREAD_MULTIPLE",
                    "use the thread that the rank was started with");
    return std::make_unique<MpiEndpoint>(segments_, messages_);
}

std::unique_ptr<Job::Thread> MpiJob::start_thread(std::function<void()> body) {
    if (!threads_)
        throw Error("a rank cannot have more than one thread",
                    "the MPI library was not started, or does not work, with MPI_THREAD_MULTIPLE",
                    "ask threads() first");
    return std::make_unique<JobThread>(
        pool_, std::move(body),
        [ends = ends_](const std::exception_ptr& failure) { abort_job(failure, ends); });
}

MPI_Op operation_of(AtomicOp op) {
    switch (op) {
        case AtomicOp::load:
            return MPI_NO_OP;
        case AtomicOp::add:
        case AtomicOp::add_double:
            return MPI_SUM;
        case AtomicOp::bit_and:
            return MPI_BAND;
        case AtomicOp::bit_or:
            return MPI_BOR;
        case AtomicOp::bit_xor:
            return MPI_BXOR;
        default:
            return MPI_REPLACE;  // store, swap
    }
}

[[noreturn]] void fail_atomic(Rank target, std::uint64_t address, const std::string& why,
                              const char* what_to_do) {
    throw Error("an atomic operation cannot be done at address " + std::to_string(address) + " of rank " +
                    std::to_string(target),
                why, what_to_do);
}

MPI_Datatype type_of(AtomicOp op) { return op == AtomicOp::add_double ? MPI_DOUBLE : MPI_UINT64_T; }

const MpiSegment& MpiJob::check_atomic(Rank target, std::uint64_t address) const {
    if (!segments_.has_rank(target))
        fail_atomic(target, address, "there are " + std::to_string(ranks()) + " ranks", "name one of them");
    const MpiSegment* const segment = segments_.find(address, 8);
    if (address % 8 != 0 || segment == nullptr)
        fail_atomic(target, address,
                    address % 8 != 0 ? "integers begin at multiples of 8" : "no segment has 8 bytes there",
                    "use the address of a 64-bit integer in a segment");
    return *segment;
}

/// The fetched value is available after a flush.
std::uint64_t MpiJob::atomic(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                             std::uint64_t compare) {
    const MpiSegment& segment = check_atomic(target, address);
    std::uint64_t before = 0;
    const MPI_Aint displacement = segment.displacement(target, address);
    segments_.sync();
    const MPI_Datatype type = type_of(op);
    int code =
        op == AtomicOp::compare_swap
            ? PMPI_Compare_and_swap(&operand, &compare, &before, type, target, displacement, segment.win)
            : PMPI_Fetch_and_op(&operand, &before, type, target, displacement, operation_of(op), segment.win);
    if (code == MPI_SUCCESS) code = PMPI_Win_flush(target, segment.win);
    if (code != MPI_SUCCESS) fail_atomic(target, address, mpi_error_text(code), ask_the_others);
    segments_.sync();
    // A program may poll with nothing but atomics.
    if (++atomics_ % 16 == 0) messages_.serve();
    return before;
}

void MpiJob::start_addition(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t amount) {
    const MpiSegment& segment = check_atomic(target, address);
    const std::lock_guard lock(additions_mutex_);
    amounts_.push_back(amount);
    added_to_.insert(segment.win);
    segments_.sync();
    const MPI_Datatype type = type_of(op);
    const int code = PMPI_Accumulate(&amounts_.back(), 1, type, target, segment.displacement(target, address),
                                     1, type, MPI_SUM, segment.win);
    if (code != MPI_SUCCESS) fail_atomic(target, address, mpi_error_text(code), ask_the_others);
}

void MpiJob::finish_additions() {
    // Another thread's amount may be freed only after a flush that began after its start.
    const std::lock_guard lock(additions_mutex_);
    if (amounts_.empty()) return;
    for (MPI_Win win : added_to_)
        check_mpi(PMPI_Win_flush_all(win), "MPI_Win_flush_all", ask_the_others);
    amounts_.clear();
    added_to_.clear();
    segments_.sync();
    messages_.serve();
}

void MpiJob::send(Rank target, Port port, std::span<const std::byte> bytes) {
    constexpr std::size_t most = std::numeric_limits<int>::max();
    const auto fail = [&](const std::string& why, const char* what_to_do) {
        throw Error("a message of " + std::to_string(bytes.size()) + " bytes cannot be sent to port " +
                        std::to_string(port) + " of rank " + std::to_string(target),
                    why, what_to_do);
    };
    if (!segments_.has_rank(target))
        fail("there are " + std::to_string(ranks()) + " ranks", "name one of them");
    if (port > port_max) fail("the last port is " + std::to_string(port_max), "use another");
    if (bytes.size() > most) fail("MPI takes at most " + std::to_string(most), "send parts, or put it");
    segments_.sync();
    messages_.send(target, port, bytes);
}

bool MpiJob::receive(Port port, Message& message, bool wait) {
    if (port > port_max)
        throw Error("nothing can be received at port " + std::to_string(port),
                    "the last one is " + std::to_string(port_max), "use another");
    for (SpinWait spin; !messages_.receive(port, message); spin.wait(messages_))
        if (!wait) return false;
    segments_.sync();
    return true;
}

void MpiJob::barrier(const CollectiveCall& call) {
    segments_.sync();
    barrier_.meet(call);
    segments_.sync();
}

/// Does not enter MPI, like a computing program. Over TCP, where only MPI calls serve others, these wait.
void MpiJob::compute(std::uint64_t ns) { compute_for(ns); }

/// Whether the one-sided component chosen for Open MPI refuses MPI_THREAD_MULTIPLE.
bool threads_refused() {
#if defined(OPEN_MPI)
    const char* const components = getenv("OMPI_MCA_osc");
    const std::string_view names = components == nullptr ? "" : components;
    return !names.starts_with('^') && names.find("pt2pt") != std::string_view::npos;
#else
    return false;
#endif
}

/// Whether start_mpi() has initialised MPI, and finish_mpi() has to finalise it.
bool& own_mpi() {
    static bool own = false;
    return own;
}

/// Initialises MPI if needed. \return whether threads may communicate
bool start_mpi(bool threads, int* argc, char*** argv) {
    int started = 0, ended = 0;
    PMPI_Initialized(&started);
    PMPI_Finalized(&ended);
    if (ended)
        throw Error("MPI cannot be started", "it has ended, and does so once in a process",
                    "let one launch follow the other before MPI_Finalize");
    if (started) {
        int level = MPI_THREAD_SINGLE;
        check_mpi(PMPI_Query_thread(&level), "MPI_Query_thread", "report this");
        if (level == MPI_THREAD_MULTIPLE && threads_refused())
            throw Error("MPI cannot be used as the program has started it",
                        "Open MPI's one-sided component pt2pt refuses MPI_THREAD_MULTIPLE",
                        "let nearfetch start MPI (in Python: launch before mpi4py.MPI is imported)");
        return threads && level == MPI_THREAD_MULTIPLE;
    }
    own_mpi() = true;
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
    // Below 100 of osc/sm, above 60 of osc/ucx. A user's own value stays.
    setenv("OMPI_MCA_osc_rdma_priority", "90", 0);
#endif
    const int wanted = threads && !threads_refused() ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
    int provided = MPI_THREAD_SINGLE;
    check_mpi(PMPI_Init_thread(argc, argv, wanted, &provided), "MPI_Init_thread", "look at what MPI prints");
    return wanted == MPI_THREAD_MULTIPLE && provided == MPI_THREAD_MULTIPLE;
}

class StartedProgram final : public MpiProgram {
  public:
    StartedProgram(MPI_Comm comm, const MpiJobConfig& config, bool threads) : ends_(comm) {
        try {
            job_.emplace(comm, config, threads, ends_);
        } catch (...) {
            fail(std::current_exception());
        }
    }

    Job& job() noexcept override { return *job_; }
    void finish() override { job_->finish(); }
    void fail(const std::exception_ptr& failure) override { abort_job(failure, ends_); }

  private:
    Communicator ends_;
    std::optional<MpiJob> job_;
};

}  // namespace

std::unique_ptr<MpiProgram> start_mpi_program(const MpiJobConfig& config, int* argc, char*** argv) {
    const bool threads = start_mpi(config.threads, argc, argv);
    const MPI_Comm comm =
        config.communicator == nullptr ? MPI_COMM_WORLD : *static_cast<const MPI_Comm*>(config.communicator);
    return std::make_unique<StartedProgram>(comm, config, threads);
}

int launch_mpi(const MpiJobConfig& config, int* argc, char*** argv,
               const std::function<void(Job&)>& program) {
    {
        const std::unique_ptr<MpiProgram> started = start_mpi_program(config, argc, argv);
        // Before unwinding, which would wait for ranks that never come.
        try {
            program(started->job());
            started->finish();
        } catch (...) {
            started->fail(std::current_exception());
        }
    }
    finish_mpi();
    return 0;
}

void finish_mpi() {
    if (!std::exchange(own_mpi(), false)) return;
    PMPI_Finalize();
}

}  // namespace nearfetch
