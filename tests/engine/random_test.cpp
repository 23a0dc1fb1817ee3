// SPDX-License-Identifier: Apache-2.0

// Random programs that keep MPI's rules (no conflicting accesses within an epoch), run over a tiny cache.
// Every byte that a get returns is compared with the memory that the network would have read.

#include <gtest/gtest.h>

#include <random>

#include "rig.hpp"

namespace nearfetch {
namespace {

using testing::Rig;

constexpr std::size_t memory_bytes = 4096;
constexpr Rank rank_count = 3;

class RandomProgram {
  public:
    /// \param read_only nobody writes, so that read-ahead goes on
    RandomProgram(const Settings& settings, bool read_only, std::uint64_t seed)
        : random_(seed),
          mode_(settings.mode),
          read_only_(read_only),
          rig_(settings, rank_count, memory_bytes) {
        const std::vector<std::uint64_t> extents(rank_count, memory_bytes);
        rig_.window.set_extents(extents);
        for (auto& m : rig_.memory)
            for (auto& b : m)
                b = static_cast<unsigned char>(random_());
    }

    void run(int epochs) {
        for (int epoch = 0; epoch < epochs && !::testing::Test::HasFailure(); ++epoch) {
            switch (read_only_ ? 3 + below(5) : below(8)) {
                case 0:
                    puts();
                    break;
                case 1:
                    accumulates();
                    break;
                case 2:
                    remote_changes();
                    break;
                case 3:
                    prefetches();
                    break;
                default:
                    gets();
            }
        }
        const RangeCacheCounters c = rig_.window.counters();
        EXPECT_EQ(c.gets, gets_);
        EXPECT_EQ(c.bytes_requested, bytes_);
        EXPECT_EQ(c.gets, c.hits + c.partial_hits + c.pending_hits + c.direct + c.conflicting + c.capacity +
                              c.failing + c.bypassed);
        EXPECT_LE(c.flushes_elided, c.flushes);
    }

    RangeCacheCounters counters() const { return rig_.window.counters(); }

  private:
    struct Request {
        Rank target;
        std::vector<Piece> pieces;
        std::vector<unsigned char> buffer;
        RequestId id = 0;
        bool started = false;
    };

    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    /// Few addresses and small sizes, so that ranges overlap, touch and repeat.
    std::pair<std::uint64_t, std::uint64_t> range() {
        const std::uint64_t size = below(4) == 0 ? 1 + below(700) : 1 + below(64);
        const std::uint64_t offset = below(2) == 0 ? below(64) * 48 : below(memory_bytes - 700);
        return {std::min(offset, memory_bytes - size), size};
    }

    void gets() {
        std::vector<Request> requests(1 + below(12));
        for (Request& r : requests) {
            r.target = static_cast<Rank>(below(rank_count));
            std::uint64_t size = 0;
            const std::uint64_t count = below(3) == 0 ? 1 + below(5) : 1;
            for (std::uint64_t i = 0; i < count; ++i) {
                const auto [offset, bytes] = range();
                r.pieces.push_back({offset, bytes, nullptr});
                size += bytes;
            }
            r.buffer.assign(size, 0);
            auto* to = reinterpret_cast<std::byte*>(r.buffer.data());
            for (Piece& p : r.pieces) {
                p.origin = to;
                to += p.size;
            }
            r.id = below(4) == 0 ? ++last_id_ : 0;
            ASSERT_EQ(rig_.get(r.target, r.pieces, r.id, &r.started), 0);
            ++gets_;
            bytes_ += size;
            if (r.id != 0 && r.started && below(2) == 0) finish_request(r);
            if (r.id != 0 && !r.started) compare(r);
        }
        complete();
        for (const Request& r : requests)
            if (!r.buffer.empty()) compare(r);
    }

    /// Its transfer and those before it arrive; the program looks at the buffer and reuses it.
    void finish_request(Request& r) {
        rig_.arrive(r.target);
        rig_.window.complete_request(r.target, r.id, true);
        compare(r);
        std::fill(r.buffer.begin(), r.buffer.end(), 0x5a);
        dead_.push_back(std::move(r.buffer));
        r.buffer.clear();
    }

    void compare(const Request& r) {
        const unsigned char* seen = r.buffer.data();
        for (const Piece& p : r.pieces)
            for (std::uint64_t i = 0; i < p.size; ++i, ++seen)
                ASSERT_EQ(*seen, rig_.memory[static_cast<std::size_t>(r.target)][p.offset + i])
                    << "target " << r.target << " offset " << p.offset + i;
    }

