// SPDX-License-Identifier: Apache-2.0
//
// Contributions on their way to the owners (nearfetch/detail/array/ghosts.hpp). A rank does not know who has
// something for it. So each sender announces itself: a word in the owner's memory, which is there after the
// barrier that is needed anyway, says that a letter of this round comes.

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

/// Begins a letter.
struct Heading {
    std::uint64_t array = 0;  ///< by the place of its announcements
    std::uint64_t round = 0;
};

}  // namespace

GhostSlice::GhostSlice(const PrefetchedSlice& from) : slice(from.slice) {
    if (from.only != nullptr) text.assign(from.only->text().begin(), from.only->text().end());
}

void GhostExchange::prepare() { announced_ = ArrayMemory<std::uint64_t>(static_cast<std::size_t>(ranks())); }

void GhostExchange::send(std::uint64_t round, std::span<const GhostSlice> slices,
                         std::span<const std::span<const std::byte>> sums) {
    const Heading heading{announced_.address(), round};
    std::map<Rank, std::vector<std::byte>> letters;
    for (std::size_t n = 0; n < slices.size(); ++n) {
        std::vector<std::byte>& letter = letters[slices[n].slice.owner];
        if (letter.empty()) {
            letter.resize(sizeof heading);
            std::memcpy(letter.data(), &heading, sizeof heading);
        }
        const std::vector<std::byte> message = message_of(slices[n].slice, slices[n].text, sums[n]);
        letter.insert(letter.end(), message.begin(), message.end());
    }
    for (const auto& [owner, letter] : letters) {
        Context::here().runtime().job().send(owner, pgas::Runtime::exchange_port, letter);
        nearfetch::put(announced_.at_rank(owner) + rank(), round);
    }
}

void GhostExchange::receive(std::uint64_t round, const Take& take) {
    std::map<Rank, std::vector<std::byte>> letters;
    for (Rank source = 0; source < ranks(); ++source)
        if (announced_.local()[source] == round) letters[source];
    for (std::size_t left = letters.size(); left > 0;) {
        Message message;
        Context::here().runtime().job().receive(pgas::Runtime::exchange_port, message, true);
        Heading heading;
        std::memcpy(&heading, message.bytes.data(), sizeof heading);
        // Others are of rounds in which not all ranks called the same.
        if (heading.array != announced_.address() || heading.round != round) continue;
        letters.at(message.source) = std::move(message.bytes);
        --left;
    }
    for (const auto& [source, letter] : letters)
        for (const std::byte* at = letter.data() + sizeof(Heading); at != letter.data() + letter.size();) {
            Order order;
            std::memcpy(&order, at, sizeof order);
            at += sizeof order;
            const Runs runs(order.slice, std::span(at, order.text_bytes));
            at += order.text_bytes;
            std::uint64_t bytes = 0;
            runs.for_each([&](const Run& run) {
                take(run.there, at + run.here, run.bytes);
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
