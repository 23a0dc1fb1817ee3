// SPDX-License-Identifier: Apache-2.0
// Windows that are declared larger than the memory that is there: reserved address space of which a part is
// in use, heaps with guard pages. Only what the program asks for may be fetched of them, and the pages that
// hold it. Where memory is known to be there, what is near is still fetched along, which is counted.
#include <sys/mman.h>

#include "check.hpp"

using namespace check;

namespace {

const int page = static_cast<int>(sysconf(_SC_PAGESIZE));
constexpr MPI_Aint declared_bytes = MPI_Aint{1} << 30;

/// Address space for `declared_bytes`, of which some pages are memory.
class Space {
  public:
    Space()
        : begin_(static_cast<unsigned char*>(mmap(nullptr, declared_bytes + 2 * page, PROT_NONE,
                                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
        CHECK(begin_ != MAP_FAILED);
    }
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;
    ~Space() { munmap(begin_, static_cast<std::size_t>(declared_bytes + 2 * page)); }

    void make_memory(int first_page, int pages) {
        CHECK_EQ(
            mprotect(at(first_page * page), static_cast<std::size_t>(pages * page), PROT_READ | PROT_WRITE),
            0);
    }
    unsigned char* at(int bytes) { return begin_ + bytes; }

  private:
    unsigned char* begin_;
};

/// A run of bytes of a window that are there.
struct Run {
    int begin;
    int end;
};

/// A window of which all ranks have the same runs.
struct Sparse {
    const char* name;
    int base;  ///< where it begins in the address space
    std::vector<std::pair<int, int>> pages;
    std::vector<Run> runs;
};

std::vector<Sparse> all_sparse() {
    return {
        {"up to the end of a page", page - 400, {{0, 1}}, {{0, 400}}},
        {"two pages, which begin with the window", 0, {{0, 2}}, {{0, 2 * page}}},
        {"begins and ends within a page", page + 1000, {{1, 2}}, {{0, 2 * page - 1000}}},
        {"a hole before it", 1000, {{3, 2}}, {{3 * page - 1000, 5 * page - 1000}}},
        {"a hole between",
         1000,
         {{1, 1}, {3, 1}, {6, 2}},
         {{page - 1000, 2 * page - 1000},
          {3 * page - 1000, 4 * page - 1000},
          {6 * page - 1000, 8 * page - 1000}}},
    };
}

/// The displacements that are read, in an order.
std::vector<int> places_of(const Sparse& sparse, int step, int bytes) {
    std::vector<int> places;
    for (const Run& run : sparse.runs) {
        for (int place = run.begin; place + bytes <= run.end; place += step)
            places.push_back(place);
        places.push_back(run.end - bytes);
    }
    return places;
}

void read(MPI_Win win, int place, int bytes, bool by_request) {
    unsigned char seen[512];
    std::memset(seen, 0xEE, sizeof seen);
    if (by_request) {
        MPI_Request request;
        CHECK_MPI(MPI_Rget(seen, bytes, MPI_BYTE, right(), place, bytes, MPI_BYTE, win, &request));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        CHECK_MPI(MPI_Get(seen, bytes, MPI_BYTE, right(), place, bytes, MPI_BYTE, win));
        CHECK_MPI(MPI_Win_flush(right(), win));
    }
    CHECK_BYTES(seen, static_cast<std::uint64_t>(bytes), right(), static_cast<std::uint64_t>(place));
}

/// The last bytes of each run and the first ones of the next, as one get.
void read_around_holes(MPI_Win win, const Sparse& sparse) {
    for (std::size_t i = 0; i + 1 < sparse.runs.size(); ++i) {
        const int gap[] = {sparse.runs[i].end - 16, sparse.runs[i + 1].begin + 8};
        unsigned char seen[16] = {};
        MPI_Datatype both;
        CHECK_MPI(MPI_Type_create_indexed_block(2, 8, gap, MPI_BYTE, &both));
        CHECK_MPI(MPI_Type_commit(&both));
        CHECK_MPI(MPI_Get(seen, 16, MPI_BYTE, right(), 0, 1, both, win));
        CHECK_MPI(MPI_Win_flush(right(), win));
        CHECK_BYTES(seen, 8, right(), static_cast<std::uint64_t>(gap[0]));
        CHECK_BYTES(seen + 8, 8, right(), static_cast<std::uint64_t>(gap[1]));
        CHECK_MPI(MPI_Type_free(&both));
    }
}

/// Forward, backward, in steps, and at random.
void read_all(MPI_Win win, const Sparse& sparse, bool by_request) {
    for (const int step : {52, 1024}) {
        std::vector<int> places = places_of(sparse, step, 4);
        for (const int place : places)
            read(win, place, 4, by_request);
        NEARFETCH_CALL(nearfetch_win_invalidate, (win));
        for (std::size_t i = places.size(); i-- > 0;)
            read(win, places[i], 4, by_request);
        NEARFETCH_CALL(nearfetch_win_invalidate, (win));
        Random random(static_cast<std::uint64_t>(step));
        for (int i = 0; i < 30; ++i)
            read(win, places[random.below(places.size())], 4, by_request);
        NEARFETCH_CALL(nearfetch_win_invalidate, (win));
    }
    for (const int place : places_of(sparse, 400, 300))
        read(win, place, 300, by_request);
}

void beyond_memory(const Sparse& sparse) {
    part(sparse.name);
    Space space;
    for (const auto& [first, pages] : sparse.pages)
        space.make_memory(first, pages);
    unsigned char* const base = space.at(sparse.base);
    for (const Run& run : sparse.runs)
        fill(base + run.begin, static_cast<std::uint64_t>(run.end - run.begin), rank(), 0,
             static_cast<std::uint64_t>(run.begin));
    MPI_Win win;
    CHECK_MPI(MPI_Win_create(base, declared_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    {
        const LockAll epoch(win);
        for (const bool by_request : {false, true})
            read_all(win, sparse, by_request);
        read_around_holes(win, sparse);
        barrier();
    }
    MPI_Win_free(&win);
}

bool reads_ahead() { return counts_hits() && (mode() == "acquire" || mode() == "always-cache"); }

/// \param bytes all of which are there
void counted(const char* name, const Window& window, int bytes) {
    part(name);
    fill(window.bytes(), static_cast<std::uint64_t>(bytes), rank());
    {
        const LockAll epoch(window);
        publish(window);
        for (int place = 0; place + 8 <= bytes; place += 64)
            read(window, place, 8, false);
        const auto gets = counter(window, "gets");
        const auto messages = gets - counter(window, "hits") - counter(window, "pending_hits");
        if (reads_ahead()) CHECK(8 * messages <= gets);
        if (reads_ahead()) CHECK(counter(window, "read_aheads") > 0);
        barrier();
    }
}

void all() {
    const int bytes = 6 * page;
    counted("all of an allocated window", Window(bytes, 1, Kind::allocate), bytes);
    // A page is touched, and what is near in it is fetched along.
    counted("all of a created window", Window(bytes, 1, Kind::create), bytes);
    for (const Sparse& sparse : all_sparse())
        beyond_memory(sparse);
}

}  // namespace

int main(int argc, char** argv) { return Program(argc, argv, 60).run_with_others(all); }
