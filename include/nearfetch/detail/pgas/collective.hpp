// SPDX-License-Identifier: Apache-2.0
#pragma once

// Names collective calls, to compare them between ranks. Included by pgas.hpp.

#include <cstdint>
#include <source_location>
#include <span>
#include <string>

namespace [[gnu::visibility("default")]] nearfetch {

/// Source location of a collective call; defaults to the caller's.
using Where = std::source_location;

namespace detail {

/// While it lives, the calling thread is in a collective function. Barriers compare it between ranks. A
/// nested one is part of the outer one.
class Collective {
  public:
    /// \param what its name, which outlives this \param where it was called
    Collective(const char* what, const Where& where);
    ~Collective();
    Collective(const Collective&) = delete;
    Collective& operator=(const Collective&) = delete;

    /// That of the calling thread. \pre there is one
    static Collective& here();
    /// Adds arguments that have to be the same in all ranks; compared at the next barrier.
    void add(std::span<const std::uint64_t> numbers) noexcept;
    /// The same for an earlier call without a barrier. \param text describes it; may be empty
    void add_earlier(std::uint64_t sum, const std::string& text);
    /// Its name, and where it was called.
    std::string text() const;
    /// Checksum of all arguments so far.
    std::uint64_t sum() const noexcept { return sum_; }
    /// Unique number for its next barrier.
    std::uint64_t next_id() noexcept;

  private:
    const char* what_;
    Where where_;
    Collective* outer_;
    std::uint64_t sum_;
    std::string earlier_;
};
/// Barriers that all ranks have passed; the same in all.
std::uint64_t barriers();

}  // namespace detail

}  // namespace nearfetch
