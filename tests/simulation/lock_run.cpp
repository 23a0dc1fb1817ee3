// SPDX-License-Identifier: Apache-2.0
#include "lock_run.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/mixed.hpp"
#include "lock_network.hpp"
#include "replay/replayed_window.hpp"

namespace nearfetch::simulation {

namespace {

using Kind = LockOp::Kind;

constexpr auto ranks = static_cast<std::size_t>(LockProgram::ranks);

/// What a rank has written to its mailboxes, and has told of it, by target.
struct Mail {
    std::array<std::uint64_t, ranks> written{};
    std::array<std::uint64_t, ranks> told{};
};

/// What all ranks know of the run; it belongs to the running one.
struct LockJob {
    const LockProgram& program;
    Fault fault;
    LockMemory memory;
    std::array<Mail, ranks> mail{};
    std::uint64_t bytes_written = 0;  ///< each has another value than the one before
    RangeCacheCounters counters{};
    Outcome outcome{};

    void fail(const LockOp& op, const std::string& what) {
        if (!outcome.failure.empty()) return;
        outcome.failure = "rank " + std::to_string(op.rank) + ' ' + what;
        outcome.op = op.id;
    }
};

/// A get of shared bytes, until its epoch ends.
struct Read {
    std::uint64_t offset;
    std::vector<std::byte> bytes;

    /// Whether memory with these bytes has what it has brought.
    bool is_of(const std::vector<std::byte>& memory) const {
        return std::equal(bytes.begin(), bytes.end(), memory.begin() + static_cast<std::ptrdiff_t>(offset));
    }
};
/// A get of a mailbox.
struct MailRead {
    std::uint64_t oldest;  ///< that may be there
    std::uint64_t value = 0;
};

struct SharedEpoch {
    Rank target;
    std::size_t oldest;  ///< state that its gets may see
    // What is fetched stays where it is.
    std::vector<std::unique_ptr<Read>> reads;
    std::vector<std::unique_ptr<MailRead>> mail;
};

class LockRank {
  public:
    LockRank(LockJob& job, Rank self)
        : job_(job),
          self_(self),
          network_(job.program, job.fault, job.memory, self),
          window_(job.program.settings, memory_of_all(), self, process_, network_) {
        process_.acquires.come_one_by_one(true);
        window_.cache().locks().open_leases(network_, job.program.lease_ns);
    }

    void run() {
        for (const LockOp& op : job_.program.ops) {
            if (!job_.outcome.failure.empty()) break;
            if (op.rank != self_) continue;
            dice_ = Dice(mixed(job_.program.chance) + op.id);
            network_.begin_operation(mixed(job_.program.chance) - op.id);
            network_.pass(std::max(op.begin_ns, network_.now_ns()) - network_.now_ns());
            run(op);
        }
        window_.cache().locks().close_leases();
        network_.complete();
        job_.counters.add(window_.cache().counters());
    }

  private:
    static std::vector<TargetMemory> memory_of_all() {
        return {ranks,
                {.extent_bytes = LockProgram::shared_bytes +
                                 LockProgram::mailbox_bytes * static_cast<std::uint64_t>(ranks)}};
    }
    static std::uint64_t mailbox_of(Rank owner) {
        return LockProgram::shared_bytes + LockProgram::mailbox_bytes * static_cast<std::uint64_t>(owner);
    }
    Mail& mail_of(Rank owner) { return job_.mail[static_cast<std::size_t>(owner)]; }

    void run(const LockOp& op) {
        switch (op.kind) {
            case Kind::read:
            case Kind::read_two:
            case Kind::read_flush:
                read(op);
                break;
            case Kind::write:
            case Kind::count:
            case Kind::store:
                write(op);
                break;
            case Kind::tell:
                tell(op);
                break;
            case Kind::hear:
                hear(op.target);
                break;
            case Kind::nap:
                network_.pass(dice_.below(20 * job_.program.lease_ns));
                break;
        }
    }
    void count_call() { ++job_.outcome.ops; }
    /// Whose mail it reads, and whom it hears.
    Rank teller() const { return (self_ + 1) % LockProgram::ranks; }

    // The program's calls.

