// SPDX-License-Identifier: Apache-2.0
//
// Random programs of several tasks on one page cache, over a network that delays, splits and reorders. The
// model keeps every value of each remote byte with its time. A read may return any value that the byte had at
// or after the reader's last acquire, and nothing older than the task's own writes. At the end the memory has
// the last writes. The programs have no write races: nobody else writes unreleased bytes of this process. A
// network or program with a fault has to be caught, or the model would prove nothing.
//
// tests/simulation covers more, but runs through the engine, where nested work ends before the outer wait
// does. Here all tasks' requests advance step by step in any order, as tasks with their own stacks do. Some
// programs only poll.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cache/page_cache/page_cache.hpp"
#include "random_program.hpp"

namespace nearfetch {
namespace {

enum class Fault { none, forgets_acquires, completes_puts_early, puts_round_up, loses_gets };

constexpr std::size_t tasks = 3;
constexpr std::uint64_t polled = 200;

struct Was {
    std::uint64_t time;
    std::uint8_t value;
};

struct Byte {
    std::uint8_t remote = 0;
    bool unreleased = false;
    std::uint64_t written = 0;  ///< by this process
    std::uint64_t acquired = 0;
    std::array<std::uint64_t, tasks> own{};
    std::vector<Was> history;
};

class Harness : private testing::RandomProgram<Byte, 2, 3000> {
  public:
    Harness(const PageCacheConfig& config, std::uint64_t seed, Fault fault)
        : RandomProgram(seed),
          fault_(fault),
          memory_of_cache_(*this),
          cache_(std::make_unique<PageCache>(config, &memory_of_cache_)),
          bulk_bytes_(config.bulk_bytes) {
        for (auto& rank : memory_)
            for (Byte& byte : rank) {
                byte.remote = static_cast<std::uint8_t>(random_());
                byte.history.push_back({0, byte.remote});
            }
    }

    /// \return the first failure, or nothing
    std::string run(int steps) {
        for (step_ = 0; step_ < steps && failure_.empty(); ++step_) {
            act();
            if (step_ % 16 == 0) cache_->check_invariants();
        }
        for (int left = 100000; left > 0 && failure_.empty() && busy(); --left)
            act_on_requests();
        if (busy()) fail("a request is never done");
        task_[0].release.emplace();
        for (int left = 100000; left > 0 && failure_.empty() && busy(); --left)
            act_on_requests();
        while (!flights_.empty())
            finish(0, false);
        cache_->check_invariants();
        if (failure_.empty() && cache_->operations().in_flight() != 0) fail("operations stay");
        if (failure_.empty() && cache_->occupancy().dirty_pages != 0)
            fail("dirty pages stay after a release");
        for (auto& rank : memory_)
            for (const Byte& byte : rank)
                if (byte.remote != byte.history.back().value) fail("memory is not what was written last");
        return failure_;
    }

    std::uint64_t checked() const { return checked_; }
    std::uint64_t found() const { return found_; }
    std::uint64_t held_back() const { return held_back_; }
    PageCacheCounters counters() const { return cache_->counters(); }

  private:
    struct Task {
        TaskClock clock;
        std::uint64_t acquired = 0;
        std::optional<GetRequest> get;
        std::optional<PutRequest> put;
        std::optional<PrefetchRequest> prefetch;
        std::optional<ReleaseRequest> release;
        std::uint64_t release_begin = 0;
        bool bulk_recorded = false;
        std::vector<std::byte> buffer;
        std::vector<std::uint64_t> bounds;
        Step step;
        bool idle() const { return !get && !put && !prefetch && !release; }
    };
    struct Flight {
        Operation* op;
        bool moved = false;
        bool early = false;  ///< Fault::completes_puts_early: the cache believes that it is complete
        Rank target = 0;
        std::uint64_t offset = 0;
        std::vector<std::byte> late_bytes;
    };

    bool busy() const {
        for (const Task& task : task_)
            if (!task.idle()) return true;
        return false;
    }

