// SPDX-License-Identifier: Apache-2.0
#include "mpi/lease_windows.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <iterator>
#include <new>
#include <thread>

#include "base/assert.hpp"
#include "base/ticks.hpp"
#include "mpi/wrappers/acquire_scope.hpp"
#include "transport/mpi/mpi_window_transfers.hpp"

namespace nearfetch {

namespace {

/// How long a writer that waits stays out of the library at most.
constexpr std::chrono::microseconds nap{50};

/// Whether all processes of `comm` are of this one's world, so that they end together.
bool is_of_one_world(MPI_Comm comm) noexcept {
    MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL, outside = MPI_GROUP_NULL;
    int size = 1;
    if (PMPI_Comm_group(comm, &group) == MPI_SUCCESS &&
        PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS &&
        PMPI_Group_difference(group, world, &outside) == MPI_SUCCESS)
        PMPI_Group_size(outside, &size);
    for (MPI_Group* one : {&group, &world, &outside})
        if (*one != MPI_GROUP_NULL && *one != MPI_GROUP_EMPTY) PMPI_Group_free(one);
    return size == 0;
}

/// In the fault-injection build, what a test leaves out of the rules.
std::uint64_t with_faults(std::uint64_t word) noexcept {
    if (left_out("lease-writers")) word -= LeaseWord{word}.writers();
    if (left_out("lease-versions")) word -= LeaseWord{word}.version() * LeaseWord::one_version;
    return word;
}

}  // namespace

int LeaseSlot::start_fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) {
    // The library may read it later.
    static constexpr std::uint64_t amounts[] = {LeaseWord::one_writer, LeaseWord::writer_off};
    const std::uint64_t* const origin = std::ranges::find(amounts, amount);
    NF_EXPECT(origin != std::end(amounts));
    if (is_announcement_left_out(amount)) return MPI_SUCCESS;
    return PMPI_Fetch_and_op(origin, &before, MPI_UINT64_T, target, slot_, MPI_SUM, hidden_);
}

/// In the fault-injection build: and then not taken back either.
bool LeaseSlot::is_announcement_left_out(std::uint64_t amount) noexcept {
    if (amount == LeaseWord::one_writer && left_out("lease-announcements"))
        ++left_out_;
    else if (left_out_ == 0 || amount == LeaseWord::one_writer)
        return false;
    else
        --left_out_;
    return true;
}

int LeaseSlot::fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) {
    std::uint64_t found = 0;
    int status = PMPI_Fetch_and_op(&amount, &found, MPI_UINT64_T, target, slot_, MPI_SUM, hidden_);
    if (status == MPI_SUCCESS) status = PMPI_Win_flush(target, hidden_);
    before = with_faults(found);
    return status;
}

void LeaseSlot::wait_until(std::uint64_t end_ticks) {
    if (left_out("lease-wait")) return;
    while (ticks() < end_ticks) {
        enter_mpi();
        std::this_thread::sleep_for(nap);
    }
}

void LeaseSlot::clear() noexcept {
    words_[slot_] = 0;
    PMPI_Win_sync(hidden_);
}

LeaseWindows::Hidden* LeaseWindows::find(MPI_Comm comm) noexcept {
    MPI_Group group = MPI_GROUP_NULL;
    if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS) return nullptr;
    const auto is_same = [&](const Hidden& hidden) {
        int result = MPI_UNEQUAL;
        return PMPI_Group_compare(group, hidden.group, &result) == MPI_SUCCESS && result == MPI_IDENT;
    };
    const auto found = std::ranges::find_if(windows_, is_same);
    PMPI_Group_free(&group);
    return found == windows_.end() ? nullptr : &*found;
}

LeaseWindows::Offer LeaseWindows::offer(MPI_Comm comm) {
    windows_.reserve(most_windows);
    const Hidden* const hidden = find(comm);
    Offer offer;
    offer.has_words = hidden != nullptr ? 1 : 0;
    offer.free_slots = hidden != nullptr ? hidden->free_slots : 0;
    offer.may_make = windows_.size() < most_windows && is_of_one_world(comm) ? 1 : 0;
    return offer;
}

