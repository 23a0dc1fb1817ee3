// SPDX-License-Identifier: Apache-2.0
// Litmus tests: messages, requests, collective operations, communicators and files.
#include "litmus.hpp"

#include <cstdio>

using namespace litmus;

namespace {

std::vector<Litmus> messages() {
    return {
        by_message("MPI_Recv", told),
        by_message("MPI_Sendrecv",
                   [] {
                       CHECK_MPI(MPI_Sendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, nullptr, 0, MPI_BYTE,
                                              writer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                   }),
        by_message("MPI_Sendrecv_replace",
                   [] {
                       CHECK_MPI(MPI_Sendrecv_replace(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, writer, 2,
                                                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                   }),
        by_message(
            "MPI_Probe", [] { CHECK_MPI(MPI_Probe(writer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); }, told),
        by_message(
            "MPI_Iprobe",
            [] {
                until(
                    [](int* flag) { return MPI_Iprobe(writer, 2, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE); });
            },
            told),
        by_message(
            "MPI_Mprobe",
            [] { CHECK_MPI(MPI_Mprobe(writer, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE)); },
            [] { CHECK_MPI(MPI_Mrecv(nullptr, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE)); }),
        by_message("MPI_Mprobe MPI_Mrecv",
                   [] {
                       CHECK_MPI(MPI_Mprobe(writer, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
                       CHECK_MPI(MPI_Mrecv(nullptr, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE));
                   }),
        by_message(
            "MPI_Improbe",
            [] {
                until([](int* flag) {
                    return MPI_Improbe(writer, 2, MPI_COMM_WORLD, flag, &message, MPI_STATUS_IGNORE);
                });
            },
            [] { CHECK_MPI(MPI_Mrecv(nullptr, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE)); }),
        // The other way round: the reader's send is over when the writer receives.
        {"MPI_Ssend",
         [] {
             if (writes())
                 CHECK_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, reader(), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
             if (reads()) CHECK_MPI(MPI_Ssend(nullptr, 0, MPI_BYTE, writer, 2, MPI_COMM_WORLD));
         }},
    };
}

std::vector<Litmus> requests() {
    static int index, done;
    return {
        by_request("MPI_Wait", [] { CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE)); }),
        by_request("MPI_Waitall", [] { CHECK_MPI(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE)); }),
        by_request("MPI_Waitany", [] { CHECK_MPI(MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE)); }),
        by_request("MPI_Waitsome",
                   [] { CHECK_MPI(MPI_Waitsome(1, &request, &done, &index, MPI_STATUSES_IGNORE)); }),
        by_request("MPI_Test",
                   [] { until([](int* flag) { return MPI_Test(&request, flag, MPI_STATUS_IGNORE); }); }),
        by_request(
            "MPI_Testall",
            [] { until([](int* flag) { return MPI_Testall(1, &request, flag, MPI_STATUSES_IGNORE); }); }),
        by_request("MPI_Testany",
                   [] {
                       until([](int* flag) {
                           return MPI_Testany(1, &request, &index, flag, MPI_STATUS_IGNORE);
                       });
                   }),
        by_request("MPI_Testsome",
                   [] {
                       until([](int* some) {
                           return MPI_Testsome(1, &request, some, &index, MPI_STATUSES_IGNORE);
                       });
                   }),
        by_request(
            "MPI_Request_get_status",
            [] { until([](int* flag) { return MPI_Request_get_status(request, flag, MPI_STATUS_IGNORE); }); },
            [] { CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE)); }),
        // Not only receives: a persistent one, a synchronous send, a collective operation.
        by_message(
            "MPI_Wait",
            [] {
                CHECK_MPI(MPI_Recv_init(nullptr, 0, MPI_BYTE, writer, 2, MPI_COMM_WORLD, &request));
                CHECK_MPI(MPI_Start(&request));
                CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            },
            [] { CHECK_MPI(MPI_Request_free(&request)); }),
        {"MPI_Wait",
         [] {
             CHECK_MPI(MPI_Ibarrier(MPI_COMM_WORLD, &request));
             CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
         }},
    };
}

#if MPI_VERSION >= 4
std::vector<Litmus> of_mpi_4() {
    static char byte;
    return {{"MPI_Parrived",
             [] {
                 if (writes()) {
                     CHECK_MPI(MPI_Psend_init(&byte, 1, 1, MPI_BYTE, reader(), 3, MPI_COMM_WORLD,
                                              MPI_INFO_NULL, &request));
                     CHECK_MPI(MPI_Start(&request));
                     CHECK_MPI(MPI_Pready(0, request));
                     CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
                 }
                 if (reads()) {
                     CHECK_MPI(MPI_Precv_init(&byte, 1, 1, MPI_BYTE, writer, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                                              &request));
                     CHECK_MPI(MPI_Start(&request));
                     until([](int* flag) { return MPI_Parrived(request, 0, flag); });
                 }
             },
             [] {
                 if (reads()) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
                 if (reads() || writes()) CHECK_MPI(MPI_Request_free(&request));
             }},
            {"MPI_Bcast_c", [] { CHECK_MPI(MPI_Bcast_c(&byte, 1, MPI_BYTE, writer, MPI_COMM_WORLD)); }}};
}
#endif

constexpr int most_ranks = 16;
int in[most_ranks], out[most_ranks], ones[most_ranks], places[most_ranks];
MPI_Datatype types[most_ranks];

std::vector<Litmus> collectives() {
    static int byte_places[most_ranks];
    for (int i = 0; i < most_ranks; ++i)
        ones[i] = 1, places[i] = i, byte_places[i] = 4 * i, types[i] = MPI_INT;
    const MPI_Comm world = MPI_COMM_WORLD;
    return {
        {"MPI_Barrier", [=] { CHECK_MPI(MPI_Barrier(world)); }},
        {"MPI_Bcast", [=] { CHECK_MPI(MPI_Bcast(in, 1, MPI_INT, writer, world)); }},
        {"MPI_Gather", [=] { CHECK_MPI(MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, reader(), world)); }},
        {"MPI_Gatherv",
         [=] { CHECK_MPI(MPI_Gatherv(in, 1, MPI_INT, out, ones, places, MPI_INT, reader(), world)); }},
        {"MPI_Scatter", [=] { CHECK_MPI(MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, writer, world)); }},
        {"MPI_Scatterv",
         [=] { CHECK_MPI(MPI_Scatterv(in, ones, places, MPI_INT, out, 1, MPI_INT, writer, world)); }},
        {"MPI_Allgather", [=] { CHECK_MPI(MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, world)); }},
        {"MPI_Allgatherv",
         [=] { CHECK_MPI(MPI_Allgatherv(in, 1, MPI_INT, out, ones, places, MPI_INT, world)); }},
        {"MPI_Alltoall", [=] { CHECK_MPI(MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, world)); }},
        {"MPI_Alltoallv",
         [=] { CHECK_MPI(MPI_Alltoallv(in, ones, places, MPI_INT, out, ones, places, MPI_INT, world)); }},
        {"MPI_Alltoallw",
         [=] {
             CHECK_MPI(MPI_Alltoallw(in, ones, byte_places, types, out, ones, byte_places, types, world));
         }},
        {"MPI_Reduce", [=] { CHECK_MPI(MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, reader(), world)); }},
        {"MPI_Allreduce", [=] { CHECK_MPI(MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, world)); }},
        {"MPI_Reduce_scatter",
         [=] { CHECK_MPI(MPI_Reduce_scatter(in, out, ones, MPI_INT, MPI_SUM, world)); }},
        {"MPI_Reduce_scatter_block",
         [=] { CHECK_MPI(MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, world)); }},
        {"MPI_Scan", [=] { CHECK_MPI(MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, world)); }},
        {"MPI_Exscan", [=] { CHECK_MPI(MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, world)); }},
    };
}

