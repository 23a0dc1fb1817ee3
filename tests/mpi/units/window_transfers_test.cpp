// SPDX-License-Identifier: Apache-2.0

// MpiWindowTransfers alone, between two processes: runs in any order and number, offsets that are no
// multiple of the target's displacement unit, with and without a request. Without nearfetch's interposer, so
// that nothing else could have put the bytes where they are looked for.

#include "transport/mpi/mpi_window_transfers.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

#include "check.hpp"

using namespace check;
using nearfetch::ByteRun;
using nearfetch::MpiWindowTransfers;

namespace {

constexpr MPI_Aint window_bytes = 1 << 16;
constexpr unsigned char untouched = 0x5a;

/// The run of `size` bytes at `offset` of the target lands at `place` of the buffer.
struct Wanted {
    std::uint64_t offset, size;
    std::size_t place;
};

/// Where runs go: a buffer that also shows what was written beside them.
class Landing {
  public:
    Landing(std::initializer_list<Wanted> wanted = {}) {
        for (const Wanted& each : wanted)
            add(each);
    }
    void add(const Wanted& wanted) {
        bytes_.resize(std::max(bytes_.size(), wanted.place + wanted.size + 16), untouched);
        wanted_.push_back(wanted);
    }
    std::vector<ByteRun> runs() {
        std::vector<ByteRun> result;
        for (const Wanted& w : wanted_)
            result.push_back({w.offset, w.size, reinterpret_cast<std::byte*>(bytes_.data() + w.place)});
        return result;
    }
    void check(int target) const {
        std::vector<unsigned char> expected(bytes_.size(), untouched);
        for (const Wanted& w : wanted_)
            fill(expected.data() + w.place, w.size, target, 0, w.offset);
        const auto [seen, wanted] = std::mismatch(bytes_.begin(), bytes_.end(), expected.begin());
        if (seen == bytes_.end()) return;
        report(__FILE__, __LINE__,
               std::string(state().at) + ": byte " + std::to_string(seen - bytes_.begin()) + ": expected " +
                   show(*wanted) + ", seen " + show(*seen));
    }

  private:
    std::vector<Wanted> wanted_;
    std::vector<unsigned char> bytes_;
};

/// Both ways to start: completed by a flush, and by the request.
void both_ways(MpiWindowTransfers& gets, MPI_Win win, const Landing& landing) {
    const int target = right();
    Landing flushed = landing;
    CHECK_MPI(gets.start_get(target, flushed.runs()));
    CHECK_MPI(MPI_Win_flush(target, win));
    flushed.check(target);
    Landing waited = landing;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(gets.start_rget(target, waited.runs(), request));
    CHECK(request != MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    waited.check(target);
}

void chosen_runs(MpiWindowTransfers& gets, MPI_Win win) {
    const std::pair<const char*, Landing> cases[] = {
        {"one run at a multiple of the unit", {{4096, 100, 3}}},
        {"one run between two multiples", {{4099, 61, 5}}},
        {"the window's first and last byte", {{window_bytes - 1, 1, 0}, {0, 1, 7}}},
        {"the first run is the last in the window, and in memory",
         {{60001, 333, 4000}, {17, 5, 2000}, {1003, 1000, 100}}},
        {"neighbours, there and here", {{801, 7, 0}, {808, 8, 7}, {816, 1, 15}}},
        {"the same bytes twice", {{1001, 50, 0}, {1011, 50, 64}}},
    };
    for (const auto& [name, landing] : cases) {
        part(name);
        both_ways(gets, win, landing);
    }
}

void random_runs(MpiWindowTransfers& gets, MPI_Win win) {
    part("random runs");
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        state().seed = seed;
        Random random(seed);
        const std::size_t count = 1 + random.below(40);
        std::vector<std::size_t> places(count);
        std::iota(places.begin(), places.end(), 0);
        for (std::size_t i = count; i > 1; --i)
            std::swap(places[i - 1], places[random.below(i)]);
        Landing landing;
        for (const std::size_t place : places) {
            const std::uint64_t size = 1 + random.below(random.below(4) ? 32 : 1000);
            const std::uint64_t offset = random.below(window_bytes - size + 1);
            landing.add({offset, size, place * 1024 + random.below(24)});
        }
        both_ways(gets, win, landing);
    }
}

/// Several gets on their way at once, one flush for all.
void many_at_once(MpiWindowTransfers& gets, MPI_Win win) {
    part("many at once");
    std::vector<Landing> landings(50);
    for (std::size_t i = 0; i < landings.size(); ++i) {
        landings[i].add({13 * i + 1, 100, 0});
        landings[i].add({30000 + 97 * i, 10 + i, 200});
        CHECK_MPI(gets.start_get(right(), landings[i].runs()));
    }
    CHECK_MPI(MPI_Win_flush_all(win));
    for (const Landing& landing : landings)
        landing.check(right());
}

/// Statuses are the library's own codes, also where a datatype had to be made first.
void bad_rank(MpiWindowTransfers& gets, MPI_Win win) {
    part("bad rank");
    CHECK_MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    Landing one{{0, 8, 0}}, many{{1, 8, 0}, {101, 8, 100}};
    for (Landing* landing : {&one, &many}) {
        int error_class = MPI_SUCCESS;
        MPI_Error_class(gets.start_get(size(), landing->runs()), &error_class);
        CHECK_EQ(error_class, MPI_ERR_RANK);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Error_class(gets.start_rget(size(), landing->runs(), request), &error_class);
        CHECK_EQ(error_class, MPI_ERR_RANK);
    }
    CHECK_MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    // Units by rank: the same for all, which MpiWindowTransfers is told once; one that divides nothing; all
    // different.
    const std::array<std::vector<std::uint64_t>, 4> cases{
        {{1}, {8}, {24}, std::vector<std::uint64_t>(static_cast<std::size_t>(size()))}};
    for (std::vector<std::uint64_t> units : cases) {
        if (units.front() == 0)
            for (std::size_t r = 0; r < units.size(); ++r)
                units[r] = r % 2 == 0 ? 8 : 3;
        MpiWindowTransfers probe(MPI_WIN_NULL, units);
        const auto unit = static_cast<int>(probe.displacement_unit(rank()));
        for (const Kind kind : {Kind::allocate, Kind::create}) {
            const Window window(window_bytes, unit, kind);
            const LockAll epoch(window);
            store_all(window, 0);
            MpiWindowTransfers gets(window, units);
            chosen_runs(gets, window);
            random_runs(gets, window);
            many_at_once(gets, window);
            if (units.size() == 1) bad_rank(gets, window);  // else the unit would be asked of nobody
            gets.progress();
            barrier();
        }
    }
    return program.finish();
}