    SharedEpoch lock(Rank target) {
        count_call();
        const std::size_t oldest = job_.memory.at(target).states.size() - 1;
        window_.lock_shared(target, library([this, target] { network_.lock_shared(target, 0); }));
        return {target, oldest, {}, {}};
    }
    void unlock(Rank target) {
        count_call();
        window_.unlock(target, library([this, target] { network_.unlock(target); }));
    }
    void flush(Rank target) {
        count_call();
        window_.flush(target, FlushKind::full, library([this, target] { network_.flush_local(target); }));
    }
    template <class Call>
    ReplayedWindow::LibraryCall library(Call call) {
        return [this, call] {
            const std::uint64_t begin_ns = network_.now_ns();
            call();
            return network_.now_ns() - begin_ns;
        };
    }
    void get(Rank target, std::span<const ByteRun> runs) {
        count_call();
        std::uint64_t size = 0;
        for (const ByteRun& run : runs)
            size += run.size;
        network_.is_in_get = true;
        window_.get(target, runs, size);
        network_.is_in_get = false;
    }
    void put(Rank target, std::uint64_t offset, std::span<std::byte> bytes) {
        count_call();
        const ByteRun run{offset, bytes.size(), bytes.data()};
        window_.put(target, {&run, 1});
    }

    void read(const LockOp& op) {
        SharedEpoch epoch = lock(op.target);
        read_some(epoch, op);
        if (op.kind == Kind::read_two) {
            SharedEpoch other = lock((op.target + 1) % LockProgram::ranks);
            read_some(other, op);
            read_some(epoch, op);
            if (dice_.one_in(2)) std::swap(epoch, other);
            finish(other, op);
        } else if (op.kind == Kind::read_flush) {
            flush(op.target);
            check(epoch, op);
            const auto seen = bytes_of(epoch);
            read_some(epoch, op);
            finish(epoch, op);
            const auto left = bytes_of(epoch);
            if (!std::equal(seen.begin(), seen.end(), left.begin()))
                job_.fail(op, "has seen bytes change that a flush had completed. Allowed: as they were");
            return;
        }
        finish(epoch, op);
    }
    void finish(SharedEpoch& epoch, const LockOp& op) {
        unlock(epoch.target);
        check(epoch, op);
    }
    static std::vector<std::vector<std::byte>> bytes_of(const SharedEpoch& epoch) {
        std::vector<std::vector<std::byte>> all;
        for (const auto& read : epoch.reads)
            all.push_back(read->bytes);
        return all;
    }

    /// A few gets within the operation's bytes, and of mailboxes, and what may come in between.
    void read_some(SharedEpoch& epoch, const LockOp& op) {
        for (std::uint64_t left = 1 + dice_.below(4); left > 0; --left) {
            if (dice_.one_in(4)) {
                read_mail(epoch);
            } else {
                const std::uint64_t skipped = dice_.one_in(2) ? 0 : dice_.below(op.size_bytes);
                read_bytes(epoch, op.offset + skipped, op.size_bytes - skipped);
            }
            if (dice_.one_in(4)) network_.pass(dice_.below(job_.program.lease_ns / 4));
        }
    }
    void read_bytes(SharedEpoch& epoch, std::uint64_t offset, std::uint64_t size) {
        Read& read = *epoch.reads.emplace_back(std::make_unique<Read>(offset));
        read.bytes.resize(size);
        const std::uint64_t first = size > 2 && dice_.one_in(4) ? size / 2 : size;
        std::array<ByteRun, 2> runs{ByteRun{offset, first, read.bytes.data()},
                                    ByteRun{offset + first, size - first, read.bytes.data() + first}};
        get(epoch.target, std::span(runs).first(first < size ? 2 : 1));
    }
    void read_mail(SharedEpoch& epoch) {
        if (dice_.one_in(8)) hear(epoch.target);
        MailRead& read = *epoch.mail.emplace_back(
            std::make_unique<MailRead>(heard_[static_cast<std::size_t>(epoch.target)]));
        const ByteRun run{mailbox_of(teller()), sizeof read.value, reinterpret_cast<std::byte*>(&read.value)};
        get(epoch.target, {&run, 1});
    }

