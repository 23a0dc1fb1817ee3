// SPDX-License-Identifier: Apache-2.0
#pragma once

// Two ways to fetch a set of somebody's elements: these, which the owner packs; or all that there is, as it
// lies there. The second brings more, and asks nobody to work. Which one takes less is a matter of the
// network, of how busy the owners are, and of how many others ask them: both are tried.

#include <array>
#include <cstdint>
#include <mutex>

namespace nearfetch {

/// For any thread.
class StrategySelector {
  public:
    enum class Strategy : std::uint8_t { wanted, whole };

    /// The one to take now: both alternately at first, twice, unless `whole` takes more than twice as long;
    /// then the one that takes less. The other one is tried again when what it takes longer is `most_share`
    /// of what has been taken since, after `least_rest` times at least, and twice as late each time that it
    /// is tried and loses.
    Strategy next() const;
    /// Which it was, and how long that took for so many bytes that were wanted. \pre bytes > 0
    void took(Strategy strategy, std::uint64_t ns, std::uint64_t bytes);

  private:
    // Small, for where ranks wait for each other, all of them wait for each one that tries.
    static constexpr double most_share = 1.0 / 256;
    static constexpr std::uint32_t least_rest = 32;
    static constexpr std::uint32_t most_rest = 1 << 20;
    struct Taken {
        double ns_per_byte = 0;  ///< the least, which fades
        std::uint32_t times = 0;
    };
    static Strategy other(Strategy strategy) {
        return strategy == Strategy::wanted ? Strategy::whole : Strategy::wanted;
    }
    Taken& of(Strategy strategy) { return taken_[static_cast<std::size_t>(strategy)]; }
    const Taken& of(Strategy strategy) const { return taken_[static_cast<std::size_t>(strategy)]; }
    Strategy better() const;
    /// How many times as long as the better one the other one takes. \pre both were tried
    double ratio() const { return of(other(better())).ns_per_byte / of(better()).ns_per_byte; }

    mutable std::mutex mutex_;
    std::array<Taken, 2> taken_;
    bool known_ = false;         ///< both were tried
    std::uint32_t left_ = 0;     ///< then: times until the other one is tried again
    std::uint32_t backoff_ = 1;  ///< how much later that is than it could be
};

}  // namespace nearfetch
