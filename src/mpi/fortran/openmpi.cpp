// SPDX-License-Identifier: Apache-2.0

// Fortran on Open MPI. No Fortran call of it reaches the C entry points: mpif.h and `use mpi` arrive as
// mpi_get_, mpi_f08 as mpi_get_f08_, with the same arguments (a handle is one INTEGER, a status the integers
// of mpif.h), so one body serves both. `use mpi` has third names for allocations into a TYPE(C_PTR).

#include <mpi.h>

#if defined(OPEN_MPI)

#include "mpi/fortran/fortran.hpp"

// The objects that stand for MPI_BOTTOM and its like, told by their address. A program without Fortran may
// lack them.
extern "C" {
extern MPI_Fint mpi_fortran_bottom_ __attribute__((weak));
extern MPI_Fint mpi_fortran_status_ignore_ __attribute__((weak));
extern MPI_Fint mpi_fortran_statuses_ignore_ __attribute__((weak));
}

namespace nearfetch::fortran {
namespace {

void* buffer(Choice address) { return address == &mpi_fortran_bottom_ ? MPI_BOTTOM : address; }
MPI_Win win(In handle) { return PMPI_Win_f2c(*handle); }
MPI_Datatype type(In handle) { return PMPI_Type_f2c(*handle); }
MPI_Op op(In handle) { return PMPI_Op_f2c(*handle); }
MPI_Comm comm(In handle) { return PMPI_Comm_f2c(*handle); }
MPI_Info info(In handle) { return PMPI_Info_f2c(*handle); }
MPI_Group group(In handle) { return PMPI_Group_f2c(*handle); }

/// A window that MPI makes or frees.
class WinOut {
  public:
    explicit WinOut(Out handle, MPI_Win value = MPI_WIN_NULL)
        : handle_(handle), before_(value), value_(value) {}
    WinOut(const WinOut&) = delete;
    WinOut& operator=(const WinOut&) = delete;
    ~WinOut() {
        if (value_ != before_) *handle_ = PMPI_Win_c2f(value_);
    }
    operator MPI_Win*() { return &value_; }

  private:
    Out handle_;
    MPI_Win before_, value_;
};

/// Requests that MPI completes.
class Requests {
  public:
    Requests(int count, Out handles) : handles_(handles), values_(count), before_(count) {
        for (std::size_t i = 0; i < values_.size(); ++i)
            before_[i] = values_[i] = PMPI_Request_f2c(handles[i]);
    }
    explicit Requests(Out handle) : Requests(1, handle) {}
    Requests(const Requests&) = delete;
    Requests& operator=(const Requests&) = delete;
    ~Requests() {
        for (std::size_t i = 0; i < values_.size(); ++i)
            if (values_[i] != before_[i]) handles_[i] = PMPI_Request_c2f(values_[i]);
    }
    operator MPI_Request*() { return values_.data(); }

  private:
    Out handles_;
    Array<MPI_Request> values_, before_;
};

/// A request that MPI starts; it has no handle before.
class Started {
  public:
    explicit Started(Out handle) : handle_(handle) {}
    Started(const Started&) = delete;
    Started& operator=(const Started&) = delete;
    ~Started() {
        if (value_ != nullptr) *handle_ = PMPI_Request_c2f(value_);
    }
    operator MPI_Request*() { return &value_; }

  private:
    Out handle_;
    MPI_Request value_ = nullptr;
};

/// Statuses that MPI writes, each MPI_F_STATUS_SIZE integers long.
class Statuses {
  public:
    Statuses(int count, Out variables, const MPI_Fint* ignore)
        : variables_(variables == ignore ? nullptr : variables), values_(variables_ != nullptr ? count : 0) {
        for (std::size_t i = 0; i < values_.size(); ++i)
            PMPI_Status_f2c(variable(i), &values_[i]);
    }
    Statuses(int count, Out variables) : Statuses(count, variables, &mpi_fortran_statuses_ignore_) {}
    explicit Statuses(Out variable) : Statuses(1, variable, &mpi_fortran_status_ignore_) {}
    Statuses(const Statuses&) = delete;
    Statuses& operator=(const Statuses&) = delete;
    ~Statuses() {
        for (std::size_t i = 0; i < values_.size(); ++i)
            PMPI_Status_c2f(&values_[i], variable(i));
    }
    operator MPI_Status*() { return variables_ != nullptr ? values_.data() : nullptr; }

