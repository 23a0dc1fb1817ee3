// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "common/command_line.hpp"

namespace nearfetch::apps {

/// @throws UsageError when an info pair is longer than this MPI library allows
void check_infos(const InfoPairs& infos);

/// Info pairs as an MPI info object, for this object's life.
class Info {
  public:
    /// @throws UsageError as check_infos() does
    explicit Info(const InfoPairs& infos);
    ~Info();
    Info(const Info&) = delete;
    Info& operator=(const Info&) = delete;
    operator MPI_Info() const { return info_; }

  private:
    MPI_Info info_ = MPI_INFO_NULL;
};

/// A window over memory of this rank. The constructors are collective, and throw UsageError on every rank if
/// an info pair is longer than this MPI library allows.
class Window {
  public:
    /// As the user's options say.
    Window(std::size_t bytes, int displacement_unit, const WindowOptions& options);
    ~Window();
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    MPI_Win handle() const { return window_; }
    void* memory() const { return memory_; }

    /// Zeroes this rank's part. No epoch may be open.
    void clear(int rank, std::size_t bytes);

    /// Copies into this rank's part. No epoch may be open. Others may read after synchronising with this
    /// rank.
    void fill(int rank, std::size_t offset_bytes, const void* data, std::size_t bytes);

  private:
    MPI_Win window_ = MPI_WIN_NULL;
    void* memory_ = nullptr;
    std::unique_ptr<std::byte[]> owned_;
};

}  // namespace nearfetch::apps
