// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fills: transfers straight into the cache's own memory. Prefetches, which the program asks for; read-ahead,
// which it does not; and gets with requests whose bytes the library may deliver after the request says that
// they are there.

#include <cstdint>

#include "rma/bypass_control.hpp"
#include "rma/lookup_plan.hpp"
#include "rma/read_ahead.hpp"
#include "rma/window_state.hpp"

namespace nearfetch {

class FillPath {
  public:
    FillPath(WindowState& state, BypassControl& bypass, ReadAhead& read_ahead) noexcept
        : s_(state), bypass_(bypass), read_ahead_(read_ahead) {}

    /// Asks for a range ahead of its use. \return the transport's status
    int prefetch(Rank target, ByteRange range);

    // With the mutex held.

    /// A PENDING entry for the gap of this get and what is missing around it, for which the get waits; no
    /// entry if it is fetched as it is.
    Admission admit_around(const Get& get, LookupPlan& plan) noexcept;
    /// The same for a get with a request, in runs that lie side by side at the target: the library may
    /// complete the request before their bytes are in the program's buffer, but not before one run of bytes
    /// is in memory of our own.
    Admission admit_for_request(const Get& get, LookupPlan& plan) noexcept;
    /// Whether another process of this node has fetched all that was admitted: then the get is served.
    bool is_near(const Get& get, const LookupPlan& plan, const Admission& admission) noexcept;
    /// Fetches what was admitted. \return the starter's status
    int fetch(const Get& get, GetStarter& starter, const LookupPlan& plan, const Admission& admission,
              Guard& guard, std::uint64_t begin_ticks);

  private:
    template <class Start>
    int start(Entry& entry, Guard& guard, const Start& start_call);

    WindowState& s_;
    BypassControl& bypass_;
    ReadAhead& read_ahead_;
};

}  // namespace nearfetch
