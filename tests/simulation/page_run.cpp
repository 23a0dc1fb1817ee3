// SPDX-License-Identifier: Apache-2.0
#include "page_run.hpp"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "memory_model.hpp"
#include "network.hpp"
#include "pgas/page_engine.hpp"

namespace nearfetch::simulation {

namespace {

using Kind = PageOp::Kind;
using Bytes = std::vector<std::byte>;

constexpr int tries_most = 8;  ///< tries after failures; then the network is steady
constexpr int depth_most = 5;  ///< operations inside of others' waits
constexpr std::size_t pending_most = 3;

/// A get or put that was started.
struct Pending {
    PageOp op;
    Bytes bytes;
    MemoryModel::View view;
    MemoryModel::WriteId write = 0;
    std::unique_ptr<PageEngine::Get> get;
    std::unique_ptr<PageEngine::Put> put;
};

struct Task {
    TaskClock clock;
    MemoryModel::Time acquired = 0;
    bool busy = false;
    std::vector<std::unique_ptr<Pending>> pending;
};

struct RankState {
    std::unique_ptr<PageEngine> engine;
    std::vector<Task> tasks;
    std::uint64_t gets = 0;
    std::uint64_t puts = 0;
};

class PageRun {
  public:
    PageRun(const PageProgram& program, Fault fault)
        : program_(program),
          fault_(fault),
          dice_(program.chance),
          network_(program, fault, dice_),
          model_(program.ranks, program.memory_bytes, network_.memory) {
        for (Rank rank = 0; rank < program.ranks; ++rank) {
            ranks_.emplace_back();
            ranks_.back().engine = std::make_unique<PageEngine>(program.config, network_.transport(rank));
            ranks_.back().tasks.resize(program.tasks);
        }
        network_.while_waiting = [this] { run_others(); };
    }

    Outcome run(PageCacheCounters& counters) {
        while (next_ < program_.ops.size() && good())
            execute(program_.ops[next_++]);
        if (!program_.ops.empty()) op_ = program_.ops.back().id;
        if (good()) barrier();
        if (good()) check_counters();
        // Outstanding operations end first; operations of the list do not run any more.
        next_ = program_.ops.size();
        network_.set_steady(true);
        for (RankState& rank : ranks_) {
            rank.tasks.clear();
            counters.add(rank.engine->cache().counters());
            rank.engine.reset();
        }
        if (outcome_.failure.empty()) fail(network_.complaint());
        return outcome_;
    }

  private:
    void fail(const std::string& what) {
        if (what.empty() || !outcome_.failure.empty()) return;
        outcome_.failure = what;
        outcome_.op = op_;
    }
    bool good() {
        fail(network_.complaint());
        return outcome_.failure.empty();
    }
    RankState& rank_of(const PageOp& op) { return ranks_[op.rank]; }
    Task& task_of(const PageOp& op) { return ranks_[op.rank].tasks[op.task]; }
    bool direct(const PageOp& op) const { return program_.self_direct && op.target == op.rank; }

    void run_others() {
        for (std::uint64_t count = dice_.below(4); count > 0 && depth_ < depth_most; --count) {
            if (next_ == program_.ops.size() || alone_ || !good()) return;
            const PageOp& op = program_.ops[next_];
            if (op.kind == Kind::barrier || task_of(op).busy) return;
            ++next_;
            execute(op);
        }
    }

    void execute(const PageOp& op) {
        const std::uint32_t outer = std::exchange(op_, op.id);
        const Dice dice = std::exchange(dice_, Dice(mixed(program_.chance) + op.id));
        ++depth_;
        ++outcome_.ops;
        if (op.kind == Kind::barrier) {
            barrier();
        } else {
            task_of(op).busy = true;
            if (program_.race_free && op.size_bytes != 0) wait_for_overlaps(op);
            dispatch(op);
            task_of(op).busy = false;
        }
        if (fault_ == Fault::late_merges) merge_late();
        if (dice_.one_in(16) && good())
            for (const RankState& rank : ranks_)
                rank.engine->cache().check_invariants();
        --depth_;
        dice_ = dice;
        if (good()) op_ = outer;
    }

