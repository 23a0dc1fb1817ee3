// SPDX-License-Identifier: Apache-2.0
#pragma once

// What all ranks call together says what it is, and where the program calls it. Included by pgas.hpp.

#include <cstdint>
#include <source_location>
#include <span>
#include <string>

namespace [[gnu::visibility("default")]] nearfetch {

/// Where a collective function is called: left out, where it is.
using Where = std::source_location;

namespace detail {

/// While it lives, the calling thread is in a collective function of the program's: at each barrier in it the
/// ranks compare which it is. One within another is a part of that.
class Collective {
  public:
    /// \param what its name, which outlives this; \param where it was called
    Collective(const char* what, const Where& where);
    ~Collective();
    Collective(const Collective&) = delete;
    Collective& operator=(const Collective&) = delete;

    /// That of the calling thread. \pre there is one
    static Collective& here();
    /// What is the same in all ranks that call the same; compared at the next barrier.
    void add(std::span<const std::uint64_t> numbers) noexcept;
    /// The same for what was called before, without a barrier. \param text of it, for people; may be empty
    void add_earlier(std::uint64_t sum, const std::string& text);
    /// What it is, and where it was called.
    std::string text() const;
    /// That of all numbers so far.
    std::uint64_t sum() const noexcept { return sum_; }
    /// For its next barrier: another one each time.
    std::uint64_t next_id() noexcept;

  private:
    const char* what_;
    Where where_;
    Collective* outer_;
    std::uint64_t sum_;
    std::string earlier_;
};
/// To so many barriers have all ranks come: the same number in all of them.
std::uint64_t barriers();

}  // namespace detail

}  // namespace nearfetch
