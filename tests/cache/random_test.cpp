// SPDX-License-Identifier: Apache-2.0
//
// Random programs against a simple model. It knows which values of each remote byte a get may return: the
// current one, and every one since this process last acquired the target. Own writes are visible at once. A
// harness that omits a put or an acquire has to be caught, or the model would prove nothing.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cache/range_cache/range_cache.hpp"
#include "random_program.hpp"

namespace nearfetch {
namespace {

enum class Fault { none, forgets_updates, forgets_acquires, forgets_drops, commits_garbage };

struct Variant {
    std::string policy;
    bool exact_match = false;
    bool keep_on_resize = true;
    bool adaptive = false;
    std::uint64_t lines = 12;
    std::uint64_t index_entries = 24;
    std::string storage = "best_fit";
};

struct Byte {
    std::uint8_t value;
    std::set<std::uint8_t> allowed;
};

class Harness : private testing::RandomProgram<Byte, 3, 1500> {
  public:
    Harness(const Variant& variant, std::uint64_t seed, Fault fault)
        : RandomProgram(seed), fault_(fault), config_(config(variant, seed)), cache_(config_, ranks) {
        for (auto& rank : memory_)
            for (Byte& byte : rank)
                byte = {0, {0}};
    }

    /// \return the first failure, or nothing
    std::string run(int steps) {
        for (step_ = 0; step_ < steps && failure_.empty(); ++step_) {
            act();
            if (step_ % 8 == 0) cache_.check_invariants();
        }
        while (!flights_.empty())
            complete(flights_.size() - 1);
        cache_.check_invariants();
        if (cache_.occupancy().pending != 0) fail("entries stay in flight");
        cache_.invalidate();
        const Occupancy left = cache_.occupancy();
        if (left.free_bytes != left.buffer_bytes || left.entries != 0) fail("invalidate leaves something");
        return failure_;
    }

    std::uint64_t served() const { return served_; }
    std::uint64_t joined() const { return joined_; }
    const RangeCacheCounters& counters() const { return cache_.counters(); }

  private:
    struct Flight {
        Entry* entry;
        Rank target;
        std::uint64_t offset;
        std::vector<std::byte> bytes;
        std::vector<bool> read;  ///< bytes already read at the target
    };

    static RangeCacheConfig config(const Variant& variant, std::uint64_t seed) {
        RangeCacheConfig config;
        config.buffer_bytes = 64 * variant.lines;
        config.buffer_bytes_max = 64 * variant.lines * 4;
        config.index_entries = variant.index_entries;
        config.index_entries_max = variant.index_entries * 4;
        config.policy = variant.policy;
        config.storage = variant.storage;
        config.exact_match = variant.exact_match;
        config.keep_on_resize = variant.keep_on_resize;
        config.adaptive = variant.adaptive;
        config.adapt.interval_gets = 40;
        config.sample_entries = 4;
        config.seed = seed;
        config.application_score = [](Rank, std::uint64_t offset, std::uint64_t) {
            return static_cast<double>(offset % 7);
        };
        return config;
    }

    void pick_range(Rank& target, std::uint64_t& offset, std::uint64_t& size) {
        target = static_cast<Rank>(pick(ranks));
        // Few addresses, so that ranges collide: most at multiples of 16, with small sizes or a few lines.
        offset = pick(4) == 0 ? pick(memory_bytes - 300) : pick((memory_bytes - 300) / 16) * 16;
        size = 1 + (pick(3) == 0 ? pick(300) : pick(40));
    }

    void act() {
        Rank target = 0;
        std::uint64_t offset = 0, size = 0;
        pick_range(target, offset, size);
        const std::uint64_t what = pick(1000);
        if (what < 620) {
            get(target, offset, size);
        } else if (what < 820) {
            if (!flights_.empty()) complete(pick(flights_.size()));
        } else if (what < 880) {
            put(target, offset, size);
        } else if (what < 910) {
            accumulate(target, offset, size);
        } else if (what < 950) {
            change_elsewhere(target, offset, size);
        } else if (what < 975) {
            acquire(target, pick(3) == 0);
        } else if (what < 980) {
            cache_.invalidate();
            for (Rank rank = 0; rank < ranks; ++rank)
                forget_history(rank);
        } else if (what < 990) {
            cache_.resize(64 + pick(config_.buffer_bytes_max));
        } else {
            read_somewhat();
        }
    }

