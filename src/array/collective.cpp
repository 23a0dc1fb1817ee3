// SPDX-License-Identifier: Apache-2.0
//
// What distributed arrays do together, and how they say that something is wrong (nearfetch/array.hpp).
//
// Agreement: each rank tells the next one, in a ring, what it is about to do, and compares after a barrier.
// If not all ranks say the same, two neighbours differ somewhere. That costs one small message beside the
// barrier that a collective function needs anyway. There is a place for this call and one for the next, which
// another rank may begin while this one still compares.

#include <cstring>
#include <nearfetch/array_collective.hpp>
#include <nearfetch/error.hpp>
#include <string>

namespace nearfetch::detail {

namespace {

std::uint64_t hash(std::uint64_t sum, std::uint64_t word) {
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    return sum ^ (sum >> 29);
}

std::uint64_t hash(std::uint64_t sum, std::string_view what, std::span<const std::uint64_t> arguments) {
    for (const char letter : what)
        sum = hash(sum, static_cast<unsigned char>(letter));
    for (const std::uint64_t argument : arguments)
        sum = hash(sum, argument);
    return sum;
}

}  // namespace

std::string text_of(std::span<const std::int64_t> index) {
    std::string all = "(";
    for (const std::int64_t i : index)
        all += (all.size() == 1 ? "" : ", ") + std::to_string(i);
    return all + ")";
}

Agreement::Agreement() : said_(2) {}

void Agreement::check(std::string_view what, std::span<const std::uint64_t> arguments, bool with_barrier) {
    const std::uint64_t before = unchecked_;
    unchecked_ = hash(hash(before, 1), what, arguments);
    if (!with_barrier) return;
    const std::uint64_t say = hash(unchecked_, ++calls_);
    unchecked_ = 0;
    const GlobalPtr<std::uint64_t> place = said_.own() + static_cast<std::ptrdiff_t>(calls_ % 2);
    atomic_store(place.at_rank((rank() + 1) % ranks()), say, std::memory_order_relaxed);
    barrier();
    if (atomic_load(place, std::memory_order_relaxed) != say)
        throw Error(std::string(what) + ": rank " + std::to_string((rank() + ranks() - 1) % ranks()) +
                        " calls something else or with other arguments than rank " + std::to_string(rank()) +
                        (before != 0 ? ", or has called another pattern without a barrier before" : ""),
                    "it is collective",
                    "let all ranks call the same with the same arguments, in the same order");
}

void out_of_bounds(std::span<const std::int64_t> index, std::span<const std::int64_t> lower,
                   std::span<const std::int64_t> upper) {
    throw Error("index " + text_of(index),
                "the array's bounds are " + text_of(lower) + " up to, and without, " + text_of(upper),
                "use one of these");
}

void wrong_size(const char* what, std::size_t size, std::int64_t indices) {
    throw Error(std::string(what) + ": memory for " + std::to_string(size) + " elements",
                "the box has " + std::to_string(indices), "use as many");
}

void check_ranks(Rank ranks) {
    if (ranks != nearfetch::ranks())
        throw Error("a grid of " + std::to_string(ranks) + " ranks",
                    "the program has " + std::to_string(nearfetch::ranks()), "use a grid of all of them");
}

void Gathering::all(const void* from, std::size_t bytes, std::byte* to) {
    const std::size_t all_bytes = bytes * static_cast<std::size_t>(ranks());
    if (all_bytes > scratch_.size()) scratch_ = ArrayMemory<std::byte>(all_bytes);
    // By way of rank 0: one message there and one back for everybody.
    const GlobalPtr<std::byte> all = scratch_.at_rank(0);
    nearfetch::put<std::byte>(all + static_cast<std::ptrdiff_t>(bytes) * rank(),
                              std::span(static_cast<const std::byte*>(from), bytes));
    barrier();
    nearfetch::get<std::byte>(all, std::span(to, all_bytes));
    // Nobody writes there again before everybody has read.
    barrier(std::memory_order_relaxed);
}

}  // namespace nearfetch::detail
