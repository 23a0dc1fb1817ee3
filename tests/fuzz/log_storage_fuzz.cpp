// SPDX-License-Identifier: Apache-2.0

// The range cache's log under any order of operations: no byte of a payload changes, nothing pinned moves,
// and all that is not a payload is free. Two bytes of input are an operation and its operand.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "../cache/log_owners.hpp"

namespace {

using nearfetch::LogStorage;
using nearfetch::testing::LogOwners;

constexpr std::uint64_t least_bytes = 512, most_bytes = 16 * 1024;

void apply(LogOwners& owners, std::uint8_t operation, std::uint8_t operand) {
    const auto chosen = owners.payloads.empty()
                            ? owners.payloads.end()
                            : std::next(owners.payloads.begin(),
                                        static_cast<std::ptrdiff_t>(operand % owners.payloads.size()));
    switch (operation % 8) {
        case 0:
        case 1:
            (void)owners.add(1 + std::uint64_t{operand} * (operation / 8), operand % 64);
            break;
        case 2:
            if (chosen != owners.payloads.end()) owners.remove(chosen->first);
            break;
        case 3:
            if (chosen != owners.payloads.end()) chosen->second.pinned = operation % 16 == 3;
            break;
        case 4:
        case 5:
            (void)owners.keep_oldest();
            break;
        case 6:
            if (const std::uint32_t oldest = owners.oldest();
                oldest < LogStorage::ring_end && !owners.payloads.at(oldest).pinned)
                owners.remove(oldest);
            break;
        default:
            (void)owners.log.resize(std::max(least_bytes, std::uint64_t{operand} * 64),
                                    [&](std::uint32_t owner) { owners.remove(owner); });
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    LogOwners owners(4096, most_bytes);
    for (std::size_t at = 0; at + 1 < size; at += 2) {
        apply(owners, data[at], data[at + 1]);
        owners.check();
    }
    return 0;
}