    void check(Rank target, std::uint64_t offset, std::uint64_t size, const std::byte* data,
               const char* how) {
        for (std::uint64_t i = 0; i < size; ++i)
            if (at(target, offset + i).allowed.count(static_cast<std::uint8_t>(data[i])) == 0) {
                fail(std::string("a value that is not allowed, ") + how + ", target " +
                     std::to_string(target) + ", byte " + std::to_string(offset + i));
                return;
            }
        ++served_;
    }

    void get(Rank target, std::uint64_t offset, std::uint64_t size) {
        if (const std::byte* data = cache_.find(target, offset, size)) {
            check(target, offset, size, data, "found");
            return;
        }
        std::vector<LookupPart> parts;
        cache_.plan_lookup(target, offset, size, parts);
        std::uint64_t next = offset;
        for (const LookupPart& part : parts) {
            if (part.offset != next || part.size == 0) fail("parts do not tile the range");
            next = part.offset + part.size;
            if (part.kind == LookupPart::Kind::resident)
                check(target, part.offset, part.size, part.data, "resident");
            if (part.kind == LookupPart::Kind::pending) join(target, part);
        }
        if (next != offset + size) fail("parts do not cover the range");
        for (const LookupPart& part : parts) {
            if (part.kind != LookupPart::Kind::gap) continue;
            const Admission admission =
                cache_.admit(target, part.offset, part.size, cache_.now(), pick(10) != 0);
            if (admission.entry == nullptr) continue;
            Flight flight{admission.entry, target, part.offset, std::vector<std::byte>(part.size),
                          std::vector<bool>(part.size, false)};
            flights_.push_back(std::move(flight));
            if (pick(2) == 0) read_all(flights_.back());
            if (pick(4) == 0) complete(flights_.size() - 1);
        }
    }

    /// A get that waits for a transfer in flight gets its bytes: bytes read so far have to be allowed now.
    void join(Rank target, const LookupPart& part) {
        for (const Flight& flight : flights_) {
            if (flight.entry != part.entry) continue;
            if (flight.target != target || part.offset < flight.offset ||
                part.offset + part.size > flight.offset + flight.bytes.size()) {
                fail("pending part names the wrong entry");
                return;
            }
            for (std::uint64_t i = part.offset - flight.offset; i < part.offset - flight.offset + part.size;
                 ++i)
                if (flight.read[i] &&
                    at(target, flight.offset + i).allowed.count(static_cast<std::uint8_t>(flight.bytes[i])) ==
                        0) {
                    fail("joined a transfer whose data is not allowed any more");
                    return;
                }
            ++joined_;
            return;
        }
        fail("pending part names an entry that is not in flight");
    }

    void read_all(Flight& flight) {
        for (std::uint64_t i = 0; i < flight.bytes.size(); ++i) {
            if (flight.read[i]) continue;
            flight.read[i] = true;
            flight.bytes[i] = static_cast<std::byte>(at(flight.target, flight.offset + i).value);
        }
    }
    void read_somewhat() {
        for (Flight& flight : flights_)
            if (pick(2) == 0) read_all(flight);
    }

    void complete(std::size_t which) {
        std::swap(flights_[which], flights_.back());
        Flight flight = std::move(flights_.back());
        flights_.pop_back();
        read_all(flight);
        if (pick(12) == 0) {
            cache_.abandon(flight.entry);
            return;
        }
        if (fault_ == Fault::commits_garbage && pick(8) == 0) flight.bytes[0] ^= std::byte{0xff};
        const std::byte* source = flight.bytes.data();
        if (flight.entry->data() != nullptr && pick(2) == 0) {
            std::memcpy(flight.entry->data(), source, flight.bytes.size());
            source = flight.entry->data();
        }
        if (!cache_.commit(flight.entry, source)) return;
        const std::byte* data = cache_.find(flight.target, flight.offset, flight.bytes.size());
        if (data == nullptr)
            fail("committed, but not found");
        else
            check(flight.target, flight.offset, flight.bytes.size(), data, "just committed");
    }

