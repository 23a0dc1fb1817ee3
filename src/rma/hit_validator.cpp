// SPDX-License-Identifier: Apache-2.0
#include "rma/hit_validator.hpp"

namespace nearfetch {

HitValidator::Check& HitValidator::begin(Rank target, std::uint64_t offset, std::span<const std::byte> served,
                                         std::span<void* const> call_site, bool from_node) {
    auto check = std::make_unique<Check>();
    check->target = target;
    check->offset = offset;
    check->served.assign(served.begin(), served.end());
    check->found.resize(served.size());
    check->call_site.assign(call_site.begin(), call_site.end());
    check->from_node = from_node;
    checks_.push_back(std::move(check));
    return *checks_.back();
}

void HitValidator::abandon(const Check& check) noexcept {
    std::erase_if(checks_, [&](const auto& each) { return each.get() == &check; });
}

void HitValidator::overwritten(Rank target, ByteRange range) noexcept {
    for (const auto& check : checks_)
        if (check->target == target && range.overlaps({check->offset, check->offset + check->served.size()}))
            check->comparable = false;
}

}  // namespace nearfetch
