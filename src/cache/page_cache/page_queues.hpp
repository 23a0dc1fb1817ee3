// SPDX-License-Identifier: Apache-2.0
#pragma once

// Eviction order of pages.
//
// 2Q as in 000, section III-B, and its reference [14] (Johnson and Shasha, VLDB 1994, full version). New
// pages enter Ain, a FIFO of a quarter of the pages (new_percent). Aout remembers the names of pages that
// left it, half as many as there are pages (names_percent). A page that returns while its name is remembered
// enters Am, in LRU order. S3-FIFO (see cache/eviction/s3fifo.cpp) is the alternative.
//
// The policies of cache/eviction are not used. They serve items of any size in lists that may grow; pages are
// equal, preallocated and linked in place. Both policies are two FIFOs and a memory of names, hence one
// class. A use costs no call. A page that may not leave, because it is dirty or being fetched, goes back to
// the end of its queue.

#include <algorithm>
#include <cstdint>
#include <nearfetch/detail/base/page_cache_config.hpp>
#include <optional>

#include "cache/eviction/ghost_memory.hpp"
#include "cache/page_cache/page.hpp"

namespace nearfetch {

class PageQueues {
  public:
    enum class Policy : std::uint8_t { two_queues, s3fifo };

    PageQueues(const PageCacheConfig& config, Page* pages, std::uint32_t count)
        : policy_(config.policy == "2q" ? Policy::two_queues : Policy::s3fifo),
          pages_(pages),
          first_most_(share(count, policy_ == Policy::two_queues ? config.new_percent : 10)),
          names_most_(share(count, policy_ == Policy::two_queues ? config.names_percent : 100)) {
        names_.set_capacity(names_most_);
        names_.take_all();
    }

    void used(Page& page) noexcept {
        page.uses = static_cast<std::uint8_t>(std::min<unsigned>(page.uses + 1u, most_uses));
        if (page.queue != second || policy_ != Policy::two_queues) return;
        if (queues_[second].newest == index(page)) return;
        take(page);
        push(second, page);
    }

    void insert(Page& page) noexcept {
        const std::optional<std::uint32_t> left = names_.recall(name(page));
        const bool back = left && departures_ - *left < names_most_;
        page.uses = 0;
        push(back ? second : first, page);
    }

    /// The page is evicted.
    void erase(Page& page) noexcept {
        if (page.queue == first) names_.remember(name(page), ++departures_);
        take(page);
    }

    /// The next page to evict among those that may leave; nullptr: none.
    template <class May>
    Page* victim(May&& may) noexcept {
        const bool from_first = policy_ == Policy::two_queues ? queues_[first].count > first_most_
                                                              : queues_[first].count >= first_most_;
        Page* page = oldest(from_first ? first : second, may);
        return page != nullptr ? page : oldest(from_first ? second : first, may);
    }

    std::uint32_t count() const noexcept { return queues_[first].count + queues_[second].count; }

  private:
    static std::uint32_t share(std::uint64_t count, std::uint64_t percent) noexcept {
        return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, count * percent / 100));
    }
    static constexpr std::uint8_t first = 0, second = 1;
    static constexpr unsigned most_uses = 3;

    struct Queue {
        std::uint32_t oldest = Page::nothing;
        std::uint32_t newest = Page::nothing;
        std::uint32_t count = 0;
    };

    std::uint32_t index(const Page& page) const noexcept {
        return static_cast<std::uint32_t>(&page - pages_);
    }
    static std::uint64_t name(const Page& page) noexcept { return mixed_name(page.target, page.number); }

    template <class May>
    Page* oldest(std::uint8_t queue, May&& may) noexcept {
        // A page is skipped at most as often as it was used, and once if it may not leave.
        const std::uint32_t rounds = policy_ == Policy::s3fifo ? most_uses + 1 : 1;
        for (std::uint32_t left = queues_[queue].count * rounds; left > 0; --left) {
            const std::uint32_t at = queues_[queue].oldest;
            if (at == Page::nothing) break;
            Page& page = pages_[at];
            std::uint8_t to = queue;
            if (policy_ == Policy::s3fifo && page.uses > (queue == first ? 1 : 0)) {
                page.uses = static_cast<std::uint8_t>(queue == first ? 0 : page.uses - 1);
                to = second;
            } else if (may(page)) {
                return &page;
            }
            // Moved to the other end, where the next search does not meet it again.
            take(page);
            push(to, page);
        }
        return nullptr;
    }

    void push(std::uint8_t which, Page& page) noexcept {
        Queue& queue = queues_[which];
        page.queue = which;
        page.older = queue.newest;
        page.newer = Page::nothing;
        (queue.newest == Page::nothing ? queue.oldest : pages_[queue.newest].newer) = index(page);
        queue.newest = index(page);
        ++queue.count;
    }
    void take(Page& page) noexcept {
        Queue& queue = queues_[page.queue];
        (page.older == Page::nothing ? queue.oldest : pages_[page.older].newer) = page.newer;
        (page.newer == Page::nothing ? queue.newest : pages_[page.newer].older) = page.older;
        --queue.count;
    }

    Policy policy_;
    Page* pages_;
    std::uint32_t first_most_;
    std::uint32_t names_most_;
    Queue queues_[2];
    GhostMemory names_;
    std::uint64_t departures_ = 0;
};

}  // namespace nearfetch
