// SPDX-License-Identifier: Apache-2.0
#include "assimilation/shared_ensembles.hpp"

#include <cstddef>

namespace nearfetch::assimilation {

namespace {

std::size_t own_bytes(const Dealing& dealing, const Options& options) {
    return static_cast<std::size_t>(dealing.own_count(options.elements)) *
           static_cast<std::size_t>(options.members) * sizeof(double);
}

}  // namespace

SharedEnsembles::SharedEnsembles(const Dealing& dealing, const Options& options)
    : dealing_(dealing),
      members_(options.members),
      window_(own_bytes(dealing, options), sizeof(double), options.common.window),
      buffer_(static_cast<std::size_t>(options.members)) {}

void SharedEnsembles::publish(const std::vector<double>& ensembles) {
    MPI_Barrier(MPI_COMM_WORLD);
    window_.fill(dealing_.rank(), 0, ensembles.data(), ensembles.size() * sizeof(double));
    MPI_Barrier(MPI_COMM_WORLD);
}

std::span<const double> SharedEnsembles::read(int element) {
    const int owner = dealing_.owner(element);
    const std::size_t displacement = dealing_.local(element) * buffer_.size();
    if (owner == dealing_.rank())
        return {static_cast<const double*>(window_.memory()) + displacement, buffer_.size()};
    watch_.start();
    MPI_Win_lock(MPI_LOCK_SHARED, owner, 0, window_.handle());
    MPI_Get(buffer_.data(), members_, MPI_DOUBLE, owner, static_cast<MPI_Aint>(displacement), members_,
            MPI_DOUBLE, window_.handle());
    MPI_Win_unlock(owner, window_.handle());
    watch_.stop();
    ++remote_gets_;
    return buffer_;
}

}  // namespace nearfetch::assimilation
