// SPDX-License-Identifier: Apache-2.0
// What is kept of gets whose origin is the program's to change: MPI_Rget into derived datatypes, into buffers
// that overlap, or that are used for something else as soon as the request is complete or even before. Some
// MPI libraries complete a request before all bytes are in an origin with gaps. So such an origin is looked
// at after a flush only, and not at all where something else came into it; but whatever is read later, by
// plain gets into memory of its own, has to be what the target has.
#include "request_ways.hpp"
#include "shapes.hpp"

using namespace check;

namespace {

/// Each get has a region of the target's memory of its own, so that nothing of it is cached before.
constexpr int region_bytes = 2 * Shape::reach;
constexpr int regions = 160;
/// What is read before a test, so that it hits.
constexpr int warm_disp = regions * region_bytes;
/// What nothing has been read of, 64 bytes for each test.
constexpr int spare_disp = warm_disp + 128;
constexpr int window_bytes = spare_disp + 4096;

std::size_t number_of_ways = 100;
/// Where ranks share cores, or each get takes long.
bool few() { return crowded() || number_of_ways < 100; }

int disp_of(int region) { return region * region_bytes + Shape::reach; }

struct Windows {
    const Window& window;
    const Window& other;  ///< of the same memory's size, all of version 0
    int version;
};

/// The memory of an origin, with room for every shape on both sides.
class Origin {
  public:
    Origin() : memory_(2 * Shape::reach, 0x11) {}
    unsigned char* at() { return memory_.data() + Shape::reach; }
    void overwrite() { std::fill(memory_.begin(), memory_.end(), static_cast<unsigned char>(0xEE)); }
    /// Whether it has what the get was to bring, and the gaps are as they were.
    void check(const Shape& shape, const std::vector<unsigned char>& bytes) {
        std::vector<unsigned char> all(memory_.size(), 0x11);
        scatter(all.data() + Shape::reach, shape.layout(), bytes);
        CHECK(memory_ == all);
    }

