// SPDX-License-Identifier: Apache-2.0
// Litmus tests: the calls of one-sided communication, those that tell something and those that do not.
#include <array>

#include "litmus.hpp"

using namespace litmus;

namespace {

/// Windows beside, in the mode of the environment: that they are made and freed is told to all windows.
std::vector<Litmus> creations() {
    static MPI_Win made;
    static void* base;
    const auto free_made = [] { CHECK_MPI(MPI_Win_free(&made)); };
    return {
        {"MPI_Win_allocate",
         [] { CHECK_MPI(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made)); }, free_made},
        {"MPI_Win_allocate_shared",
         [] { CHECK_MPI(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made)); },
         free_made},
        {"MPI_Win_create_dynamic",
         [] { CHECK_MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &made)); }, free_made},
        {"MPI_Win_create MPI_Win_free",
         [] {
             static char memory[64];
             CHECK_MPI(MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made));
             CHECK_MPI(MPI_Win_free(&made));
         }},
    };
}

MPI_Group group_of(int member) {
    MPI_Group world, alone;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &member, &alone);
    MPI_Group_free(&world);
    return alone;
}

/// EpochTracker that all ranks take part in, or both sides.
std::vector<Litmus> active_epochs(MPI_Win exposed) {
    static const MPI_Group only_reader = group_of(reader()), only_writer = group_of(writer);
    // The reader exposes its memory until the writer has had access.
    const auto by_exposure = [exposed](const char* calls, std::function<void()> wait) {
        return Litmus{calls, [exposed, wait] {
                          if (reads()) {
                              CHECK_MPI(MPI_Win_post(only_writer, 0, exposed));
                              wait();
                          }
                          if (writes()) {
                              CHECK_MPI(MPI_Win_start(only_reader, 0, exposed));
                              CHECK_MPI(MPI_Win_complete(exposed));
                          }
                      }};
    };
    return {
        {"MPI_Win_fence", [exposed] { CHECK_MPI(MPI_Win_fence(0, exposed)); },
         [exposed] { CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, exposed)); }},
        by_exposure("MPI_Win_wait", [exposed] { CHECK_MPI(MPI_Win_wait(exposed)); }),
        by_exposure("MPI_Win_test",
                    [exposed] { until([exposed](int* flag) { return MPI_Win_test(exposed, flag); }); }),
        // The get cannot be over before the writer has posted.
        {"MPI_Win_start MPI_Win_complete",
         [exposed] {
             if (reads()) {
                 std::int64_t value;
                 CHECK_MPI(MPI_Win_start(only_writer, 0, exposed));
                 CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, writer, 0, 1, MPI_INT64_T, exposed));
                 CHECK_MPI(MPI_Win_complete(exposed));
             }
             if (writes()) {
                 CHECK_MPI(MPI_Win_post(only_reader, 0, exposed));
                 CHECK_MPI(MPI_Win_wait(exposed));
             }
         }},
    };
}

/// The writer raises a flag under a lock, the reader looks again and again. A poll that brings news is an
/// acquire, which is not to show here: what polls compare of a get is its beginning, and the flag its end.
std::vector<Litmus> locks(const Window& flags) {
    static std::int64_t raised = 0;
    static std::array<std::int64_t, 32> seen;
    const auto raise = [&flags] {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, writer, 0, flags));
        ++flags.as<std::int64_t>()[seen.size() - 1];
        CHECK_MPI(MPI_Win_unlock(writer, flags));
    };
    const auto look = [&flags] {
        const int count = static_cast<int>(seen.size());
        CHECK_MPI(MPI_Get(seen.data(), count, MPI_INT64_T, writer, 0, count, MPI_INT64_T, flags));
    };
    return {by_flag("MPI_Win_lock", raised, raise,
                    [=, &flags](std::int64_t* value) {
                        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, writer, 0, flags));
                        look();
                        CHECK_MPI(MPI_Win_unlock(writer, flags));
                        *value = seen.back();
                        leave_time_for_a_lock();
                    }),
            by_flag("MPI_Win_lock_all", raised, raise, [=, &flags](std::int64_t* value) {
                CHECK_MPI(MPI_Win_lock_all(0, flags));
                look();
                CHECK_MPI(MPI_Win_unlock_all(flags));
                *value = seen.back();
                leave_time_for_a_lock();
            })};
}

