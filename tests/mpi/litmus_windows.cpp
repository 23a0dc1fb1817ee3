// SPDX-License-Identifier: Apache-2.0
// Litmus tests: the calls of one-sided communication, those that tell something and those that do not.
#include "litmus.hpp"

using namespace litmus;

namespace {

/// A window beside, in the mode of the environment. What is told through it is told to all windows.
std::vector<Litmus> windows(const Window& flags, MPI_Win exposed) {
    static MPI_Win made;
    static void* base;
    static MPI_Group only_reader, only_writer;
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    const int last = reader(), first = writer;
    MPI_Group_incl(world, 1, &last, &only_reader);
    MPI_Group_incl(world, 1, &first, &only_writer);
    MPI_Group_free(&world);
    const auto free_made = [] { CHECK_MPI(MPI_Win_free(&made)); };
    std::vector<Litmus> all{
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
        {"MPI_Win_fence", [exposed] { CHECK_MPI(MPI_Win_fence(0, exposed)); },
         [exposed] { CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, exposed)); }},
        {"MPI_Win_wait",
         [exposed] {
             if (reads()) {
                 CHECK_MPI(MPI_Win_post(only_writer, 0, exposed));
                 CHECK_MPI(MPI_Win_wait(exposed));
             }
             if (writes()) {
                 CHECK_MPI(MPI_Win_start(only_reader, 0, exposed));
                 CHECK_MPI(MPI_Win_complete(exposed));
             }
         }},
        {"MPI_Win_test",
         [exposed] {
             if (reads()) {
                 CHECK_MPI(MPI_Win_post(only_writer, 0, exposed));
                 until([exposed](int* flag) { return MPI_Win_test(exposed, flag); });
             }
             if (writes()) {
                 CHECK_MPI(MPI_Win_start(only_reader, 0, exposed));
                 CHECK_MPI(MPI_Win_complete(exposed));
             }
         }},
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
    // Flags: the writer raises one under a lock or by an atomic, the reader looks again and again.
    std::int64_t* const flag = flags.as<std::int64_t>();
    const auto raise_locked = [&flags, flag] {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank(), 0, flags));
        ++*flag;
        CHECK_MPI(MPI_Win_unlock(rank(), flags));
    };
    static std::int64_t raised = 0;
    all.push_back({"MPI_Win_lock", [=, &flags] {
                       ++raised;
                       if (writes()) raise_locked();
                       std::int64_t value = 0;
                       while (reads() && value != raised) {
                           CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, writer, 0, flags));
                           CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, writer, 0, 1, MPI_INT64_T, flags));
                           CHECK_MPI(MPI_Win_unlock(writer, flags));
                       }
                   }});
    all.push_back({"MPI_Win_lock_all", [=, &flags] {
                       ++raised;
                       if (writes()) raise_locked();
                       std::int64_t value = 0;
                       while (reads() && value != raised) {
                           CHECK_MPI(MPI_Win_lock_all(0, flags));
                           CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, writer, 0, 1, MPI_INT64_T, flags));
                           CHECK_MPI(MPI_Win_unlock_all(flags));
                       }
                   }});
    return all;
}

using Read = std::function<void(std::int64_t*)>;

