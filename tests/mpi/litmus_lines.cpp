// SPDX-License-Identifier: Apache-2.0
// Litmus tests: lines of the table of calls that no other program tests by themselves. The reader is told of
// the change outside of MPI, so each call only has to acquire.
#include "litmus.hpp"

using namespace litmus;

namespace {

MPI_Comm made = MPI_COMM_NULL;
const auto free_made = [] {
    if (made != MPI_COMM_NULL) CHECK_MPI(MPI_Comm_free(&made));
};
const auto make_one = [] { CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &made)); };

Litmus by_comm(const char* call, std::function<int()> make) {
    return {call, [make] { CHECK_MPI(make()); }, free_made};
}

/// The ranks but the last, and the last: the two sides of an intercommunicator.
MPI_Comm half() {
    static const MPI_Comm side = [] {
        MPI_Comm one;
        CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, reads(), 0, &one));
        return one;
    }();
    return side;
}
int make_intercomm() {
    return MPI_Intercomm_create(half(), 0, MPI_COMM_WORLD, reads() ? 0 : reader(), 3, &made);
}

std::vector<Litmus> communicators() {
    static const MPI_Comm world = MPI_COMM_WORLD;
    static MPI_Comm merged;
    static int ends[64], neighbours[64], neighbour, weights = 1;
    for (int i = 0; i < size(); ++i)
        ends[i] = i + 1, neighbours[i] = (i + 1) % size();
    neighbour = right();
    return {
        by_comm("MPI_Comm_dup_with_info", [] { return MPI_Comm_dup_with_info(world, MPI_INFO_NULL, &made); }),
        {"MPI_Comm_free", free_made, [] {}, make_one},
        {"MPI_Comm_disconnect", [] { CHECK_MPI(MPI_Comm_disconnect(&made)); }, [] {}, make_one},
        {"MPI_Comm_set_info",
         [] {
             const Info info{{"nearfetch_litmus", "1"}};
             CHECK_MPI(MPI_Comm_set_info(made, info));
         },
         free_made, make_one},
        {"MPI_Cart_map",
         [] {
             int ranks = size(), periodic = 1, place;
             CHECK_MPI(MPI_Cart_map(world, 1, &ranks, &periodic, &place));
         }},
        {"MPI_Graph_map",
         [] {
             int place;
             CHECK_MPI(MPI_Graph_map(world, size(), ends, neighbours, &place));
         }},
        by_comm("MPI_Graph_create",
                [] { return MPI_Graph_create(world, size(), ends, neighbours, 0, &made); }),
        by_comm("MPI_Dist_graph_create_adjacent",
                [] {
                    int from = (rank() + size() - 1) % size();
                    return MPI_Dist_graph_create_adjacent(world, 1, &from, &weights, 1, &neighbour, &weights,
                                                          MPI_INFO_NULL, 0, &made);
                }),
        by_comm("MPI_Intercomm_create", make_intercomm),
        {"MPI_Intercomm_merge", [] { CHECK_MPI(MPI_Intercomm_merge(made, reads(), &merged)); },
         [] {
             CHECK_MPI(MPI_Comm_free(&merged));
             free_made();
         },
         [] { CHECK_MPI(make_intercomm()); }},
    };
}

/// Of calls that were tested in company only.
std::vector<Litmus> messages() {
    return {
        {"MPI_Mrecv",
         [] {
             if (reads()) CHECK_MPI(MPI_Mrecv(nullptr, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE));
         },
         [] {},
         [] {
             if (writes()) tell();
             if (reads()) CHECK_MPI(MPI_Mprobe(writer, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
         }},
        {"MPI_Buffer_detach",
         [] {
             void* memory;
             int bytes;
             if (reads()) CHECK_MPI(MPI_Buffer_detach(&memory, &bytes));
         },
         [] {},
         [] {
             static char memory[MPI_BSEND_OVERHEAD + 8];
             if (reads()) CHECK_MPI(MPI_Buffer_attach(memory, sizeof memory));
         }},
    };
}

/// What completes through a request, by one kind of call for all; the operations are started before.
std::vector<Litmus> requests() {
    static int in[64], out[64];
    static MPI_Comm copy;
    const auto wait = [] { CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE)); };
    return {
        {"MPI_Wait", wait, [] {},
         [] { CHECK_MPI(MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request)); }},
        {"MPI_Wait", wait, [] {},
         [] { CHECK_MPI(MPI_Ialltoall(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD, &request)); }},
        {"MPI_Wait", wait, [] { CHECK_MPI(MPI_Comm_free(&copy)); },
         [] { CHECK_MPI(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request)); }},
        {"MPI_Wait",
         [wait] {
             if (reads()) wait();
         },
         [] {},
         [] {
             if (writes()) tell();
             if (!reads()) return;
             CHECK_MPI(MPI_Mprobe(writer, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
             CHECK_MPI(MPI_Imrecv(nullptr, 0, MPI_BYTE, &message, &request));
         }},
    };
}

