// SPDX-License-Identifier: Apache-2.0
#pragma once

// The level under a window's range cache: what other processes of its node have fetched
// (cache/node_buffer/node_buffer.hpp). Closed until open().
//
// Consistency. A record says when its get was issued, on a clock that all processes of the node share. It
// serves a get of this process if that was after this process's last acquire. So its bytes were read at the
// target after all writes that this process may know of (docs/node-level.md). An update of this
// process counts like an acquire of its target, at the first lookup after it is complete.
//
// Sharing has to pay. Where processes of a node ask for different things lookups gain nothing. If what was
// found would have taken less of the network than lookups and offers took, there are none of them for a
// while, which doubles each time. Waiting for others has to pay in the same way.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/types.hpp"
#include "cache/node_buffer/node_buffer.hpp"
#include "rma/front_end.hpp"
#include "rma/target_table.hpp"

namespace nearfetch {

class NodeLevel {
  public:
    explicit NodeLevel(TargetTable& targets) : targets_(targets) {}

    /// From now on it is used, for targets of other nodes: the memory of this node's is as near as the
    /// buffer. \pre the buffer's memory outlives this \throws std::bad_alloc
    void open(const NodeBuffer& buffer) {
        expected_.reserve(most_expected);
        buffer_ = buffer;
        since_ = steady_ns();
    }
    bool is_open() const noexcept { return buffer_.has_value(); }

    /// What was issued until then is not to be served any more.
    void acquire(NodeTime when) noexcept { since_ = std::max(since_, when); }
    /// The same of one target, until the next lookup: this process writes there.
    void acquire_target(Rank target) noexcept {
        if (!is_open()) return;
        at(target).is_acquired = true;
        expect_no_more(target);
    }
    /// The same of all.
    void acquire_targets() noexcept {
        if (!is_open()) return;
        targets_.visit_all([](TargetState& state) { state.near.is_acquired = true; });
        expected_.clear();
    }

    /// A get missed the first level: whether to look it up here.
    /// \param network_ns what the network takes for it; 0: not known
    bool serves(Rank target, double network_ns) noexcept {
        return is_open() && !is_left_out(target) && step(network_ns);
    }
    /// The same, without counting a miss.
    bool is_used(Rank target) const noexcept { return is_open() && paused_ == 0 && !is_left_out(target); }
    /// Whether a range was fetched as it was asked for, or with others of its region (rma/read_ahead.hpp).
    enum class Fetched : std::uint8_t { alone, in_region };
    static Fetched how_fetched(const Entry& entry) noexcept {
        return entry.is_region() ? Fetched::in_region : Fetched::alone;
    }
    /// Copies the range's bytes, if they are there and fresh. \pre is_used()
    bool find(Rank target, ByteRange range, Fetched how, std::byte* to) noexcept;
    /// For offer(), of a get that is issued now; 0: its bytes are not to be offered.
    NodeTime issue_time(Rank target) const noexcept { return is_used(target) ? steady_ns() : 0; }
    /// Such a get has been started: others of the node may wait for its bytes.
    void announce(Rank target, ByteRange range, Fetched how, NodeTime issued) noexcept {
        if (issued != 0 && range.size() <= buffer_->largest_bytes())
            buffer_->note_flight(target, key_of(target, range, how), issued);
    }
    /// Until when it pays to wait for the range's bytes, because another process is fetching them: as long as
    /// two gets take. 0: it does not. \param network_ns what a get takes; 0: not known
    NodeTime may_wait_until(Rank target, ByteRange range, Fetched how, double network_ns) noexcept;
    /// Waits for them, and serves others meanwhile. \return whether they have come
    bool wait_for(Rank target, ByteRange range, Fetched how, std::byte* to, NodeTime until,
                  WindowTransfers& transfers) noexcept;
    /// What a get has brought that was issued at that time. \pre this process has not written there since
    void offer(Rank target, ByteRange range, Fetched how, NodeTime issued, const std::byte* from) noexcept {
        if (issued != 0 && buffer_->offer(target, key_of(target, range, how), range, issued, from))
            ++counts_.offered;
    }

    /// A get was started at that moment that the first level has no room for: its bytes are offered when they
    /// have arrived at their origin.
    void expect(Rank target, const ByteRun& run, NodeTime issued, Moment started) noexcept;
    bool expects(Rank target) const noexcept;
    /// What was started until then has arrived.
    void arrived(Rank target, Moment since) noexcept;
    void expect_no_more(Rank target) noexcept;
    /// Another get wants its bytes where those of this target are on their way to. \return whether there are
    bool expect_no_more_at(Rank target, const ByteRun& origin) noexcept;

    struct Counts {
        std::uint64_t lookups = 0, found = 0, found_bytes = 0, offered = 0;
    };
    const Counts& counts() const noexcept { return counts_; }

  private:
    struct Expected {
        Rank target;
        ByteRun run;
        NodeTime issued;
        Moment started;
    };

    bool step(double network_ns) noexcept;
    /// A region is found by the page of memory that it begins in, since ranks may lack different bytes of it.
    NodeBuffer::Key key_of(Rank target, ByteRange range, Fetched how) const noexcept {
        return how == Fetched::alone
                   ? range.begin
                   : ~((range.begin + targets_.memory_of(target).page_phase) / memory_page_bytes);
    }
    NodeTime since(Rank target) noexcept;
    bool copy_found(Rank target, ByteRange range, NodeBuffer::Key key, std::byte* to) noexcept;
    TargetAcquires& at(Rank target) noexcept { return targets_.make(target).near; }
    bool is_left_out(Rank target) const noexcept { return targets_.memory_of(target).is_on_this_node; }

    static constexpr std::uint64_t first_pause = 1024;
    static constexpr std::size_t most_expected = 256;

    TargetTable& targets_;
    std::optional<NodeBuffer> buffer_;
    NodeTime since_ = 0;
    std::vector<Expected> expected_;
    Counts counts_;
    std::uint64_t paused_ = 0;  ///< misses that are still not looked up
    std::uint64_t pause_ = first_pause;
    std::uint64_t interval_lookups_ = 0;
    std::uint64_t interval_found_ = 0;
    std::uint64_t backoff_ = 0;     ///< waits that brought nothing, one after the other
    std::uint64_t not_waited_ = 0;  ///< chances that were left out since the last one of these
};

}  // namespace nearfetch
