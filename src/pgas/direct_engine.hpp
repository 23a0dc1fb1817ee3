// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gets and puts without a cache: each is a message, and a blocking one waits for it. Used when the cache is
// off, and as the baseline in comparisons.

#include "cache/counters/page_cache_counters.hpp"
#include "transport/transport.hpp"

namespace nearfetch {

class DirectEngine {
  public:
    explicit DirectEngine(Transport& transport) noexcept : transport_(transport) {}
    DirectEngine(const DirectEngine&) = delete;
    DirectEngine& operator=(const DirectEngine&) = delete;

    /// An outstanding message. Not movable; the destructor waits for it.
    class Pending {
      public:
        /// A GET. \pre size_bytes > 0
        Pending(DirectEngine& engine, Rank target, std::uint64_t address, std::uint64_t size_bytes,
                std::byte* to);
        /// A PUT; done means complete at the target.
        Pending(DirectEngine& engine, Rank target, std::uint64_t address, std::uint64_t size_bytes,
                const std::byte* from);
        Pending(const Pending&) = delete;
        Pending& operator=(const Pending&) = delete;
        ~Pending() { wait(); }

        bool test();
        /// \return 0 or the transport's status
        int wait();

      private:
        friend class DirectEngine;
        void began(int status) noexcept;
        Token token() noexcept { return reinterpret_cast<Token>(this); }

        DirectEngine& engine_;
        bool done_ = false;
        int status_ = 0;
    };

    /// Waits for all outstanding messages.
    void finish() {
        while (under_way_ != 0)
            collect(true);
    }
    /// Messages and their bytes.
    const PageCacheCounters& counters() const noexcept { return counters_; }
    /// Time that this thread waited for the network.
    std::uint64_t waited_ns() const noexcept { return waited_ns_; }

  private:
    void collect(bool wait);

    Transport& transport_;
    std::size_t under_way_ = 0;
    std::uint64_t waited_ns_ = 0;
    PageCacheCounters counters_;
};

}  // namespace nearfetch