  private:
    std::vector<unsigned char> memory_;
};

void read_plainly(MPI_Win window, int target, int disp, int bytes, int version) {
    std::vector<unsigned char> fresh(static_cast<std::size_t>(bytes), 0x22);
    CHECK_MPI(MPI_Get(fresh.data(), bytes, MPI_BYTE, target, disp, bytes, MPI_BYTE, window));
    CHECK_MPI(MPI_Win_flush(target, window));
    CHECK_BYTES(fresh.data(), static_cast<std::uint64_t>(bytes), target, static_cast<std::uint64_t>(disp),
                version);
}

/// Each place that `shape` has read, by itself, then all around them, twice.
void read_again(const Windows& w, const Shape& shape, int disp) {
    int begin = 0, end = 0;
    for (const Block& block : shape.layout()) {
        begin = std::min(begin, block.offset);
        end = std::max(end, block.offset + block.bytes);
    }
    const Block first = shape.layout().front(), last = shape.layout().back();
    read_plainly(w.window, right(), disp + first.offset, first.bytes, w.version);
    read_plainly(w.window, right(), disp + last.offset, last.bytes, w.version);
    for (int i = 0; i < 2; ++i)
        read_plainly(w.window, right(), disp + begin, end - begin, w.version);
}

int start(const Window& window, Origin& origin, const Shape& into, const Shape& from, int disp,
          MPI_Request& request) {
    return MPI_Rget(origin.at(), 1, into.type(), right(), disp, 1, from.type(), window, &request);
}

// --- what else comes into the same memory

enum class Then { nothing, store, hit, own_get, get_of_another_window, miss };

constexpr Then all_thens[] = {Then::nothing, Then::store, Then::hit,
                              Then::own_get, Then::miss,  Then::get_of_another_window};

const char* name_of(Then then) {
    constexpr const char* names[] = {"nothing", "a store", "a hit", "an own get", "a get of another window",
                                     "a miss"};
    return names[static_cast<std::size_t>(then)];
}

/// \param spare a displacement that nothing has been read of
void reuse(const Windows& w, Origin& origin, Then then, int spare) {
    const auto get = [&](MPI_Win window, int target, int disp) {
        CHECK_MPI(MPI_Get(origin.at(), 64, MPI_BYTE, target, disp, 64, MPI_BYTE, window));
        if (window != w.window) CHECK_MPI(MPI_Win_flush(target, window));
    };
    if (then == Then::store) origin.overwrite();
    if (then == Then::hit) get(w.window, right(), warm_disp);
    if (then == Then::own_get) get(w.window, rank(), 8);
    if (then == Then::miss) get(w.window, right(), spare);
    if (then == Then::get_of_another_window) get(w.other, right(), 8);
}

void part_by(const char* test, const Way& way, const char* then = "") {
    static std::string name;
    name = std::string(test) + ", " + way.name + (*then ? ", by " : "") + then;
    part(name.c_str());
}

/// One request after the other, each into a buffer that is used again at once after it is complete (or
/// before), all of them completed by one flush.
void reused_at_once(const Windows& w, const Way& way, bool before_completion) {
    const char* const test = before_completion ? "reused before completion" : "reused at once";
    part_by(test, way);
    const std::vector<Shape> shapes = all_shapes();
    int region = 0;
    for (const Shape& from : shapes) {
        if (few() && &from != &shapes[0] && &from != &shapes[1]) continue;
        for (const Shape& into : shapes) {
            std::vector<Origin> origins(std::size(all_thens));
            const int first = region,
                      spare = spare_disp + 64 * (region / static_cast<int>(std::size(all_thens)));
            for (const Then then : all_thens) {
                Origin& origin = origins[static_cast<std::size_t>(region - first)];
                std::vector<MPI_Request> one(1);
                CHECK_MPI(start(w.window, origin, into, from, disp_of(region), one[0]));
                if (before_completion) reuse(w, origin, then, spare);
                way.complete(one, [](int) {});
                if (!before_completion) reuse(w, origin, then, spare);
                ++region;
            }
            CHECK_MPI(MPI_Win_flush(right(), w.window));
            origins[0].check(into, from.expected(right(), disp_of(first), w.version));
            for (int i = first; i < region; ++i) {
                part_by(test, way, name_of(all_thens[i - first]));
                read_again(w, from, disp_of(i));
            }
            part_by(test, way, "what the miss has brought");
            read_plainly(w.window, right(), spare, 64, w.version);
        }
    }
    CHECK(region < regions);
}

/// As the way does, but nobody is told: the program frees the request, and flushes.
const Way freeing{"Request_free", [](auto& requests, const auto&) {
                      for (MPI_Request& request : requests)
                          CHECK_MPI(MPI_Request_free(&request));
                  }};

/// Several requests whose origins overlap one another, before one flush: each complete before the next, or
/// all under way at the same time, which the standard forbids, so that nobody looks at them.
void overlapping(const Windows& w, const Way& way, bool one_by_one) {
    part_by(one_by_one ? "overlapping origins one by one" : "overlapping origins", way);
    const std::vector<Shape> shapes = all_shapes();
    constexpr int number = 8;
    for (int row = 0; row < (few() ? 2 : 5); ++row) {
        Origin origin;
        std::vector<MPI_Request> requests;
        const auto shape = [&](int i) -> const Shape& {
            return shapes[static_cast<std::size_t>(i + row) % shapes.size()];
        };
        const auto region = [&](int i) { return number * row + i; };
        for (int i = 0; i < number; ++i) {
            CHECK_MPI(MPI_Rget(origin.at() + 4 * (i % 3), 1, shape(i / 2).type(), right(), disp_of(region(i)),
                               1, shape(i).type(), w.window, &requests.emplace_back()));
            if (!one_by_one) continue;
            way.complete(requests, [](int) {});
            requests.clear();
        }
        if (!one_by_one) way.complete(requests, [](int) {});
        CHECK_MPI(MPI_Win_flush(right(), w.window));
        for (int i = 0; i < number; ++i)
            read_again(w, shape(i), disp_of(region(i)));
    }
}

/// Gets without a request, whose buffer is the program's again after a flush_local.
void after_a_local_flush(const Windows& w) {
    part("flush_local");
    const std::vector<Shape> shapes = all_shapes();
    int region = 0;
    for (const Shape& from : shapes)
        for (const Shape& into : shapes) {
            Origin origin;
            CHECK_MPI(
                MPI_Get(origin.at(), 1, into.type(), right(), disp_of(region), 1, from.type(), w.window));
            CHECK_MPI(flush_local(right(), w.window));
            origin.overwrite();
            CHECK_MPI(MPI_Win_flush(right(), w.window));
            read_again(w, from, disp_of(region++));
        }
}

/// Three parts of what a request asks for are cached, with two holes in between: all is there when it is
/// complete, if its origin has no gaps.
void partly_cached(const Windows& w, const Way& way) {
    part_by("partly cached", way);
    const std::vector<Shape> shapes = all_shapes();
    for (int region = 0; region < (few() ? 8 : 24); ++region) {
        const int disp = disp_of(region), count = region % 2 != 0 ? 250 : 96;
        const bool contiguous = region % 4 < 2;
        const Shape& into = shapes[contiguous ? 0 : static_cast<std::size_t>(1 + region % 3)];
        for (const int hole : {0, count / 3, 2 * count / 3})
            read_plainly(w.window, right(), disp + hole, count / 6, w.version);
        std::vector<unsigned char> all(static_cast<std::size_t>(count), 0x11);
        Origin origin;
        std::vector<MPI_Request> one(1);
        CHECK_MPI(contiguous ? MPI_Rget(all.data(), count, MPI_BYTE, right(), disp, count, MPI_BYTE, w.window,
                                        &one[0])
                             : start(w.window, origin, into, shapes[0], disp, one[0]));
        way.complete(one, [&](int) {
            if (contiguous)
                CHECK_BYTES(all.data(), static_cast<std::uint64_t>(count), right(),
                            static_cast<std::uint64_t>(disp), w.version);
        });
        std::fill(all.begin(), all.end(), static_cast<unsigned char>(0xEE));
        CHECK_MPI(MPI_Win_flush(right(), w.window));
        CHECK(all == std::vector<unsigned char>(all.size(), 0xEE));
        if (!contiguous) origin.check(into, shapes[0].expected(right(), disp, w.version));
        for (int i = 0; i < 2; ++i)
            read_plainly(w.window, right(), disp, count, w.version);
    }
}

/// Any of that, in any order.
void at_random(const Windows& w, std::uint64_t seed) {
    part("at random");
    state().seed = seed;
    Random random(seed * 64 + static_cast<std::uint64_t>(rank()));
    const std::vector<Shape> shapes = all_shapes();
    const auto any_shape = [&]() -> const Shape& { return shapes[random.below(shapes.size())]; };
    std::vector<Origin> origins(3);
    std::vector<MPI_Request> requests;
    bool unflushed = false;
    for (int step = 0; step < (few() ? 200 : 400); ++step) {
        Origin& origin = origins[random.below(origins.size())];
        const int disp = disp_of(random.between(0, 30)) + 8 * random.between(0, 8);
        switch (random.below(7)) {
            case 0:
            case 1:
            case 2: {
                MPI_Request request;
                CHECK_MPI(start(w.window, origin, any_shape(), any_shape(), disp, request));
                requests.push_back(request);
                break;
            }
            case 3:
                for (; !requests.empty(); requests.pop_back())
                    CHECK_MPI(MPI_Wait(&requests.back(), MPI_STATUS_IGNORE));
                break;
            case 4: {
                const Then then = all_thens[random.below(std::size(all_thens))];
                // The program may not store where something is still to arrive.
                if (then == Then::store && (!requests.empty() || unflushed)) break;
                reuse(w, origin, then, disp);
                unflushed |= then == Then::miss || then == Then::hit;
                break;
            }
            case 5:
                CHECK_MPI(MPI_Win_flush(right(), w.window));
                unflushed = false;
                break;
            default:
                unflushed = false;
                read_plainly(w.window, right(), disp - 8, random.between(1, 120), w.version);
        }
    }
    CHECK_MPI(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    CHECK_MPI(MPI_Win_flush(right(), w.window));
    for (int region = 0; region < 32; ++region)
        read_plainly(w.window, right(), disp_of(region) - Shape::reach, region_bytes, w.version);
}

/// Open MPI frees requests of its osc pt2pt as little as that completes local flushes.
bool frees_requests() { return flushes_locally(); }

void run(Kind kind, std::initializer_list<std::pair<const char*, const char*>> others_settings,
         std::size_t ways_to_complete) {
    // What is near is not fetched along: else little would be kept of what the requests bring.
    const Info exact{{"nearfetch_read_ahead_bytes", "0"}}, others(others_settings);
    const Window window(window_bytes, 1, kind, exact);
    const Window other(window_bytes, 1, kind, others);
    fill(other.bytes(), window_bytes, rank());
    const LockAll epoch(window), others_epoch(other);
    int version = 0;
    /// Other bytes everywhere, of which nothing is cached but what is warm.
    const auto renewed = [&] {
        store_all(window, ++version);
        read_plainly(window, right(), warm_disp, 64, version);
        return Windows{window, other, version};
    };
    std::vector<Way> ways = all_ways();
    ways.resize(std::min(ways.size(), crowded() ? 1 : ways_to_complete), ways[0]);
    for (const Way& way : ways) {
        reused_at_once(renewed(), way, false);
        partly_cached(renewed(), way);
        for (const bool one_by_one : {false, true})
            overlapping(renewed(), way, one_by_one);
    }
    reused_at_once(renewed(), ways[0], true);
    if (frees_requests()) reused_at_once(renewed(), freeing, false);
    if (flushes_locally()) after_a_local_flush(renewed());
    at_random(renewed(), 1);
    at_random(renewed(), 2);
    state().seed = 0;
    barrier();
}

void all() {
    run(Kind::allocate, {}, number_of_ways);
    run(Kind::create, {}, 1);
    run(Kind::allocate, {{"nearfetch_mode", "off"}}, 1);
    run(Kind::allocate, {{"nearfetch_bypass", "always"}}, 1);
}

}  // namespace

/// typed_requests [N]: with the first N ways to complete a request only.
int main(int argc, char** argv) {
    if (argc > 1) number_of_ways = std::strtoul(argv[1], nullptr, 10);
    return Program(argc, argv, 100).run_with_others(all);
}
