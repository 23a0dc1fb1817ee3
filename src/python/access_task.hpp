// SPDX-License-Identifier: Apache-2.0
#pragma once

// Accesses to many elements that run in a task of the rank, while its program computes.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <nearfetch/pgas.hpp>
#include <optional>
#include <span>
#include <vector>

#include "python/any_array.hpp"
#include "python/rank_state.hpp"

namespace nearfetch::python {

/// \pre the array lives until the task has ended
class AccessTask {
  public:
    enum class Kind : std::uint8_t { get, put };
    /// Begins; where tasks cannot communicate it does all of it. \param elements their memory, packed
    /// \param places their indices are copied
    AccessTask(AnyArray& array, Kind kind, const Places& places, std::vector<std::byte> elements);

    /// Whether wait() would return at once.
    bool test() const;
    /// \throws Error when it failed
    void wait() const;
    /// What was read. \pre wait()
    std::span<const std::byte> elements() const;

  private:
    class Owner final : public Owned {
      public:
        Owner(AnyArray& array, Kind kind, const Places& places, std::vector<std::byte> elements);
        void run();

        AnyArray& array;
        Kind kind;
        std::vector<std::int64_t> indices;
        Places places;
        std::vector<std::byte> elements;
        std::atomic<bool> done{false};
        std::exception_ptr failure;  ///< of an earlier wait()
        std::optional<Task> task;    ///< declared last: it ends before what it uses
    };
    Held<Owner> held_;
};

}  // namespace nearfetch::python
