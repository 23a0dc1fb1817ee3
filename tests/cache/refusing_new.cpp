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

namespace {

/// \param allocate gives the memory
template <class Allocate>
void* counted(std::size_t bytes, const Allocate& allocate) {
    using namespace nearfetch::testing;
    if (refusing && --allocations_until_refusal == 0) {
        refusing = false;
        ++refused_allocations;
        throw std::bad_alloc();
    }
    allocated_bytes += bytes;
    void* memory = allocate();
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
    return counted(bytes, [&] { return std::malloc(bytes == 0 ? 1 : bytes); });
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    const auto each = static_cast<std::size_t>(alignment);
    return counted(bytes, [&] { return std::aligned_alloc(each, (bytes + each - 1) / each * each); });
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
