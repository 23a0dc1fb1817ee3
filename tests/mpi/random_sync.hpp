// SPDX-License-Identifier: Apache-2.0
#pragma once

// The synchronisations of random programs, by as many kinds of MPI calls as there are.

#include "random_flags.hpp"
#include "random_meaning.hpp"

namespace random_programs {

/// This rank's part in the synchronisations of a program.
class Synchroniser {
  public:
    Synchroniser(const Windows& all, MoveCounts& counts) : windows_(all), flags_(all, counts) {
        for (auto& request : begun_)
            request = MPI_REQUEST_NULL;
        for (int r = 0; r < size(); ++r) {
            MPI_Group all_ranks;
            MPI_Comm_group(world(), &all_ranks);
            MPI_Group_incl(all_ranks, 1, &r, &groups_[r]);
            MPI_Group_free(&all_ranks);
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
                CHECK_MPI(MPI_Ibarrier(world(), &barrier_));
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
                CHECK_MPI(MPI_Irecv(nullptr, 0, MPI_BYTE, other, tag, world(), &begun_[other]));
                break;
            case Kind::ssend:
                first ? ssend(other, step.variant) : receive(other, step.variant / 2, false);
                break;
            case Kind::exchange:
                exchange(other, step.variant);
                break;
            case Kind::flag:
                first ? flags_.raise(act) : flags_.look_at(act);
                break;
            case Kind::lock_flag:
                first ? flags_.raise_locked(act) : flags_.look_at_locked(act);
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
                CHECK_MPI(MPI_Isend(nullptr, 0, MPI_BYTE, to, tag, world(), &request));
                return finish(request, variant / 5);
            case 1:
                CHECK_MPI(MPI_Send_init(nullptr, 0, MPI_BYTE, to, tag, world(), &request));
                return use_once(request);
            default:
                CHECK_MPI(MPI_Send(nullptr, 0, MPI_BYTE, to, tag, world()));
        }
    }

    static void ssend(int to, int variant) {
        if (variant % 2 == 0) return CHECK_MPI(MPI_Ssend(nullptr, 0, MPI_BYTE, to, tag, world()));
        MPI_Request request;
        CHECK_MPI(MPI_Issend(nullptr, 0, MPI_BYTE, to, tag, world(), &request));
        finish(request, variant / 2);
    }

    void receive(int from, int variant, bool begun) {
        if (begun) return finish(begun_[from], variant / 10);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Message message;
        const MPI_Comm comm = world();
        MPI_Status* const status = MPI_STATUS_IGNORE;
        switch (variant % 10) {
            case 0:
            case 1:
            case 2:
                CHECK_MPI(MPI_Irecv(nullptr, 0, MPI_BYTE, from, tag, comm, &request));
                return finish(request, variant / 10);
            case 3:
                return CHECK_MPI(MPI_Sendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, nullptr, 0, MPI_BYTE,
                                              from, tag, comm, status));
            case 4:
                CHECK_MPI(MPI_Probe(from, tag, comm, status));
                break;
            case 5:
                until([&](int* flag) { return MPI_Iprobe(from, tag, comm, flag, status); });
                break;
            case 6:
                CHECK_MPI(MPI_Mprobe(from, tag, comm, &message, status));
                return CHECK_MPI(MPI_Mrecv(nullptr, 0, MPI_BYTE, &message, status));
            case 7:
                until([&](int* flag) { return MPI_Improbe(from, tag, comm, flag, &message, status); });
                CHECK_MPI(MPI_Imrecv(nullptr, 0, MPI_BYTE, &message, &request));
                return finish(request, variant / 10);
            case 8:
                CHECK_MPI(MPI_Recv_init(nullptr, 0, MPI_BYTE, from, tag, comm, &request));
                return use_once(request);
            default:
                break;
        }
        CHECK_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, from, tag, comm, status));
    }

    static void exchange(int with, int variant) {
        const MPI_Comm comm = world();
        if (variant % 2 == 0)
            return CHECK_MPI(MPI_Sendrecv(nullptr, 0, MPI_BYTE, with, exchange_tag, nullptr, 0, MPI_BYTE,
                                          with, exchange_tag, comm, MPI_STATUS_IGNORE));
        int both = 0;
        CHECK_MPI(MPI_Sendrecv_replace(&both, 1, MPI_INT, with, exchange_tag, with, exchange_tag, comm,
                                       MPI_STATUS_IGNORE));
    }

    static void collective(const Step& step) {
        int in[most_ranks] = {}, out[most_ranks] = {};
        const MPI_Comm comm = world();
        MPI_Request request;
        switch (step.variant % 11) {
            case Meaning::allreduce:
                return CHECK_MPI(MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm));
            case Meaning::allgather:
                return CHECK_MPI(MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm));
            case Meaning::alltoall:
                return CHECK_MPI(MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm));
            case Meaning::iallreduce:
                CHECK_MPI(MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, comm, &request));
                return finish(request, step.variant / 11);
            case Meaning::bcast:
                return CHECK_MPI(MPI_Bcast(in, 1, MPI_INT, step.rank, comm));
            case Meaning::scatter:
                return CHECK_MPI(MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, step.rank, comm));
            case Meaning::gather:
                return CHECK_MPI(MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, step.rank, comm));
            case Meaning::reduce:
                return CHECK_MPI(MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, step.rank, comm));
            case Meaning::scan:
                return CHECK_MPI(MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, comm));
            case Meaning::exscan:
                return CHECK_MPI(MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, comm));
            default:
                return CHECK_MPI(MPI_Barrier(comm));
        }
    }

    /// MPICH 5.0 loses a post that arrives while its origin has not left an earlier MPI_Win_complete, and
    /// hangs. So the origin says that it has.
    void start(int other, bool origin) {
        const MPI_Win win = windows_[started];
        if (origin) {
            CHECK_MPI(MPI_Send(nullptr, 0, MPI_BYTE, other, start_tag, world()));
            CHECK_MPI(MPI_Win_start(groups_[other], 0, win));
        } else {
            CHECK_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, other, start_tag, world(), MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Win_post(groups_[other], 0, win));
        }
    }

    void end_exposure(int variant) {
        const MPI_Win win = windows_[started];
        if (variant % 2 == 0) return CHECK_MPI(MPI_Win_wait(win));
        until([win](int* flag) { return MPI_Win_test(win, flag); });
    }

    const Windows& windows_;
    Flags flags_;
    MPI_Group groups_[most_ranks];
    MPI_Request begun_[most_ranks];
    MPI_Request barrier_ = MPI_REQUEST_NULL;
};

}  // namespace random_programs
