// SPDX-License-Identifier: Apache-2.0
#pragma once

// Messages between the servers of ranks.

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "transport/job.hpp"

namespace nearfetch::pgas {

struct Header {
    /// A short call is little work on the rank's own memory, so the server runs it itself.
    enum class Kind : std::uint32_t { call, short_call, stop, result, error };
    Kind kind = Kind::call;
    Rank source = 0;  ///< the rank to answer
    Port port = 0;    ///< the port to answer to
    std::uint32_t result_bytes = 0;
    std::uint32_t number = 0;  ///< the caller's number for this call
    std::int64_t code = 0;     ///< the code, as an offset from the program's anchor
};

inline std::vector<std::byte> compose(const Header& header, std::span<const std::byte> body) {
    std::vector<std::byte> bytes(sizeof header + body.size());
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!body.empty()) std::memcpy(bytes.data() + sizeof header, body.data(), body.size());
    return bytes;
}
inline Header header_of(std::span<const std::byte> message) {
    Header header;
    std::memcpy(&header, message.data(), sizeof header);
    return header;
}
inline std::span<const std::byte> body_of(std::span<const std::byte> message) {
    return message.subspan(sizeof(Header));
}

}  // namespace nearfetch::pgas
