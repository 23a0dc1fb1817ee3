// SPDX-License-Identifier: Apache-2.0
#pragma once

// What distributed arrays do together, and how they say that something is wrong. For array.hpp; nothing here
// is for programs.

#include <cstddef>
#include <cstdint>
#include <nearfetch/pgas.hpp>
#include <span>
#include <string_view>

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {

/// A barrier at which all ranks find out whether they call the same with the same arguments.
class Agreement {
  public:
    /// Collective.
    Agreement();
    /// \throws Error in at least two ranks if not all say the same
    void check(std::string_view what, std::span<const std::uint64_t> arguments);

  private:
    GlobalPtr<std::uint64_t> said_;  ///< by the rank before: of this call, and of the one before it
    std::uint64_t calls_ = 0;
};

[[noreturn]] void out_of_bounds(std::span<const std::int64_t> index, std::span<const std::int64_t> lower,
                                std::span<const std::int64_t> upper);
[[noreturn]] void wrong_size(const char* what, std::size_t size, std::int64_t indices);
/// \throws Error unless these are as many as the program has
void check_ranks(Rank ranks);
/// Each rank's bytes, in the order of the ranks. Collective.
void all_gather(GlobalPtr<std::byte> scratch, const void* from, std::size_t bytes, std::byte* to);

}  // namespace detail

}  // namespace nearfetch
