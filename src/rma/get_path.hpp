// SPDX-License-Identifier: Apache-2.0
#pragma once

// The life of a get. find() serves a get from one entry: a lookup and a copy. Everything else is get(): a
// lookup plan splits the range, the gaps are started on the network, and only then, while they travel, the
// resident parts are copied, room is made and the gaps become PENDING entries. What is PENDING stays so until
// the transfer has really completed for that target (completion_path.hpp).

#include <cstdint>
#include <span>

#include "rma/bypass_control.hpp"
#include "rma/fill_path.hpp"
#include "rma/lookup_plan.hpp"
#include "rma/update_path.hpp"
#include "rma/window_state.hpp"

namespace nearfetch {

class GetPath {
  public:
    GetPath(WindowState& state, BypassControl& bypass, UpdatePath& updates, FillPath& fills) noexcept
        : s_(state), bypass_(bypass), updates_(updates), fills_(fills) {}

    /// The fast path of a contiguous get: where its bytes are, or null: then try_get(). A hit has been
    /// counted.
    [[gnu::always_inline]] const std::byte* find(const RangeGet& get) noexcept;
    /// Any contiguous get. After a hit its bytes are there.
    Served try_get(const RangeGet& get) noexcept;
    /// Any get: from the cache what is there, from the network what is not.
    /// \return the starter's status, or 0 if nothing had to be started
    int get(const Get& get, GetStarter& starter, Begun& begun);

    /// If the target's breaker is open: counts a get, which goes to the library as it is. False for the get
    /// that ends the backoff, or is the first one of its target.
    bool try_bypass(Rank target, std::uint64_t size) noexcept {
        const Guard guard = s_.lock();
        return bypass_.bypass_get(target, size);
    }
    /// The library has started a get that was bypassed, also because the mode is off: it may be a poll.
    void record_bypassed_get(const RangeGet& get) noexcept;
    /// The library has started a get with a request, in runs whose origins lie in there: they may come
    /// later than the request says.
    void note_late(Rank target, const ByteRun& origins) noexcept;

    /// More runs than these are many: to keep them takes as long as some gets do.
    static constexpr std::uint64_t few_runs = 16;
    /// Whether a get in many runs is worth a lookup of each: it was asked for before, and what it
    /// brought then would still be fresh.
    /// \param what names its bytes
    bool is_asked_again(Rank target, std::uint64_t what) noexcept;
    /// Whether a hit in so many runs takes less than the network.
    bool do_runs_pay(Rank target, std::uint64_t runs, std::uint64_t size_bytes) const noexcept;
    /// A get whose runs are not looked up went to the network.
    /// \param origins spans where its bytes go
    /// \param call_ticks what the library's call took
    void record_uncached_get(const RangeGet& get, const ByteRun& origins, std::uint64_t call_ticks) noexcept;

    /// After a hit: whether it is to be checked (hit_validator.hpp).
    bool is_check_due() noexcept;
    /// Fetches a hit again; what does not work out is left.
    /// \param from_node its get was Begun::from_node
    void check(Rank target, std::uint64_t offset, std::span<const std::byte> served,
               std::span<void* const> call_site, bool from_node = false);

  private:
    bool is_current(Route route, const RangeGet& get) noexcept {
        return route == Route::catch_up ? s_.freshness.has_caught_up() : s_.freshness.is_current(get);
    }
    Served try_get_further(const RangeGet& get) noexcept;
    void note_hit(Rank target, const ByteRun& run) noexcept;
    void take_from_node(const Get& get, LookupPlan& plan, NodeLevel::Fetched how) noexcept;
    int get_planned(const Get& get, GetStarter& starter, LookupPlan& plan, Guard& guard, Begun& begun,
                    std::uint64_t begin_ticks);
    int serve(const Get& get, GetStarter& starter, LookupPlan& plan, Guard& guard, Begun& begun,
              std::uint64_t begin_ticks);
    int fetch(const Get& get, GetStarter& starter, LookupPlan& plan, Guard& guard, std::uint64_t begin_ticks);
    int fetch_uncached(const Get& get, GetStarter& starter, Guard& guard,
                       std::uint64_t* call_ticks = nullptr);
    int leave_out(const Get& get, GetStarter& starter, Guard& guard, std::uint64_t begin_ticks);
    int fetch_overlapping(const Get& get, GetStarter& starter, Guard& guard, std::uint64_t begin_ticks);
    bool may_wait(const Get& get, const Entry& entry, const LookupPlan& plan) const noexcept;
    bool probes_delivery(const Get& get) const noexcept;
    AccessType admit(const Get& get, const LookupPlan& plan, Stamp stamp, NodeTime issued) noexcept;
    void admit_flight(const ByteRun& gap, const Get& get, Entry& entry);
    bool is_deferred(Rank target, const ByteRun& gap) noexcept;

    WindowState& s_;
    BypassControl& bypass_;
    UpdatePath& updates_;
    FillPath& fills_;
};

inline const std::byte* GetPath::find(const RangeGet& get) noexcept {
    Target& t = s_.targets.known(get.target).target;
    // Bytes may be in flight to where these are wanted: then neither is to be kept.
    if (t.route < Route::lookup || !s_.epochs.may_access_quickly(get.target) ||
        s_.process.origins.all.overlap(get.origin, get.size) ||
        (t.route != Route::lookup && !is_current(t.route, get))) [[unlikely]]
        return nullptr;
    const std::byte* const data = s_.cache->find_recent(get.target, get.offset, get.size);
    if (data != nullptr) [[likely]]
        t.count_hit(get.size);
    return data;
}

inline void GetPath::record_bypassed_get(const RangeGet& get) noexcept {
    const Guard guard = s_.lock();
    const ByteRun run{0, get.size, get.origin};
    if (get.origin != nullptr && s_.origins.may_be_in_use(get.origin, get.size)) [[unlikely]]
        s_.origins.invalidate_overlapping({&run, 1});
    s_.operations.list(get.target);
    s_.profile_get(get.target, get.range(), get.range(), Fate::bypassed);
    s_.freshness.bypassed_get_started(get, s_.operations.now());
}

inline bool GetPath::is_check_due() noexcept {
    if (s_.settings.check_hits == 0) [[likely]]
        return false;
    const Guard guard = s_.lock();
    return s_.validator.due(s_.settings.check_hits);
}

}  // namespace nearfetch