    // The network.
    void start(Operation& op) {
        if (op.range().end > memory_bytes) fail("an operation beyond the part");
        flights_.push_back({&op, false, false, op.target, op.offset, {}});
        cache_->started(op, ++time_);
        if (fault_ == Fault::completes_puts_early && op.kind == Operation::Kind::put && pick(4) == 0) {
            Flight& flight = flights_.back();
            flight.late_bytes.assign(op.buffer, op.buffer + op.size_bytes);
            flight.early = true;
            complete(op, 0);
        }
    }
    void complete(Operation& op, int status) {
        cache_->complete(op, status, ++time_);
        while (Operation* const due = cache_->next_due()) {
            ++held_back_;
            start(*due);
        }
    }
    void move(Flight& flight) {
        if (flight.moved) return;
        flight.moved = true;
        if (flight.early) {
            for (std::size_t i = 0; i < flight.late_bytes.size(); ++i)
                at(flight.target, flight.offset + i).remote = static_cast<std::uint8_t>(flight.late_bytes[i]);
            return;
        }
        Operation& op = *flight.op;
        for (std::uint64_t i = 0; i < op.size_bytes; ++i) {
            Byte& byte = at(op.target, op.offset + i);
            if (op.kind == Operation::Kind::put)
                byte.remote = static_cast<std::uint8_t>(op.buffer[i]);
            else if (fault_ != Fault::loses_gets || pick(1000) != 0)
                op.buffer[i] = static_cast<std::byte>(byte.remote);
        }
        if (op.kind == Operation::Kind::put && fault_ == Fault::puts_round_up &&
            op.range().end < memory_bytes)
            at(op.target, op.range().end).remote = 0;
    }
    void finish(std::size_t which, bool may_fail = true) {
        std::swap(flights_[which], flights_.back());
        Flight flight = std::move(flights_.back());
        flights_.pop_back();
        const bool bulk_put =
            !flight.early && flight.op->kind == Operation::Kind::put && flight.op->size_bytes >= bulk_bytes_;
        const bool fails = may_fail && !flight.early && !flight.moved && !bulk_put && pick(25) == 0;
        if (!fails) move(flight);
        if (!flight.early) complete(*flight.op, fails ? 1 : 0);
    }

    // Allowed values.
    bool allowed(const Byte& byte, std::uint64_t since, std::uint8_t value) const {
        for (std::size_t i = byte.history.size(); i-- > 0;) {
            if (byte.history[i].value == value) return true;
            if (byte.history[i].time <= since) return false;
        }
        return false;
    }
    std::uint64_t bound(const Byte& byte, std::size_t who) const {
        return std::max({task_[who].acquired, byte.acquired, byte.own[who]});
    }
    void check(Rank target, std::uint64_t offset, std::uint64_t size, const std::byte* data,
               const std::vector<std::uint64_t>& bounds, const char* how) {
        for (std::uint64_t i = 0; i < size; ++i)
            if (!allowed(at(target, offset + i), bounds[i], static_cast<std::uint8_t>(data[i]))) {
                fail(std::string("a value that is not allowed, ") + how + ", target " +
                     std::to_string(target) + ", byte " + std::to_string(offset + i) + " of " +
                     std::to_string(offset) + "+" + std::to_string(size));
                return;
            }
        ++checked_;
    }
    void record(std::size_t who, const PutRequest& put) {
        ++time_;
        for (std::uint64_t i = 0; i < put.size_bytes; ++i) {
            Byte& byte = at(put.target, put.offset + i);
            byte.history.push_back({time_, static_cast<std::uint8_t>(put.from[i])});
            byte.unreleased = true;
            byte.written = byte.own[who] = time_;
        }
    }
    /// A read of these bytes is in progress.
    bool being_read(Rank target, ByteRange range) const {
        for (const Task& task : task_)
            if (task.get && task.get->target == target && task.get->range().overlaps(range)) return true;
        return false;
    }
    /// A write of these bytes is in progress.
    bool being_written(Rank target, ByteRange range) const {
        for (const Task& task : task_)
            if (task.put && task.put->target == target && task.put->range().overlaps(range)) return true;
        return false;
    }

