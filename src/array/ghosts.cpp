// SPDX-License-Identifier: Apache-2.0
//
// Contributions on their way to their owners (nearfetch/detail/array/ghosts.hpp). An owner does not know
// which ranks contribute. So each sender writes the number of the round to a word in the owner's memory. The
// barrier makes it visible, and the owner waits for that sender's message.

#include <cstring>
#include <map>
#include <nearfetch/detail/array/ghosts.hpp>
#include <nearfetch/detail/base/error.hpp>
#include <string>

#include "array/runs.hpp"
#include "pgas/context.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch::detail {

using pgas::Context;

namespace {

/// At the start of each message.
struct MessageHeader {
    std::uint64_t array = 0;  ///< address of its announcement words
    std::uint64_t round = 0;
};

}  // namespace

GhostSlice::GhostSlice(const PrefetchedSlice& from) : slice(from.slice) {
    if (from.only != nullptr) encoded_set.assign(from.only->encoded().begin(), from.only->encoded().end());
}

void GhostExchange::prepare() { announced_ = ArrayMemory<std::uint64_t>(static_cast<std::size_t>(ranks())); }

void GhostExchange::send(std::uint64_t round, std::span<const GhostSlice> slices,
                         std::span<const std::span<const std::byte>> sums) {
    const MessageHeader header{announced_.address(), round};
    std::map<Rank, std::vector<std::byte>> messages;
    for (std::size_t n = 0; n < slices.size(); ++n) {
        std::vector<std::byte>& message = messages[slices[n].slice.owner];
        if (message.empty()) {
            message.resize(sizeof header);
            std::memcpy(message.data(), &header, sizeof header);
        }
        const std::vector<std::byte> part =
            make_pack_message(slices[n].slice, slices[n].encoded_set, sums[n]);
        message.insert(message.end(), part.begin(), part.end());
    }
    for (const auto& [owner, message] : messages) {
        Context::here().runtime().job().send(owner, pgas::Runtime::exchange_port, message);
        nearfetch::put(announced_.at_rank(owner) + rank(), round);
    }
}

void GhostExchange::receive(std::uint64_t round, const Take& take) {
    std::map<Rank, std::vector<std::byte>> messages;
    for (Rank source = 0; source < ranks(); ++source)
        if (announced_.local()[source] == round) messages[source];
    for (std::size_t left = messages.size(); left > 0;) {
        Message message;
        Context::here().runtime().job().receive(pgas::Runtime::exchange_port, message, true);
        MessageHeader header;
        std::memcpy(&header, message.bytes.data(), sizeof header);
        // Messages of a round in which the ranks did not agree.
        if (header.array != announced_.address() || header.round != round) continue;
        messages.at(message.source) = std::move(message.bytes);
        --left;
    }
    for (const auto& [source, message] : messages)
        for (const std::byte* at = message.data() + sizeof(MessageHeader);
             at != message.data() + message.size();) {
            PackRequest request;
            std::memcpy(&request, at, sizeof request);
            at += sizeof request;
            const Runs runs(request.slice, std::span(at, request.set_bytes));
            at += request.set_bytes;
            std::uint64_t bytes = 0;
            runs.copy_each([&](const Run& run) {
                take(run.part_offset, at + run.packed_offset, run.bytes);
                bytes += run.bytes;
            });
            at += bytes;
        }
}

void not_a_ghost(std::span<const std::int64_t> index) {
    throw Error("contribute: index " + text_of(index) + " is neither own nor prefetched",
                "contributions are kept for what a pattern has asked for",
                "prefetch_stencil() with a depth that has it");
}

}  // namespace nearfetch::detail