std::vector<Litmus> atomics(MPI_Win flags) {
    static const std::int64_t nothing = 0;
    static std::int64_t raised = 0;
    std::vector<Litmus> all{
        by_atomic("MPI_Fetch_and_op", flags, raised,
                  [=](std::int64_t* value) {
                      CHECK_MPI(MPI_Fetch_and_op(&nothing, value, MPI_INT64_T, writer, 0, MPI_SUM, flags));
                  }),
        by_atomic("MPI_Fetch_and_op", flags, raised,
                  [=](std::int64_t* value) {
                      CHECK_MPI(MPI_Fetch_and_op(nullptr, value, MPI_INT64_T, writer, 0, MPI_NO_OP, flags));
                  }),
        by_atomic("MPI_Get_accumulate", flags, raised,
                  [=](std::int64_t* value) {
                      CHECK_MPI(MPI_Get_accumulate(&nothing, 1, MPI_INT64_T, value, 1, MPI_INT64_T, writer, 0,
                                                   1, MPI_INT64_T, MPI_SUM, flags));
                  }),
        by_atomic("MPI_Get_accumulate", flags, raised,
                  [=](std::int64_t* value) {
                      CHECK_MPI(MPI_Get_accumulate(nullptr, 0, MPI_INT64_T, value, 1, MPI_INT64_T, writer, 0,
                                                   1, MPI_INT64_T, MPI_NO_OP, flags));
                  }),
        by_atomic("MPI_Rget_accumulate MPI_Wait", flags, raised,
                  [=](std::int64_t* value) {
                      MPI_Request atomic;
                      CHECK_MPI(MPI_Rget_accumulate(nullptr, 0, MPI_INT64_T, value, 1, MPI_INT64_T, writer, 0,
                                                    1, MPI_INT64_T, MPI_NO_OP, flags, &atomic));
                      CHECK_MPI(MPI_Wait(&atomic, MPI_STATUS_IGNORE));
                  }),
    };
    if (can_swap(Kind::allocate))
        all.push_back(by_atomic("MPI_Compare_and_swap", flags, raised, [=](std::int64_t* value) {
            CHECK_MPI(MPI_Compare_and_swap(&nothing, &nothing, value, MPI_INT64_T, writer, 0, flags));
        }));
    return all;
}

/// The writer's put into the reader's own memory is seen by a load, and MPI_Win_sync stands between.
std::vector<Litmus> loads(const Window& flags) {
    static std::int64_t raised = 0;
    return {by_flag(
        "MPI_Win_sync", raised,
        [&flags] {
            CHECK_MPI(MPI_Put(&raised, 1, MPI_INT64_T, reader(), 1, 1, MPI_INT64_T, flags));
            CHECK_MPI(MPI_Win_flush(reader(), flags));
        },
        [&flags](std::int64_t* value) {
            int nothing = 0;  // the library has to be entered for the put to arrive
            CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &nothing, MPI_STATUS_IGNORE));
            *value = static_cast<const volatile std::int64_t*>(flags.as<std::int64_t>())[1];
            CHECK_MPI(MPI_Win_sync(flags));
        })};
}