    // The program.
    void pick_range(Rank& target, std::uint64_t& offset, std::uint64_t& size) {
        target = static_cast<Rank>(pick(ranks));
        if (polls_ && pick(3) == 0) {
            target = 0;
            offset = polled - 8 + pick(24);
            size = 1 + pick(16);
            return;
        }
        // Few offsets, so that accesses collide; some scan memory, for read-ahead.
        const std::uint64_t how = pick(8);
        if (how < 3) {
            offset = (walk_ += pick(3) * 8) % (memory_bytes - 600);
        } else {
            offset = how == 3 ? pick(memory_bytes - 600) : pick(60) * 40;
        }
        size = 1 + (pick(6) == 0 ? pick(600) : pick(5) == 0 ? pick(100) : pick(16));
    }
    void acquire(Task& task) {
        task.acquired = ++time_;
        if (fault_ != Fault::forgets_acquires || pick(2) != 0) cache_->acquire(task.clock);
    }
    void read(std::size_t who, Rank target, std::uint64_t offset, std::uint64_t size) {
        if (being_written(target, {offset, offset + size})) return;
        Task& task = task_[who];
        task.bounds.resize(size);
        for (std::uint64_t i = 0; i < size; ++i)
            task.bounds[i] = bound(at(target, offset + i), who);
        if (const std::byte* data = cache_->find(task.clock, target, offset, size)) {
            ++found_;
            check(target, offset, size, data, task.bounds, "found");
            return;
        }
        task.buffer.assign(size, std::byte{0xee});
        task.get.emplace(target, offset, size, task.buffer.data(), ByteRange{}, ++time_);
    }
    void begin(std::size_t who) {
        Task& task = task_[who];
        Rank target = 0;
        std::uint64_t offset = 0, size = 0;
        pick_range(target, offset, size);
        const ByteRange range{offset, offset + size};
        const std::uint64_t what = pick(100);
        if (polls_ && who == 0) {
            acquire(task);
            read(who, 0, polled, 8);
        } else if (what < 50) {
            read(who, target, offset, size);
        } else if (what < 80) {
            if (being_written(target, range) || being_read(target, range)) return;
            task.buffer.resize(size);
            for (std::byte& byte : task.buffer)
                byte = static_cast<std::byte>(random_());
            task.put.emplace(target, offset, size, task.buffer.data());
            task.bulk_recorded = false;
            if (pick(3) != 0 && cache_->write(target, offset, size, task.buffer.data())) {
                record(who, *task.put);
                task.put.reset();
            }
        } else if (what < 88) {
            task.prefetch.emplace(target, range, readable_with(range));
        } else if (what < 93) {
            acquire(task);
        } else if (what < 96) {
            ++time_;
            for (std::uint64_t i = offset; i < offset + size; ++i)
                at(target, i).acquired = time_;
            cache_->acquire(target, range);
        } else {
            task.release_begin = ++time_;
            task.release.emplace();
        }
    }
    /// All memory, the range alone, a part of it, or something between.
    ByteRange readable_with(ByteRange range) {
        const std::uint64_t how = narrow_ ? pick(6) : 0;
        if (how == 0) return {0, memory_bytes};
        if (how == 1) return range;
        if (how == 4) return {range.begin, range.begin + pick(range.size())};
        if (how == 5) return {range.begin + pick(range.size()), range.end};
        const std::uint64_t around = how == 2 ? 20 : 300;
        return {range.begin - std::min(range.begin, pick(around)),
                std::min<std::uint64_t>(memory_bytes, range.end + pick(around))};
    }
    struct Memory final : ReadableMemory {
        explicit Memory(Harness& harness) : owner(harness) {}
        ByteRange around(Rank, ByteRange range) const noexcept override {
            return owner.answer_ = owner.readable_with(range);
        }
        Harness& owner;
    };
    Step ask(Task& task) {
        if (task.get) {
            const Step step = cache_->get(task.clock, *task.get);
            if (step.kind == Step::Kind::start && step.operation->kind == Operation::Kind::get &&
                !answer_.contains(step.operation->range()) &&
                !task.get->range().contains(step.operation->range()))
                fail("an operation beyond what is readable");
            return step;
        }
        if (task.put) return cache_->put(*task.put);
        if (task.prefetch) return cache_->prefetch(task.clock, *task.prefetch);
        return cache_->release(*task.release);
    }
    void advance(std::size_t who) {
        Task& task = task_[who];
        if (task.step.kind == Step::Kind::wait && task.step.is_outstanding()) return;
        task.step = ask(task);
        if (task.step.kind == Step::Kind::start) {
            // A bulk put is visible to readers from its start.
            if (task.put && task.put->size_bytes >= bulk_bytes_ &&
                task.step.operation->buffer == task.buffer.data()) {
                record(who, *task.put);
                task.bulk_recorded = true;
            }
            start(*task.step.operation);
            task.step = {};
        } else if (task.step.kind == Step::Kind::done) {
            finish_request(who);
        }
    }
    void finish_request(std::size_t who) {
        Task& task = task_[who];
        if (task.get) {
            const GetRequest& get = *task.get;
            if (get.status == 0) check(get.target, get.offset, get.size_bytes, get.to, task.bounds, "got");
        } else if (task.put && !task.bulk_recorded) {
            record(who, *task.put);
        } else if (task.release) {
            for (Rank target = 0; target < ranks; ++target)
                for (std::uint64_t offset = 0; offset < memory_bytes; ++offset) {
                    Byte& byte = at(target, offset);
                    if (!byte.unreleased || byte.written >= task.release_begin ||
                        being_written(target, {offset, offset + 1}))
                        continue;
                    byte.unreleased = false;
                    if (byte.remote != byte.history.back().value) fail("released, but not there");
                }
        }
        task.get.reset();
        task.put.reset();
        task.prefetch.reset();
        task.release.reset();
    }
    void change_elsewhere() {
        Rank target = 0;
        std::uint64_t offset = 0, size = 0;
        pick_range(target, offset, size);
        if (being_written(target, {offset, offset + size})) return;
        ++time_;
        for (std::uint64_t i = offset; i < offset + size; ++i) {
            Byte& byte = at(target, i);
            if (byte.unreleased) continue;
            byte.remote = static_cast<std::uint8_t>(random_());
            byte.history.push_back({time_, byte.remote});
        }
    }
    void act_on_requests() {
        if (!flights_.empty()) finish(pick(flights_.size()));
        for (std::size_t who = 0; who < tasks; ++who)
            if (!task_[who].idle()) advance(who);
    }
    void act() {
        const std::uint64_t what = pick(10);
        if (what < 6) {
            const std::size_t who = pick(tasks);
            if (task_[who].idle()) begin(who);
            if (!task_[who].idle()) advance(who);
        } else if (what < 8) {
            if (!flights_.empty()) finish(pick(flights_.size()));
        } else if (what < 9) {
            if (!flights_.empty()) move(flights_[pick(flights_.size())]);
        } else {
            change_elsewhere();
        }
    }

