// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/run_summary.hpp"

namespace nearfetch {

/// The page of --summary: the verdict, and the windows that matter most. Lines have at most 100 columns.
/// \param title what it is a page of, "4 ranks" \pre summary.sort()
std::string page_of(const RunSummary& summary, const std::string& title);

}  // namespace nearfetch