LeaseWindows::Offer LeaseWindows::joined(const Offer& a, const Offer& b) noexcept {
    return {.may_lease = a.may_lease & b.may_lease,
            .wants_lease = a.wants_lease | b.wants_lease,
            .has_words = a.has_words & b.has_words,
            .may_make = a.may_make & b.may_make,
            .free_slots = a.free_slots & b.free_slots,
            .lease_ns = std::max(a.lease_ns, b.lease_ns)};
}

std::unique_ptr<LeaseSlot> LeaseWindows::take(MPI_Comm comm, const Offer& of_all) {
    if (of_all.may_lease == 0 || of_all.wants_lease == 0) return nullptr;
    if (of_all.has_words == 0 && of_all.may_make == 0) return nullptr;
    Hidden* const hidden = of_all.has_words != 0 ? find(comm) : make(comm);
    const std::uint64_t free_slots = of_all.has_words != 0 ? of_all.free_slots : ~std::uint64_t{0};
    if (hidden == nullptr || free_slots == 0) return nullptr;
    const int slot = std::countr_zero(free_slots);
    hidden->free_slots &= ~(std::uint64_t{1} << slot);
    try {
        return std::make_unique<LeaseSlot>(hidden->win, hidden->words, slot);
    } catch (const std::bad_alloc&) {
        renounce(hidden->win, slot);
        throw;
    }
}

LeaseWindows::Hidden* LeaseWindows::make(MPI_Comm comm) noexcept {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm own = MPI_COMM_NULL;
    PMPI_Comm_group(comm, &group);
    // Unlike a duplicate it has none of the program's attributes, whose functions would be called.
    if (PMPI_Comm_create(comm, group, &own) != MPI_SUCCESS) return nullptr;
    PMPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    std::uint64_t* words = nullptr;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Info info = MPI_INFO_NULL;
    PMPI_Info_create(&info);
    PMPI_Info_set(info, "accumulate_ops", "same_op");
    int status = PMPI_Win_allocate(slots * sizeof *words, sizeof *words, info, own, &words, &win);
    PMPI_Info_free(&info);
    if (status == MPI_SUCCESS) {
        PMPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        status = PMPI_Win_lock_all(MPI_MODE_NOCHECK, win);
        std::fill_n(words, slots, 0);
        PMPI_Win_sync(win);
    }
    int all_well = status == MPI_SUCCESS ? 1 : 0;
    PMPI_Allreduce(MPI_IN_PLACE, &all_well, 1, MPI_INT, MPI_MIN, own);
    PMPI_Comm_free(&own);
    if (all_well == 0) return nullptr;
    windows_.push_back({group, win, words, ~std::uint64_t{0}});
    return &windows_.back();
}

void LeaseWindows::renounce(MPI_Win hidden, int slot) noexcept {
    static constexpr std::uint64_t amount = LeaseWord::one_writer;
    static std::uint64_t unused;
    MPI_Group group = MPI_GROUP_NULL;
    int ranks = 0;
    PMPI_Win_get_group(hidden, &group);
    PMPI_Group_size(group, &ranks);
    PMPI_Group_free(&group);
    for (int target = 0; target < ranks; ++target)
        PMPI_Fetch_and_op(&amount, &unused, MPI_UINT64_T, target, slot, MPI_SUM, hidden);
    PMPI_Win_flush_all(hidden);
}

void LeaseWindows::free_all() noexcept {
    for (Hidden& hidden : windows_) {
        PMPI_Win_unlock_all(hidden.win);
        PMPI_Win_free(&hidden.win);
        PMPI_Group_free(&hidden.group);
    }
    windows_.clear();
}

void LeaseWindows::give_back(std::unique_ptr<LeaseSlot> slot) noexcept {
    if (slot == nullptr) return;
    slot->clear();
    for (Hidden& hidden : windows_)
        if (hidden.win == slot->hidden()) hidden.free_slots |= std::uint64_t{1} << slot->number();
}

}  // namespace nearfetch