    /// In every second program the first task only polls, and the others work close to that offset.
    const bool polls_ = pick(2) == 0;
    /// In every second program little is readable around some gets.
    const bool narrow_ = pick(2) == 0;
    Fault fault_;
    const Memory memory_of_cache_;
    ByteRange answer_;  ///< the last one
    std::unique_ptr<PageCache> cache_;
    std::uint64_t bulk_bytes_;
    std::array<Task, tasks> task_;
    std::vector<Flight> flights_;
    std::uint64_t time_ = 0;
    std::uint64_t walk_ = 0;
    std::uint64_t checked_ = 0;
    std::uint64_t found_ = 0;
    std::uint64_t held_back_ = 0;
};

PageCacheConfig random_config(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto one_of = [&](std::initializer_list<std::uint64_t> values) {
        return *(values.begin() + random() % values.size());
    };
    PageCacheConfig config;
    config.line_bytes = one_of({8, 16, 64});
    config.page_bytes = std::max<std::uint64_t>(64, config.line_bytes * one_of({1, 2, 4, 16}));
    config.capacity_bytes = config.page_bytes * one_of({2, 3, 5, 8, 30});
    config.dirty_pages = static_cast<std::uint32_t>(
        std::min(one_of({1, 2, 4}), config.capacity_bytes / config.page_bytes / 2));
    config.operations = static_cast<std::uint32_t>(one_of({2, 3, 5, 16}));
    config.bulk_bytes = one_of({60, 150, 300, 2048});
    config.policy = one_of({0, 1}) == 0 ? "2q" : "s3fifo";
    config.new_percent = static_cast<std::uint32_t>(one_of({1, 25, 60, 99}));
    config.names_percent = static_cast<std::uint32_t>(one_of({1, 50, 300}));
    config.read_ahead = one_of({0, 1, 1}) != 0;
    config.read_ahead_items = static_cast<std::uint32_t>(one_of({1, 4, 64}));
    config.read_ahead_beyond_paper = one_of({0, 1}) != 0;
    config.combine_pages = one_of({0, 1}) != 0;
    config.wait_for_writes = one_of({0, 0, 1}) != 0;
    return config;
}

std::string name_of(const PageCacheConfig& config) {
    std::ostringstream text;
    text << "line " << config.line_bytes << " page " << config.page_bytes << " capacity "
         << config.capacity_bytes << " dirty " << config.dirty_pages << " operations " << config.operations
         << " bulk " << config.bulk_bytes << ' ' << config.policy << ' ' << config.new_percent << ' '
         << config.names_percent << " read_ahead " << config.read_ahead << " items "
         << config.read_ahead_items << " beyond " << config.read_ahead_beyond_paper << " combine "
         << config.combine_pages << " wait " << config.wait_for_writes;
    return text.str();
}

TEST(PageCacheRandomPrograms, SeeOnlyAllowedValues) {
    std::uint64_t checked = 0, found = 0, held_back = 0;
    PageCacheCounters sum;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const PageCacheConfig config = random_config(seed);
        Harness harness(config, seed, Fault::none);
        const std::string failure = harness.run(6000);
        ASSERT_EQ(failure, "") << "seed " << seed << ", " << name_of(config);
        checked += harness.checked();
        found += harness.found();
        held_back += harness.held_back();
        sum.add(harness.counters());
    }
    // The programs reached the cases that they are for.
    EXPECT_GT(checked, 200000u);
    EXPECT_GT(found, 10000u);
    EXPECT_GT(held_back, 300u);
    for (const PageCacheCounterInfo& row : page_cache_counter_table)
        EXPECT_GT(sum.*row.member, 200u) << row.name;
}

TEST(PageCacheRandomPrograms, ABrokenNetworkOrProgramIsCaught) {
    PageCacheConfig config;
    config.line_bytes = 64;
    config.page_bytes = 256;
    config.capacity_bytes = 20 * 256;
    config.dirty_pages = 4;
    config.operations = 8;
    config.bulk_bytes = 300;
    for (const Fault fault :
         {Fault::forgets_acquires, Fault::completes_puts_early, Fault::puts_round_up, Fault::loses_gets}) {
        int caught = 0;
        for (std::uint64_t seed = 1; seed <= 5; ++seed)
            caught += Harness(config, seed, fault).run(30000).empty() ? 0 : 1;
        EXPECT_EQ(caught, 5) << "fault " << static_cast<int>(fault) << " goes unnoticed";
    }
}

}  // namespace
}  // namespace nearfetch
