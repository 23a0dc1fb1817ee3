// SPDX-License-Identifier: Apache-2.0
#pragma once

// Faults that can be injected into a simulation. Each is a bug that a cache, or its network, could have. A
// simulation that does not find them proves nothing about programs without them.

#include <array>
#include <cstdint>
#include <string_view>

namespace nearfetch::simulation {

/// Of what programs are: the page cache, one window, or windows of several ranks under locks.
enum class CacheKind : std::uint8_t { pages, ranges, locks };
inline constexpr std::array all_caches{CacheKind::pages, CacheKind::ranges, CacheKind::locks};

enum class Fault : std::uint8_t {
    none,
    early_puts,
    lost_puts,
    wide_puts,
    lost_gets,
    past_gets,
    late_merges,
    forgotten_acquires,
    narrow_releases,
    one_flush_for_all,
    unseen_puts,
    unseen_accumulates,
    forgotten_invalidates,
    unseen_acquires,
    kept_puts,
    late_records,
    unwaited_leases,
    unread_versions,
    unseen_writers,
    unrepaired_snapshots,
    unheard_messages,
};

struct FaultInfo {
    Fault fault;
    CacheKind cache;
    std::string_view name;
    std::string_view meaning;
};

inline constexpr std::array fault_table{
    FaultInfo{Fault::early_puts, CacheKind::pages, "early-puts",
              "a PUT is reported as complete before it has reached its target"},
    FaultInfo{Fault::lost_puts, CacheKind::pages, "lost-puts", "a PUT that failed is reported as complete"},
    FaultInfo{Fault::wide_puts, CacheKind::pages, "wide-puts", "a PUT writes one byte too many"},
    FaultInfo{Fault::lost_gets, CacheKind::pages, "lost-gets", "a byte of a GET does not arrive"},
    FaultInfo{Fault::past_gets, CacheKind::pages, "past-gets",
              "a GET is overtaken by PUTs that were complete before it was started"},
    FaultInfo{Fault::late_merges, CacheKind::pages, "late-merges",
              "what a GET brings is merged into its page over bytes that were put and not sent yet"},
    FaultInfo{Fault::forgotten_acquires, CacheKind::pages, "forgotten-acquires",
              "the cache is not told of an acquire"},
    FaultInfo{Fault::narrow_releases, CacheKind::pages, "narrow-releases",
              "a release of everything reaches one target only"},
    FaultInfo{Fault::one_flush_for_all, CacheKind::ranges, "one-flush-for-all",
              "a flush of one target is taken for a flush of all, as the published CLaMPI does"},
    FaultInfo{Fault::unseen_puts, CacheKind::ranges, "unseen-puts", "the cache is not told of a put"},
    FaultInfo{Fault::unseen_accumulates, CacheKind::ranges, "unseen-accumulates",
              "the cache is not told of an accumulate"},
    FaultInfo{Fault::forgotten_invalidates, CacheKind::ranges, "forgotten-invalidates",
              "the cache is not told of an invalidate"},
    FaultInfo{Fault::unseen_acquires, CacheKind::ranges, "unseen-acquires",
              "nobody sees the call by which the process learns that another has written"},
    FaultInfo{Fault::kept_puts, CacheKind::ranges, "kept-puts",
              "a flush does not send what was put and collected"},
    FaultInfo{Fault::late_records, CacheKind::ranges, "late-records",
              "what another process of the node has fetched is said to be newer than it is"},
    FaultInfo{Fault::unwaited_leases, CacheKind::locks, "unwaited-leases",
              "a writer does not wait for leases to end"},
    FaultInfo{Fault::unread_versions, CacheKind::locks, "unread-versions",
              "a reader does not see that a writer came and went"},
    FaultInfo{Fault::unseen_writers, CacheKind::locks, "unseen-writers",
              "a reader does not see that there is a writer"},
    FaultInfo{Fault::unrepaired_snapshots, CacheKind::locks, "unrepaired-snapshots",
              "what an epoch has read is not fetched again after a writer"},
    FaultInfo{Fault::unheard_messages, CacheKind::locks, "unheard-messages",
              "nobody sees the receive by which the process learns that another has written"},
};

inline std::string_view name_of(CacheKind cache) noexcept {
    constexpr std::array<std::string_view, 3> names{"pages", "ranges", "locks"};
    return names[static_cast<std::size_t>(cache)];
}

}  // namespace nearfetch::simulation
