// SPDX-License-Identifier: Apache-2.0

// Linked into a program that repeats itself, and begins each repetition with a barrier: its repetitions are
// interleaved (ABBA), four at a time: through whatever is preloaded, past it, past it, and through it. Each
// four have their own padding (padding.hpp). Two processes, with a library and without, differ by more than
// the library does: by where their memory lies, and by what else the machine has to do meanwhile.
//
// Barriers always go through, because a layer that keeps what was read has to know of them.

#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "calls.hpp"
#include "padding.hpp"

namespace {

using nearfetch::bench::Calls;
using nearfetch::bench::Paddings;
using nearfetch::bench::past;

/// How many barriers come before that of the first repetition, and how many each repetition has.
constexpr unsigned barriers_before = NEARFETCH_BARRIERS_BEFORE;
constexpr unsigned barriers_each = NEARFETCH_BARRIERS_EACH;

template <class Function>
void find_next(Function*& call, const char* name) {
    void* const found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) {
        std::fprintf(stderr, "no %s (MPI is not linked as a shared library): use one that is\n", name);
        std::abort();
    }
    call = reinterpret_cast<Function*>(found);
}

/// Those that an interleaved program makes go through what is preloaded.
Calls find_all_next() {
    Calls calls = past;
    find_next(calls.get, "MPI_Get");
    find_next(calls.flush, "MPI_Win_flush");
    find_next(calls.lock, "MPI_Win_lock");
    find_next(calls.unlock, "MPI_Win_unlock");
    find_next(calls.lock_all, "MPI_Win_lock_all");
    find_next(calls.unlock_all, "MPI_Win_unlock_all");
    find_next(calls.barrier, "MPI_Barrier");
    return calls;
}

const Paddings all_next(find_all_next());
const Paddings all_past(past);
const Calls* now = &all_next.in(0);
unsigned barriers = 0;

void begin(unsigned repetition) noexcept {
    const bool through = repetition % 4 == 0 || repetition % 4 == 3;
    now = &(through ? all_next : all_past).in(repetition / 4);
}

}  // namespace

extern "C" {

int MPI_Get(void* origin, int origin_count, MPI_Datatype origin_type, int target, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win win) {
    return now->get(origin, origin_count, origin_type, target, displacement, target_count, target_type, win);
}
int MPI_Win_flush(int target, MPI_Win win) { return now->flush(target, win); }
int MPI_Win_lock(int type, int target, int assert, MPI_Win win) {
    return now->lock(type, target, assert, win);
}
int MPI_Win_unlock(int target, MPI_Win win) { return now->unlock(target, win); }
int MPI_Win_lock_all(int assert, MPI_Win win) { return now->lock_all(assert, win); }
int MPI_Win_unlock_all(MPI_Win win) { return now->unlock_all(win); }

int MPI_Barrier(MPI_Comm comm) {
    const int status = all_next.in(0).barrier(comm);
    const unsigned before = barriers++;
    if (before >= barriers_before && (before - barriers_before) % barriers_each == 0)
        begin((before - barriers_before) / barriers_each);
    return status;
}
}
