// SPDX-License-Identifier: Apache-2.0
#pragma once

// The memory that all caches of a process may take together: the one size that a user thinks of. A cache
// grows as long as there is some left.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

namespace nearfetch {

/// In bytes. Threads may share it.
class MemoryBudget {
  public:
    static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

    constexpr MemoryBudget() noexcept = default;

    /// What is taken already stays.
    void set_limit(std::uint64_t bytes) noexcept { limit_.store(bytes, std::memory_order_relaxed); }
    std::uint64_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
    std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }
    /// Ever.
    std::uint64_t most_taken() const noexcept { return most_taken_.load(std::memory_order_relaxed); }
    std::uint64_t left() const noexcept { return limit() - std::min(limit(), taken()); }

    /// \return whether it was there; else nothing is taken
    bool take(std::uint64_t bytes) noexcept {
        std::uint64_t before = taken();
        do {
            const std::uint64_t most = limit();
            if (before > most || bytes > most - before) return false;
        } while (!taken_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
        note(before + bytes);
        return true;
    }
    /// In any case.
    void charge(std::uint64_t bytes) noexcept {
        note(taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
    }
    void give_back(std::uint64_t bytes) noexcept { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

  private:
    void note(std::uint64_t now) noexcept {
        std::uint64_t most = most_taken();
        while (most < now && !most_taken_.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
        }
    }

    std::atomic<std::uint64_t> limit_{unlimited};
    std::atomic<std::uint64_t> taken_{0};
    std::atomic<std::uint64_t> most_taken_{0};
};

/// What one cache has taken of a budget. It gives it back in the end.
class MemoryShare {
  public:
    /// \param budget nullptr: no limit
    explicit MemoryShare(MemoryBudget* budget) noexcept : budget_(budget) {}
    ~MemoryShare() { give_back(taken_); }
    MemoryShare(const MemoryShare&) = delete;
    MemoryShare& operator=(const MemoryShare&) = delete;

    std::uint64_t left() const noexcept {
        return budget_ == nullptr ? MemoryBudget::unlimited : budget_->left();
    }
    bool take(std::uint64_t bytes) noexcept {
        if (budget_ != nullptr && !budget_->take(bytes)) return false;
        taken_ += bytes;
        return true;
    }
    void charge(std::uint64_t bytes) noexcept {
        if (budget_ != nullptr) budget_->charge(bytes);
        taken_ += bytes;
    }
    void give_back(std::uint64_t bytes) noexcept {
        if (budget_ != nullptr) budget_->give_back(bytes);
        taken_ -= bytes;
    }

  private:
    MemoryBudget* budget_;
    std::uint64_t taken_ = 0;
};

}  // namespace nearfetch
