// SPDX-License-Identifier: Apache-2.0
#pragma once

// The versions of the LAPPS programs (Kayraklioglu, Ferguson and El-Ghazawi 2018, section 6.3). All but
// `hand` have the same loop; they differ in one line before it, and with manual consistency in one line
// inside.
//
//   base            each remote element is a get
//   ac, ac-sd       prefetched with automatic consistency; sd: the owner stays passive
//   mc, mc-sd       the same with manual consistency
//   hand            hand-made copy to a local array
// For programs with indices as data also
//   observed, observed-sd   the first iteration as base, then prefetched with automatic consistency
//   gather                  gathered (nearfetch/gather.hpp)

#include <CLI/CLI.hpp>
#include <nearfetch/array.hpp>
#include <string>
#include <vector>

#include "common/validators.hpp"
#include "pgas/program.hpp"

namespace nearfetch::programs {

class Version {
  public:
    /// Versions that some programs do not have.
    struct Offered {
        bool by_hand = true;
        bool by_indices = false;  ///< indices are data, so a version may observe or gather them
    };
    void add_options(CLI::App& app, const Offered& offered = {true, false}) {
        std::vector<std::string> names{"base", "ac", "ac-sd", "mc", "mc-sd"};
        if (offered.by_hand) names.emplace_back("hand");
        if (offered.by_indices) names.insert(names.end(), {"observed", "observed-sd", "gather"});
        app.add_option("--version", name_, CLI::detail::join(names, ", "))
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

    /// Charges the loop's time for so many elements in virtual time, the same for all versions.
    void worked(const Run& run, std::int64_t elements) const {
        if (run.virtual_time()) compute(static_cast<std::uint64_t>(work_ns_ * static_cast<double>(elements)));
    }
    /// Reports the version, and what rank 0 has prefetched. Called by all ranks.
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
