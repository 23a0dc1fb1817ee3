// SPDX-License-Identifier: Apache-2.0
#include "common/mpi_window.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace nearfetch::apps {

Info::Info(const InfoPairs& infos) {
    check_infos(infos);
    if (!infos.empty()) MPI_Info_create(&info_);
    for (const auto& [key, value] : infos)
        MPI_Info_set(info_, key.c_str(), value.c_str());
}

Info::~Info() {
    if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
}

void check_infos(const InfoPairs& infos) {
    for (const auto& [key, value] : infos) {
        if (key.size() >= MPI_MAX_INFO_KEY || value.size() >= MPI_MAX_INFO_VAL) {
            throw UsageError("--info " + key + " is too long (this MPI library allows keys of " +
                             std::to_string(MPI_MAX_INFO_KEY - 1) + " and values of " +
                             std::to_string(MPI_MAX_INFO_VAL - 1) + " characters): shorten it");
        }
    }
}

Window::Window(std::size_t bytes, int displacement_unit, const WindowOptions& options) {
    const Info info(options.infos);
    const auto size = static_cast<MPI_Aint>(bytes);
    if (options.allocate) {
        MPI_Win_allocate(size, displacement_unit, info, MPI_COMM_WORLD, &memory_, &window_);
    } else {
        owned_ = std::make_unique<std::byte[]>(std::max<std::size_t>(bytes, 1));
        memory_ = owned_.get();
        MPI_Win_create(memory_, size, displacement_unit, info, MPI_COMM_WORLD, &window_);
    }
}

Window::~Window() { MPI_Win_free(&window_); }

void Window::clear(int rank, std::size_t bytes) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window_);
    if (bytes != 0) std::memset(memory_, 0, bytes);
    MPI_Win_unlock(rank, window_);
}

void Window::fill(int rank, std::size_t offset_bytes, const void* data, std::size_t bytes) {
    // Stores to window memory are only guaranteed to be visible if made in an epoch on oneself.
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window_);
    if (bytes != 0) std::memcpy(static_cast<std::byte*>(memory_) + offset_bytes, data, bytes);
    MPI_Win_unlock(rank, window_);
}

}  // namespace nearfetch::apps
