// SPDX-License-Identifier: Apache-2.0

// Linked into a program that repeats itself, and begins each repetition with a barrier: its repetitions take
// turns, four at a time, through whatever is preloaded, past it, past it, and through it. Two processes, with
// a library and without, differ by more than the library does: by where their memory lies, and by what else
// the machine has to do meanwhile.
//
// Barriers always go through, because a layer that keeps what was read has to know of them.

#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace {

/// How many barriers come before that of the first repetition: lcc has one when its graph is there.
constexpr unsigned barriers_before = 1;

template <class Function>
Function* next(const char* name) {
    void* const found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) {
        std::fprintf(stderr, "no %s (MPI is not linked as a shared library): use one that is\n", name);
        std::abort();
    }
    return reinterpret_cast<Function*>(found);
}

/// A call, and where it goes at the moment.
template <auto* past>
class Turn;
template <class... Arguments, int (*past)(Arguments...)>
class Turn<past> {
    using Function = int(Arguments...);

  public:
    explicit Turn(const char* name) : through_(next<Function>(name)), now_(through_) {}
    int operator()(Arguments... arguments) const { return now_(arguments...); }
    void go(bool through) noexcept { now_ = through ? through_ : past; }

  private:
    Function* through_;
    Function* now_;
};

struct Turns {
    Turn<PMPI_Get> get{"MPI_Get"};
    Turn<PMPI_Win_flush> flush{"MPI_Win_flush"};
    Turn<PMPI_Win_lock> lock{"MPI_Win_lock"};
    Turn<PMPI_Win_unlock> unlock{"MPI_Win_unlock"};
    Turn<PMPI_Win_lock_all> lock_all{"MPI_Win_lock_all"};
    Turn<PMPI_Win_unlock_all> unlock_all{"MPI_Win_unlock_all"};

    void go(bool through) noexcept {
        get.go(through);
        flush.go(through);
        lock.go(through);
        unlock.go(through);
        lock_all.go(through);
        unlock_all.go(through);
    }
};

Turns turns;
decltype(&PMPI_Barrier) const barrier_through = next<decltype(PMPI_Barrier)>("MPI_Barrier");
unsigned barriers = 0;

}  // namespace

extern "C" {

int MPI_Get(void* origin, int origin_count, MPI_Datatype origin_type, int target, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win win) {
    return turns.get(origin, origin_count, origin_type, target, displacement, target_count, target_type, win);
}
int MPI_Win_flush(int target, MPI_Win win) { return turns.flush(target, win); }
int MPI_Win_lock(int type, int target, int assert, MPI_Win win) {
    return turns.lock(type, target, assert, win);
}
int MPI_Win_unlock(int target, MPI_Win win) { return turns.unlock(target, win); }
int MPI_Win_lock_all(int assert, MPI_Win win) { return turns.lock_all(assert, win); }
int MPI_Win_unlock_all(MPI_Win win) { return turns.unlock_all(win); }

int MPI_Barrier(MPI_Comm comm) {
    const int status = barrier_through(comm);
    if (barriers++ >= barriers_before) {
        const unsigned repetition = barriers - 1 - barriers_before;
        turns.go(repetition % 4 == 0 || repetition % 4 == 3);
    }
    return status;
}
}
