// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/node_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <new>
#include <set>
#include <string_view>
#include <utility>

#include "base/mixed.hpp"

namespace nearfetch {

namespace {

/// Where others find what one process has made. The token is in its name: of another machine, or in another
/// container, the same process and number may be anything.
struct Descriptor {
    std::int64_t process = 0;
    std::int64_t number = -1;
    std::uint64_t bytes = 0;
    std::uint64_t token = 0;
};

using Text = std::array<char, 64>;

using Name = std::array<char, 32>;

Name name_of(const Descriptor& made) noexcept {
    Name name{};
    std::snprintf(name.data(), name.size(), "nearfetch-%016llx", static_cast<unsigned long long>(made.token));
    return name;
}

/// The system ends a process that makes a file larger than its limit.
bool may_make(std::uint64_t bytes) noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes <= limit.rlim_cur;
}

Descriptor make_memory(std::uint64_t bytes) noexcept {
    Descriptor made{.process = getpid(), .bytes = bytes};
    if (!may_make(bytes) || getrandom(&made.token, sizeof made.token, 0) != sizeof made.token) return made;
    made.number = memfd_create(name_of(made).data(), MFD_CLOEXEC);
    if (made.number >= 0 && ftruncate(static_cast<int>(made.number), static_cast<off_t>(bytes)) != 0) {
        close(static_cast<int>(made.number));
        made.number = -1;
    }
    return made;
}

/// \return -1 where it is not to be had
int open_memory(const Descriptor& made) noexcept {
    if (made.number < 0) return -1;
    Text path{}, found{}, expected{};
    std::snprintf(path.data(), path.size(), "/proc/%lld/fd/%lld", static_cast<long long>(made.process),
                  static_cast<long long>(made.number));
    std::snprintf(expected.data(), expected.size(), "/memfd:%s (deleted)", name_of(made).data());
    if (readlink(path.data(), found.data(), found.size() - 1) < 0 || found != expected) return -1;
    return open(path.data(), O_RDWR | O_CLOEXEC);
}

std::byte* map_memory(int descriptor, std::uint64_t bytes) noexcept {
    if (descriptor < 0) return nullptr;
    void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

/// Whether all processes say so.
bool all_agree(MPI_Comm node, bool agreed) noexcept {
    int mine = agreed ? 1 : 0, least = 0;
    return PMPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, node) == MPI_SUCCESS && least == 1;
}

}  // namespace

std::uint64_t this_node(std::uint64_t node_ranks) noexcept {
    static const std::uint64_t node = [] {
        std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
        int length = 0;
        if (PMPI_Get_processor_name(name.data(), &length) != MPI_SUCCESS) return std::size_t{0};
        return std::hash<std::string_view>{}({name.data(), static_cast<std::size_t>(length)});
    }();
    if (node_ranks == 0) return node;
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return mixed(node + static_cast<std::uint64_t>(rank) / node_ranks);
}

bool NodeSegment::is_of_use(std::span<const std::uint64_t> nodes) {
    const std::set<std::uint64_t> different(nodes.begin(), nodes.end());
    return different.size() > 1 && different.size() < nodes.size();
}

std::unique_ptr<NodeSegment> NodeSegment::make(MPI_Comm comm, std::span<const std::uint64_t> nodes,
                                               std::uint64_t bytes, const Prepare& prepare) {
    int self = 0;
    PMPI_Comm_rank(comm, &self);
    const std::uint64_t here = nodes[static_cast<std::size_t>(self)];
    const auto first = std::ranges::find(nodes, here);
    const int color =
        std::ranges::count(nodes, here) > 1 ? static_cast<int>(first - nodes.begin()) : MPI_UNDEFINED;
    MPI_Comm node = MPI_COMM_NULL;
    if (PMPI_Comm_split(comm, color, self, &node) != MPI_SUCCESS || node == MPI_COMM_NULL) return nullptr;
    std::unique_ptr<NodeSegment> segment = make_in(node, bytes, prepare);
    PMPI_Comm_free(&node);
    return segment;
}

/// Collective over the processes of a node.
std::unique_ptr<NodeSegment> NodeSegment::make_in(MPI_Comm node, std::uint64_t bytes,
                                                  const Prepare& prepare) noexcept {
    int rank = 0;
    PMPI_Comm_rank(node, &rank);
    Descriptor made;
    int descriptor = -1;
    std::byte* data = nullptr;
    if (rank == 0) {
        made = make_memory(bytes);
        descriptor = static_cast<int>(made.number);
        data = map_memory(descriptor, made.bytes);
        if (data != nullptr && !prepare({data, made.bytes})) made.number = -1;
    }
    if (PMPI_Bcast(&made, sizeof made, MPI_BYTE, 0, node) != MPI_SUCCESS) made.number = -1;
    if (rank != 0) {
        descriptor = open_memory(made);
        data = map_memory(descriptor, made.bytes);
    }
    std::unique_ptr<NodeSegment> segment;
    if (data != nullptr) segment.reset(new (std::nothrow) NodeSegment(data, made.bytes, descriptor));
    if (data != nullptr && segment == nullptr) munmap(data, made.bytes);
    // The first one's descriptor is open until all have opened it.
    const bool agreed = all_agree(node, segment != nullptr && made.number >= 0);
    if (segment == nullptr && descriptor >= 0) close(descriptor);
    return agreed ? std::move(segment) : nullptr;
}

void NodeSegment::close_file() noexcept {
    if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

NodeSegment::~NodeSegment() {
    close_file();
    munmap(data_, bytes_);
}

}  // namespace nearfetch
