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

/// Of a matrix that is dealt out by rows: this rank's part of its transpose, dealt out likewise. Collective.
std::vector<double> Dealing::transposed(const std::vector<double>& values, int rows, int columns) const {
    const auto place = [](int row, int column, int width) {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
               static_cast<std::size_t>(column);
    };
    const int own_rows = own_count(rows), own_columns = own_count(columns);
    const Parts out = parts(own_rows, columns), in = parts(own_columns, rows);
    std::vector<double> sent, received(place(own_columns, 0, rows)), result(received.size());
    sent.reserve(values.size());
    for (int rank = 0; rank < ranks_; ++rank)
        for (int row = 0; row < own_rows; ++row)
            for (int column = rank; column < columns; column += ranks_)
                sent.push_back(values[place(row, column, columns)]);
    MPI_Alltoallv(sent.data(), out.counts.data(), out.begins.data(), MPI_DOUBLE, received.data(),
                  in.counts.data(), in.begins.data(), MPI_DOUBLE, MPI_COMM_WORLD);
    auto next = received.begin();
    for (int rank = 0; rank < ranks_; ++rank)
        for (int row = rank; row < rows; row += ranks_)
            for (int column = 0; column < own_columns; ++column)
                result[place(column, row, rows)] = *next++;
    return result;
}

std::vector<double> Dealing::to_ensembles(const std::vector<double>& members) const {
    return transposed(members, members_, elements_);
}

std::vector<double> Dealing::to_members(const std::vector<double>& ensembles) const {
    return transposed(ensembles, elements_, members_);
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
