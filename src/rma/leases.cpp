// SPDX-License-Identifier: Apache-2.0
#include "rma/leases.hpp"

#include <algorithm>

#include "base/ticks.hpp"

namespace nearfetch {

namespace {

/// How much faster one rank's clock may be than another's, as a share of what it shows.
constexpr std::uint64_t clock_margin = 64;
/// What is remembered of a word holds for so long: in less time no field can come round (docs/leases.md).
constexpr double remembered_ns = 200e6;
/// Shares of the time that looks, and writing, may each take if they save nothing.
constexpr std::uint64_t free_share = 128;
/// How long looks of a burst may take together. It is free to begin with: nobody feels it.
constexpr double burst_ns = 20e6;
/// A look takes a round trip; an elided lock and its get save about three. Two may go to looks, one to
/// writing.
constexpr std::uint64_t looks_for_saved = 2;
constexpr std::uint64_t writing_for_saved = 1;
/// So that a writer does not register with each rank of a large group.
constexpr Rank most_at_once = 1024;

/// Where words go that nobody asks for. They may come at any time.
std::uint64_t unused = 0;

}  // namespace

void Leases::open(LeaseWords& words, std::uint64_t lease_ns, bool has_budget,
                  std::uint32_t& writers) noexcept {
    lease_ticks_ = static_cast<std::uint64_t>(static_cast<double>(lease_ns) / ns_per_tick());
    remembered_ticks_ = static_cast<std::uint64_t>(remembered_ns / ns_per_tick());
    burst_ticks_ = static_cast<std::uint64_t>(burst_ns / ns_per_tick());
    opened_ticks_ = ticks();
    has_budget_ = has_budget;
    targets_.visit_all([this](TargetState& state) { state.lease = {.ended = opened_ticks_}; });
    words_ = &words;
    writers_ = &writers;
}

bool Leases::may_look(std::uint64_t now) noexcept {
    if (!has_budget_) return true;
    const std::uint64_t saved = saved_looks_ * look_ticks() * looks_for_saved;
    const std::uint64_t budget = burst_ticks_ + (now - opened_ticks_) / free_share + saved;
    const std::uint64_t needed = looking_ticks_ + (is_saving_up_ ? burst_ticks_ : 0);
    is_saving_up_ = needed > budget;
    return !is_saving_up_;
}

bool Leases::look(Rank target) noexcept {
    TargetLease& t = at(target);
    const std::uint64_t now = ticks();
    if (now < t.lease_end) return true;
    t.lease_end = 0;
    if (t.role != Role::reader || !may_look(now)) return false;
    // A writer that was there mostly still is.
    const std::uint64_t age = now - t.looked;
    if (has_budget_ && !t.is_known && t.looked != 0 && age < lease_ticks_) return false;
    LeaseWord word;
    const int status = words_->fetch_add(target, LeaseWord::one_look, word.bits);
    ++looks_;
    ++t.own_looks;
    looking_ticks_ += ticks() - now;
    const bool is_unchanged = t.is_known && t.version == word.version() && age < remembered_ticks_;
    t.is_known = status == 0 && word.writers() == 0;
    t.looked = now;
    if (!t.is_known) return false;
    t.version = word.version();
    t.lease_end = now + lease_ticks_;
    return is_unchanged;
}

void Leases::add_writer(Rank target, Role role) noexcept {
    TargetLease& t = at(target);
    if (t.role == Role::reader) {
        written_.push_back(target);
        ++*writers_;
    }
    t.role = role;
    t.lease_end = 0;
    t.is_known = false;
}

void Leases::announce(Rank target) noexcept {
    const std::uint64_t begin = ticks();
    if (words_->start_fetch_add(target, LeaseWord::one_writer, unused) == 0)
        add_writer(target, Role::announced);
    writing_ticks_ += ticks() - begin;
}

/// Whether others have looked since this has ended its writing, or may have.
bool Leases::has_been_leased(const TargetLease& t, LeaseWord before, std::uint64_t now) const noexcept {
    if (now - t.ended >= remembered_ticks_) return true;
    const std::uint64_t seen = LeaseWord{t.before_end}.looks() + t.own_looks;
    return (before.looks() - seen) % (LeaseWord{~0ull}.looks() + 1) != 0;
}

int Leases::begin_writing(Rank target) noexcept {
    if (words_ == nullptr) return 0;
    TargetLease& t = at(target);
    if (t.role == Role::writer) return 0;
    if (has_budget_ && waits_ != 0 && has_overspent()) return write_to_many(target);
    const std::uint64_t begin = ticks();
    LeaseWord word;
    const std::uint64_t amount = t.role == Role::announced ? 0 : LeaseWord::one_writer;
    if (const int status = words_->fetch_add(target, amount, word.bits); status != 0) return status;
    const std::uint64_t registered = ticks();
    if (t.role == Role::announced || has_been_leased(t, word, begin)) {
        ++waits_;
        words_->wait_until(registered + lease_ticks_ + lease_ticks_ / clock_margin);
    }
    add_writer(target, Role::writer);
    writing_ticks_ += ticks() - begin;
    return 0;
}

/// As begin_writing(), of many targets at once, from this one on.
int Leases::write_to_many(Rank first) noexcept {
    const std::uint64_t begin = ticks();
    const Rank count = std::min(targets_.ranks(), most_at_once);
    const auto each = [&](const auto& visit) {
        for (Rank i = 0; i < count; ++i)
            visit(static_cast<Rank>((std::int64_t{first} + i) % targets_.ranks()));
    };
    int status = 0;
    each([&](Rank target) {
        if (at(target).role != Role::reader) return;
        if (status == 0) status = words_->start_fetch_add(target, LeaseWord::one_writer, unused);
        if (status == 0) add_writer(target, Role::announced);
    });
    if (status == 0) status = words_->complete();
    if (status == 0) {
        ++waits_;
        words_->wait_until(ticks() + lease_ticks_ + lease_ticks_ / clock_margin);
        each([&](Rank target) { at(target).role = Role::writer; });
    }
    writing_ticks_ += ticks() - begin;
    return status;
}

bool Leases::has_overspent() const noexcept {
    const std::uint64_t saved = saved_looks_ * look_ticks() * writing_for_saved;
    return writing_ticks_ > (ticks() - opened_ticks_) / free_share + saved;
}

void Leases::end_writing(Rank target) noexcept {
    if (words_ == nullptr || at(target).role == Role::reader) return;
    if (has_budget_ && has_ended_ && has_overspent()) return;
    TargetLease& t = at(target);
    const std::uint64_t begin = ticks();
    // Who has only announced updates has waited for no lease: what it knows of looks stays as it was.
    const bool has_waited = t.role == Role::writer;
    std::uint64_t& before = has_waited ? t.before_end : unused;
    if (words_->start_fetch_add(target, LeaseWord::writer_off, before) != 0) return;
    std::erase(written_, target);
    --*writers_;
    t.role = Role::reader;
    if (has_waited) {
        t.ended = begin;
        t.own_looks = 0;
    }
    has_ended_ = true;
    writing_ticks_ += ticks() - begin;
}

void Leases::close() noexcept {
    if (words_ == nullptr) return;
    has_budget_ = false;
    end_writing_if([](Rank) { return true; });
    words_ = nullptr;
}

}  // namespace nearfetch
