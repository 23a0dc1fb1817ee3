// SPDX-License-Identifier: Apache-2.0
#include "lock_network.hpp"

#include <algorithm>

namespace nearfetch::simulation {

namespace {

/// Clocks begin late enough for what is subtracted from them.
constexpr std::uint64_t begin_ns = 1'000'000'000;
/// The fastest clock is 1.014 times as fast as the slowest; leases allow for a 64th.
constexpr std::uint64_t slowest = 993, fastest = 1007;

}  // namespace

LockMemory::LockMemory(const LockProgram& program) : simulation(program.chance), targets(LockProgram::ranks) {
    Dice dice(program.chance);
    for (Target& target : targets) {
        target.states.emplace_back(LockProgram::shared_bytes);
        for (std::byte& byte : target.states.front())
            byte = static_cast<std::byte>(dice.below(256));
        target.bytes = target.states.front();
        target.bytes.resize(LockProgram::shared_bytes + LockProgram::ranks * LockProgram::mailbox_bytes);
    }
}

LockNetwork::LockNetwork(const LockProgram& program, Fault fault, LockMemory& memory, Rank self)
    : memory_(memory),
      self_(self),
      fault_(fault),
      dice_(program.chance + static_cast<std::uint64_t>(self)),
      takes_locks_late_(program.takes_locks_late),
      latency_ns_(program.latency_ns),
      lease_ns_(program.lease_ns),
      speed_(slowest + dice_.below(fastest - slowest + 1)),
      clock_{0, 0},
      epochs_(LockProgram::ranks) {
    pass(0);
}

void LockNetwork::pass(std::uint64_t ns) {
    if (dice_.one_in(200)) ns += dice_.below(20 * lease_ns_);
    memory_.simulation.sleep_until(now_ns() + ns);
    clock_.now = begin_ns + now_ns() * speed_ / 1000;
    simulated_ticks = &clock_;
    if (!adds_.empty() && dice_.one_in(4)) add_started();
}

void LockNetwork::take(Rank target) {
    Epoch& e = epoch(target);
    if (e.is_taken || e.asked == Lock::none) return;
    LockMemory::Target& t = memory_.at(target);
    while (t.writers != 0 || (e.asked == Lock::exclusive && t.readers != 0))
        pass(latency() + dice_.below(lease_ns_ / 8));
    ++(e.asked == Lock::exclusive ? t.writers : t.readers);
    e.is_taken = true;
}

void LockNetwork::lock_exclusive(Rank target) {
    epoch(target).asked = Lock::exclusive;
    pass(latency());
    if (!takes_locks_late_) take(target);
}

int LockNetwork::lock_shared(Rank target, int /*assertion*/) {
    if (epoch(target).asked != Lock::none) return 0;
    epoch(target).asked = Lock::shared;
    pass(latency());
    if (!takes_locks_late_) take(target);
    return 0;
}

int LockNetwork::unlock(Rank target) {
    deliver(target);
    pass(latency());
    Epoch& e = epoch(target);
    LockMemory::Target& t = memory_.at(target);
    if (e.is_taken && e.asked == Lock::exclusive) {
        const auto end = t.bytes.begin() + LockProgram::shared_bytes;
        t.states.emplace_back(t.bytes.begin(), end);
        --t.writers;
    } else if (e.is_taken) {
        --t.readers;
    }
    e = {};
    pass(latency());
    return 0;
}

void LockNetwork::store(std::uint64_t offset, std::span<const std::byte> bytes) {
    take(self_);
    std::ranges::copy(bytes, memory_.at(self_).bytes.begin() + static_cast<std::ptrdiff_t>(offset));
}

int LockNetwork::flush_local(Rank target) {
    deliver(target);
    pass(latency());
    return 0;
}

void LockNetwork::deliver(Rank target) {
    const auto is_there = [=](const auto& one) { return one.target == target; };
    if (std::ranges::none_of(gets_, is_there) && std::ranges::none_of(puts_, is_there)) return;
    take(target);
    pass(latency());
    for (const Put& put : puts_)
        if (put.target == target)
            std::ranges::copy(put.bytes,
                              memory_.at(target).bytes.begin() + static_cast<std::ptrdiff_t>(put.offset));
    for (const Get& get : gets_)
        if (get.target == target) read(get);
    std::erase_if(puts_, is_there);
    std::erase_if(gets_, is_there);
}

void LockNetwork::read(const Get& get) {
    std::copy_n(memory_.at(get.target).bytes.begin() + static_cast<std::ptrdiff_t>(get.run.offset),
                get.run.size, get.run.origin);
}

int LockNetwork::start_get(Rank target, std::span<const ByteRun> runs) {
    if (fault_ == Fault::unrepaired_snapshots && !is_in_get) return 0;
    const bool at_once = dice_.one_in(4);
    if (at_once) {
        take(target);
        pass(latency());
    }
    for (const ByteRun& run : runs)
        at_once ? read({target, run}) : gets_.push_back({target, run});
    return 0;
}

int LockNetwork::start_put(Rank target, std::span<const ByteRun> runs) {
    for (const ByteRun& run : runs)
        puts_.push_back({target, run.offset, {run.origin, run.origin + run.size}});
    if (dice_.one_in(4)) deliver(target);
    return 0;
}

std::uint64_t LockNetwork::add(Rank target, std::uint64_t amount) {
    std::uint64_t& word = memory_.at(target).word;
    const std::uint64_t before = word;
    word += amount;
    return before;
}

void LockNetwork::add_started() {
    for (; !adds_.empty(); adds_.pop_front())
        *adds_.front().before = add(adds_.front().target, adds_.front().amount);
}

int LockNetwork::fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) {
    pass(latency());
    add_started();
    const LeaseWord found{add(target, amount)};
    pass(latency());
    before = found.bits;
    if (fault_ == Fault::unseen_writers) before -= found.writers();
    if (fault_ == Fault::unread_versions) before -= found.version() * LeaseWord::one_version;
    return 0;
}

int LockNetwork::start_fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) {
    adds_.push_back({target, amount, &before});
    return 0;
}

int LockNetwork::complete() {
    pass(latency());
    add_started();
    pass(latency());
    return 0;
}

void LockNetwork::wait_until(std::uint64_t end_ticks) {
    while (fault_ != Fault::unwaited_leases && clock_.now < end_ticks)
        pass((end_ticks - clock_.now) / 2 + 1);
}

}  // namespace nearfetch::simulation
