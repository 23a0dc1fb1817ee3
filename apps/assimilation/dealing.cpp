// SPDX-License-Identifier: Apache-2.0
#include "assimilation/dealing.hpp"

#include <algorithm>

#include "common/mpi_support.hpp"

namespace nearfetch::assimilation {

Dealing::Dealing(const apps::MpiSession& mpi, const Options& options)
    : rank_(mpi.rank()), ranks_(mpi.ranks()), elements_(options.elements), members_(options.members) {}

/// `own` items of this rank, and for each of them what the other rank has of `others`.
Dealing::Parts Dealing::parts(int own, int others) const {
    Parts result;
    int begin = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
        result.begins.push_back(begin);
        result.counts.push_back(own * count(others, rank));
        begin += result.counts.back();
    }
    return result;
}

std::vector<double> Dealing::to_ensembles(const std::vector<double>& members) const {
    const Parts out = parts(own_count(members_), elements_);
    const Parts in = parts(own_count(elements_), members_);
    std::vector<double> sent,
        received(static_cast<std::size_t>(own_count(elements_)) * static_cast<std::size_t>(members_));
    sent.reserve(members.size());
    for (int rank = 0; rank < ranks_; ++rank)
        for (int m = 0; m < own_count(members_); ++m)
            for (int i = rank; i < elements_; i += ranks_)
                sent.push_back(members[static_cast<std::size_t>(m) * static_cast<std::size_t>(elements_) +
                                       static_cast<std::size_t>(i)]);
    MPI_Alltoallv(sent.data(), out.counts.data(), out.begins.data(), MPI_DOUBLE, received.data(),
                  in.counts.data(), in.begins.data(), MPI_DOUBLE, MPI_COMM_WORLD);
    std::vector<double> ensembles(received.size());
    auto next = received.begin();
    for (int rank = 0; rank < ranks_; ++rank)
        for (int m = rank; m < members_; m += ranks_)
            for (int i = 0; i < own_count(elements_); ++i)
                ensembles[static_cast<std::size_t>(i) * static_cast<std::size_t>(members_) +
                          static_cast<std::size_t>(m)] = *next++;
    return ensembles;
}

std::vector<double> Dealing::to_members(const std::vector<double>& ensembles) const {
    const Parts out = parts(own_count(elements_), members_);
    const Parts in = parts(own_count(members_), elements_);
    std::vector<double> sent,
        received(static_cast<std::size_t>(own_count(members_)) * static_cast<std::size_t>(elements_));
    sent.reserve(ensembles.size());
    for (int rank = 0; rank < ranks_; ++rank)
        for (int m = rank; m < members_; m += ranks_)
            for (int i = 0; i < own_count(elements_); ++i)
                sent.push_back(ensembles[static_cast<std::size_t>(i) * static_cast<std::size_t>(members_) +
                                         static_cast<std::size_t>(m)]);
    MPI_Alltoallv(sent.data(), out.counts.data(), out.begins.data(), MPI_DOUBLE, received.data(),
                  in.counts.data(), in.begins.data(), MPI_DOUBLE, MPI_COMM_WORLD);
    std::vector<double> members(received.size());
    auto next = received.begin();
    for (int rank = 0; rank < ranks_; ++rank)
        for (int m = 0; m < own_count(members_); ++m)
            for (int i = rank; i < elements_; i += ranks_)
                members[static_cast<std::size_t>(m) * static_cast<std::size_t>(elements_) +
                        static_cast<std::size_t>(i)] = *next++;
    return members;
}

std::vector<double> Dealing::gather(const apps::MpiSession& mpi, const std::vector<double>& ensembles) const {
    const std::vector<double> by_rank = apps::gather_at_root(mpi, ensembles);
    std::vector<double> all(by_rank.size());
    auto next = by_rank.begin();
    const auto members = static_cast<std::size_t>(members_);
    for (int rank = 0; rank < ranks_ && !all.empty(); ++rank)
        for (int i = rank; i < elements_; i += ranks_, next += members_)
            std::copy_n(next, members, all.begin() + static_cast<std::ptrdiff_t>(i) * members_);
    return all;
}

}  // namespace nearfetch::assimilation
