// SPDX-License-Identifier: Apache-2.0
#pragma once

// Collective operations of distributed arrays, and their errors. For array.hpp; nothing here is for programs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <nearfetch/pgas.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {

/// Zero-initialised memory in all ranks, perhaps with room beside the elements of each. When all ranks have
/// destroyed theirs, the memory is reused when there is no other. Created by the main thread of each rank, as
/// allocate(); destroyed by any thread.
template <class T>
class ArrayMemory {
  public:
    ArrayMemory() = default;
    /// Collective. \param beside room for so many elements before the `count` ones, and after them
    explicit ArrayMemory(std::size_t count, std::size_t beside = 0)
        : memory_(rank(), allocate_droppable(bytes_with(count, beside)) + bytes_before(beside)),
          bytes_before_(bytes_before(beside)),
          bytes_(bytes_with(count, beside)) {}
    ArrayMemory(ArrayMemory&& other) noexcept
        : memory_(other.memory_),
          bytes_before_(other.bytes_before_),
          bytes_(std::exchange(other.bytes_, 0)) {}
    ArrayMemory& operator=(ArrayMemory&& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(bytes_before_, other.bytes_before_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~ArrayMemory() {
        if (bytes_ > 0) drop(memory_.address() - bytes_before_, bytes_);
    }
    /// Has so many elements from here on, with any values, and in other memory if there is no room.
    /// Collective; nobody may use the old elements afterwards.
    void change(std::size_t count, std::size_t beside) {
        std::uint64_t begin = memory_.address() - bytes_before_;
        if (const std::size_t wanted = bytes_with(count, beside); wanted > bytes_) {
            begin = reallocate(begin, bytes_, wanted);
            bytes_ = wanted;
        }
        bytes_before_ = bytes_before(beside);
        memory_ = GlobalPtr<T>(memory_.rank(), begin + bytes_before_);
    }

    bool empty() const { return bytes_ == 0; }
    /// Elements per rank, with the room after them.
    std::size_t size() const { return (bytes_ - bytes_before_) / sizeof(T); }
    std::uint64_t address() const { return memory_.address(); }
    /// This rank's part.
    GlobalPtr<T> own() const { return memory_; }
    T* local() const { return memory_.local(); }
    GlobalPtr<T> at_rank(Rank other) const { return memory_.at_rank(other); }

  private:
    /// More than there can be; three of these are still a number.
    static constexpr std::size_t most_bytes = std::size_t{1} << 62;
    /// Whole lines, so that elements begin where they would without room.
    static std::size_t bytes_before(std::size_t beside) {
        constexpr std::size_t line = 64;
        return (std::min(bytes_of<T>(beside), most_bytes) + line - 1) / line * line;
    }
    static std::size_t bytes_with(std::size_t count, std::size_t beside) {
        if (beside == 0) return bytes_of<T>(count);
        return bytes_before(beside) + std::min(bytes_of<T>(count), most_bytes) +
               std::min(bytes_of<T>(beside), most_bytes);
    }

    GlobalPtr<T> memory_;  ///< the first element, after the room before it
    std::size_t bytes_before_ = 0;
    std::size_t bytes_ = 0;  ///< of all
};

/// An array's barrier. It checks that all ranks call the same function with the same arguments.
class Agreement {
  public:
    /// In a Collective. \param with_barrier false: waits for nobody, and the next check() compares
    /// \throws CollectiveError in all ranks if the arguments differ
    void check(std::span<const std::uint64_t> arguments, bool with_barrier = true);

  private:
    std::uint64_t number_ = 0;       ///< of the array, once all ranks have agreed to make it
    std::uint64_t earlier_sum_ = 0;  ///< checksum since the last barrier; 0: none
    std::string earlier_text_;
};

/// The bytes of a value that all ranks give. Empty if the type may have padding.
template <class T>
std::vector<std::uint64_t> describe_value(const T& value) {
    constexpr bool is_number = std::is_floating_point_v<T> && sizeof(T) <= sizeof(std::uint64_t);
    std::vector<std::uint64_t> words;
    if constexpr (std::has_unique_object_representations_v<T> || is_number) {
        words.resize((sizeof(T) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
        std::memcpy(words.data(), &value, sizeof(T));
    }
    return words;
}

/// Formats an index for a message: (1, 2)
std::string text_of(std::span<const std::int64_t> index);
[[noreturn]] void out_of_bounds(std::span<const std::int64_t> index, std::span<const std::int64_t> lower,
                                std::span<const std::int64_t> upper);
[[noreturn]] void wrong_size(const char* what, std::size_t size, std::int64_t indices);
/// \throws Error unless the number is that of the program's ranks
void check_ranks(Rank ranks);
/// Scratch memory for reductions and exchanges. Collective.
class Gathering {
  public:
    /// Gathers each rank's bytes in rank order. In a Collective.
    void all(const void* from, std::size_t bytes, std::byte* to);
    template <class T>
    std::vector<T> all(const T& own) {
        std::vector<T> values(static_cast<std::size_t>(ranks()), own);
        all(&own, sizeof(T), reinterpret_cast<std::byte*>(values.data()));
        return values;
    }
    /// Combines init and map(element) of all ranks' elements: each rank's own in order, then the ranks'
    /// results in rank order.
    template <class U, class T, class Combine, class Map>
    U reduce(std::span<T> own, U init, Combine combine, Map map) {
        return reduce_each(init, combine, [&](const auto& take) {
            for (const T& element : own)
                take(map(element));
        });
    }
    /// The same for the values that for_each_own(take) gives to take, in their order.
    template <class U, class Combine, class ForEachOwn>
    U reduce_each(U init, Combine combine, ForEachOwn for_each_own) {
        static_assert(std::is_trivially_copyable_v<U>);
        struct Sum {
            U value;
            bool any;
        };
        Sum own_sum{init, false};
        for_each_own([&](const auto& value) {
            own_sum.value =
                own_sum.any ? static_cast<U>(combine(own_sum.value, value)) : static_cast<U>(value);
            own_sum.any = true;
        });
        for (const Sum& sum : all(own_sum))
            if (sum.any) init = combine(init, sum.value);
        return init;
    }

  private:
    std::uint64_t number_ = 0;  ///< set at the first use
    ArrayMemory<std::byte> scratch_;
};

}  // namespace detail

}  // namespace nearfetch