    void dispatch(const PageOp& op) {
        Task& task = task_of(op);
        PageEngine& engine = *rank_of(op).engine;
        switch (op.kind) {
            case Kind::get:
                return get(op);
            case Kind::put:
                return put(op);
            case Kind::start_get:
            case Kind::start_put:
                return start(op);
            case Kind::test:
                if (!task.pending.empty()) finish_pending(op, dice_.below(task.pending.size()), false);
                return;
            case Kind::wait:
                if (!task.pending.empty()) finish_pending(op, dice_.below(task.pending.size()), true);
                return;
            case Kind::prefetch:
                return engine.prefetch(task.clock, op.target, op.offset, op.size_bytes);
            case Kind::acquire:
                return acquire(op);
            case Kind::acquire_range:
                return acquire_range(op);
            case Kind::release:
                release(op, {});
                return;
            case Kind::release_range:
                release(op, op.range());
                return;
            case Kind::atomic:
            case Kind::fenced_atomic:
                return atomic(op);
            case Kind::outside:
                return outside(op);
            case Kind::barrier:
                return;
        }
    }

    std::byte* there(const PageOp& op) {
        return network_.memory[static_cast<std::size_t>(op.target)].data() + op.offset;
    }
    static Bytes values_of(const PageOp& op) {
        Bytes bytes(op.size_bytes);
        for (std::uint64_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<std::byte>(value_of(op.id, i));
        return bytes;
    }
    MemoryModel::View look(const PageOp& op) {
        return model_.look(op.rank, task_of(op).acquired, op.target, op.range());
    }
    void check(const MemoryModel::View& view, const PageOp& op, const std::byte* bytes) {
        outcome_.bytes += op.size_bytes;
        const std::string wrong = model_.check(view, op.target, op.offset, op.size_bytes, bytes);
        if (!wrong.empty()) {
            if (good()) op_ = op.id;
            return fail(wrong);
        }
        if (!program_.race_free || model_.doubts() || op.kind == Kind::atomic ||
            op.kind == Kind::fenced_atomic)
            return;
        const std::uint64_t one = op.offset + dice_.below(op.size_bytes);
        if (model_.choices(view, op.target, one) != 1)
            fail("the program is not race-free at byte " + std::to_string(one));
    }
    /// Counts a failure. \return whether it is expected
    bool tried(int& tries, const char* what) {
        if (!network_.may_fail()) {
            fail(std::string(what) + " fails on a network that works");
            return false;
        }
        if (++tries == tries_most) network_.set_steady(true);
        return good();
    }

    void get(const PageOp& op) {
        if (direct(op)) return check(model_.look_there(), op, there(op));
        const RankState& rank = rank_of(op);
        for (int tries = 0;;) {
            Bytes bytes(op.size_bytes, std::byte{0xdd});
            const MemoryModel::View view = look(op);
            const int status =
                rank.engine->get(task_of(op).clock, op.target, op.offset, op.size_bytes, bytes.data());
            if (status == 0) {
                ++rank_of(op).gets;
                check(view, op, bytes.data());
                break;
            }
            if (!tried(tries, "a get")) break;
        }
        network_.set_steady(false);
    }
    MemoryModel::WriteId issue(const PageOp& op, const Bytes& bytes) {
        const auto write = model_.issue(op.rank, op.id, op.target, op.offset, bytes.size(), bytes.data());
        // After a failed bulk put any part may be at the target, and the replaced dirty bytes are lost.
        if (program_.flaky && bytes.size() >= program_.config.bulk_bytes) model_.endanger(write);
        return write;
    }
    void put(const PageOp& op) {
        const Bytes bytes = values_of(op);
        if (direct(op)) {
            std::memcpy(there(op), bytes.data(), bytes.size());
            return model_.write_through(op.rank, op.id, op.target, op.offset, bytes.size(), bytes.data(),
                                        model_.tick());
        }
        for (int tries = 0;;) {
            const auto write = issue(op, bytes);
            if (rank_of(op).engine->put(op.target, op.offset, bytes.size(), bytes.data()) == 0) {
                ++rank_of(op).puts;
                model_.finish(write);
                break;
            }
            model_.doubt(write);
            if (!tried(tries, "a put")) break;
        }
        network_.set_steady(false);
    }

    void start(const PageOp& op) {
        if (direct(op)) return;
        Task& task = task_of(op);
        while (task.pending.size() >= pending_most)
            finish_pending(op, 0, true);
        PageEngine& engine = *rank_of(op).engine;
        auto pending = std::make_unique<Pending>();
        Pending& p = *pending;
        p.op = op;
        if (op.kind == Kind::start_get) {
            p.bytes.assign(op.size_bytes, std::byte{0xdd});
            p.view = look(op);
            p.get = std::make_unique<PageEngine::Get>(
                engine, task.clock, engine.get_request(op.target, op.offset, op.size_bytes, p.bytes.data()));
        } else {
            p.bytes = values_of(op);
            p.write = issue(op, p.bytes);
            p.put = std::make_unique<PageEngine::Put>(
                engine, task.clock, engine.put_request(op.target, op.offset, op.size_bytes, p.bytes.data()));
        }
        task.pending.push_back(std::move(pending));
        if (!dice_.one_in(4)) finish_pending(op, task.pending.size() - 1, false);
    }
    /// Advances one of the task's requests; with `wait`, to its end.
    void finish_pending(const PageOp& by, std::size_t which, bool wait) {
        Task& task = task_of(by);
        Pending& p = *task.pending[which];
        if (!wait && !(p.get != nullptr ? p.get->test() : p.put->test())) return;
        const int status = p.get != nullptr ? p.get->wait() : p.put->wait();
        const auto done = std::move(task.pending[which]);
        task.pending.erase(task.pending.begin() + static_cast<std::ptrdiff_t>(which));
        int tries = 0;
        if (status != 0 && !program_.flaky) tried(tries, "a pending get or put");
        if (p.get != nullptr) {
            if (status != 0) return;
            ++rank_of(by).gets;
            return check(p.view, p.op, p.bytes.data());
        }
        if (status == 0) {
            ++rank_of(by).puts;
            return model_.finish(p.write);
        }
        model_.doubt(p.write);
        put(p.op);
    }
    /// In a race-free program, what an operation may not overlap.
    void wait_for_overlaps(const PageOp& op) {
        Task& task = task_of(op);
        for (std::size_t i = 0; i < task.pending.size();) {
            const PageOp& other = task.pending[i]->op;
            if (other.target == op.target && other.range().overlaps(op.range()))
                finish_pending(op, i, true);
            else
                ++i;
        }
    }

    void acquire(const PageOp& op) {
        Task& task = task_of(op);
        if (fault_ != Fault::forgotten_acquires || !dice_.one_in(2)) rank_of(op).engine->acquire(task.clock);
        task.acquired = model_.tick();
    }
    void acquire_range(const PageOp& op) {
        if (fault_ != Fault::forgotten_acquires || !dice_.one_in(2))
            rank_of(op).engine->acquire(op.target, op.range());
        model_.acquired(op.rank, op.target, op.range());
    }
    bool release(const PageOp& op, ByteRange range) {
        PageEngine& engine = *rank_of(op).engine;
        const MemoryModel::Time begun = model_.tick();
        int status = 0;
        if (!range.empty())
            status = engine.release(op.target, range);
        else if (fault_ == Fault::narrow_releases)
            status = engine.release(0, {0, program_.memory_bytes});
        else
            status = engine.release();
        if (status == 0)
            model_.released(op.rank, begun, op.target, range);
        else if (!network_.may_fail() && !program_.flaky)
            fail("a release fails on a network that works");
        return status == 0;
    }
    void release_surely(const PageOp& op, ByteRange range) {
        for (int tries = 0; !release(op, range);)
            if (!tried(tries, "a release")) break;
        network_.set_steady(false);
    }

    void atomic(const PageOp& op) {
        const MemoryModel::Time begun = model_.tick();
        if (!direct(op)) release_surely(op, op.kind == Kind::atomic ? op.range() : ByteRange{});
        check(model_.look_there(), op, there(op));
        const Bytes bytes = values_of(op);
        std::memcpy(there(op), bytes.data(), bytes.size());
        model_.write_through(op.rank, op.id, op.target, op.offset, bytes.size(), bytes.data(), begun);
        if (op.kind == Kind::fenced_atomic)
            acquire(op);
        else if (!direct(op))
            acquire_range(op);
    }
    void outside(const PageOp& op) {
        Bytes bytes = values_of(op);
        PageEngine& engine = *rank_of(op).engine;
        const int status =
            dice_.one_in(2) ? engine.put(op.target, op.offset, bytes.size(), bytes.data())
                            : engine.get(task_of(op).clock, op.target, op.offset, bytes.size(), bytes.data());
        if (status != transport_status::outside) fail("an access outside of the memory is not refused");
    }

    /// All requests end, all ranks release, all ranks acquire.
    void barrier() {
        alone_ = true;
        for (std::uint8_t rank = 0; rank < program_.ranks && good(); ++rank) {
            PageOp op;
            op.id = op_;
            op.rank = rank;
            for (op.task = 0; op.task < program_.tasks; ++op.task)
                while (!task_of(op).pending.empty() && good())
                    finish_pending(op, 0, true);
            op.task = 0;
            if (good()) release_surely(op, {});
            if (good() && fault_ == Fault::none && ranks_[rank].engine->cache().occupancy().dirty_pages != 0)
                fail("dirty pages stay after a release");
            if (good() && fault_ == Fault::none && !ranks_[rank].engine->cache().operations().puts().empty())
                fail("PUTs stay under way after a release");
        }
        if (good()) {
            const std::string wrong = model_.check_and_reset(network_.memory, program_.race_free);
            if (!wrong.empty()) fail("when all have released, " + wrong);
        }
        for (std::uint8_t rank = 0; rank < program_.ranks; ++rank)
            for (std::uint8_t task = 0; task < program_.tasks; ++task) {
                PageOp op;
                op.rank = rank;
                op.task = task;
                acquire(op);
            }
        alone_ = false;
    }

    void check_counters() {
        for (Rank rank = 0; rank < program_.ranks; ++rank) {
            const RankState& state = ranks_[static_cast<std::size_t>(rank)];
            const PageCache& cache = state.engine->cache();
            cache.check_invariants();
            const PageCacheCounters c = cache.counters();
            const Network::Started& started = network_.started(rank);
            const std::uint64_t gets = c.hits + c.pending_hits + c.misses + c.bulk_gets;
            const std::uint64_t puts = c.puts + c.bulk_puts;
            const auto same = [&](const char* what, std::uint64_t counted, std::uint64_t done) {
                if (counted != done)
                    fail("rank " + std::to_string(rank) + " counts " + std::to_string(counted) + " " + what +
                         ", and there were " + std::to_string(done));
            };
            if (!program_.flaky && fault_ != Fault::late_merges) same("gets", gets, state.gets);
            if (!program_.flaky) same("puts", puts, state.puts);
            same("GETs", c.get_messages, started.gets);
            same("bytes of GETs", c.get_message_bytes, started.get_bytes);
            same("PUTs", c.put_messages, started.puts);
            same("bytes of PUTs", c.put_message_bytes, started.put_bytes);
        }
    }

    /// Fault::late_merges: fetched bytes overwrite pages later.
    void merge_late() {
        for (const Network::Arrival& arrival : std::exchange(network_.arrivals, {})) {
            const RankState& rank = ranks_[static_cast<std::size_t>(arrival.rank)];
            auto& cache = const_cast<PageCache&>(rank.engine->cache());
            for (std::uint64_t i = 0; i < arrival.bytes.size(); ++i)
                if (const std::byte* byte = cache.find({}, arrival.target, arrival.address + i, 1))
                    *const_cast<std::byte*>(byte) = arrival.bytes[i];
        }
    }

    const PageProgram& program_;
    Fault fault_;
    Dice dice_;
    Network network_;
    MemoryModel model_;
    std::vector<RankState> ranks_;
    std::size_t next_ = 0;
    int depth_ = 0;
    bool alone_ = false;  ///< nothing runs inside of a wait
    std::uint32_t op_ = 0;
    Outcome outcome_;
};

}  // namespace

Outcome run(const PageProgram& program, Fault fault, PageCacheCounters& counters) {
    return PageRun(program, fault).run(counters);
}

}  // namespace nearfetch::simulation
