// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lines of which only some bytes were fetched: readable ranges begin and end within lines, and where nothing
// is known of the memory around an access only its own bytes are fetched. At most two such lines per page
// are kept, with their bytes. They are not Page::ready, so a hit on other lines costs nothing more.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "cache/page_cache/page.hpp"

namespace nearfetch {

class CutLines {
  public:
    CutLines(std::uint32_t pages, unsigned line_shift) : line_shift_(line_shift), kept_(pages) {}

    /// The cut lines that have all their bytes of the page's range.
    LineMask within(const Page& page, std::uint32_t index, std::uint64_t begin,
                    std::uint64_t end) const noexcept {
        LineMask lines = 0;
        for (std::size_t i = 0; i < kept_[index].size(); ++i) {
            if ((page.cut >> i & 1) == 0) continue;
            const Bytes& kept = kept_[index][i];
            const std::uint64_t line = kept.begin >> line_shift_;
            const std::uint64_t from = std::max(begin, line << line_shift_);
            const std::uint64_t to = std::min(end, (line + 1) << line_shift_);
            if (from < to && kept.begin <= from && to <= kept.end) lines |= LineMask{1} << line;
        }
        return lines;
    }

    /// Keeps bytes of one line, along with adjacent ones. Another cut line may be forgotten.
    void keep(Page& page, std::uint32_t index, std::uint64_t begin, std::uint64_t end) noexcept {
        auto& kept = kept_[index];
        Bytes bytes{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
        std::size_t place = (page.cut & 1) == 0 ? 0 : 1;
        if (page.cut == both) kept[0] = kept[1];
        for (std::size_t i = 0; i < kept.size(); ++i) {
            if ((page.cut >> i & 1) == 0 || kept[i].begin >> line_shift_ != begin >> line_shift_) continue;
            place = i;
            if (bytes.begin <= kept[i].end && kept[i].begin <= bytes.end)
                bytes = {std::min(bytes.begin, kept[i].begin), std::max(bytes.end, kept[i].end)};
        }
        kept[place] = bytes;
        page.cut |= static_cast<std::uint8_t>(1u << place);
    }

    void forget(Page& page, std::uint32_t index, LineMask lines) noexcept {
        for (std::size_t i = 0; i < kept_[index].size(); ++i)
            if ((lines >> (kept_[index][i].begin >> line_shift_) & 1) != 0)
                page.cut &= static_cast<std::uint8_t>(~(1u << i));
    }

  private:
    /// In the page.
    struct Bytes {
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
    };
    static constexpr std::uint8_t both = 3;

    unsigned line_shift_;
    std::vector<std::array<Bytes, 2>> kept_;  ///< by page; bit i of Page::cut says that the i-th is there
};

}  // namespace nearfetch
