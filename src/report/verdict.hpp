// SPDX-License-Identifier: Apache-2.0
#pragma once

// The verdict: why nearfetch helped, or why not, in a sentence. This is the only place where that is decided;
// --summary and `nearfetch report` print what it says.
//
//   no window; no gets; own memory only
//      |  some gets of others' memory
//   many hits ------------> what they saved
//      |  few
//   no byte read twice ---> nothing to gain
//      |  some were
//   the most frequent cause: forgotten (at which calls, and what would help), evicted, bypassed, overwritten

#include <string>

#include "report/run_summary.hpp"

namespace nearfetch {

enum class Situation : std::uint8_t {
    no_window,
    unused,
    own_memory,
    helps,
    gains_nothing,  ///< gets hit, and nothing is saved
    off,
    no_reuse,
    forgotten,
    written_to,  ///< forgotten, and the windows are written to
    too_small,
    same_node,
    does_not_pay,
    overwritten,
};

struct Verdict {
    Situation situation;
    std::string text;      ///< one sentence, without a full stop
    std::string advice{};  ///< another one: what more can be done about locks; often empty
};

/// The name of a situation in reports of programs: "no-window".
std::string situation_name(Situation situation);

Verdict verdict_of(const RunSummary& summary);

}  // namespace nearfetch
