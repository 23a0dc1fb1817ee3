// SPDX-License-Identifier: Apache-2.0
//
// What nearfetch costs programs that it cannot help, and such as it can: small loops of MPI calls, two ranks.
// Each pattern is run by the program's calls (MPI_X, through whatever is preloaded) and by PMPI_X, past it,
// on the same window and from the same memory, which take turns, batch by batch. Rank 0 communicates and rank
// 1 sits inside MPI, but for the patterns that are calls of both.
//
// One JSON object per line: pattern, MPI calls of an operation, operations of a sample, ns of an operation
// through and past, ns that an operation takes more through than past, and the ratio past / through. All are
// medians over the samples; ratio_of_sums is over all of them together. A sample is four batches, of which
// the past ones are in the middle: what the first of two batches does to the second, in the processor's
// cache, say, it does to both sides. Each sample has its own padding (padding.hpp).

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "padding.hpp"
#include "windows.hpp"

namespace nearfetch::bench {
namespace {

constexpr std::uint64_t window_bytes = 16u << 20;
constexpr std::uint64_t stream_length = 64;
constexpr std::uint64_t many = 1024;  ///< before they are completed
constexpr double batch_ns = 100000;
/// Where the fewest operations that make a batch take longer than that, there are fewer samples.
constexpr std::uint64_t fewest_operations = 4;
constexpr std::uint64_t fewest_share = 4;
constexpr std::uint64_t largest = 65536;

enum class Opened : std::uint8_t { no_window, nothing, lock_all };

/// What both sides that take turns work on: where memory comes to lie can decide more than the calls do.
struct Ground {
    Ground(int own_rank, bool allocate, Opened what_is_opened)
        : rank(own_rank), opened(what_is_opened), buffer(largest), got(largest) {
        if (opened == Opened::no_window) return;
        window.emplace(through, apps::InfoPairs{}, rank, window_bytes, allocate);
        if (rank == origin_rank && opened == Opened::lock_all) window->lock_all();
    }
    ~Ground() {
        if (rank == origin_rank && opened == Opened::lock_all) window->unlock_all();
        PMPI_Barrier(MPI_COMM_WORLD);
    }
    Ground(const Ground&) = delete;
    Ground& operator=(const Ground&) = delete;

    int rank;
    Opened opened;
    std::vector<std::byte> buffer;  ///< for what does not Side::get()
    std::vector<std::byte> got;
    std::optional<BenchWindow> window;
};

/// One of the two.
class Side {
  public:
    /// \param from how much of the window lies before the first place that it visits
    Side(const Paddings& through_or_past, Ground& ground, double from)
        : rank(ground.rank), buffer(ground.buffer), paddings(through_or_past), got_(ground.got), from_(from) {
        if (ground.window) win = ground.window->handle();
    }

    /// Before they are completed to where no other one goes.
    void get(std::uint64_t offset, std::uint64_t size) {
        if (filled_ + size > got_.size())
            throw std::logic_error("more is got before it is completed than there is room for");
        get(got_.data() + filled_, offset, size);
        filled_ += size;
    }
    /// As bandwidth tests do, which do not look at what they get.
    void get_into_one(std::uint64_t offset, std::uint64_t size) { get(got_.data(), offset, size); }
    void put(std::uint64_t offset, std::uint64_t size) {
        const int count = static_cast<int>(size);
        calls->put(buffer.data(), count, MPI_BYTE, target_rank, static_cast<MPI_Aint>(offset), count,
                   MPI_BYTE, win);
    }
    /// As programs do that compute what they put: whole words.
    void put_written(std::uint64_t offset, std::uint64_t size) {
        for (std::uint64_t at = 0; at < size; at += sizeof offset)
            std::memcpy(buffer.data() + at, &offset, sizeof offset);
        put(offset, size);
    }
    void flush() {
        calls->flush(target_rank, win);
        completed();
    }
    void unlock() {
        calls->unlock(target_rank, win);
        completed();
    }
    void fence() {
        calls->fence(0, win);
        completed();
    }
    /// No place again before all others; not in an order that can be foreseen.
    std::uint64_t somewhere(std::uint64_t size) { return place(cursor_++ * 0x9e3779b1u, size); }
    /// One after the other.
    std::uint64_t next(std::uint64_t size) { return place(cursor_++, size); }