std::vector<Litmus> atomics(MPI_Win flags) {
    static const std::int64_t one = 1, nothing = 0;
    static std::int64_t raised = 0;
    const auto by_atomic = [flags](const char* calls, Read read) {
        return Litmus{calls, [flags, read] {
                          ++raised;
                          if (writes()) {
                              CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, writer, 0, 1, MPI_INT64_T,
                                                       MPI_SUM, flags));
                              CHECK_MPI(MPI_Win_flush(writer, flags));
                          }
                          std::int64_t value = 0;
                          while (reads() && value != raised) {
                              read(&value);
                              CHECK_MPI(MPI_Win_flush(writer, flags));
                          }
                      }};
    };
    std::vector<Litmus> all{
        by_atomic("MPI_Fetch_and_op",
                  [=](std::int64_t* value) {
                      CHECK_MPI(MPI_Fetch_and_op(&nothing, value, MPI_INT64_T, writer, 0, MPI_SUM, flags));
                  }),
        by_atomic("MPI_Fetch_and_op",
                  [=](std::int64_t* value) {
                      CHECK_MPI(MPI_Fetch_and_op(nullptr, value, MPI_INT64_T, writer, 0, MPI_NO_OP, flags));
                  }),
        by_atomic("MPI_Get_accumulate",
                  [=](std::int64_t* value) {
                      CHECK_MPI(MPI_Get_accumulate(&nothing, 1, MPI_INT64_T, value, 1, MPI_INT64_T, writer, 0,
                                                   1, MPI_INT64_T, MPI_SUM, flags));
                  }),
        by_atomic("MPI_Get_accumulate",
                  [=](std::int64_t* value) {
                      CHECK_MPI(MPI_Get_accumulate(nullptr, 0, MPI_INT64_T, value, 1, MPI_INT64_T, writer, 0,
                                                   1, MPI_INT64_T, MPI_NO_OP, flags));
                  }),
        by_atomic("MPI_Rget_accumulate MPI_Wait",
                  [=](std::int64_t* value) {
                      MPI_Request atomic;
                      CHECK_MPI(MPI_Rget_accumulate(nullptr, 0, MPI_INT64_T, value, 1, MPI_INT64_T, writer, 0,
                                                    1, MPI_INT64_T, MPI_NO_OP, flags, &atomic));
                      CHECK_MPI(MPI_Wait(&atomic, MPI_STATUS_IGNORE));
                  }),
    };
    if (can_swap(Kind::allocate))
        all.push_back(by_atomic("MPI_Compare_and_swap", [=](std::int64_t* value) {
            CHECK_MPI(MPI_Compare_and_swap(&nothing, &nothing, value, MPI_INT64_T, writer, 0, flags));
        }));
    return all;
}

/// The writer's put into the reader's own memory is seen by a load, and MPI_Win_sync stands between.
std::vector<Litmus> loads(const Window& flags) {
    static std::int64_t raised = 0;
    return {{"MPI_Win_sync", [&flags] {
                 ++raised;
                 if (writes()) {
                     CHECK_MPI(MPI_Put(&raised, 1, MPI_INT64_T, reader(), 1, 1, MPI_INT64_T, flags));
                     CHECK_MPI(MPI_Win_flush(reader(), flags));
                 }
                 const volatile std::int64_t* const flag = flags.as<std::int64_t>() + 1;
                 while (reads() && *flag != raised) {
                     int nothing = 0;  // the library has to be entered for the put to arrive
                     CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &nothing, MPI_STATUS_IGNORE));
                     CHECK_MPI(MPI_Win_sync(flags));
                 }
             }}};
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
        CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, writer, 16, 1, MPI_INT64_T, MPI_SUM, data));
        CHECK_MPI(MPI_Win_flush(writer, data));
    });
    keeps(data, "send to oneself", [] {
        MPI_Request sent;
        CHECK_MPI(MPI_Isend(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &sent));
        CHECK_MPI(MPI_Request_free(&sent));
    });
    keeps(data, "a probe that finds nothing", [] {
        int flag = 1;
        CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK_EQ(flag, 0);
    });
    // A lock taken before, released meanwhile.
    barrier();
    if (reads()) CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, writer, 0, flags));
    if (reads()) {
        get(data, writer, 0);
        get(data, writer, 8);
        const unsigned long long before = counter(data, "hits");
        CHECK_MPI(MPI_Win_unlock(writer, flags));
        get(data, writer, 0);
        if (counts_hits()) CHECK_EQ(counter(data, "hits"), before + 1);
    }
    barrier();
}

void all() {
    Data data;
    {
        const Window flags(64, 8), exposed(64, 8), atomic(64, 8);
        std::memset(flags.bytes(), 0, 64);
        std::memset(atomic.bytes(), 0, 64);
        barrier();
        run_all(data, windows(flags, exposed));
        what_keeps(data, flags);
        const LockAll epoch(atomic);
        run_all(data, atomics(atomic));
        run_all(data, loads(atomic));
        barrier();
    }
    two_windows();
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, 100);
    if (size() == 1) return program.skip("a writer and a reader are needed");
    all();
    return program.finish();
}
