// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <string>

namespace nearfetch::programs {

/// The option for the memory order of a program's atomic operations.
class Atomics {
  public:
    explicit Atomics(std::string name) : name_(std::move(name)) {}

    void add_option(CLI::App& app) {
        app.add_option("--atomics", name_, "memory order of the atomic operations")
            ->check(CLI::IsMember({"seq_cst", "relaxed"}))
            ->capture_default_str();
    }
    const std::string& name() const { return name_; }
    std::memory_order order() const {
        return name_ == "relaxed" ? std::memory_order_relaxed : std::memory_order_seq_cst;
    }

  private:
    std::string name_;
};

}  // namespace nearfetch::programs