    int rank;
    MPI_Win win = MPI_WIN_NULL;
    std::vector<std::byte>& buffer;
    const Paddings& paddings;
    const Calls* calls = &paddings.in(0);

  private:
    void get(std::byte* into, std::uint64_t offset, std::uint64_t size) {
        const int count = static_cast<int>(size);
        calls->get(into, count, MPI_BYTE, target_rank, static_cast<MPI_Aint>(offset), count, MPI_BYTE, win);
    }
    void completed() { filled_ = 0; }
    std::uint64_t place(std::uint64_t index, std::uint64_t size) const {
        const std::uint64_t places = window_bytes / size;
        return (index + static_cast<std::uint64_t>(from_ * static_cast<double>(places))) % places * size;
    }

    std::vector<std::byte>& got_;
    double from_;
    std::uint64_t cursor_ = 1;
    std::uint64_t filled_ = 0;  ///< of got_, since all was complete
};

using Access = void (Side::*)(std::uint64_t offset, std::uint64_t size);

template <Access access, std::uint64_t size, std::uint64_t count = 1>
void at_random(Side& side) {
    for (std::uint64_t i = 0; i < count; ++i)
        (side.*access)(side.somewhere(size), size);
    side.flush();
}

template <Access access, std::uint64_t size, std::uint64_t count>
void in_a_stream(Side& side) {
    for (std::uint64_t i = 0; i < count; ++i)
        (side.*access)(side.next(size), size);
    side.flush();
}

void request(Side& side) {
    MPI_Request request;
    side.calls->rget(side.buffer.data(), 8, MPI_BYTE, target_rank, static_cast<MPI_Aint>(side.somewhere(8)),
                     8, MPI_BYTE, side.win, &request);
    side.calls->wait(&request, MPI_STATUS_IGNORE);
}

void requests(Side& side) {
    static std::array<MPI_Request, many> all;
    std::byte* to = side.buffer.data();
    for (MPI_Request& request : all) {
        side.calls->rget(to, 8, MPI_BYTE, target_rank, static_cast<MPI_Aint>(side.somewhere(8)), 8, MPI_BYTE,
                         side.win, &request);
        to += 8;
    }
    side.calls->waitall(many, all.data(), MPI_STATUSES_IGNORE);
}

/// 16 elements of 8 bytes, one in each line.
void get_strided(Side& side) {
    static const MPI_Datatype type = [] {
        MPI_Datatype made = MPI_DATATYPE_NULL;
        PMPI_Type_vector(16, 8, 64, MPI_BYTE, &made);
        PMPI_Type_commit(&made);
        return made;
    }();
    side.calls->get(side.buffer.data(), 128, MPI_BYTE, target_rank,
                    static_cast<MPI_Aint>(side.somewhere(1024)), 1, type, side.win);
    side.flush();
}

void mixed(Side& side) {
    const std::uint64_t offset = side.somewhere(8);
    if ((offset >> 5) % 2 == 0)
        side.get(offset, 8);
    else
        side.put(offset, 8);
    side.flush();
}

void count(Side& side) {
    const std::int64_t one = 1;
    side.calls->fetch_and_op(&one, side.buffer.data(), MPI_INT64_T, target_rank, 0, MPI_SUM, side.win);
    side.flush();
}

void accumulate_stream(Side& side) {
    for (std::uint64_t i = 0; i < stream_length; ++i)
        side.calls->accumulate(side.buffer.data(), 1, MPI_INT64_T, target_rank,
                               static_cast<MPI_Aint>(side.next(8)), 1, MPI_INT64_T, MPI_SUM, side.win);
    side.flush();
}

/// 8 B to 1 KiB, the same ones again only after all others: in a cache that is much smaller, each is a miss.
void get_any_size(Side& side) {
    const std::uint64_t offset = side.somewhere(1024);
    side.get(offset, std::uint64_t{8} << offset / 1024 % 8);
    side.flush();
}

void lock_get(Side& side) {
    side.calls->lock(MPI_LOCK_SHARED, target_rank, 0, side.win);
    side.get(side.somewhere(8), 8);
    side.unlock();
}

void fences(Side& side) {
    side.fence();
    if (side.rank == origin_rank) {
        for (int i = 0; i < 4; ++i)
            side.put(side.next(8), 8);
        for (int i = 0; i < 4; ++i)
            side.get(window_bytes / 2 + side.somewhere(16) / 2, 8);
    }
    side.fence();
}

void ping_pong(Side& side) {
    const int other = 1 - side.rank;
    if (side.rank == 0) side.calls->send(side.buffer.data(), 8, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    side.calls->recv(side.buffer.data(), 8, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (side.rank == 1) side.calls->send(side.buffer.data(), 8, MPI_BYTE, other, 0, MPI_COMM_WORLD);
}

void exchange(Side& side) {
    MPI_Request requests[2];
    const int other = 1 - side.rank;
    side.calls->irecv(side.buffer.data(), 1024, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]);
    side.calls->isend(side.buffer.data() + 1024, 1024, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[1]);
    side.calls->waitall(2, requests, MPI_STATUSES_IGNORE);
}

void allreduce(Side& side) {
    double sum = 0;
    const double own = side.rank;
    side.calls->allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

void barrier(Side& side) { side.calls->barrier(MPI_COMM_WORLD); }

struct Pattern {
    const char* name;
    Opened opened;
    bool both;            ///< ranks make the calls
    std::uint64_t calls;  ///< of MPI, in an operation
    void (*operation)(Side&);
};

constexpr Pattern patterns[] = {
    {"ping_pong", Opened::no_window, true, 2, ping_pong},
    {"exchange", Opened::no_window, true, 3, exchange},
    {"allreduce", Opened::no_window, true, 1, allreduce},
    {"barrier", Opened::no_window, true, 1, barrier},
    {"get_random_8", Opened::lock_all, false, 2, at_random<&Side::get, 8>},
    {"get_random_4096", Opened::lock_all, false, 2, at_random<&Side::get, 4096>},
    {"get_random_65536", Opened::lock_all, false, 2, at_random<&Side::get, 65536>},
    {"get_stream_8", Opened::lock_all, false, 2, in_a_stream<&Side::get, 8, 1>},
    {"get_stream_4096", Opened::lock_all, false, 17, in_a_stream<&Side::get, 4096, 16>},
    {"get_many_8", Opened::lock_all, false, many + 1, in_a_stream<&Side::get, 8, many>},
    {"get_many_random_8", Opened::lock_all, false, many + 1, at_random<&Side::get, 8, many>},
    {"get_many_into_one_8", Opened::lock_all, false, many + 1, in_a_stream<&Side::get_into_one, 8, many>},
    {"rget_random_8", Opened::lock_all, false, 2, request},
    {"rget_many_random_8", Opened::lock_all, false, many + 1, requests},
    {"get_any_size", Opened::lock_all, false, 2, get_any_size},
    {"get_strided", Opened::lock_all, false, 2, get_strided},
    {"put_flush_8", Opened::lock_all, false, 2, at_random<&Side::put, 8>},
    {"put_written_64", Opened::lock_all, false, 2, at_random<&Side::put_written, 64>},
    {"put_stream_8", Opened::lock_all, false, stream_length + 1, in_a_stream<&Side::put, 8, stream_length>},
    {"put_stream_4096", Opened::lock_all, false, 17, in_a_stream<&Side::put, 4096, 16>},
    {"mixed_8", Opened::lock_all, false, 2, mixed},
    {"fetch_and_op", Opened::lock_all, false, 2, count},
    {"accumulate_stream", Opened::lock_all, false, stream_length + 1, accumulate_stream},
    {"lock_get_unlock", Opened::nothing, false, 3, lock_get},
    {"fence", Opened::nothing, true, 10, fences},
};

double time_ns(const Pattern& pattern, Side& side, std::uint64_t operations) {
    const double begin = now_ns();
    for (std::uint64_t i = 0; i < operations; ++i)
        pattern.operation(side);
    return now_ns() - begin;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void print(const Pattern& pattern, std::uint64_t operations, const std::vector<double>& through_ns,
           const std::vector<double>& past_ns) {
    std::vector<double> ratios;
    std::vector<double> added_ns;
    double all_through = 0;
    double all_past = 0;
    for (std::size_t i = 0; i < through_ns.size(); ++i) {
        ratios.push_back(past_ns[i] / through_ns[i]);
        added_ns.push_back(through_ns[i] - past_ns[i]);
        all_through += through_ns[i];
        all_past += past_ns[i];
    }
    const auto each = static_cast<double>(operations);
    std::printf(
        "{\"pattern\": \"%s\", \"calls\": %llu, \"operations\": %llu, \"through_ns\": %.6g, \"past_ns\": "
        "%.6g, \"added_ns\": %.6g, \"ratio\": %.6g, \"ratio_of_sums\": %.6g}\n",
        pattern.name, static_cast<unsigned long long>(pattern.calls),
        static_cast<unsigned long long>(operations), median(through_ns) / each, median(past_ns) / each,
        median(added_ns) / each, median(ratios), all_past / all_through);
    std::fflush(stdout);
}

struct Choice {
    std::vector<std::string> names;  ///< none: all patterns
    bool allocate = false;
    std::uint64_t samples = 0;
};

void measure(const Pattern& pattern, int rank, const Choice& choice) {
    Ground ground(rank, choice.allocate, pattern.opened);
    // Neither finds in the processor's cache what the other has just read.
    static const Paddings all_through(through);
    static const Paddings all_past(past);
    Side sides[] = {{all_through, ground, 0}, {all_past, ground, 0.5}};
    PMPI_Barrier(MPI_COMM_WORLD);
    if (rank == origin_rank || pattern.both) {
        constexpr std::uint64_t few = 32;
        std::vector<double> took[2];
        time_ns(pattern, sides[0], few);
        const double wanted = batch_ns * few / time_ns(pattern, sides[1], few);
        const double share = std::clamp(wanted / fewest_operations, 1.0 / fewest_share, 1.0);
        std::uint64_t plan[] = {
            std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), fewest_operations, 1u << 16),
            static_cast<std::uint64_t>(share * static_cast<double>(choice.samples))};
        if (pattern.both) PMPI_Bcast(plan, 2, MPI_UINT64_T, origin_rank, MPI_COMM_WORLD);
        const auto [operations, samples_to_take] = plan;
        for (std::uint64_t sample = 0; sample < samples_to_take; ++sample) {
            double ns[2] = {};
            for (Side& side : sides)
                side.calls = &side.paddings.in(sample);
            for (const std::size_t side : {0, 1, 1, 0})
                ns[side] += time_ns(pattern, sides[side], operations);
            for (const std::size_t side : {0, 1})
                took[side].push_back(ns[side]);
        }
        if (rank == origin_rank) print(pattern, 2 * operations, took[0], took[1]);
    }
    // The target waits inside MPI, where it serves.
    PMPI_Barrier(MPI_COMM_WORLD);
}

int run(int rank, const Choice& choice) {
    const auto& names = choice.names;
    for (const Pattern& pattern : patterns)
        if (names.empty() || std::find(names.begin(), names.end(), pattern.name) != names.end())
            measure(pattern, rank, choice);
    return 0;
}

Choice read(const Arguments& arguments) {
    Choice choice{.names = split(arguments.text("--patterns", ""), ','),
                  .allocate = arguments.text("--window", "create") == "allocate",
                  .samples = arguments.number("--samples", 100)};
    for (const std::string& name : choice.names)
        if (std::none_of(std::begin(patterns), std::end(patterns),
                         [&](const Pattern& pattern) { return pattern.name == name; }))
            give_up("unknown pattern " + name + " (see bench/patterns.cpp): correct --patterns");
    if (choice.samples < fewest_share)
        give_up("bad --samples " + std::to_string(choice.samples) + " (too few to measure): give 4 or more");
    return choice;
}

}  // namespace
}  // namespace nearfetch::bench

int main(int argc, char** argv) {
    using namespace nearfetch;
    using namespace nearfetch::bench;
    const Choice choice = read({argc, argv, {"--window", "--patterns", "--samples"}});
    return run_two_ranks(argc, argv, [&](const apps::MpiSession& mpi) { return run(mpi.rank(), choice); });
}