/// Windows, each call by itself.
std::vector<Litmus> windows_beside() {
    static MPI_Win beside;
    static MPI_Group all_others;
    alignas(8) static char memory[64];
    const auto create = [] {
        CHECK_MPI(MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &beside));
    };
    const auto free = [] { CHECK_MPI(MPI_Win_free(&beside)); };
    const auto post = [create] {
        create();
        MPI_Comm_group(MPI_COMM_WORLD, &all_others);
        const int me = rank();
        MPI_Group others;
        MPI_Group_excl(all_others, 1, &me, &others);
        MPI_Group_free(&all_others);
        all_others = others;
        CHECK_MPI(MPI_Win_post(all_others, 0, beside));
    };
    const auto end = [free] {
        CHECK_MPI(MPI_Win_wait(beside));
        MPI_Group_free(&all_others);
        free();
    };
    static std::int64_t result;
    std::vector<Litmus> all{
        {"MPI_Win_start", [] { CHECK_MPI(MPI_Win_start(all_others, 0, beside)); },
         [end] {
             CHECK_MPI(MPI_Win_complete(beside));
             end();
         },
         post},
        {"MPI_Win_complete", [] { CHECK_MPI(MPI_Win_complete(beside)); }, end,
         [post] {
             post();
             CHECK_MPI(MPI_Win_start(all_others, 0, beside));
         }},
    };
    if (can_swap(Kind::create))
        all.push_back(
            {"MPI_Compare_and_swap",
             [] {
                 static const std::int64_t nothing = 0;
                 if (!reads()) return;
                 CHECK_MPI(MPI_Compare_and_swap(&nothing, &nothing, &result, MPI_INT64_T, writer, 0, beside));
                 CHECK_MPI(MPI_Win_flush(writer, beside));
             },
             [free] {
                 CHECK_MPI(MPI_Win_unlock_all(beside));
                 free();
             },
             [create] {
                 create();
                 CHECK_MPI(MPI_Win_lock_all(0, beside));
             }});
    if (can_create()) {
        all.push_back({"MPI_Win_create", create, free});
        all.push_back({"MPI_Win_free", free, [] {}, create});
    }
    const auto allocate = [] {
        void* base;
        CHECK_MPI(MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &beside));
        std::memset(base, 0, 64);
        barrier();
    };
    all.push_back({"MPI_Win_set_info",
                   [] {
                       const Info info{{"no_locks", "false"}};
                       CHECK_MPI(MPI_Win_set_info(beside, info));
                   },
                   free, allocate});
    all.push_back({"MPI_Rget_accumulate",
                   [] {
                       if (!reads()) return;
                       CHECK_MPI(MPI_Rget_accumulate(nullptr, 0, MPI_INT64_T, &result, 1, MPI_INT64_T, writer,
                                                     0, 1, MPI_INT64_T, MPI_NO_OP, beside, &request));
                       CHECK_MPI(MPI_Win_flush(writer, beside));
                   },
                   [free] {
                       if (reads()) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
                       CHECK_MPI(MPI_Win_unlock_all(beside));
                       free();
                   },
                   [allocate] {
                       allocate();
                       CHECK_MPI(MPI_Win_lock_all(0, beside));
                   }});
    return all;
}

/// Processes that meet. A call acquires whatever comes of it, and what is refused starts nothing and waits
/// for nobody: real spawns and connections are slow, and with Open MPI 4.1 one in dozens hangs.
std::vector<Litmus> meetings() {
    static const auto refused = [](int (*call)()) {
        return [call] {
            if (!reads()) return;
            for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF})
                MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
            CHECK(call() != MPI_SUCCESS);
            for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF})
                MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
        };
    };
    static MPI_Comm met;
    static char port[MPI_MAX_PORT_NAME] = "nowhere", command[] = "nothing";
    return {
        {"MPI_Comm_accept",
         refused([] { return MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_NULL, &met); })},
        {"MPI_Comm_connect",
         refused([] { return MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_NULL, &met); })},
#if !defined(OMPI_MAJOR_VERSION)
        // Open MPI 4.1 does not refuse a socket that is none, and waits.
        {"MPI_Comm_join", refused([] { return MPI_Comm_join(-1, &met); })},
#endif
        {"MPI_Comm_spawn", refused([] {
             return MPI_Comm_spawn(command, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_NULL, &met,
                                   MPI_ERRCODES_IGNORE);
         })},
        {"MPI_Comm_spawn_multiple", refused([] {
             char* commands[] = {command};
             const int one = 1;
             const MPI_Info info = MPI_INFO_NULL;
             return MPI_Comm_spawn_multiple(1, commands, MPI_ARGVS_NULL, &one, &info, 0, MPI_COMM_NULL, &met,
                                            MPI_ERRCODES_IGNORE);
         })},
        {"MPI_Lookup_name",
         [] {
             if (reads()) CHECK_MPI(MPI_Lookup_name("nearfetch-litmus", MPI_INFO_NULL, port));
         },
         [] {
             if (reads()) CHECK_MPI(MPI_Unpublish_name("nearfetch-litmus", MPI_INFO_NULL, port));
         },
         [] {
             if (reads()) CHECK_MPI(MPI_Publish_name("nearfetch-litmus", MPI_INFO_NULL, port));
         }},
    };
}