  private:
    static constexpr std::size_t status_integers = sizeof(MPI_Status) / sizeof(int);
    Out variable(std::size_t i) const { return variables_ + i * status_integers; }

    Out variables_;
    Array<MPI_Status> values_;
};
static_assert(MPI_STATUS_IGNORE == nullptr && MPI_STATUSES_IGNORE == nullptr);

}  // namespace
}  // namespace nearfetch::fortran

using namespace nearfetch::fortran;  // NOLINT: the table below is the file

#define BOTH(name, parameters, call)          \
    NEARFETCH_FORTRAN(name, parameters, call) \
    NEARFETCH_FORTRAN_ALIAS(name, name##_f08, parameters)

BOTH(init, (Out ierror), MPI_Init(nullptr, nullptr))
BOTH(init_thread, (In required, Out provided, Out ierror),
     MPI_Init_thread(nullptr, nullptr, *required, Number(provided)))

BOTH(get, (Choice o, In on, In ot, In rank, Address disp, In tn, In tt, In w, Out ierror),
     MPI_Get(buffer(o), *on, type(ot), *rank, *disp, *tn, type(tt), win(w)))
BOTH(put, (Choice o, In on, In ot, In rank, Address disp, In tn, In tt, In w, Out ierror),
     MPI_Put(buffer(o), *on, type(ot), *rank, *disp, *tn, type(tt), win(w)))
BOTH(rget, (Choice o, In on, In ot, In rank, Address disp, In tn, In tt, In w, Out request, Out ierror),
     MPI_Rget(buffer(o), *on, type(ot), *rank, *disp, *tn, type(tt), win(w), Started(request)))
BOTH(rput, (Choice o, In on, In ot, In rank, Address disp, In tn, In tt, In w, Out request, Out ierror),
     MPI_Rput(buffer(o), *on, type(ot), *rank, *disp, *tn, type(tt), win(w), Started(request)))
BOTH(accumulate, (Choice o, In on, In ot, In rank, Address disp, In tn, In tt, In how, In w, Out ierror),
     MPI_Accumulate(buffer(o), *on, type(ot), *rank, *disp, *tn, type(tt), op(how), win(w)))
BOTH(raccumulate,
     (Choice o, In on, In ot, In rank, Address disp, In tn, In tt, In how, In w, Out request, Out ierror),
     MPI_Raccumulate(buffer(o), *on, type(ot), *rank, *disp, *tn, type(tt), op(how), win(w),
                     Started(request)))
BOTH(get_accumulate,
     (Choice o, In on, In ot, Choice r, In rn, In rt, In rank, Address disp, In tn, In tt, In how, In w,
      Out ierror),
     MPI_Get_accumulate(buffer(o), *on, type(ot), buffer(r), *rn, type(rt), *rank, *disp, *tn, type(tt),
                        op(how), win(w)))
BOTH(rget_accumulate,
     (Choice o, In on, In ot, Choice r, In rn, In rt, In rank, Address disp, In tn, In tt, In how, In w,
      Out request, Out ierror),
     MPI_Rget_accumulate(buffer(o), *on, type(ot), buffer(r), *rn, type(rt), *rank, *disp, *tn, type(tt),
                         op(how), win(w), Started(request)))
BOTH(fetch_and_op, (Choice o, Choice r, In t, In rank, Address disp, In how, In w, Out ierror),
     MPI_Fetch_and_op(buffer(o), buffer(r), type(t), *rank, *disp, op(how), win(w)))
BOTH(compare_and_swap, (Choice o, Choice c, Choice r, In t, In rank, Address disp, In w, Out ierror),
     MPI_Compare_and_swap(buffer(o), buffer(c), buffer(r), type(t), *rank, *disp, win(w)))

BOTH(win_create, (Choice base, Address size, In unit, In i, In c, Out w, Out ierror),
     MPI_Win_create(buffer(base), *size, *unit, info(i), comm(c), WinOut(w)))
BOTH(win_allocate, (Address size, In unit, In i, In c, void* base, Out w, Out ierror),
     MPI_Win_allocate(*size, *unit, info(i), comm(c), base, WinOut(w)))
BOTH(win_allocate_shared, (Address size, In unit, In i, In c, void* base, Out w, Out ierror),
     MPI_Win_allocate_shared(*size, *unit, info(i), comm(c), base, WinOut(w)))
NEARFETCH_FORTRAN_ALIAS(win_allocate, win_allocate_cptr,
                        (Address size, In unit, In i, In c, void* base, Out w, Out ierror))
NEARFETCH_FORTRAN_ALIAS(win_allocate_shared, win_allocate_shared_cptr,
                        (Address size, In unit, In i, In c, void* base, Out w, Out ierror))
BOTH(win_create_dynamic, (In i, In c, Out w, Out ierror), MPI_Win_create_dynamic(info(i), comm(c), WinOut(w)))
BOTH(win_free, (Out w, Out ierror), MPI_Win_free(WinOut(w, win(w))))
BOTH(win_set_info, (In w, In i, Out ierror), MPI_Win_set_info(win(w), info(i)))

BOTH(win_lock, (In kind, In rank, In assertion, In w, Out ierror),
     MPI_Win_lock(*kind, *rank, *assertion, win(w)))
BOTH(win_lock_all, (In assertion, In w, Out ierror), MPI_Win_lock_all(*assertion, win(w)))
BOTH(win_unlock, (In rank, In w, Out ierror), MPI_Win_unlock(*rank, win(w)))
BOTH(win_unlock_all, (In w, Out ierror), MPI_Win_unlock_all(win(w)))
BOTH(win_flush, (In rank, In w, Out ierror), MPI_Win_flush(*rank, win(w)))
BOTH(win_flush_all, (In w, Out ierror), MPI_Win_flush_all(win(w)))
BOTH(win_flush_local, (In rank, In w, Out ierror), MPI_Win_flush_local(*rank, win(w)))
BOTH(win_flush_local_all, (In w, Out ierror), MPI_Win_flush_local_all(win(w)))
BOTH(win_sync, (In w, Out ierror), MPI_Win_sync(win(w)))
BOTH(win_fence, (In assertion, In w, Out ierror), MPI_Win_fence(*assertion, win(w)))
BOTH(win_start, (In g, In assertion, In w, Out ierror), MPI_Win_start(group(g), *assertion, win(w)))
BOTH(win_complete, (In w, Out ierror), MPI_Win_complete(win(w)))

BOTH(wait, (Out request, Out status, Out ierror), MPI_Wait(Requests(request), Statuses(status)))
BOTH(waitall, (In n, Out requests, Out statuses, Out ierror),
     MPI_Waitall(*n, Requests(*n, requests), Statuses(*n, statuses)))
BOTH(waitany, (In n, Out requests, Out index, Out status, Out ierror),
     MPI_Waitany(*n, Requests(*n, requests), Indices(index), Statuses(status)))
BOTH(waitsome, (In n, Out requests, Out done, Out indices, Out statuses, Out ierror),
     MPI_Waitsome(*n, Requests(*n, requests), Number(done), Indices(*n, indices), Statuses(*n, statuses)))
BOTH(test, (Out request, Out flag, Out status, Out ierror),
     MPI_Test(Requests(request), Flag(flag), Statuses(status)))
BOTH(testall, (In n, Out requests, Out flag, Out statuses, Out ierror),
     MPI_Testall(*n, Requests(*n, requests), Flag(flag), Statuses(*n, statuses)))
BOTH(testany, (In n, Out requests, Out index, Out flag, Out status, Out ierror),
     MPI_Testany(*n, Requests(*n, requests), Indices(index), Flag(flag), Statuses(status)))
BOTH(testsome, (In n, Out requests, Out done, Out indices, Out statuses, Out ierror),
     MPI_Testsome(*n, Requests(*n, requests), Number(done), Indices(*n, indices), Statuses(*n, statuses)))
BOTH(request_free, (Out request, Out ierror), MPI_Request_free(Requests(request)))
BOTH(request_get_status, (In request, Out flag, Out status, Out ierror),
     MPI_Request_get_status(PMPI_Request_f2c(*request), Flag(flag), Statuses(status)))

#endif  // OPEN_MPI
