// SPDX-License-Identifier: Apache-2.0
#pragma once

// Slices: what one rank has of an array, cut to a box or to a set of elements. For array.hpp and the prefetch
// buffer; nothing here is for programs.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <nearfetch/detail/base/types.hpp>
#include <nearfetch/detail/cache/index_set.hpp>
#include <type_traits>

namespace nearfetch {
class StrategySelector;
}

namespace nearfetch::detail {

/// A box in the local numbers of the owner. Always four dimensions; missing ones come first and have extent
/// 1. Packed, the elements are contiguous in index order.
struct Slice {
    Rank owner = 0;
    std::uint64_t address = 0;  ///< of the owner's part of the array
    std::uint64_t element_bytes = 0;
    std::array<std::int64_t, 4> part{1, 1, 1, 1};  ///< shape of the owner's part
    std::array<std::int64_t, 4> lower{};
    std::array<std::int64_t, 4> extent{1, 1, 1, 1};

    std::int64_t elements() const noexcept { return extent[0] * extent[1] * extent[2] * extent[3]; }
    std::uint64_t bytes() const noexcept { return element_bytes * static_cast<std::uint64_t>(elements()); }
    /// Whether it covers another slice of the same part.
    bool contains(const Slice& other) const noexcept {
        bool inside = owner == other.owner && address == other.address;
        for (std::size_t d = 0; d < 4; ++d)
            inside = inside && lower[d] <= other.lower[d] &&
                     other.lower[d] + other.extent[d] <= lower[d] + extent[d];
        return inside;
    }
    friend bool operator==(const Slice&, const Slice&) = default;
};

/// Who packs and unpacks elements that are not contiguous.
enum class Packer : std::uint8_t {
    owner,      ///< the owner, in one message
    requester,  ///< the caller: the owner stays passive (LAPPS, 5.3.2) unless that took very many messages
};

/// Bytes of the slice, or of these elements of it.
inline std::uint64_t bytes_of(const Slice& slice, const IndexSet* only) noexcept {
    return only == nullptr ? slice.bytes() : slice.element_bytes * static_cast<std::uint64_t>(only->size());
}

/// The largest word that divides an element of so many bytes.
template <std::size_t Bytes>
using WordOf =
    std::conditional_t<Bytes % 8 == 0, std::uint64_t,
                       std::conditional_t<Bytes % 4 == 0, std::uint32_t,
                                          std::conditional_t<Bytes % 2 == 0, std::uint16_t, std::uint8_t>>>;

/// Whether an element is one word. A concurrent read of such an element gives the old or the new value.
template <class T>
constexpr bool is_word = sizeof(T) == sizeof(WordOf<sizeof(T)>);

/// Names the calling thread's interval between two releases; unique among threads.
[[gnu::visibility("default")]] extern thread_local constinit std::uint64_t put_epoch;

/// The acquire count for manual consistency: nobody acquires.
inline constinit const std::atomic<std::uint64_t> no_acquires{0};

/// A prefetched slice, as accesses see it.
struct PrefetchedSlice {
    Slice slice;
    /// The elements of the slice that are present, numbered from the start of the owner's part; nullptr: all.
    /// \pre with a set the slice is the whole part
    std::unique_ptr<const IndexSet> only;
    std::byte* data = nullptr;  ///< packed, or in the owner's layout; aligned to its words
    /// Set if `data` has the owner's layout with gaps; else nullptr.
    StrategySelector* strategy_selector = nullptr;
    bool consistent = true;  ///< automatic consistency
    Packer packer = Packer::owner;
    /// Index of its first element, for a contiguous distribution; for a set, of the part's first element.
    std::array<std::int64_t, 4> first{};
    /// The clock, which acquires of all threads of the rank advance.
    const std::atomic<std::uint64_t>* acquires = &no_acquires;
    std::atomic<std::uint64_t> stamp{0};              ///< the clock at the fetch; 0: never fetched
    std::atomic<std::uint64_t> sequence{0};           ///< odd: being overwritten
    std::atomic<std::uint32_t> pending_transfers{0};  ///< outstanding transfers
    std::atomic<std::uint64_t> writes{0};  ///< counted while transfers are pending: their data lacks them
    std::atomic<std::uint64_t> put_in{0};  ///< put_epoch of the last put

