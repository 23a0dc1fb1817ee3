// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nearfetch/detail/array/prefetch.hpp>
#include <span>

#include "cache/prefetch_buffer/prefetch_entry.hpp"
#include "pgas/context.hpp"

namespace nearfetch::detail {

/// Fetches entries of one array together. \pre the consistent ones are locked
/// \param wanted the entry that is read now; nullptr: all are
void refresh(std::span<PrefetchEntry* const> entries, pgas::Context& context, const SlicePacking& packing,
             const PrefetchEntry* wanted = nullptr, const OverlapWork& overlap_work = {});

}  // namespace nearfetch::detail
