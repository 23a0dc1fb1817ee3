// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <nearfetch/pgas.hpp>
#include <string>

namespace nearfetch::programs {

/// The option for the memory order of a program's atomic operations.
class Atomics {
  public:
    explicit Atomics(std::string name) : name_(std::move(name)) {}

    void add_option(CLI::App& app) {
        app.add_option("--atomics", name_,
                       "memory order of the atomic operations; unordered: additions are not waited for")
            ->check(CLI::IsMember({"seq_cst", "relaxed", "unordered"}))
            ->capture_default_str();
    }
    const std::string& name() const { return name_; }
    std::memory_order order() const {
        return name_ == "seq_cst" ? std::memory_order_seq_cst : std::memory_order_relaxed;
    }
    /// An addition whose result nobody uses.
    template <class T>
    void add(GlobalPtr<T> to, T amount) const {
        if (name_ == "unordered")
            unordered_add(to, amount);
        else
            atomic_add(to, amount, order());
    }

  private:
    std::string name_;
};

}  // namespace nearfetch::programs