    std::uint64_t bytes() const noexcept { return bytes_of(slice, only.get()); }
    /// Bytes of `data`.
    std::uint64_t data_bytes() const noexcept {
        return strategy_selector == nullptr ? bytes() : slice.bytes();
    }

    // Positions are in elements of `data`; -1: the slice does not have the element.

    /// \param number count of the owner's elements before it
    template <std::size_t N>
    std::int64_t position(const std::array<std::int64_t, N>& local, std::int64_t number) const noexcept {
        return only == nullptr ? position_from(slice.lower, local) : position_in_set(number);
    }
    /// \pre a contiguous distribution
    template <std::size_t N>
    std::int64_t position_of(const std::array<std::int64_t, N>& index) const noexcept {
        const std::int64_t at = position_from(first, index);
        if (at < 0 || only == nullptr) return at;
        return position_in_set(at);
    }
    /// Packed position of an element that the slice has.
    std::int64_t packed_position(std::int64_t position) const noexcept {
        return strategy_selector == nullptr ? position : only->position(position);
    }

    /// Reads an element, without a function call. \return false: it is stale for some thread of the rank
    template <class T>
    bool read(std::int64_t position, T& value) const noexcept {
        using Word = WordOf<sizeof(T)>;
        const std::uint64_t before = is_word<T> ? 0 : sequence.load(std::memory_order_acquire);
        if (before % 2 != 0 ||
            stamp.load(std::memory_order_acquire) < acquires->load(std::memory_order_relaxed)) [[unlikely]]
            return false;
        Word words[sizeof(T) / sizeof(Word)];
        auto* from = reinterpret_cast<Word*>(data + static_cast<std::size_t>(position) * sizeof(T));
        for (Word& word : words)
            word = std::atomic_ref(*from++).load(std::memory_order_acquire);
        std::memcpy(&value, words, sizeof(T));
        return is_word<T> || sequence.load(std::memory_order_relaxed) == before;
    }
    /// Whether the thread may write() what it has put. Nobody fetches the slice before its next release.
    bool may_write() const noexcept {
        return !consistent || put_in.load(std::memory_order_relaxed) == put_epoch;
    }
    template <class T>
    void write(std::int64_t position, const T& value) noexcept {
        using Word = WordOf<sizeof(T)>;
        if (pending_transfers.load(std::memory_order_relaxed) != 0) [[unlikely]]
            writes.fetch_add(1, std::memory_order_relaxed);
        Word words[sizeof(T) / sizeof(Word)];
        std::memcpy(words, &value, sizeof(T));
        auto* to = reinterpret_cast<Word*>(data + static_cast<std::size_t>(position) * sizeof(T));
        for (const Word word : words)
            std::atomic_ref(*to++).store(word, std::memory_order_release);
    }

  private:
    std::int64_t position_in_set(std::int64_t number) const noexcept {
        const std::int64_t packed = only->position(number);
        return strategy_selector == nullptr || packed < 0 ? packed : number;
    }
    template <std::size_t N>
    std::int64_t position_from(const std::array<std::int64_t, 4>& begin,
                               const std::array<std::int64_t, N>& wanted) const noexcept {
        std::uint64_t at = 0;
        for (std::size_t d = 0; d < N; ++d) {
            // Unsigned: a program may ask for any index.
            const std::uint64_t i =
                static_cast<std::uint64_t>(wanted[d]) - static_cast<std::uint64_t>(begin[4 - N + d]);
            const auto extent = static_cast<std::uint64_t>(slice.extent[4 - N + d]);
            if (i >= extent) return -1;
            at = at * extent + i;
        }
        const auto position = static_cast<std::int64_t>(at);
        if (position < 0) __builtin_unreachable();  // lets the compiler drop the caller's check
        return position;
    }
};

}  // namespace nearfetch::detail
