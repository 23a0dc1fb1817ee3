// SPDX-License-Identifier: Apache-2.0
#pragma once

// The synchronisations of random programs, by as many kinds of MPI calls as there are.

#include <chrono>
#include <memory>
#include <thread>

#include "random_meaning.hpp"

namespace random_programs {

using namespace check;

/// The windows of all programs: those whose bytes are read and written, and those of flags.
struct Windows {
    explicit Windows(MPI_Info info) {
        for (int id = 0; id < windows; ++id)
            data.push_back(std::make_unique<Window>(static_cast<MPI_Aint>(part_bytes(id, rank())), 1,
                                                    id == created ? Kind_::create : Kind_::allocate, info));
        flags = std::make_unique<Window>(flag_bytes, 8, Kind_::allocate, info);
        lock_flags = std::make_unique<Window>(flag_bytes, 8, Kind_::allocate, info);
    }
    MPI_Win operator[](int id) const { return *data[static_cast<std::size_t>(id)]; }
    unsigned char* bytes(int id) const { return data[static_cast<std::size_t>(id)]->bytes(); }

    /// What the modes that forget nothing by themselves are owed after a synchronisation.
    void forget_all() const {
        for (const auto& window : data)
            forget(*window);
        forget(*flags);
        forget(*lock_flags);
    }

    using Kind_ = check::Kind;
    static constexpr MPI_Aint flag_bytes = 8 * 2 * most_ranks * most_ranks;
    std::vector<std::unique_ptr<Window>> data;
    std::unique_ptr<Window> flags, lock_flags;
};

/// This rank's part in the synchronisations of a program.
class Synchroniser {
  public:
    explicit Synchroniser(const Windows& all) : windows_(all) {
        for (auto& request : begun_)
            request = MPI_REQUEST_NULL;
        for (int r = 0; r < size(); ++r) {
            MPI_Group world;
            MPI_Comm_group(MPI_COMM_WORLD, &world);
            MPI_Group_incl(world, 1, &r, &groups_[r]);
            MPI_Group_free(&world);
        }
    }
    Synchroniser(const Synchroniser&) = delete;
    Synchroniser& operator=(const Synchroniser&) = delete;
    ~Synchroniser() {
        for (int r = 0; r < size(); ++r)
            MPI_Group_free(&groups_[r]);
    }

    /// \return whether this rank took part
    bool perform(const Act& act) {
        const Step& step = act.step;
        const bool first = step.rank == rank(), second = step.peer == rank();
        const int other = first ? step.peer : step.rank;
        switch (step.kind) {
            case Kind::collective:
                collective(step);
                return true;
            case Kind::begin_barrier:
                CHECK_MPI(MPI_Ibarrier(MPI_COMM_WORLD, &barrier_));
                return true;
            case Kind::end_barrier:
                finish(barrier_, step.variant);
                return true;
            default:
                break;
        }
        if (!first && !second) return false;
        switch (step.kind) {
            case Kind::message:
                first ? send(other, step.variant) : receive(other, step.variant, act.begun);
                break;
            case Kind::post_receive:
                if (!first) return false;
                CHECK_MPI(MPI_Irecv(nullptr, 0, MPI_BYTE, other, tag, MPI_COMM_WORLD, &begun_[other]));
                break;
            case Kind::ssend:
                first ? ssend(other, step.variant) : receive(other, step.variant / 2, false);
                break;
            case Kind::exchange:
                exchange(other, step.variant);
                break;
            case Kind::flag:
                first ? raise_flag(act) : look_at_flag(act);
                break;
            case Kind::lock_flag:
                first ? raise_lock_flag(act) : look_at_lock_flag(act);
                break;
            case Kind::post_start:
                start(other, first);
                break;
            case Kind::complete_wait:
                if (first) CHECK_MPI(MPI_Win_complete(windows_[started]));
                if (second) end_exposure(step.variant);
                break;
            default:
                break;
        }
        return true;
    }

