// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/trace.hpp"
#include "trace_keys.hpp"

namespace nearfetch::bench {

// Traces drawn from a seed; their keys are in traces.hpp.
Trace paper_trace(const Keys& keys);
Trace mixed_trace(const Keys& keys);
Trace scan_trace(const Keys& keys);
Trace hash_table_trace(const Keys& keys);
Trace tiles_trace(const Keys& keys);

}  // namespace nearfetch::bench
