// SPDX-License-Identifier: Apache-2.0
#pragma once

// The clocks of a modelled network. In wall-clock time the real software takes its time, and an operation is
// held back until the model completes it. In virtual time (simulation.hpp) each thread has its own clock,
// which only the model and compute() advance.

#include <cstdint>

namespace nearfetch {

class Simulation;

/// The calling thread's clock. Thread-safe.
class ModelClock {
  public:
    ModelClock() = default;
    ModelClock(const ModelClock&) = delete;
    ModelClock& operator=(const ModelClock&) = delete;
    virtual ~ModelClock() = default;

    virtual std::uint64_t now_ns() const = 0;
    /// Simulates computation.
    virtual void compute(std::uint64_t ns) = 0;
    /// Charges time that in wall-clock time the real software takes.
    virtual void spend(std::uint64_t ns) = 0;
    /// Returns at the time `ns`.
    virtual void wait_until(std::uint64_t ns) = 0;
    /// Returns when all that others do before this thread's time is done.
    virtual void run_earlier_events() = 0;
};

/// "At no time": no event is expected.
inline constexpr std::uint64_t never_ns = ~std::uint64_t{0};

class WallClock final : public ModelClock {
  public:
    /// \param oversubscribed more threads than processors: waiting yields
    explicit WallClock(bool oversubscribed) : oversubscribed_(oversubscribed) {}

    std::uint64_t now_ns() const override;
    void compute(std::uint64_t ns) override;
    void spend(std::uint64_t) override {}
    void wait_until(std::uint64_t ns) override;
    void run_earlier_events() override {}

  private:
    bool oversubscribed_;
};

class VirtualClock final : public ModelClock {
  public:
    explicit VirtualClock(Simulation& simulation) : simulation_(simulation) {}

    std::uint64_t now_ns() const override;
    void compute(std::uint64_t ns) override;
    void spend(std::uint64_t ns) override;
    void wait_until(std::uint64_t ns) override;
    void run_earlier_events() override;

  private:
    Simulation& simulation_;
};

}  // namespace nearfetch
