// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two kinds of time a modelled network runs in. On the wall's clock the real software takes the time it
// takes, and an operation is held back until the model lets it complete. In virtual time (simulation.hpp)
// each thread has a clock of its own that only the model and compute() advance.

#include <cstdint>

namespace nearfetch {

class Simulation;

/// The calling thread's time. Thread-safe.
class ModelClock {
  public:
    ModelClock() = default;
    ModelClock(const ModelClock&) = delete;
    ModelClock& operator=(const ModelClock&) = delete;
    virtual ~ModelClock() = default;

    virtual std::uint64_t now_ns() const = 0;
    /// Lets time pass by computing.
    virtual void compute(std::uint64_t ns) = 0;
    /// Lets time pass that on the wall's clock the real software takes by itself.
    virtual void spend(std::uint64_t ns) = 0;
    /// Returns when it is `ns`.
    virtual void wait_until(std::uint64_t ns) = 0;
    /// What others do before this thread's now is done when it returns.
    virtual void let_others_come() = 0;
};

/// "At no time": nothing is to come that is known of.
inline constexpr std::uint64_t never_ns = ~std::uint64_t{0};

class WallClock final : public ModelClock {
  public:
    /// \param crowded whether there are more threads than processors: waiting then gives way to others
    explicit WallClock(bool crowded) : crowded_(crowded) {}

    std::uint64_t now_ns() const override;
    void compute(std::uint64_t ns) override;
    void spend(std::uint64_t) override {}
    void wait_until(std::uint64_t ns) override;
    void let_others_come() override {}

  private:
    bool crowded_;
};

class VirtualClock final : public ModelClock {
  public:
    explicit VirtualClock(Simulation& simulation) : simulation_(simulation) {}

    std::uint64_t now_ns() const override;
    void compute(std::uint64_t ns) override;
    void spend(std::uint64_t ns) override;
    void wait_until(std::uint64_t ns) override;
    void let_others_come() override;

  private:
    Simulation& simulation_;
};

}  // namespace nearfetch
