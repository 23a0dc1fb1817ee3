// SPDX-License-Identifier: Apache-2.0
#pragma once

// Finds programs that break their mode's rules: of the hits a sample is fetched again, and what the target
// has is compared with what the program was given. The second get completes with the program's own next call
// that completes gets of that target, so that nothing is waited for; until then nobody may write these bytes,
// as after any get. What this process itself puts there meanwhile is no stale hit.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace nearfetch {

/// A hit whose bytes the target does not have.
struct StaleHit {
    Rank target = 0;
    std::uint64_t offset = 0;  ///< of the hit in the target's window, bytes
    std::uint64_t size = 0;
    std::uint64_t differs_at = 0;  ///< the first byte that does, from `offset`
    std::byte served{}, found{};   ///< that byte, here and there
    bool from_node = false;        ///< another process of this node had fetched it
    std::span<void* const> call_site;
};

class HitValidator {
  public:
    struct Check {
        Rank target = 0;
        std::uint64_t offset = 0;
        std::vector<std::byte> served;
        std::vector<std::byte> found;
        std::vector<void*> call_site;  ///< return addresses, the innermost first
        bool from_node = false;        ///< as StaleHit has it
        std::uint64_t issued = 0;      ///< 0: not yet
        bool comparable = true;
    };

    /// Whether this hit is one of the sample, of which there is one in so many. 0: none
    bool due(std::uint64_t one_in) noexcept { return one_in != 0 && ++hits_ % one_in == 0; }

    /// Until it is over the check stays where it is. \throws std::bad_alloc
    Check& begin(Rank target, std::uint64_t offset, std::span<const std::byte> served,
                 std::span<void* const> call_site, bool from_node);
    /// Its get was not started.
    void abandon(const Check& check) noexcept;

    bool has_checks(Rank target) const noexcept {
        return std::ranges::any_of(checks_, [=](const auto& check) { return check->target == target; });
    }
    /// This process writes there.
    void overwritten(Rank target, ByteRange range) noexcept;

    /// The gets of `target` up to number `since` are complete. Calls over(stale), null where all is as it
    /// should be, for each check of them.
    template <class Over>
    void complete(Rank target, std::uint64_t since, Over&& over) noexcept {
        std::erase_if(checks_, [&](const std::unique_ptr<Check>& check) {
            if (check->target != target || check->issued == 0 || check->issued > since) return false;
            const auto [one, other] = std::ranges::mismatch(check->served, check->found);
            if (!check->comparable || one == check->served.end()) {
                over(static_cast<const StaleHit*>(nullptr));
                return true;
            }
            const StaleHit stale{target,
                                 check->offset,
                                 check->served.size(),
                                 static_cast<std::uint64_t>(one - check->served.begin()),
                                 *one,
                                 *other,
                                 check->from_node,
                                 check->call_site};
            over(&stale);
            return true;
        });
    }

  private:
    std::uint64_t hits_ = 0;
    std::vector<std::unique_ptr<Check>> checks_;
};

}  // namespace nearfetch
