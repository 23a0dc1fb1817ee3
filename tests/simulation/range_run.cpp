// SPDX-License-Identifier: Apache-2.0
#include "range_run.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "../rma/rig.hpp"
#include "base/error.hpp"
#include "dice.hpp"
#include "neighbour.hpp"
#include "told_time.hpp"

namespace nearfetch::simulation {

namespace {

using Kind = RangeOp::Kind;
using testing::Rig;

/// With a fault a completed check may still be in flight, to memory that is freed.
Settings settings_for(Settings settings, Fault fault) {
    if (fault != Fault::none) settings.check_hits = 0;
    return settings;
}

class RangeRun {
  public:
    RangeRun(const RangeProgram& program, Fault fault)
        : program_(program),
          fault_(fault),
          dice_(program.chance),
          // If own work takes long, circuit breakers open on a slow network too.
          told_time_(dice_.one_of<std::uint64_t>({100, 100, 20'000})),
          rig_(settings_for(program.settings, fault), RangeProgram::ranks, RangeProgram::memory_bytes),
          updates_(RangeProgram::ranks) {
        testing::process.memory.set_limit(program.settings.memory_bytes);
        rig_.network_ticks = dice_.one_of<std::uint64_t>({0, 1000, 50'000});
        rig_.keeps_puts = fault == Fault::kept_puts;
        rig_.window.describe_memory(
            std::vector<TargetMemory>(RangeProgram::ranks, {.extent_bytes = RangeProgram::memory_bytes}));
        const Mode mode = program.settings.mode;
        if (program.settings.node_buffer_bytes != 0 && mode != Mode::off && mode != Mode::transparent) {
            neighbour_ = std::make_unique<Neighbour>(program.settings, RangeProgram::ranks,
                                                     RangeProgram::memory_bytes);
            rig_.window.open_node_level(neighbour_->buffer());
        }
        for (auto& memory : rig_.memory)
            for (auto& byte : memory)
                byte = static_cast<unsigned char>(dice_.below(256));
    }

    Outcome run(RangeCacheCounters& counters) {
        for (const RangeOp& op : program_.ops) {
            op_ = op.id;
            dice_ = Dice(mixed(program_.chance) + op.id);
            ++outcome_.ops;
            execute(op);
            if (!outcome_.failure.empty()) break;
        }
        flush_all(FlushKind::full);
        if (outcome_.failure.empty()) check_counters();
        counters.add(rig_.window.counters());
        return outcome_;
    }

  private:
    /// An outstanding get or prefetch.
    struct Access {
        std::uint32_t op = 0;
        Rank target = 0;
        ByteRange range;  ///< around all runs
        std::vector<ByteRun> runs;
        std::vector<unsigned char> buffer;
        RequestId request = 0;
    };

    /// An outstanding put or accumulate.
    struct Update {
        std::uint32_t op = 0;
        ByteRange range;
        std::vector<unsigned char> bytes;  ///< empty for an accumulate
    };

    void fail(const std::string& what, std::uint32_t op) {
        if (!outcome_.failure.empty()) return;
        outcome_.failure = what;
        outcome_.op = op;
    }

    void execute(const RangeOp& op) {
        switch (op.kind) {
            case Kind::get:
            case Kind::get_runs:
            case Kind::get_refused:
            case Kind::get_request:
                return get(op);
            case Kind::finish_request:
            case Kind::free_request:
            case Kind::abandon_request:
                return request(op);
            case Kind::flush:
                return flush(op.target, FlushKind::full);
            case Kind::flush_local:
                return flush(op.target, FlushKind::local);
            case Kind::flush_all:
                return flush_all(dice_.one_in(2) ? FlushKind::local : FlushKind::full);
            case Kind::flush_fails:
                return rig_.window.completions().complete(op.target, rig_.window.completions().now(),
                                                          FlushKind::full, 1, 0);
            case Kind::arrive:
                return rig_.arrive(op.target);
            case Kind::put:
                return put(op, op.size_bytes);
            case Kind::puts:
                return put(op, 1 + dice_.below(16));
            case Kind::accumulate:
                return accumulate(op);
            case Kind::change:
                return change(op);
            case Kind::poll:
                return poll(op);
            case Kind::record:
                return record(op);
            case Kind::state:
                return change_state();
            case Kind::prefetch:
                return prefetch(op);
            case Kind::invalidate:
                return invalidate();
            case Kind::lock:
                return lock(op);
            default:
                if (neighbour_ != nullptr) neighbour_->execute(op, rig_.memory, fault_);
        }
    }

    std::vector<unsigned char>& memory_of(Rank target) {
        return rig_.memory[static_cast<std::size_t>(target)];
    }
    std::vector<Update>& updates_of(Rank target) { return updates_[static_cast<std::size_t>(target)]; }

    /// Flushes as MPI requires before a write, or before a read of written bytes.
    void make_way(const RangeOp& op, bool writes) {
        bool meets = false;
        for (const auto& access : under_way_)
            meets = meets || (writes && access->target == op.target && access->range.overlaps(op.range()));
        for (const Update& update : updates_of(op.target))
            meets = meets || update.range.overlaps(op.range());
        if (meets) flush(op.target, FlushKind::full);
    }

    void get(const RangeOp& op) {
        make_way(op, false);
        auto access = std::make_unique<Access>();
        access->op = op.id;
        access->target = op.target;
        access->range = op.range();
        if (op.kind == Kind::get_request) access->request = ++requests_;
        asked_.push_back(op);
        cut(op, *access);
        std::uint64_t size = 0;
        for (const ByteRun& run : access->runs)
            size += run.size;
        access->buffer.assign(size, 0xdd);
        auto* to = reinterpret_cast<std::byte*>(access->buffer.data());
        for (ByteRun& run : access->runs) {
            run.origin = to;
            to += run.size;
        }
        rig_.status = op.kind == Kind::get_refused ? 1 : 0;
        const int status = rig_.get(op.target, access->runs, access->request);
        const bool refused = std::exchange(rig_.status, 0) != 0;
        if (status != 0) {
            if (!refused) fail("a get fails on a network that works", op.id);
            ++refused_;
            return;
        }
        ++gets_;
        bytes_ += size;
        if (access->request != 0 && is_complete(rig_.begun)) return compare(*access);
        under_way_.push_back(std::move(access));
    }
    /// The runs of a get: the range itself, or parts of it in any order.
    void cut(const RangeOp& op, Access& access) {
        if (op.kind != Kind::get_runs) return access.runs.push_back({op.offset, op.size_bytes, nullptr});
        for (std::uint64_t count = 2 + dice_.below(dice_.one_in(60)  ? 300
                                                   : dice_.one_in(5) ? 30
                                                                     : 5);
             count > 0; --count) {
            const std::uint64_t begin = dice_.below(op.size_bytes);
            const std::uint64_t size = 1 + dice_.below(op.size_bytes - begin);
            access.runs.push_back({op.offset + begin, size, nullptr});
        }
    }
    void request(const RangeOp& op) {
        std::vector<std::size_t> open;
        for (std::size_t i = 0; i < under_way_.size(); ++i)
            if (under_way_[i]->request != 0) open.push_back(i);
        if (open.empty()) return;
        const std::size_t which = open[dice_.below(open.size())];
        Access& access = *under_way_[which];
        if (op.kind == Kind::finish_request) {
            rig_.arrive(access.target);
            rig_.finish(access.target, access.request);
            if (rig_.waiting.contains(access.request)) fail("a request that waits is not complete", op.id);
            return finish(which);
        }
        const bool arrives = rig_.leads(access.request) || rig_.waiting.contains(access.request);
        if (arrives) rig_.arrive(access.target);
        if (op.kind == Kind::free_request || rig_.waiting.contains(access.request))
            rig_.free(access.target, access.request);
        else
            rig_.window.completions().abandon_request(access.target, access.request);
        if (arrives) return finish(which);
        access.request = 0;
    }

    /// The program checks the bytes, and reuses the buffer.
    void finish(std::size_t which) {
        const auto access = std::move(under_way_[which]);
        under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(which));
        compare(*access);
        std::fill(access->buffer.begin(), access->buffer.end(), 0x5a);
        used_.push_back(std::move(access->buffer));
    }
    void compare(const Access& access) {
        const unsigned char* seen = access.buffer.data();
        outcome_.bytes += access.buffer.size();
        for (const ByteRun& run : access.runs)
            for (std::uint64_t i = 0; i < run.size; ++i, ++seen) {
                const unsigned char right = memory_of(access.target)[run.offset + i];
                if (*seen != right)
                    fail("byte " + std::to_string(run.offset + i) + " of " + std::to_string(access.target) +
                             " is " + std::to_string(*seen) + ", read by #" + std::to_string(access.op) +
                             ". Allowed: " + std::to_string(right) + " (" +
                             writer(access.target, run.offset + i) + ")",
                         access.op);
            }
    }
    std::string writer(Rank target, std::uint64_t offset) const {
        std::string text = "there at the beginning";
        for (const RangeOp& op : program_.ops) {
            if (op.id >= op_) break;
            const bool writes = op.kind == Kind::put || op.kind == Kind::puts ||
                                op.kind == Kind::accumulate || op.kind == Kind::change;
            const bool polls = op.kind == Kind::poll && polls_are_seen();
            const auto has = [&](const RangeOp& one) {
                return one.target == target && one.range().begin <= offset && offset < one.range().end;
            };
            if (((writes || polls) && has(op)) || (polls && has(data_behind(op))))
                text = "written by #" + std::to_string(op.id);
        }
        return text;
    }

    void flush(Rank target, FlushKind kind) {
        const std::uint64_t flushes = rig_.library_flushes;
        rig_.flush(target, kind);
        if (fault_ == Fault::one_flush_for_all) {
            if (rig_.library_flushes != flushes)
                rig_.window.completions().complete_all(rig_.window.completions().now(), kind, 0, 0);
            rig_.arrive(target);
        }
        completed(target, kind);
    }
    void flush_all(FlushKind kind) {
        rig_.flush_all(kind);
        for (Rank target = 0; target < RangeProgram::ranks; ++target)
            completed(target, kind);
    }
    /// Outstanding transfers from the target are complete. Requests still have to be waited for.
    void completed(Rank target, FlushKind kind) {
        for (std::size_t i = under_way_.size(); i-- > 0;) {
            const Access& access = *under_way_[i];
            if (access.target != target) continue;
            if (rig_.waiting.contains(access.request))
                fail("a request that waits is not complete after a flush", access.op);
            if (access.request != 0 && dice_.one_in(2)) rig_.finish(target, access.request);
            finish(i);
        }
        if (kind != FlushKind::full) return;
        for (const Update& update : updates_of(target))
            check_put(target, update);
        updates_of(target).clear();
    }
    /// A flush has completed it.
    void check_put(Rank target, const Update& update) {
        for (std::uint64_t i = 0; i < update.bytes.size(); ++i) {
            const unsigned char there = memory_of(target)[update.range.begin + i];
            if (there != update.bytes[i])
                fail("byte " + std::to_string(update.range.begin + i) + " of " + std::to_string(target) +
                         " is " + std::to_string(there) + " after a flush. Allowed: " +
                         std::to_string(update.bytes[i]) + " (put by #" + std::to_string(update.op) + ")",
                     update.op);
        }
    }

    /// Puts the range, in parts of at most so many bytes.
    void put(const RangeOp& op, std::uint64_t most) {
        make_way(op, true);
        rig_.late_puts = dice_.one_in(2);
        std::vector<unsigned char> bytes(op.size_bytes);
        for (auto& byte : bytes)
            byte = static_cast<unsigned char>(dice_.below(256));
        for (std::uint64_t done = 0; done < bytes.size(); ++puts_) {
            const std::uint64_t size = std::min(most, bytes.size() - done);
            put(op.target, op.offset + done, std::span(bytes).subspan(done, size));
            done += size;
        }
        updates_of(op.target).push_back({op.id, op.range(), bytes});
        // MPI allows the buffer's reuse after local completion.
        if (dice_.one_in(2)) flush(op.target, FlushKind::local);
    }
    void put(Rank target, std::uint64_t offset, std::span<unsigned char> bytes) {
        if (fault_ == Fault::unseen_puts)
            std::copy(bytes.begin(), bytes.end(),
                      memory_of(target).begin() + static_cast<std::ptrdiff_t>(offset));
        else if (rig_.put(target, offset, bytes.size(), bytes.data()) != 0)
            fail("a put fails on a network that works", op_);
    }
    void accumulate(const RangeOp& op) {
        make_way(op, true);
        for (std::uint64_t at = op.offset; at < op.range().end; ++at)
            memory_of(op.target)[at] = static_cast<unsigned char>(memory_of(op.target)[at] + 13);
        const ByteRun run{op.offset, op.size_bytes, nullptr};
        // It completes locally at once, after earlier puts.
        if (rig_.send_combined(op.target) != 0) fail("puts fail on a network that works", op.id);
        if (fault_ != Fault::unseen_accumulates && !rig_.window.updates().bypass_update(op.target))
            rig_.window.updates().update_started(op.target, {&run, 1});
        ++puts_;
        updates_of(op.target).push_back({op.id, op.range(), {}});
    }
    /// Another process writes, and this one synchronises as its mode requires.
    void change(const RangeOp& op) {
        if (program_.settings.mode == Mode::always_cache) return;
        make_way(op, true);
        overwrite(op);
        if (program_.settings.mode == Mode::user_defined) {
            // A program does not invalidate what it has not read.
            if (!program_.settings.read_only_phases && !was_asked(op))
                return fault_ == Fault::unseen_acquires ? void() : synchronise(op.target);
            if (fault_ != Fault::forgotten_invalidates) invalidate();
        }
        if (program_.settings.mode == Mode::acquire && fault_ != Fault::unseen_acquires)
            synchronise(op.target);
    }
    void invalidate() {
        rig_.window.acquire();
        asked_.clear();
    }
    /// Whether bytes of it were asked for since the last invalidate.
    bool was_asked(const RangeOp& op) const {
        return std::ranges::any_of(asked_, [&](const RangeOp& other) {
            return other.target == op.target && other.range().overlaps(op.range());
        });
    }
    void overwrite(const RangeOp& op) {
        for (std::uint64_t at = op.offset; at < op.range().end; ++at)
            memory_of(op.target)[at] = static_cast<unsigned char>(dice_.below(256));
    }
    /// By a message, or by a fetching atomic.
    void synchronise(Rank target) {
        if (!dice_.one_in(4)) return testing::process.acquires.acquire();
        rig_.window.updates().read_started(target, true);
        flush(target, dice_.one_in(2) ? FlushKind::local : FlushKind::full);
    }
    /// Polls a flag that is set after another change: the poll that sees it is an acquire.
    void poll(const RangeOp& op) {
        const RangeOp data = data_behind(op);
        if (polls_are_seen()) make_way(data, true);
        get(op);
        flush(op.target, FlushKind::full);
        if (polls_are_seen()) {
            overwrite(data);
            const unsigned char before = memory_of(op.target)[op.offset];
            overwrite(op);
            memory_of(op.target)[op.offset] = static_cast<unsigned char>(before + 1);
        }
        get(op);
        flush(op.target, FlushKind::full);
    }
    static RangeOp data_behind(const RangeOp& poll) {
        RangeOp data = poll;
        data.target = static_cast<Rank>((poll.target + poll.id % 2) % RangeProgram::ranks);
        data.offset =
            (poll.offset + RangeProgram::memory_bytes / 3) % (RangeProgram::memory_bytes - poll.size_bytes);
        return data;
    }
    void record(const RangeOp& op) {
        RangeOp header = op;
        header.size_bytes = 1 + op.size_bytes / 8;
        for (const RangeOp& one : {header, op, header}) {
            get(one);
            flush(op.target, dice_.one_in(2) ? FlushKind::local : FlushKind::full);
        }
    }
    void change_state() {
        Settings settings = rig_.window.settings();
        try {
            apply_setting(
                settings, "bypass",
                dice_.one_of({"off", "off", "off", "off", "off", "on", "sampling", "always", "passthrough"}));
        } catch (const Error&) {
            return;  // not all values are known everywhere
        }
        flush_all(FlushKind::full);
        rig_.window.change_settings(settings);
    }
    /// A get under a lock. The library sees the lock only if the get, or a validation of its hit, is sent.
    void lock(const RangeOp& op) {
        flush_all(FlushKind::full);
        set_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::none); });
        const bool waits =
            rig_.window.locks().judge_shared_lock(op.target, true).kept_by == SharedLock::Keeper::front_end;
        if (!waits) set_epochs([&](EpochTracker& epochs) { epochs.set(op.target, Epoch::passive); });
        const std::uint64_t messages = rig_.messages;
        get(op);
        if (waits && rig_.messages == messages) {
            rig_.window.locks().elide_lock(op.target);
        } else {
            const Moment since = rig_.window.completions().now();
            rig_.arrive(op.target);
            rig_.window.completions().complete(op.target, since, FlushKind::full, 0, rig_.network_ticks);
            set_epochs([&](EpochTracker& epochs) { epochs.set(op.target, Epoch::none); });
        }
        completed(op.target, FlushKind::full);
        set_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::passive); });
    }
    template <class Change>
    void set_epochs(const Change& change) {
        rig_.window.locks().change_epochs(change);
    }
    bool polls_are_seen() const noexcept { return program_.settings.mode == Mode::acquire; }
    void prefetch(const RangeOp& op) {
        make_way(op, false);
        asked_.push_back(op);
        if (rig_.window.prefetch(op.target, op.range()) != 0)
            fail("a prefetch fails on a network that works", op.id);
        auto access = std::make_unique<Access>();
        access->op = op.id;
        access->target = op.target;
        access->range = op.range();
        under_way_.push_back(std::move(access));
    }