    void put(Rank target, std::uint64_t offset, std::uint64_t size) {
        std::vector<std::byte> bytes(size);
        for (std::uint64_t i = 0; i < size; ++i) {
            const auto value = static_cast<std::uint8_t>(random_());
            bytes[i] = static_cast<std::byte>(value);
            at(target, offset + i) = {value, {value}};
        }
        if (fault_ != Fault::forgets_updates || pick(4) != 0)
            cache_.update(target, offset, size, bytes.data());
    }
    void accumulate(Rank target, std::uint64_t offset, std::uint64_t size) {
        for (std::uint64_t i = 0; i < size; ++i) {
            const auto value = static_cast<std::uint8_t>(at(target, offset + i).value + 1 + pick(100));
            at(target, offset + i) = {value, {value}};
        }
        if (fault_ != Fault::forgets_drops || pick(4) != 0) cache_.drop(target, offset, size);
    }
    void change_elsewhere(Rank target, std::uint64_t offset, std::uint64_t size) {
        for (std::uint64_t i = 0; i < size; ++i) {
            Byte& byte = at(target, offset + i);
            byte.value = static_cast<std::uint8_t>(random_());
            byte.allowed.insert(byte.value);
        }
    }
    void forget_history(Rank target) {
        for (Byte& byte : memory_[static_cast<std::size_t>(target)])
            byte.allowed = {byte.value};
    }
    void acquire(Rank target, bool all) {
        const bool told = fault_ != Fault::forgets_acquires || pick(4) != 0;
        for (Rank rank = 0; rank < ranks; ++rank)
            if (all || rank == target) forget_history(rank);
        if (!told) return;
        if (all)
            cache_.acquire();
        else
            cache_.acquire(target);
    }

    Fault fault_;
    RangeCacheConfig config_;
    RangeCache cache_;
    std::vector<Flight> flights_;
    std::uint64_t served_ = 0;
    std::uint64_t joined_ = 0;
};

std::vector<Variant> variants() {
    std::vector<Variant> all;
    for (const auto policy : eviction_policy_names()) {
        Variant variant;
        variant.policy = policy;
        all.push_back(variant);
    }
    all.push_back({"clampi", true, false, true});
    all.push_back({"clampi", true, true, false, 6, 40});
    all.push_back({"density", false, true, true});
    all.push_back({"density", false, true, true, 40, 6});
    all.push_back({"density", true, true, false, 8, 12});
    all.push_back({"lru", false, true, true, 4, 8});
    all.push_back({"lru", false, false, true, 20, 5});
    all.push_back({"gdsf", false, true, true, 1, 1});
    for (std::size_t n = all.size(); n-- > 0;) {
        if (scores_free_space(all[n].policy)) continue;
        all.push_back(all[n]);
        all.back().storage = "log";
    }
    return all;
}

std::string name_of(const Variant& variant) {
    std::ostringstream text;
    text << variant.policy << " in " << variant.storage << (variant.exact_match ? " exact" : "")
         << (variant.adaptive ? " adaptive" : "") << ", " << variant.lines << " lines, "
         << variant.index_entries << " index entries";
    return text.str();
}

TEST(RandomPrograms, SeeOnlyAllowedValues) {
    std::uint64_t served = 0, joined = 0;
    RangeCacheCounters sum;
    for (const Variant& variant : variants())
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            auto harness = std::make_unique<Harness>(variant, seed, Fault::none);
            const std::string failure = harness->run(4000);
            ASSERT_EQ(failure, "") << name_of(variant) << ", seed " << seed;
            served += harness->served();
            joined += harness->joined();
            for (const CounterInfo& info : range_cache_counter_table)
                sum.*info.member += harness->counters().*info.member;
        }
    // The programs reached the cases that they are for.
    EXPECT_GT(served, 10000u);
    EXPECT_GT(joined, 1000u);
    EXPECT_GT(sum.evictions, 10000u);
    EXPECT_GT(sum.dropped, 1000u);
    EXPECT_GT(sum.index_resizes, 100u);
    EXPECT_GT(sum.buffer_resizes, 100u);
}

TEST(RandomPrograms, ABrokenUserOfTheCacheIsCaught) {
    Variant variant;
    variant.policy = "density";
    variant.storage = "log";
    variant.lines = 30;
    variant.index_entries = 60;
    for (const Fault fault :
         {Fault::forgets_updates, Fault::forgets_acquires, Fault::forgets_drops, Fault::commits_garbage}) {
        int caught = 0;
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            auto harness = std::make_unique<Harness>(variant, seed, fault);
            caught += harness->run(20000).empty() ? 0 : 1;
        }
        EXPECT_EQ(caught, 5) << "fault " << static_cast<int>(fault) << " goes unnoticed";
    }
}

}  // namespace
}  // namespace nearfetch
