// SPDX-License-Identifier: Apache-2.0
#include "rma/get_profile.hpp"

#include <algorithm>
#include <new>

namespace nearfetch {

void GetProfile::record(Rank target, ByteRange asked, ByteRange fetched, Fate fate, Mode mode,
                        Stamp now) noexcept try {
    // What wraps around is for the library to refuse.
    if (asked.begin >= asked.end || fetched.begin >= fetched.end) return;
    count(shadow_.past_of(target, asked), fate, mode, now);
    shadow_.fetch(target, fetched, now, fate);
} catch (const std::bad_alloc&) {
    // A report is not worth an error.
}

void GetProfile::count(const ShadowIndex::Past& past, Fate fate, Mode mode, Stamp now) {
    if (past.weight == 0) return;
    if (!past.was_fetched) {
        counters_.first_reads += past.weight;
    } else if (past.fetched < now) {
        counters_.forgotten += past.weight;
        if (mode == Mode::transparent) {
            count_forgotten("the end of an epoch (mode transparent)", past.weight);
        } else if (mode == Mode::user_defined) {
            count_forgotten("nearfetch_win_invalidate", past.weight);
        } else {
            count_forgotten(acquires_.cause_after(past.fetched), past.weight);
            if (acquires_.are_locks_since(past.fetched)) counters_.forgotten_by_locks += past.weight;
        }
    } else {
        // What is bypassed may still be cached.
        switch (fate == Fate::bypassed && past.fate != Fate::overwritten ? fate : past.fate) {
            case Fate::kept:
                counters_.evicted_before += past.weight;
                break;
            case Fate::not_kept:
                counters_.not_kept += past.weight;
                break;
            case Fate::bypassed:
                counters_.bypassed_before += past.weight;
                break;
            case Fate::overwritten:
                counters_.overwritten += past.weight;
                break;
        }
    }
}

void GetProfile::count_forgotten(const char* call, std::uint64_t gets) {
    const auto known = std::ranges::find(causes_, std::string_view(call),
                                         [](const Cause& c) { return std::string_view(c.call); });
    if (known != causes_.end())
        known->gets += gets;
    else
        causes_.push_back({call, gets});
}

}  // namespace nearfetch
