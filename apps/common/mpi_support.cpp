// SPDX-License-Identifier: Apache-2.0
#include "common/mpi_support.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <utility>

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

MpiSession::MpiSession(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
}

MpiSession::~MpiSession() { MPI_Finalize(); }

void check_infos(const WindowOptions& options) {
    for (const auto& [key, value] : options.infos) {
        if (key.size() >= MPI_MAX_INFO_KEY || value.size() >= MPI_MAX_INFO_VAL) {
            throw UsageError("--info " + key + " is too long (this MPI library allows keys of " +
                             std::to_string(MPI_MAX_INFO_KEY - 1) + " and values of " +
                             std::to_string(MPI_MAX_INFO_VAL - 1) + " characters): shorten it");
        }
    }
}

Window::Window(std::size_t bytes, int displacement_unit, const WindowOptions& options) {
    check_infos(options);
    MPI_Info info = MPI_INFO_NULL;
    if (!options.infos.empty()) MPI_Info_create(&info);
    for (const auto& [key, value] : options.infos)
        MPI_Info_set(info, key.c_str(), value.c_str());
    const auto size = static_cast<MPI_Aint>(bytes);
    if (options.allocate) {
        MPI_Win_allocate(size, displacement_unit, info, MPI_COMM_WORLD, &memory_, &window_);
    } else {
        owned_ = std::make_unique<std::byte[]>(std::max<std::size_t>(bytes, 1));
        memory_ = owned_.get();
        MPI_Win_create(memory_, size, displacement_unit, info, MPI_COMM_WORLD, &window_);
    }
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

Window::~Window() { MPI_Win_free(&window_); }

void Window::clear(int rank, std::size_t bytes) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window_);
    if (bytes != 0) std::memset(memory_, 0, bytes);
    MPI_Win_unlock(rank, window_);
}

void Window::fill(int rank, std::size_t offset_bytes, const void* data, std::size_t bytes) {
    // Stores to window memory are only sure to be seen when made inside of an epoch on oneself.
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window_);
    if (bytes != 0) std::memcpy(static_cast<std::byte*>(memory_) + offset_bytes, data, bytes);
    MPI_Win_unlock(rank, window_);
}

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

ProgressBar::ProgressBar(bool shown, std::string label, std::uint64_t total)
    : shown_(shown && total != 0), label_(std::move(label)), total_(total) {}

void ProgressBar::draw() {
    constexpr std::uint64_t kWidth = 40;
    constexpr std::uint64_t kDraws = 100;
    const auto filled = static_cast<std::size_t>(kWidth * done_ / total_);
    const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, ' ');
    std::fprintf(stderr, "\r%s [%s] %3llu%%%s", label_.c_str(), bar.c_str(),
                 static_cast<unsigned long long>(100 * done_ / total_), done_ == total_ ? "\n" : "");
    std::fflush(stderr);
    next_ = std::min(total_, done_ + std::max<std::uint64_t>(total_ / kDraws, 1));
}

}  // namespace nearfetch::apps
