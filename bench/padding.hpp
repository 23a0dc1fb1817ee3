// SPDX-License-Identifier: Apache-2.0
#pragma once

// Padding: instructions that do nothing, before a call. How many a processor has run since it last waited can
// decide more of what a call takes than what they do (up to 8 % of 200 ns). A loop that always has the same
// number measures that. So batches have padding of all lengths in turn, the same on both sides.

#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "calls.hpp"

namespace nearfetch::bench {

/// Calls with padding of each length: for each a stub of its own, so that no jump has more than one target.
/// The stubs stay until the process ends. Elsewhere than on x86-64 there are none.
class Paddings {
  public:
    static constexpr std::size_t lengths = 32;

    /// Ends the program with an error where the system refuses the stubs.
    explicit Paddings(const Calls& calls) : calls_(lengths, calls) {
#if defined(__x86_64__)
        constexpr std::size_t all = lengths * std::tuple_size_v<Addresses> * stub_bytes;
        void* const memory = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) give_up();
        auto* stub = static_cast<std::byte*>(memory);
        for (std::size_t length = 0; length < lengths; ++length) {
            auto addresses = std::bit_cast<Addresses>(calls);
            for (void*& address : addresses) {
                write(stub, length, address);
                address = stub;
                stub += stub_bytes;
            }
            calls_[length] = std::bit_cast<Calls>(addresses);
        }
        if (mprotect(memory, all, PROT_READ | PROT_EXEC) != 0) give_up();
#endif
    }

    /// \param turn few in a row have lengths from all over, `lengths` of them have each once
    const Calls& in(std::uint64_t turn) const noexcept { return calls_[turn * 13 % lengths]; }

  private:
    [[noreturn]] static void give_up() {
        std::perror("no memory for padding (the system refuses pages of instructions): allow them");
        std::exit(2);
    }

    using Addresses = std::array<void*, sizeof(Calls) / sizeof(void*)>;
    static constexpr std::size_t stub_bytes = 64;

    /// nop..., jmp *0(%rip), and where to
    static void write(std::byte* stub, std::size_t length, const void* address) noexcept {
        constexpr std::array<std::uint8_t, 6> jump{0xff, 0x25, 0, 0, 0, 0};
        std::memset(stub, 0x90, length);
        std::memcpy(stub + length, jump.data(), jump.size());
        std::memcpy(stub + length + jump.size(), &address, sizeof address);
    }

    std::vector<Calls> calls_;
};

}  // namespace nearfetch::bench
