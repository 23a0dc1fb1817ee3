// SPDX-License-Identifier: Apache-2.0
#pragma once

// Instructions that do nothing, before a call. How many a processor has run since it last waited can decide
// more of what a call takes than the instructions themselves: with a thousand MPI_Rget on MPICH, in shared
// memory, a library of a jump to PMPI and 16 instructions before it that do nothing is at 0.93 of plain,
// and one with 24 of them at 1.07 (Zen 5, docs/never-slower.md). A loop that always has the same number
// measures that. So turns have lead-ins of all lengths, one after the other, and both sides the same.

#include <cstdint>

namespace nearfetch::bench {

class LeadIn {
  public:
    static constexpr std::uint64_t lengths = 32;

    /// \param length in instructions, less than `lengths`
    void set(std::uint64_t length) noexcept { length_ = length; }
    /// \param turn few in a row have lengths from all over, `lengths` of them have each once
    void choose(std::uint64_t turn) noexcept { set(turn * 13 % lengths); }

    /// Elsewhere than on x86-64 it is empty.
    [[gnu::always_inline]] void run() const noexcept {
#if defined(__x86_64__)
        asm volatile(
            "leaq 1f(%%rip), %%rax\n\t"
            "subq %[length], %%rax\n\t"
            "jmp *%%rax\n\t"
            ".skip 31, 0x90\n"
            "1:"
            :
            : [length] "r"(length_)
            : "rax", "cc");
#endif
    }

  private:
    std::uint64_t length_ = 0;
};

}  // namespace nearfetch::bench
