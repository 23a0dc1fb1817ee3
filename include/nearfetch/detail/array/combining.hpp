// SPDX-License-Identifier: Apache-2.0
#pragma once

// Updates of elements by their owner: element = op(element, value), or a new value in place of an expected
// one. All of them, the owner's own ones included, hold the lock of its part of the array. So they are atomic
// with each other, for elements of any size. Other accesses do not hold it.
//
// For arrays; nothing here is for programs.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <nearfetch/pgas.hpp>
#include <span>
#include <type_traits>

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {

/// element = op(element, value) for contiguous elements, of any alignment.
using Combine = void (*)(std::byte* elements, const std::byte* values, std::int64_t count);

/// An operation on elements of one type.
struct Combining {
    Combine combine = nullptr;
    Code many = nullptr;  ///< run at the owner, by combine_slices()
    Code one = nullptr;   ///< run at the owner, by update_element()
};

/// The lock of this rank's part of an array, while it lives.
class PartLock {
  public:
    /// \param part its first byte
    explicit PartLock(const std::byte* part);

  private:
    std::unique_lock<std::mutex> lock_;
};

/// An element that is updated. In a message the value follows, and for a swap the expected one.
struct ElementUpdate {
    std::uint64_t part = 0;     ///< address of the owner's part
    std::uint64_t address = 0;  ///< of the element
    std::uint64_t element_bytes = 0;
};

/// Runs `code` at the owner: a release before it, and an acquire after it.
/// \param values the value, and for a swap the expected one \param before where the element's old value goes
/// \throws Error if the owner does not answer
void update_element(Rank owner, Code code, const ElementUpdate& update, std::span<const std::byte> values,
                    std::byte* before);

// Run at the owner, with its lock.
void combine_here(const void* closure, Combine combine);
void combine_one_here(const void* closure, void* before, Combine combine);
void swap_here(const void* closure, void* before);
// In the program's own code, as pack_at_owner().
inline void swap_at_owner(const void* closure, void* before) { swap_here(closure, before); }

template <class T, class Op>
void combine_elements(std::byte* elements, const std::byte* values, std::int64_t count) {
    for (; count > 0; --count, elements += sizeof(T), values += sizeof(T)) {
        T element, value;
        std::memcpy(&element, elements, sizeof(T));
        std::memcpy(&value, values, sizeof(T));
        element = static_cast<T>(Op()(element, value));
        std::memcpy(elements, &element, sizeof(T));
    }
}
template <class T, class Op>
void combine_at_owner(const void* closure, void* /*result*/) {
    combine_here(closure, &combine_elements<T, Op>);
}
template <class T, class Op>
void combine_one_at_owner(const void* closure, void* before) {
    combine_one_here(closure, before, &combine_elements<T, Op>);
}

/// \tparam Op a function object without a state: it runs in another process
template <class T, class Op>
Combining combining_of() {
    static_assert(std::is_empty_v<Op> && std::is_default_constructible_v<Op>,
                  "an operation has no state: a lambda without captures, or std::plus<>");
    return {&combine_elements<T, Op>, &combine_at_owner<T, Op>, &combine_one_at_owner<T, Op>};
}

}  // namespace detail

}  // namespace nearfetch