/// A ring: writer and reader are neighbours.
class Ring {
  public:
    Ring() {
        const int ranks = size(), periodic = 1;
        CHECK_MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &comm_));
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring() { MPI_Comm_free(&comm_); }
    operator MPI_Comm() const { return comm_; }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

std::vector<Litmus> with_neighbours(MPI_Comm ring) {
    static const MPI_Aint far_places[2] = {0, 4};
    return {
        {"MPI_Neighbor_allgather",
         [=] { CHECK_MPI(MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, ring)); }},
        {"MPI_Neighbor_allgatherv",
         [=] { CHECK_MPI(MPI_Neighbor_allgatherv(in, 1, MPI_INT, out, ones, places, MPI_INT, ring)); }},
        {"MPI_Neighbor_alltoall",
         [=] { CHECK_MPI(MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, ring)); }},
        {"MPI_Neighbor_alltoallv",
         [=] {
             CHECK_MPI(MPI_Neighbor_alltoallv(in, ones, places, MPI_INT, out, ones, places, MPI_INT, ring));
         }},
        {"MPI_Neighbor_alltoallw",
         [=] {
             CHECK_MPI(
                 MPI_Neighbor_alltoallw(in, ones, far_places, types, out, ones, far_places, types, ring));
         }},
    };
}