    void check_counters() {
        const RangeCacheCounters c = rig_.window.counters();
        const auto same = [&](const char* what, std::uint64_t counted, std::uint64_t done) {
            if (counted != done)
                fail("the window counts " + std::to_string(counted) + " " + what + ", and there were " +
                         std::to_string(done),
                     op_);
        };
        // A get of a bypassed target is counted before it is started.
        if (refused_ == 0) same("gets", c.gets, gets_);
        if (refused_ == 0) same("bytes", c.bytes_requested, bytes_);
        same("kinds of gets",
             c.hits + c.partial_hits + c.pending_hits + c.direct + c.conflicting + c.capacity + c.failing +
                 c.bypassed,
             c.gets);
        if (fault_ == Fault::none) same("puts", c.puts, puts_);
        if (c.stale_hits != 0) fail("a hit is called old that is not", op_);
        if (c.flushes_elided > c.flushes) fail("more flushes are elided than there are", op_);
        if (c.locks_elided > c.locks) fail("more locks are elided than there are", op_);
        if (!rig_.transfers.empty()) fail("transfers stay under way after a flush of all", op_);
    }

    const RangeProgram& program_;
    Fault fault_;
    Dice dice_;
    ToldTime told_time_;
    Rig rig_;
    std::unique_ptr<Neighbour> neighbour_;  ///< where processes of a node share
    std::vector<std::unique_ptr<Access>> under_way_;
    std::vector<std::vector<Update>> updates_;  ///< by target, until they are complete
    std::vector<std::vector<unsigned char>> used_;
    std::vector<RangeOp> asked_;  ///< since the last invalidate
    RequestId requests_ = 0;
    std::uint64_t gets_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t puts_ = 0;
    std::uint64_t refused_ = 0;
    std::uint32_t op_ = 0;
    Outcome outcome_;
};

}  // namespace

Outcome run(const RangeProgram& program, Fault fault, RangeCacheCounters& counters) {
    return RangeRun(program, fault).run(counters);
}

}  // namespace nearfetch::simulation