    /// Completes one request by one of the calls that do.
    static void finish(MPI_Request& request, int variant) {
        int index = 0, done = 0;
        switch (variant % 9) {
            case 0:
                return CHECK_MPI(MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
            case 1:
                return CHECK_MPI(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
            case 2:
                return CHECK_MPI(MPI_Waitsome(1, &request, &done, &index, MPI_STATUSES_IGNORE));
            case 3:
                return until([&](int* flag) { return MPI_Test(&request, flag, MPI_STATUS_IGNORE); });
            case 4:
                return until(
                    [&](int* flag) { return MPI_Testany(1, &request, &index, flag, MPI_STATUS_IGNORE); });
            case 5:
                return until([&](int* flag) { return MPI_Testall(1, &request, flag, MPI_STATUSES_IGNORE); });
            case 6:
                return until(
                    [&](int* some) { return MPI_Testsome(1, &request, some, &index, MPI_STATUSES_IGNORE); });
            case 7:
                until([&](int* flag) { return MPI_Request_get_status(request, flag, MPI_STATUS_IGNORE); });
                break;
            default:
                break;
        }
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }

  private:
    static constexpr int tag = 5, exchange_tag = 6, start_tag = 7;

    /// A persistent request.
    static void use_once(MPI_Request request) {
        CHECK_MPI(MPI_Start(&request));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Request_free(&request));
    }

    static void send(int to, int variant) {
        MPI_Request request;
        switch (variant % 5) {
            case 0:
                CHECK_MPI(MPI_Isend(nullptr, 0, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request));
                return finish(request, variant / 5);
            case 1:
                CHECK_MPI(MPI_Send_init(nullptr, 0, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request));
                return use_once(request);
            default:
                CHECK_MPI(MPI_Send(nullptr, 0, MPI_BYTE, to, tag, MPI_COMM_WORLD));
        }
    }

    static void ssend(int to, int variant) {
        if (variant % 2 == 0) return CHECK_MPI(MPI_Ssend(nullptr, 0, MPI_BYTE, to, tag, MPI_COMM_WORLD));
        MPI_Request request;
        CHECK_MPI(MPI_Issend(nullptr, 0, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request));
        finish(request, variant / 2);
    }

    void receive(int from, int variant, bool begun) {
        if (begun) return finish(begun_[from], variant / 10);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Message message;
        const MPI_Comm world = MPI_COMM_WORLD;
        MPI_Status* const status = MPI_STATUS_IGNORE;
        switch (variant % 10) {
            case 0:
            case 1:
            case 2:
                CHECK_MPI(MPI_Irecv(nullptr, 0, MPI_BYTE, from, tag, world, &request));
                return finish(request, variant / 10);
            case 3:
                return CHECK_MPI(MPI_Sendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, nullptr, 0, MPI_BYTE,
                                              from, tag, world, status));
            case 4:
                CHECK_MPI(MPI_Probe(from, tag, world, status));
                break;
            case 5:
                until([&](int* flag) { return MPI_Iprobe(from, tag, world, flag, status); });
                break;
            case 6:
                CHECK_MPI(MPI_Mprobe(from, tag, world, &message, status));
                return CHECK_MPI(MPI_Mrecv(nullptr, 0, MPI_BYTE, &message, status));
            case 7:
                until([&](int* flag) { return MPI_Improbe(from, tag, world, flag, &message, status); });
                CHECK_MPI(MPI_Imrecv(nullptr, 0, MPI_BYTE, &message, &request));
                return finish(request, variant / 10);
            case 8:
                CHECK_MPI(MPI_Recv_init(nullptr, 0, MPI_BYTE, from, tag, world, &request));
                return use_once(request);
            default:
                break;
        }
        CHECK_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, from, tag, world, status));
    }

    static void exchange(int with, int variant) {
        const MPI_Comm world = MPI_COMM_WORLD;
        if (variant % 2 == 0)
            return CHECK_MPI(MPI_Sendrecv(nullptr, 0, MPI_BYTE, with, exchange_tag, nullptr, 0, MPI_BYTE,
                                          with, exchange_tag, world, MPI_STATUS_IGNORE));
        int both = 0;
        CHECK_MPI(MPI_Sendrecv_replace(&both, 1, MPI_INT, with, exchange_tag, with, exchange_tag, world,
                                       MPI_STATUS_IGNORE));
    }

    static void collective(const Step& step) {
        int in[most_ranks] = {}, out[most_ranks] = {};
        const MPI_Comm world = MPI_COMM_WORLD;
        MPI_Request request;
        switch (step.variant % 11) {
            case Meaning::allreduce:
                return CHECK_MPI(MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, world));
            case Meaning::allgather:
                return CHECK_MPI(MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, world));
            case Meaning::alltoall:
                return CHECK_MPI(MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, world));
            case Meaning::iallreduce:
                CHECK_MPI(MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, world, &request));
                return finish(request, step.variant / 11);
            case Meaning::bcast:
                return CHECK_MPI(MPI_Bcast(in, 1, MPI_INT, step.rank, world));
            case Meaning::scatter:
                return CHECK_MPI(MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, step.rank, world));
            case Meaning::gather:
                return CHECK_MPI(MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, step.rank, world));
            case Meaning::reduce:
                return CHECK_MPI(MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, step.rank, world));
            case Meaning::scan:
                return CHECK_MPI(MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, world));
            case Meaning::exscan:
                return CHECK_MPI(MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, world));
            default:
                return CHECK_MPI(MPI_Barrier(world));
        }
    }

    // --- flags: words that one rank raises and one looks at, in the memory of any

    static MPI_Aint place(const Step& step, bool by_put) {
        return step.rank * most_ranks + step.peer + (by_put ? most_ranks * most_ranks : 0);
    }

    void raise_flag(const Act& act) {
        const MPI_Win win = *windows_.flags;
        const int home = act.step.window;
        const bool by_put = act.step.variant % 6 == 5;
        const std::int64_t one = 1, value = act.expected;
        if (by_put)
            CHECK_MPI(MPI_Put(&value, 1, MPI_INT64_T, home, place(act.step, true), 1, MPI_INT64_T, win));
        else
            CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, home, place(act.step, false), 1, MPI_INT64_T,
                                     MPI_SUM, win));
        CHECK_MPI(MPI_Win_flush(home, win));
    }

    void look_at_flag(const Act& act) {
        const MPI_Win win = *windows_.flags;
        const int home = act.step.window, way = act.step.variant % 6;
        const MPI_Aint at = place(act.step, way == 5);
        static const std::int64_t nothing = 0;
        for (std::int64_t value = 0; value < act.expected;) {
            MPI_Request request = MPI_REQUEST_NULL;
            if (way == 0)
                CHECK_MPI(MPI_Fetch_and_op(nullptr, &value, MPI_INT64_T, home, at, MPI_NO_OP, win));
            else if (way == 1)
                CHECK_MPI(MPI_Get_accumulate(nullptr, 0, MPI_INT64_T, &value, 1, MPI_INT64_T, home, at, 1,
                                             MPI_INT64_T, MPI_NO_OP, win));
            else if (way == 2)
                CHECK_MPI(MPI_Rget_accumulate(nullptr, 0, MPI_INT64_T, &value, 1, MPI_INT64_T, home, at, 1,
                                              MPI_INT64_T, MPI_NO_OP, win, &request));
            else if (way == 3 && can_swap(check::Kind::allocate))
                CHECK_MPI(MPI_Compare_and_swap(&nothing, &nothing, &value, MPI_INT64_T, home, at, win));
            else if (way == 5)
                CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, home, at, 1, MPI_INT64_T, win));
            else
                CHECK_MPI(MPI_Fetch_and_op(&nothing, &value, MPI_INT64_T, home, at, MPI_SUM, win));
            if (request != MPI_REQUEST_NULL) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Win_flush(home, win));
            if (way == 5) windows_.forget_all();
        }
        // A plain get acquires nothing.
        if (way == 5) CHECK_MPI(MPI_Win_sync(win));
    }

    void raise_lock_flag(const Act& act) {
        const MPI_Win win = *windows_.lock_flags;
        const int home = act.step.window;
        const std::int64_t value = act.expected;
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, home, 0, win));
        CHECK_MPI(MPI_Put(&value, 1, MPI_INT64_T, home, place(act.step, false), 1, MPI_INT64_T, win));
        CHECK_MPI(MPI_Win_unlock(home, win));
    }

    void look_at_lock_flag(const Act& act) {
        const MPI_Win win = *windows_.lock_flags;
        const int home = act.step.window;
        const int type = act.step.variant % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
        for (std::int64_t value = 0;;) {
            CHECK_MPI(MPI_Win_lock(type, home, 0, win));
            CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, home, place(act.step, false), 1, MPI_INT64_T, win));
            CHECK_MPI(MPI_Win_unlock(home, win));
            if (value >= act.expected) break;
            windows_.forget_all();
            // Between two locks the other gets its own.
            std::this_thread::sleep_for(std::chrono::microseconds(300));
        }
    }

    /// MPICH 5.0 loses a post that arrives while its origin has not left an earlier MPI_Win_complete, and
    /// hangs. So the origin says that it has.
    void start(int other, bool origin) {
        const MPI_Win win = windows_[started];
        if (origin) {
            CHECK_MPI(MPI_Send(nullptr, 0, MPI_BYTE, other, start_tag, MPI_COMM_WORLD));
            CHECK_MPI(MPI_Win_start(groups_[other], 0, win));
        } else {
            CHECK_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, other, start_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Win_post(groups_[other], 0, win));
        }
    }

    void end_exposure(int variant) {
        const MPI_Win win = windows_[started];
        if (variant % 2 == 0) return CHECK_MPI(MPI_Win_wait(win));
        until([win](int* flag) { return MPI_Win_test(win, flag); });
    }

    const Windows& windows_;
    MPI_Group groups_[most_ranks];
    MPI_Request begun_[most_ranks];
    MPI_Request barrier_ = MPI_REQUEST_NULL;
};

}  // namespace random_programs
