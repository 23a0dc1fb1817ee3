// SPDX-License-Identifier: Apache-2.0
#include "common/mpi_support.hpp"

#include <algorithm>
#include <iostream>

#include "mpi/simulated_time.hpp"

namespace nearfetch::apps {

namespace {

constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 30;

template <typename Move>
void in_chunks(std::uint64_t bytes, Move move) {
    for (std::uint64_t at = 0; at < bytes; at += kChunkBytes) {
        move(at, static_cast<int>(std::min(kChunkBytes, bytes - at)));
    }
}

template <typename Value>
Value reduced(Value value, MPI_Datatype type, MPI_Op operation) {
    Value result{};
    MPI_Allreduce(&value, &result, 1, type, operation, MPI_COMM_WORLD);
    return result;
}

}  // namespace

void send_bytes(const void* data, std::uint64_t bytes, int target) {
    in_chunks(bytes, [&](std::uint64_t at, int count) {
        MPI_Send(static_cast<const char*>(data) + at, count, MPI_BYTE, target, 0, MPI_COMM_WORLD);
    });
}

void receive_bytes(void* data, std::uint64_t bytes, int source) {
    in_chunks(bytes, [&](std::uint64_t at, int count) {
        MPI_Recv(static_cast<char*>(data) + at, count, MPI_BYTE, source, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    });
}

void broadcast_bytes(void* data, std::uint64_t bytes, int root) {
    in_chunks(bytes, [&](std::uint64_t at, int count) {
        MPI_Bcast(static_cast<char*>(data) + at, count, MPI_BYTE, root, MPI_COMM_WORLD);
    });
}

std::span<const std::uint64_t> replicate(std::vector<std::uint64_t>& items) {
    std::uint64_t count = items.size();
    MPI_Bcast(&count, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (!simulated::ranks_are_simulated) {
        items.resize(count);
        broadcast_bytes(items.data(), count * sizeof(std::uint64_t), 0);
        return items;
    }
    auto place = reinterpret_cast<std::uint64_t>(items.data());
    MPI_Bcast(&place, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return {reinterpret_cast<const std::uint64_t*>(place), count};
}

void complain(const MpiSession& mpi, const std::string& program, const std::string& text) {
    if (mpi.is_root()) std::cerr << (program + ": " + text + "\n") << std::flush;
}

void open_output(std::ofstream& file, const std::string& path) {
    if (path.empty()) return;
    file.open(path);
    if (!file)
        throw UsageError(path + " cannot be written (opening it failed): check the path and its permissions");
}

int deliver(const std::string& program, const Report& report, std::ofstream& json) {
    report.write_lines(std::cout);
    if (json.is_open()) report.write_json(json);
    if (std::cout.flush() && json.flush()) return 0;
    std::cerr << program << ": the results could not be written (the disk may be full): free some space\n";
    return 1;
}

double sum_over_ranks(double value) { return reduced(value, MPI_DOUBLE, MPI_SUM); }
std::uint64_t sum_over_ranks(std::uint64_t value) { return reduced(value, MPI_UINT64_T, MPI_SUM); }
double max_over_ranks(double value) { return reduced(value, MPI_DOUBLE, MPI_MAX); }

}  // namespace nearfetch::apps