#if MPI_VERSION >= 4
std::vector<Litmus> of_mpi_4() {
    static MPI_Group group, one;
    static MPI_Session session;
    return {
        {"MPI_Comm_create_from_group",
         [] {
             CHECK_MPI(
                 MPI_Comm_create_from_group(group, "litmus", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made));
         },
         [] {
             free_made();
             CHECK_MPI(MPI_Group_free(&group));
         },
         [] { CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &group)); }},
        {"MPI_Intercomm_create_from_groups",
         [] {
             CHECK_MPI(MPI_Intercomm_create_from_groups(group, 0, one, 0, "litmus", MPI_INFO_NULL,
                                                        MPI_ERRORS_ARE_FATAL, &made));
         },
         [] {
             free_made();
             CHECK_MPI(MPI_Group_free(&group));
             CHECK_MPI(MPI_Group_free(&one));
         },
         [] {
             MPI_Group world;
             const int last = reader();
             CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
             CHECK_MPI(MPI_Group_incl(world, 1, &last, reads() ? &group : &one));
             CHECK_MPI(MPI_Group_excl(world, 1, &last, reads() ? &one : &group));
             CHECK_MPI(MPI_Group_free(&world));
         }},
        {"MPI_Session_finalize", [] { CHECK_MPI(MPI_Session_finalize(&session)); }, [] {},
         [] { CHECK_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session)); }},
    };
}
#endif

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
std::vector<Litmus> of_mpi_4_1() {
    static MPI_Session session;
    static char memory[MPI_BSEND_OVERHEAD + 8];
    static void* left;
    static int bytes, index, done;
    const auto post = [] {
        if (writes()) tell();
        if (reads()) CHECK_MPI(MPI_Irecv(nullptr, 0, MPI_BYTE, writer, 2, MPI_COMM_WORLD, &request));
    };
    const auto wait = [] {
        if (reads()) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    };
    const auto by_reader = [](int (*make)()) {
        return [make] {
            if (reads()) CHECK_MPI(make());
        };
    };
    const auto attach = by_reader([] { return MPI_Buffer_attach(memory, sizeof memory); });
    const auto detach = by_reader([] { return MPI_Buffer_detach(&left, &bytes); });
    const auto attach_comm =
        by_reader([] { return MPI_Comm_attach_buffer(MPI_COMM_WORLD, memory, sizeof memory); });
    const auto detach_comm = by_reader([] { return MPI_Comm_detach_buffer(MPI_COMM_WORLD, &left, &bytes); });
    const auto begin = [] { return MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session); };
    const auto attach_session = [begin] {
        CHECK_MPI(begin());
        CHECK_MPI(MPI_Session_attach_buffer(session, memory, sizeof memory));
    };
    const auto detach_session = [] { CHECK_MPI(MPI_Session_detach_buffer(session, &left, &bytes)); };
    const auto end_session = [] { CHECK_MPI(MPI_Session_finalize(&session)); };
    return {
        {"MPI_Request_get_status_all", by_reader([]() -> int {
             int flag = 0;
             while (!flag)
                 MPI_Request_get_status_all(1, &request, &flag, MPI_STATUSES_IGNORE);
             return MPI_SUCCESS;
         }),
         wait, post},
        {"MPI_Request_get_status_any", by_reader([]() -> int {
             int flag = 0;
             while (!flag)
                 MPI_Request_get_status_any(1, &request, &index, &flag, MPI_STATUS_IGNORE);
             return MPI_SUCCESS;
         }),
         wait, post},
        {"MPI_Request_get_status_some", by_reader([] {
             return MPI_Request_get_status_some(1, &request, &done, &index, MPI_STATUSES_IGNORE);
         }),
         wait, post},
        {"MPI_Buffer_flush", by_reader([] { return MPI_Buffer_flush(); }), detach, attach},
        {"MPI_Comm_flush_buffer", by_reader([] { return MPI_Comm_flush_buffer(MPI_COMM_WORLD); }),
         detach_comm, attach_comm},
        {"MPI_Comm_detach_buffer", detach_comm, [] {}, attach_comm},
        {"MPI_Session_flush_buffer", [] { CHECK_MPI(MPI_Session_flush_buffer(session)); },
         [=] {
             detach_session();
             end_session();
         },
         attach_session},
        {"MPI_Session_detach_buffer", detach_session, end_session, attach_session},
    };
}
#endif

void all() {
    Data data(Told::outside);
    run_all(data, messages());
    run_all(data, requests());
    run_all(data, communicators());
    run_all(data, windows_beside());
    run_all(data, meetings());
#if MPI_VERSION >= 4
    run_all(data, of_mpi_4());
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    run_all(data, of_mpi_4_1());
#endif
}

}  // namespace

int main(int argc, char** argv) { return Program(argc, argv, 100).run_with_others(all); }
