// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <nearfetch/pgas.hpp>

namespace nearfetch {

/// A variable that is full or empty (a Chapel sync variable). Reading waits until it is full, writing until
/// it is empty. Both are fences: one release before the wait and one acquire after it, however long it is. It
/// lives at a rank; all ranks may use the pointer.
template <class T>
class SyncVar {
    static_assert(detail::is_atomic<T>, "8 bytes");

  public:
    struct Cell {
        std::uint64_t state = 0;
        T value;
    };

    /// Empty if the cell is zero.
    explicit SyncVar(GlobalPtr<Cell> cell) : cell_(cell) {}

    /// Waits until it is empty, leaves it full.
    void write_ef(T value) const {
        take(empty);
        atomic_store(value_ptr(), value, std::memory_order_relaxed);
        set(full);
    }
    /// Waits until it is full, leaves it empty.
    T read_fe() const { return read(empty); }
    /// Waits until it is full, leaves it full.
    T read_ff() const { return read(full); }
    bool is_full() const { return atomic_load(state_ptr()) == full; }

  private:
    static constexpr std::uint64_t empty = 0, full = 1, busy = 2;

    GlobalPtr<std::uint64_t> state_ptr() const { return cell_.template as<std::uint64_t>(); }
    GlobalPtr<T> value_ptr() const { return {cell_.rank(), cell_.address() + 8}; }
    T read(std::uint64_t after) const {
        take(full);
        const T value = atomic_load(value_ptr(), std::memory_order_relaxed);
        set(after);
        return value;
    }
    /// Waits for a state. Later gets see what was released before it was set.
    void take(std::uint64_t state) const {
        release();
        for (std::uint64_t seen = state;
             !atomic_compare_exchange(state_ptr(), seen, busy, std::memory_order_relaxed); seen = state)
            yield();
        acquire();
    }
    /// \pre taken; nothing was put since
    void set(std::uint64_t state) const { atomic_store(state_ptr(), state, std::memory_order_relaxed); }

    GlobalPtr<Cell> cell_;
};

}  // namespace nearfetch