    void complete() {
        if (below(3) == 0) {
            rig_.flush_all(below(2) == 0 ? FlushKind::local : FlushKind::full);
            return;
        }
        for (Rank t = 0; t < rank_count; ++t)
            rig_.flush(t, below(2) == 0 ? FlushKind::local : FlushKind::full);
    }

    void puts() {
        for (std::uint64_t i = 1 + below(4); i != 0; --i) {
            const auto [offset, size] = range();
            std::vector<unsigned char> value(size);
            for (auto& b : value)
                b = static_cast<unsigned char>(random_());
            rig_.put(static_cast<Rank>(below(rank_count)), offset, size, value.data());
        }
        complete();
    }

    void accumulates() {
        const auto [offset, size] = range();
        const auto target = static_cast<Rank>(below(rank_count));
        for (std::uint64_t i = 0; i < size; ++i)
            rig_.memory[static_cast<std::size_t>(target)][offset + i] += 13;
        const Piece piece{offset, size, nullptr};
        rig_.window.forget(target, {&piece, 1});
        complete();
    }

    /// Another process writes, and this one learns of it as its mode demands.
    void remote_changes() {
        if (mode_ == Mode::always_cache) return;
        const auto [offset, size] = range();
        const auto target = static_cast<Rank>(below(rank_count));
        for (std::uint64_t i = 0; i < size; ++i)
            rig_.memory[static_cast<std::size_t>(target)][offset + i] = static_cast<unsigned char>(random_());
        if (mode_ == Mode::user_defined) rig_.window.acquire();
    }

    void prefetches() {
        const auto [offset, size] = range();
        const auto target = static_cast<Rank>(below(rank_count));
        ASSERT_EQ(rig_.window.prefetch(target, {offset, offset + size}, rig_), 0);
        if (below(2) == 0) complete();
    }

    std::mt19937_64 random_;
    Mode mode_;
    bool read_only_;
    Rig rig_;
    std::uint64_t gets_ = 0;
    std::uint64_t bytes_ = 0;
    RequestId last_id_ = 0;
    std::vector<std::vector<unsigned char>> dead_;
};

struct Case {
    Mode mode;
    const char* policy;
    std::uint64_t buffer_bytes;
    std::uint64_t index_entries;
    bool paper;  ///< 001's behaviour throughout
    bool adaptive;
    bool bypass;
    std::uint64_t read_ahead_bytes = 0;  ///< if not 0, in read-only programs
};

class EngineRandom : public ::testing::TestWithParam<Case> {};

TEST_P(EngineRandom, EveryByteIsWhatTheNetworkWouldHaveRead) {
    const Case& c = GetParam();
    Settings s = Rig::settings(c.mode);
    s.policy = c.policy;
    s.buffer_bytes = c.buffer_bytes;
    s.index_entries = c.index_entries;
    s.exact_match = s.weak_admission = c.paper;
    s.keep_on_resize = !c.paper;
    s.adaptive = c.adaptive;
    s.adapt_interval_gets = 50;
    s.bypass = c.bypass;
    s.read_ahead_bytes = c.read_ahead_bytes;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomProgram program(s, c.read_ahead_bytes != 0, seed);
        program.run(400);
        if (HasFailure()) return;
        if (c.mode == Mode::always_cache && !c.bypass) {
            EXPECT_GT(program.counters().hits, 0u);
        }
        if (c.read_ahead_bytes != 0) {
            EXPECT_GT(program.counters().read_aheads, 0u);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Modes, EngineRandom,
    ::testing::Values(Case{Mode::always_cache, "density", 1 << 20, 1024, false, false, false},
                      Case{Mode::always_cache, "density", 4096, 32, false, false, false},
                      Case{Mode::always_cache, "lru", 4096, 32, false, true, false},
                      Case{Mode::always_cache, "s3fifo", 8192, 64, false, true, false},
                      Case{Mode::always_cache, "gdsf", 4096, 64, false, false, true},
                      Case{Mode::always_cache, "clampi", 4096, 32, true, true, false},
                      Case{Mode::always_cache, "temporal", 8192, 16, true, false, false},
                      Case{Mode::always_cache, "density", 1 << 20, 1024, false, false, false, 512},
                      Case{Mode::always_cache, "density", 4096, 32, false, true, false, 256},
                      Case{Mode::always_cache, "lru", 4096, 64, false, false, true, 1000},
                      Case{Mode::user_defined, "density", 8192, 64, false, true, false},
                      Case{Mode::user_defined, "positional", 4096, 32, true, true, false},
                      Case{Mode::transparent, "density", 8192, 64, false, true, false},
                      Case{Mode::transparent, "clampi", 4096, 32, true, true, true},
                      Case{Mode::off, "density", 8192, 64, false, true, false}));

}  // namespace
}  // namespace nearfetch
