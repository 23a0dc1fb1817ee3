// SPDX-License-Identifier: Apache-2.0
#pragma once

// Slices: what of an array one rank has, cut to a box or to a set of elements. For array.hpp and the prefetch
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

/// A box in the local numbers of the owner. Four dimensions, those that an array does not have being of
/// extent 1 and in front. Packed, its elements lie side by side in their order.
struct Slice {
    Rank owner = 0;
    std::uint64_t address = 0;  ///< of the owner's part of the array
    std::uint64_t element_bytes = 0;
    std::array<std::int64_t, 4> part{1, 1, 1, 1};  ///< the shape of that
    std::array<std::int64_t, 4> lower{};
    std::array<std::int64_t, 4> extent{1, 1, 1, 1};

    std::int64_t elements() const noexcept { return extent[0] * extent[1] * extent[2] * extent[3]; }
    std::uint64_t bytes() const noexcept { return element_bytes * static_cast<std::uint64_t>(elements()); }
    /// Of the same part.
    bool contains(const Slice& other) const noexcept {
        bool inside = owner == other.owner && address == other.address;
        for (std::size_t d = 0; d < 4; ++d)
            inside = inside && lower[d] <= other.lower[d] &&
                     other.lower[d] + other.extent[d] <= lower[d] + extent[d];
        return inside;
    }
    friend bool operator==(const Slice&, const Slice&) = default;
};

/// Whose work it is to pack and unpack what does not lie side by side.
enum class Packer : std::uint8_t {
    owner,      ///< the owner's, in one message
    requester,  ///< the caller's: the owner stays passive (LAPPS, 5.3.2) unless that took very many messages
};

/// Bytes of what a slice has, or of these elements of it.
inline std::uint64_t bytes_of(const Slice& slice, const IndexSet* only) noexcept {
    return only == nullptr ? slice.bytes() : slice.element_bytes * static_cast<std::uint64_t>(only->size());
}

/// The largest word that elements of so many bytes are made of.
template <std::size_t Bytes>
using WordOf =
    std::conditional_t<Bytes % 8 == 0, std::uint64_t,
                       std::conditional_t<Bytes % 4 == 0, std::uint32_t,
                                          std::conditional_t<Bytes % 2 == 0, std::uint16_t, std::uint8_t>>>;

/// Elements that are one word: whoever reads one while it is written has what it was, or what it is.
template <class T>
constexpr bool is_word = sizeof(T) == sizeof(WordOf<sizeof(T)>);

/// Of the calling thread, and of no other; another one after each of its releases.
[[gnu::visibility("default")]] extern thread_local constinit std::uint64_t put_epoch;

/// What manual consistency goes by: nobody acquires.
inline constinit const std::atomic<std::uint64_t> no_acquires{0};

/// What an access reads of a slice that was prefetched.
struct PrefetchedSlice {
    Slice slice;
    /// Of what the slice has, these elements only, numbered from the beginning of the owner's part; or
    /// nullptr: all. \pre else the slice is the whole part
    std::unique_ptr<const IndexSet> only;
    std::byte* data = nullptr;  ///< packed, or spread; aligned as its words are
    /// Of a set that is spread: each element is where it would be if all of the part were there. Else
    /// nullptr.
    StrategySelector* spread = nullptr;
    bool consistent = true;  ///< automatically
    Packer packer = Packer::owner;
    /// Index of its first element, where the others follow it; of a set, of the part's first.
    std::array<std::int64_t, 4> first{};
    /// Of all threads of the rank, counted.
    const std::atomic<std::uint64_t>* acquires = &no_acquires;
    std::atomic<std::uint64_t> stamp{0};     ///< acquires when it was fetched; 0: never
    std::atomic<std::uint64_t> sequence{0};  ///< odd: being overwritten
    std::atomic<std::uint32_t> awaited{0};   ///< transfers of it that are on their way
    std::atomic<std::uint64_t> writes{0};    ///< while there are any: what these bring does not have them
    std::atomic<std::uint64_t> put_in{0};    ///< the epoch of what was put last

    std::uint64_t bytes() const noexcept { return bytes_of(slice, only.get()); }
    /// Of `data`.
    std::uint64_t data_bytes() const noexcept { return spread == nullptr ? bytes() : slice.bytes(); }

    // Of an element in `data`, counted in elements; -1 when the slice does not have it.

    /// \param number how many of the owner's elements come before it
    template <std::size_t N>
    std::int64_t position(const std::array<std::int64_t, N>& local, std::int64_t number) const noexcept {
        return only == nullptr ? position_from(slice.lower, local) : position_in_set(number);
    }
    /// By its index. \pre of a contiguous distribution
    template <std::size_t N>
    std::int64_t position_of(const std::array<std::int64_t, N>& index) const noexcept {
        const std::int64_t at = position_from(first, index);
        if (at < 0 || only == nullptr) return at;
        return position_in_set(at);
    }
    /// Of an element that it has, where all are packed.
    std::int64_t packed_position(std::int64_t position) const noexcept {
        return spread == nullptr ? position : only->position(position);
    }

    /// An element, in a few instructions. \return false: look closer, it is stale for some thread of the rank
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
    /// Whether the thread may write() what it has put: nobody fetches the slice until it has released.
    bool may_write() const noexcept {
        return !consistent || put_in.load(std::memory_order_relaxed) == put_epoch;
    }
    template <class T>
    void write(std::int64_t position, const T& value) noexcept {
        using Word = WordOf<sizeof(T)>;
        if (awaited.load(std::memory_order_relaxed) != 0) [[unlikely]]
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
        return spread == nullptr || packed < 0 ? packed : number;
    }
    template <std::size_t N>
    std::int64_t position_from(const std::array<std::int64_t, 4>& begin,
                               const std::array<std::int64_t, N>& wanted) const noexcept {
        std::uint64_t at = 0;
        for (std::size_t d = 0; d < N; ++d) {
            // Differences of whatever the program asks for.
            const std::uint64_t i =
                static_cast<std::uint64_t>(wanted[d]) - static_cast<std::uint64_t>(begin[4 - N + d]);
            const auto extent = static_cast<std::uint64_t>(slice.extent[4 - N + d]);
            if (i >= extent) return -1;
            at = at * extent + i;
        }
        const auto position = static_cast<std::int64_t>(at);
        if (position < 0) __builtin_unreachable();  // whoever compares again need not
        return position;
    }
};

}  // namespace nearfetch::detail
