// SPDX-License-Identifier: Apache-2.0
// Litmus tests: each call on files that acquires, by itself. The reader is told of the change outside of MPI.
#include "litmus.hpp"

using namespace litmus;

namespace {

MPI_File file;
int numbers[4];
char deleted[64];  ///< the name of a file of the reader's own
MPI_Status* const status = MPI_STATUS_IGNORE;

/// To where there is something to read.
const auto rewind = [] { CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET)); };

/// A call that all ranks make.
Litmus by_all(const char* call, int (*make)()) {
    return {call, [make] { CHECK_MPI(make()); }, [] {}, rewind};
}
/// A call that the reader makes for itself.
Litmus by_reader(const char* call, int (*make)()) {
    return {call,
            [make] {
                if (reads()) CHECK_MPI(make());
            },
            [] {}, rewind};
}

/// Both halves of an operation, each of which acquires.
void add_halves(std::vector<Litmus>& all, const char* begin, const char* end, int (*first)(),
                int (*second)()) {
    all.push_back({begin, [first] { CHECK_MPI(first()); }, [second] { CHECK_MPI(second()); }, rewind});
    all.push_back({end, [second] { CHECK_MPI(second()); }, [] {},
                   [first] {
                       rewind();
                       CHECK_MPI(first());
                   }});
}

std::vector<Litmus> of_one() {
    return {
        by_reader("MPI_File_get_size",
                  [] {
                      MPI_Offset bytes;
                      return MPI_File_get_size(file, &bytes);
                  }),
        by_reader("MPI_File_seek", [] { return MPI_File_seek(file, 0, MPI_SEEK_END); }),
        by_reader("MPI_File_read_at", [] { return MPI_File_read_at(file, 0, numbers, 1, MPI_INT, status); }),
        by_reader("MPI_File_read", [] { return MPI_File_read(file, numbers, 1, MPI_INT, status); }),
        {"MPI_File_delete",
         [] {
             if (reads()) CHECK_MPI(MPI_File_delete(deleted, MPI_INFO_NULL));
         },
         [] {},
         [] {
             MPI_File made;
             if (!reads()) return;
             CHECK_MPI(MPI_File_open(MPI_COMM_SELF, deleted, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                                     &made));
             CHECK_MPI(MPI_File_close(&made));
         }},
    };
}

std::vector<Litmus> of_all() {
    return {
        by_all("MPI_File_sync", [] { return MPI_File_sync(file); }),
        by_all("MPI_File_set_size", [] { return MPI_File_set_size(file, 4096); }),
        by_all("MPI_File_preallocate", [] { return MPI_File_preallocate(file, 4096); }),
        by_all("MPI_File_set_view",
               [] { return MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL); }),
        by_all("MPI_File_set_info",
               [] {
                   const Info info{{"access_style", "random"}};
                   return MPI_File_set_info(file, info);
               }),
        by_all("MPI_File_set_atomicity", [] { return MPI_File_set_atomicity(file, 0); }),
        by_all("MPI_File_read_all", [] { return MPI_File_read_all(file, numbers, 1, MPI_INT, status); }),
        by_all("MPI_File_read_at_all",
               [] { return MPI_File_read_at_all(file, 0, numbers, 1, MPI_INT, status); }),
        by_all("MPI_File_write_all", [] { return MPI_File_write_all(file, numbers, 1, MPI_INT, status); }),
        by_all("MPI_File_write_at_all",
               [] { return MPI_File_write_at_all(file, 8 * rank(), numbers, 1, MPI_INT, status); }),
    };
}

std::vector<Litmus> of_the_shared_pointer() {
    return {
        by_all("MPI_File_seek_shared", [] { return MPI_File_seek_shared(file, 0, MPI_SEEK_SET); }),
        by_reader("MPI_File_get_position_shared",
                  [] {
                      MPI_Offset place;
                      return MPI_File_get_position_shared(file, &place);
                  }),
        by_reader("MPI_File_read_shared",
                  [] { return MPI_File_read_shared(file, numbers, 1, MPI_INT, status); }),
        by_all("MPI_File_read_ordered",
               [] { return MPI_File_read_ordered(file, numbers, 1, MPI_INT, status); }),
        by_all("MPI_File_write_ordered",
               [] { return MPI_File_write_ordered(file, numbers, 1, MPI_INT, status); }),
    };
}

std::vector<Litmus> of_halves() {
    std::vector<Litmus> all;
    add_halves(
        all, "MPI_File_read_all_begin", "MPI_File_read_all_end",
        [] { return MPI_File_read_all_begin(file, numbers, 1, MPI_INT); },
        [] { return MPI_File_read_all_end(file, numbers, status); });
    add_halves(
        all, "MPI_File_read_at_all_begin", "MPI_File_read_at_all_end",
        [] { return MPI_File_read_at_all_begin(file, 0, numbers, 1, MPI_INT); },
        [] { return MPI_File_read_at_all_end(file, numbers, status); });
    add_halves(
        all, "MPI_File_write_all_begin", "MPI_File_write_all_end",
        [] { return MPI_File_write_all_begin(file, numbers, 1, MPI_INT); },
        [] { return MPI_File_write_all_end(file, numbers, status); });
    add_halves(
        all, "MPI_File_write_at_all_begin", "MPI_File_write_at_all_end",
        [] { return MPI_File_write_at_all_begin(file, 8 * rank(), numbers, 1, MPI_INT); },
        [] { return MPI_File_write_at_all_end(file, numbers, status); });
    return all;
}

std::vector<Litmus> of_ordered_halves() {
    std::vector<Litmus> all;
    add_halves(
        all, "MPI_File_read_ordered_begin", "MPI_File_read_ordered_end",
        [] { return MPI_File_read_ordered_begin(file, numbers, 1, MPI_INT); },
        [] { return MPI_File_read_ordered_end(file, numbers, status); });
    add_halves(
        all, "MPI_File_write_ordered_begin", "MPI_File_write_ordered_end",
        [] { return MPI_File_write_ordered_begin(file, numbers, 1, MPI_INT); },
        [] { return MPI_File_write_ordered_end(file, numbers, status); });
    return all;
}

void all() {
    Data data(Told::outside);
    static char name[64];
    std::snprintf(name, sizeof name, "litmus-files-%d.tmp", static_cast<int>(getpid()));
    MPI_Bcast(name, sizeof name, MPI_CHAR, writer, MPI_COMM_WORLD);
    std::snprintf(deleted, sizeof deleted, "litmus-deleted-%d.tmp", static_cast<int>(getpid()));
    const auto open = [] {
        return MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    };
    const auto close = [] { CHECK_MPI(MPI_File_close(&file)); };
    run(data, {"MPI_File_open", [open] { CHECK_MPI(open()); }, close});
    run(data, {"MPI_File_close", close, [] {}, [open] { CHECK_MPI(open()); }});
    CHECK_MPI(open());
    if (writes())
        for (int i = 0; i < 1024; ++i)
            CHECK_MPI(MPI_File_write(file, &i, 1, MPI_INT, status));
    barrier();
    run_all(data, of_one());
    run_all(data, of_all());
    run_all(data, of_the_shared_pointer());
    run_all(data, of_halves());
    run_all(data, of_ordered_halves());
    close();
    barrier();
    if (writes()) MPI_File_delete(name, MPI_INFO_NULL);
}

}  // namespace

int main(int argc, char** argv) { return Program(argc, argv, 100).run_with_others(all); }
