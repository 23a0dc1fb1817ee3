// SPDX-License-Identifier: Apache-2.0
#pragma once

// The versions that the programs of LAPPS come in (Kayraklioglu, Ferguson and El-Ghazawi 2018, section 6.3).
// In all but `hand` the loop is the same; what differs is one line before it, and with manual consistency one
// inside.
//
//   base            each element that another rank owns is a get
//   ac, ac-sd       prefetched with automatic consistency; sd: the owner stays passive
//   mc, mc-sd       the same with manual consistency
//   hand            what is needed is copied to a local array by hand
// and where indices are data
//   observed, observed-sd   the first time as base; what was read then is prefetched with automatic
//                           consistency
//   gather                  what the indices mean is gathered (nearfetch/gather.hpp)

#include <CLI/CLI.hpp>
#include <nearfetch/array.hpp>
#include <string>
#include <vector>

#include "common/validators.hpp"
#include "pgas/program.hpp"

namespace nearfetch::programs {

class Version {
  public:
    /// \param by_indices whether indices are data: there are versions that learn or gather what these mean
    void add_options(CLI::App& app, bool by_indices = false) {
        std::vector<std::string> names{"base", "ac", "ac-sd", "mc", "mc-sd", "hand"};
        if (by_indices) names.insert(names.end(), {"observed", "observed-sd", "gather"});
        app.add_option("--version", name_,
                       by_indices ? "base, ac, ac-sd, mc, mc-sd, hand, observed, observed-sd or gather"
                                  : "base, ac, ac-sd, mc, mc-sd or hand")
            ->check(CLI::IsMember(names))
            ->capture_default_str();
        app.add_option("--work-ns", work_ns_, "what the loop does for an element takes, in virtual time")
            ->check(apps::number_within(0, 1e6))
            ->capture_default_str();
    }

    bool is_by_hand() const { return name_ == "hand"; }
    bool is_observed() const { return name_.starts_with("observed"); }
    bool is_gathered() const { return name_ == "gather"; }
    bool is_prefetched() const { return name_.starts_with("ac") || is_manual(); }
    bool is_manual() const { return name_.starts_with("mc"); }
    /// The programs have a barrier before, in all versions.
    Prefetch prefetch() const {
        return {.consistent = !is_manual(), .static_domain = name_.ends_with("-sd"), .barrier = false};
    }

    /// The loop has gone over so many elements: in virtual time, which no real software takes, it takes as
    /// long in all versions. Elsewhere it has taken what it takes.
    void worked(const Run& run, std::int64_t elements) const {
        if (run.virtual_time()) compute(static_cast<std::uint64_t>(work_ns_ * static_cast<double>(elements)));
    }
    /// Which it was, and what rank 0 has prefetched. Called by all ranks.
    void note(Run& run) const {
        const PrefetchStatistics prefetched = prefetch_statistics();
        if (rank() != 0) return;
        run.note("version", name_);
        run.note("prefetch_updates", prefetched.updates);
        run.note("prefetch_bytes", prefetched.updated_bytes);
    }

  private:
    std::string name_ = "base";
    double work_ns_ = 0;
};

}  // namespace nearfetch::programs
