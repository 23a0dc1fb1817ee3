// SPDX-License-Identifier: Apache-2.0
#include "refusing_new.hpp"

#include <cstdlib>
#include <new>

namespace nearfetch::testing {

bool refusing = false;
std::uint64_t allocations_until_refusal = 0;
std::uint64_t refused_allocations = 0;
std::uint64_t allocated_bytes = 0;

}  // namespace nearfetch::testing

void* operator new(std::size_t bytes) {
    using namespace nearfetch::testing;
    if (refusing && --allocations_until_refusal == 0) {
        refusing = false;
        ++refused_allocations;
        throw std::bad_alloc();
    }
    allocated_bytes += bytes;
    void* memory = std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
