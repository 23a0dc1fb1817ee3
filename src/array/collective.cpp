// SPDX-License-Identifier: Apache-2.0
//
// Collective operations of distributed arrays, and their errors (nearfetch/array.hpp).

#include <cstring>
#include <nearfetch/detail/array/collective.hpp>
#include <nearfetch/detail/base/error.hpp>
#include <string>

namespace nearfetch::detail {

std::string text_of(std::span<const std::int64_t> index) {
    std::string all = "(";
    for (const std::int64_t i : index)
        all += (all.size() == 1 ? "" : ", ") + std::to_string(i);
    return all + ")";
}

void Agreement::check(std::span<const std::uint64_t> arguments, bool with_barrier) {
    Collective& call = Collective::here();
    call.add({&number_, 1});
    call.add(arguments);
    if (earlier_sum_ != 0) call.add_earlier(earlier_sum_, with_barrier ? earlier_text_ : "");
    earlier_sum_ = 0;
    if (with_barrier) {
        earlier_text_.clear();
        barrier();
        if (number_ == 0) number_ = barriers();
    } else {
        earlier_sum_ = call.sum();
        earlier_text_ += (earlier_text_.empty() ? "" : ", ") + call.text();
    }
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
    const Collective exchange("an exchange", {});  // unless it is part of another
    Collective::here().add({{number_, bytes}});
    // Through rank 0: one message there and one back for each rank.
    const GlobalPtr<std::byte> all = scratch_.at_rank(0);
    nearfetch::put<std::byte>(all + static_cast<std::ptrdiff_t>(bytes) * rank(),
                              std::span(static_cast<const std::byte*>(from), bytes));
    barrier();
    if (number_ == 0) number_ = barriers();
    nearfetch::get<std::byte>(all, std::span(to, all_bytes));
    // The scratch memory may not be overwritten before all ranks have read it.
    barrier(std::memory_order_relaxed);
}

}  // namespace nearfetch::detail
