// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "arguments.hpp"
#include "replay/trace.hpp"

namespace nearfetch::bench {

/// The trace that an option names, as `name:key=value,...`. Gives up on what there is not.
///
/// - `file:path=FILE`: lines `offset size`, in bytes, all of one target (bench/workload.py writes them)
/// - `lcc:scale=S,ranks=R,rank=N,...`: what rank N of R reads of others for the local clustering coefficients
/// of a shuffled R-MAT graph of 2^S vertices (001, section IV-C); `edge_factor` (16), `seed` (1), and
/// `vertices`: only so many of the rank's
/// - `barnes_hut:bodies=B,ranks=R,rank=N,...`: what rank N of R reads of others' nodes for the forces on all
/// of its bodies, in a Plummer model of B (001, section IV-B); `seed` (1), `steps` (1), in each of which the
/// tree is built anew
///
/// and some that are drawn from a `seed`, with `gets` of them:
///
/// - `paper`: `distinct` items of 2^i bytes, i uniform in 0..16, drawn by normal(N/2, N/4) (001, section
/// IV-A)
/// - `mixed`: `distinct` items of 8 B to 256 KiB (uniform logarithm), by Zipf's law of exponent `skew`
/// - `scan`: a `share` of gets of `hot` items by Zipf's law, between those of a scan of the other `distinct`
/// ones, round and round; all of `bytes`
/// - `hash_table`: lookups of `keys` in a table with open addressing on `ranks` ranks, by Zipf's law: each
/// slot is a get of 16 bytes
/// - `tiles`: tiles of `tile_bytes` by Zipf's law, each read from its beginning to its end in gets of `bytes`
Trace make_trace(const Config& chosen);

/// The traces `lcc` of so many ranks, from `rank` on.
std::vector<Trace> make_lcc_traces(const Config& chosen, std::uint64_t count);

}  // namespace nearfetch::bench