    /// After its unlock, or a flush.
    void check(const SharedEpoch& epoch, const LockOp& op) {
        const auto& states = job_.memory.at(epoch.target).states;
        std::string allowed;
        bool is_one = false;
        for (std::size_t state = epoch.oldest; state < states.size() && !is_one; ++state) {
            allowed += ' ' + std::to_string(state);
            is_one = std::ranges::all_of(epoch.reads,
                                         [&](const auto& read) { return read->is_of(states[state]); });
        }
        if (!is_one)
            job_.fail(op, "has not read one state of target " + std::to_string(epoch.target) +
                              ". Allowed: the states" + allowed + "." + what_was_read(epoch));
        for (const auto& read : epoch.mail) {
            const std::uint64_t newest = mail_of(teller()).written[static_cast<std::size_t>(epoch.target)];
            if (read->value < read->oldest || read->value > newest)
                job_.fail(op, "has read " + std::to_string(read->value) + " in the mailbox of rank " +
                                  std::to_string(teller()) + ". Allowed: " + std::to_string(read->oldest) +
                                  " to " + std::to_string(newest));
        }
        for (const auto& read : epoch.reads)
            job_.outcome.bytes += read->bytes.size();
    }
    /// Of each get, the states that have its bytes.
    std::string what_was_read(const SharedEpoch& epoch) {
        const auto& states = job_.memory.at(epoch.target).states;
        std::string text;
        for (const auto& read : epoch.reads) {
            text += "\n  " + std::to_string(read->offset) + '+' + std::to_string(read->bytes.size()) +
                    " as in state";
            for (std::size_t state = 0; state < states.size(); ++state)
                if (read->is_of(states[state])) text += ' ' + std::to_string(state);
        }
        return text;
    }

    void write(const LockOp& op) {
        window_.lock_exclusive(op.target);
        network_.lock_exclusive(op.target);
        Read before{op.offset, std::vector<std::byte>(op.size_bytes)};
        std::vector<std::byte>& bytes = before.bytes;
        if (op.kind == Kind::count) {
            const ByteRun run{op.offset, bytes.size(), bytes.data()};
            get(op.target, {&run, 1});
            flush(op.target);
            if (!before.is_of(job_.memory.at(op.target).bytes))
                job_.fail(op, "has read old bytes under an exclusive lock. Allowed: those of state " +
                                  std::to_string(job_.memory.at(op.target).states.size() - 1));
        }
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(++job_.bytes_written);
        if (op.kind == Kind::store) {
            network_.store(op.offset, bytes);
        } else {
            put(op.target, op.offset, bytes);
            if (dice_.one_in(3)) flush(op.target);
        }
        network_.pass(dice_.below(job_.program.lease_ns / 4));
        unlock(op.target);
    }

    void tell(const LockOp& op) {
        const auto target = static_cast<std::size_t>(op.target);
        Mail& own = mail_of(self_);
        std::uint64_t value = ++own.written[target];
        lock(op.target);
        put(op.target, mailbox_of(self_), std::as_writable_bytes(std::span(&value, 1)));
        unlock(op.target);
        own.told[target] = value;
    }
    void hear(Rank target) {
        const auto at = static_cast<std::size_t>(target);
        heard_[at] = mail_of(teller()).told[at];
        if (job_.fault == Fault::unheard_messages) return;
        process_.acquires.acquire("MPI_Recv");
        if (process_.lease_writers != 0) window_.cache().locks().end_writing();
    }

    LockJob& job_;
    Rank self_;
    Dice dice_{0};
    LockNetwork network_;
    ProcessState process_;
    ReplayedWindow window_;
    std::array<std::uint64_t, ranks> heard_{};  ///< of the teller's mailboxes, by target
};

}  // namespace

Outcome run(const LockProgram& program, Fault fault, RangeCacheCounters& counters) {
    LockJob job{.program = program, .fault = fault, .memory = LockMemory(program)};
    Simulation& simulation = job.memory.simulation;
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < LockProgram::ranks; ++rank) {
        Simulation::Actor& actor = simulation.add("rank " + std::to_string(rank), 0);
        threads.emplace_back([&job, &simulation, &actor, rank] {
            simulation.enter(actor);
            LockRank(job, rank).run();
            simulation.leave();
        });
    }
    simulation.run();
    for (std::thread& thread : threads)
        thread.join();
    simulated_ticks = nullptr;
    counters.add(job.counters);
    return job.outcome;
}

}  // namespace nearfetch::simulation