/// The library makes a communicator when all have agreed on it.
Litmus by_comm(const char* call, std::function<int(MPI_Comm*)> make) {
    static MPI_Comm made;
    return {call, [make] { CHECK_MPI(make(&made)); },
            [] {
                if (made != MPI_COMM_NULL) CHECK_MPI(MPI_Comm_free(&made));
            }};
}

std::vector<Litmus> communicators(MPI_Comm ring) {
    static int neighbour[1], degree[1], source[1];
    neighbour[0] = right();
    source[0] = rank();
    degree[0] = 1;
    const MPI_Comm world = MPI_COMM_WORLD;
    return {
        by_comm("MPI_Comm_dup", [=](MPI_Comm* made) { return MPI_Comm_dup(world, made); }),
        by_comm("MPI_Comm_dup_with_info",
                [=](MPI_Comm* made) { return MPI_Comm_dup_with_info(world, MPI_INFO_NULL, made); }),
        by_comm("MPI_Comm_split", [=](MPI_Comm* made) { return MPI_Comm_split(world, 0, 0, made); }),
        by_comm("MPI_Comm_split_type",
                [=](MPI_Comm* made) {
                    return MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, made);
                }),
        by_comm("MPI_Comm_create",
                [=](MPI_Comm* made) {
                    MPI_Group group;
                    MPI_Comm_group(world, &group);
                    const int status = MPI_Comm_create(world, group, made);
                    MPI_Group_free(&group);
                    return status;
                }),
        by_comm("MPI_Comm_create_group",
                [=](MPI_Comm* made) {
                    MPI_Group group;
                    MPI_Comm_group(world, &group);
                    const int status = MPI_Comm_create_group(world, group, 5, made);
                    MPI_Group_free(&group);
                    return status;
                }),
        by_comm("MPI_Cart_create",
                [=](MPI_Comm* made) {
                    const int ranks = size(), periodic = 0;
                    return MPI_Cart_create(world, 1, &ranks, &periodic, 0, made);
                }),
        by_comm("MPI_Cart_sub",
                [=](MPI_Comm* made) {
                    const int remains = 1;
                    return MPI_Cart_sub(ring, &remains, made);
                }),
        by_comm("MPI_Dist_graph_create",
                [=](MPI_Comm* made) {
                    return MPI_Dist_graph_create(world, 1, source, degree, neighbour, MPI_UNWEIGHTED,
                                                 MPI_INFO_NULL, 0, made);
                }),
    };
}

/// Each process has opened the file for itself.
std::vector<Litmus> files(MPI_File file) {
    static std::int64_t raised = 0;
    return {by_flag(
        "MPI_File_read_at", raised,
        [file] { CHECK_MPI(MPI_File_write_at(file, 0, &raised, 1, MPI_INT64_T, MPI_STATUS_IGNORE)); },
        [file](std::int64_t* value) {
            CHECK_MPI(MPI_File_read_at(file, 0, value, 1, MPI_INT64_T, MPI_STATUS_IGNORE));
        })};
}

void all() {
    Data data;
    run_all(data, messages());
    run_all(data, requests());
    run_all(data, collectives());
#if MPI_VERSION >= 4
    run_all(data, of_mpi_4());
#endif
    {
        const Ring ring;
        run_all(data, with_neighbours(ring));
        run_all(data, communicators(ring));
    }
    {
        char name[64];
        std::snprintf(name, sizeof name, "litmus-%d-%d.tmp", static_cast<int>(getppid()), size());
        MPI_Bcast(name, sizeof name, MPI_CHAR, writer, MPI_COMM_WORLD);
        MPI_File file;
        const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
        if (writes()) CHECK_MPI(MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file));
        barrier();
        if (!writes()) CHECK_MPI(MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file));
        run_all(data, files(file));
        CHECK_MPI(MPI_File_close(&file));
        barrier();
        if (writes()) MPI_File_delete(name, MPI_INFO_NULL);
    }
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, 100);
    if (size() > most_ranks) return program.skip("its arrays are for fewer ranks");
    return program.run_with_others(all);
}