/// Two windows over the same memory: what a process writes through one it reads through the other.
void two_windows() {
    part("two windows over the same memory");
    const Info info{{"nearfetch_mode", "acquire"}, {"nearfetch_bypass", "off"}};
    if (!can_create()) return;
    const Window one(64, 8, Kind::create, info);
    MPI_Win other;
    CHECK_MPI(MPI_Win_create(one.bytes(), 64, 8, info, MPI_COMM_WORLD, &other));
    std::memset(one.bytes(), 0, 64);
    barrier();
    CHECK_MPI(MPI_Win_lock_all(0, one));
    CHECK_MPI(MPI_Win_lock_all(0, other));
    if (reads()) {
        CHECK_EQ(get(other, writer, 0), 0);
        CHECK_EQ(get(other, writer, 4), 0);
        const std::int64_t value = 7, more = 3;
        CHECK_MPI(MPI_Put(&value, 1, MPI_INT64_T, writer, 0, 1, MPI_INT64_T, one));
        CHECK_MPI(MPI_Win_flush(writer, one));
        CHECK_EQ(get(other, writer, 0), 7);
        CHECK_EQ(get(other, writer, 4), 0);
        CHECK_MPI(MPI_Accumulate(&more, 1, MPI_INT64_T, writer, 0, 1, MPI_INT64_T, MPI_SUM, one));
        CHECK_MPI(MPI_Win_flush(writer, one));
        CHECK_EQ(get(other, writer, 0), 10);
    }
    CHECK_MPI(MPI_Win_unlock_all(other));
    CHECK_MPI(MPI_Win_unlock_all(one));
    CHECK_MPI(MPI_Win_free(&other));
}

/// What tells the reader nothing: the second get hits.
void keeps(MPI_Win data, const char* name, const std::function<void()>& call) {
    part(name);
    barrier();
    if (reads()) {
        get(data, writer, 0);
        get(data, writer, 8);
        const unsigned long long before = counter(data, "hits");
        call();
        get(data, writer, 0);
        if (counts_hits()) CHECK_EQ(counter(data, "hits"), before + 1);
    }
    barrier();
}

void what_keeps(MPI_Win data, const Window& flags) {
    static const std::int64_t one = 1;
    keeps(data, "flush", [=] { CHECK_MPI(MPI_Win_flush(writer, data)); });
    keeps(data, "flush_local", [=] { CHECK_MPI(MPI_Win_flush_local(writer, data)); });
    keeps(data, "flush_all", [=] { CHECK_MPI(MPI_Win_flush_all(data)); });
    keeps(data, "put", [=] {
        CHECK_MPI(MPI_Put(&one, 1, MPI_INT64_T, writer, 16, 1, MPI_INT64_T, data));
        CHECK_MPI(MPI_Win_flush(writer, data));
    });
    keeps(data, "accumulate", [=] {
        // In another block than what is read: of its own it forgets everything.
        CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, writer, 600, 1, MPI_INT64_T, MPI_SUM, data));
        CHECK_MPI(MPI_Win_flush(writer, data));
    });
    keeps(data, "send to nobody", [] {
        MPI_Request sent;
        CHECK_MPI(MPI_Isend(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &sent));
        CHECK_MPI(MPI_Request_free(&sent));
    });
    keeps(data, "a probe that finds nothing", [] {
        int flag = 1;
        CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK_EQ(flag, 0);
    });
    if (reads()) CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, writer, 0, flags));
    keeps(data, "unlock", [&flags] { CHECK_MPI(MPI_Win_unlock(writer, flags)); });
}

void all() {
    Data data;
    {
        const Window flags(256, 8), exposed(64, 8), atomic(64, 8);
        std::memset(flags.bytes(), 0, 256);
        std::memset(atomic.bytes(), 0, 64);
        barrier();
        run_all(data, creations());
        run_all(data, active_epochs(exposed));
        run_all(data, locks(flags));
        what_keeps(data, flags);
        const LockAll epoch(atomic);
        run_all(data, atomics(atomic));
        run_all(data, loads(atomic));
        barrier();
    }
    two_windows();
}

}  // namespace

int main(int argc, char** argv) { return Program(argc, argv, 100).run_with_others(all); }
