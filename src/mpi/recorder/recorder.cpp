// SPDX-License-Identifier: Apache-2.0
#include "mpi/recorder/recorder.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

#include "base/error.hpp"
#include "mpi/datatypes/datatype.hpp"
#include "rma/front_end.hpp"

namespace nearfetch {

Recorder recorder;

namespace {

constexpr std::uint64_t default_limit_bytes = 64ull << 20;
/// Runs of one access: of more only the size is recorded.
constexpr std::uint64_t most_runs = 256;

std::uint64_t ns_between(std::uint64_t from, std::uint64_t to) noexcept {
    return to <= from ? 0 : static_cast<std::uint64_t>(static_cast<double>(to - from) * ns_per_tick() + 0.5);
}

int at_finalize(MPI_Comm, int, void*, void*) {
    recorder.end();
    return MPI_SUCCESS;
}

/// Of a target's side of an access: where it begins, how many bytes it has, and its runs if there are
/// several.
struct Bytes {
    std::int64_t begin = 0;
    std::uint64_t size = 0;
    std::vector<std::uint64_t> runs{};
    bool is_known = true;  ///< else the size is all that is
};

Bytes bytes_of(const RecordedAccess& access) {
    if (access.count <= 0) return {};
    const auto count = static_cast<std::uint64_t>(access.count);
    const Layout& layout = layout_of(access.type, most_runs);
    if (layout.dense()) return {.size = layout.size * count};
    std::vector<LayoutRun> runs;
    if (!layout.known || !flatten(layout, 0, count, most_runs, runs)) {
        MPI_Count size = 0;
        if (PMPI_Type_size_x(access.type, &size) != MPI_SUCCESS || size < 0) size = 0;
        return {.size = static_cast<std::uint64_t>(size) * count, .is_known = false};
    }
    if (runs.empty()) return {};
    Bytes bytes{.begin = runs.front().offset};
    for (const LayoutRun& run : runs) {
        bytes.size += run.size;
        bytes.runs.push_back(static_cast<std::uint64_t>(run.offset - bytes.begin));
        bytes.runs.push_back(run.size);
    }
    if (runs.size() == 1) bytes.runs.clear();
    return bytes;
}

}  // namespace

void Recorder::begin() noexcept {
    const std::lock_guard guard(mutex_);
    if (is_on_) return;
    try {
        open();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "nearfetch: nothing is recorded: %s\n", error.what());
        writer_.reset();
        is_on_ = false;
    }
}

void Recorder::open() {
    const char* const folder = std::getenv("NEARFETCH_RECORD_DIR");
    if (folder == nullptr || *folder == '\0') return;
    const char* const limit = std::getenv("NEARFETCH_RECORD_BYTES");
    limit_bytes_ = limit != nullptr ? std::strtoull(limit, nullptr, 10) : default_limit_bytes;
    int rank = 0, ranks = 1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent);
    std::string name = "rank-" + std::to_string(rank) + ".events";
    const std::uint64_t now =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                       std::chrono::system_clock::now().time_since_epoch())
                                       .count());
    if (parent != MPI_COMM_NULL) name = "spawned-" + std::to_string(now) + "-" + name;
    writer_ = std::make_unique<EventWriter>(std::string(folder) + "/" + name);
    int key = MPI_KEYVAL_INVALID;
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, nullptr) != MPI_SUCCESS ||
        PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) != MPI_SUCCESS)
        throw Error("the end of MPI would not be noticed (the library gives no attribute): report it");
    last_ticks_ = begun_ticks_ = ticks();
    is_on_ = true;
    Event world{.kind = EventKind::world, .target = rank, .offset = 0, .size = now};
    world.values = {static_cast<std::uint64_t>(ranks)};
    writer_->write(world);
}

void Recorder::end() noexcept {
    const std::lock_guard guard(mutex_);
    if (!is_on_) return;
    try {
        Event event{.kind = EventKind::end, .size = ns_between(begun_ticks_, ticks())};
        const Rereads& seen = rereads_.seen();
        event.values = {seen.same, seen.changed_unordered, seen.changed_by_locks, seen.changed};
        writer_->write(event);
    } catch (const std::bad_alloc&) {
    }
    writer_->close();
    is_on_ = false;
}

void Recorder::write(Event& event, std::uint64_t begin_ticks) {
    const std::uint64_t now = ticks();
    event.gap_ns = ns_between(last_ticks_, begin_ticks);
    event.took_ns = ns_between(begin_ticks, now);
    sampling_.add(event, [this](const Event& kept) { writer_->write(kept); });
    if (writer_->bytes() > limit_bytes_) sample_less();
    // What recording takes is nobody's time.
    last_ticks_ = ticks();
}

/// Half of what was sampled, and as much more room.
void Recorder::sample_less() {
    sampling_.set_share(std::max<std::uint64_t>(sampling_.share() / 2, 1));
    writer_->write({.kind = EventKind::sampling, .size = sampling_.share()});
    limit_bytes_ += limit_bytes_ / 4;
}

void Recorder::add_window(MPI_Win win, MPI_Comm comm, std::uint64_t bytes, std::uint64_t unit,
                          const void* declared) noexcept try {
    if (!is_on_) return;
    const std::uint64_t begin = ticks();
    int ranks = 0, self = 0;
    PMPI_Comm_size(comm, &ranks);
    PMPI_Comm_rank(comm, &self);
    const std::uint64_t phase = declared != nullptr
                                    ? reinterpret_cast<std::uintptr_t>(declared) % memory_page_bytes
                                    : memory_page_bytes;
    const std::uint64_t mine[] = {bytes, unit, phase};
    constexpr int numbers = 3;
    std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks) * numbers);
    PMPI_Allgather(mine, numbers, MPI_UINT64_T, all.data(), numbers, MPI_UINT64_T, comm);
    const std::lock_guard guard(mutex_);
    RecordedWindow window{.id = windows_made_++};
    Event event{.kind = EventKind::window, .window = window.id, .target = self};
    event.values = {static_cast<std::uint64_t>(ranks)};
    for (std::size_t at = 0; at < all.size(); at += numbers) {
        event.values.push_back(all[at]);
        event.values.push_back(all[at + 2]);
        window.units.push_back(all[at + 1]);
    }
    windows_[win] = std::move(window);
    write(event, begin);
} catch (const std::bad_alloc&) {
}

void Recorder::remove_window(MPI_Win win) noexcept {
    add(EventKind::window_end, win, 0, false, ticks());
    const std::lock_guard guard(mutex_);
    windows_.erase(win);
}

void Recorder::add(EventKind kind, MPI_Win win, int target, bool flag, std::uint64_t begin_ticks,
                   std::vector<std::uint64_t> values) noexcept try {
    const std::lock_guard guard(mutex_);
    const auto found = windows_.find(win);
    if (!is_on_ || found == windows_.end()) return;
    const std::uint32_t window = found->second.id;
    acquires_.note(kind);
    if (kind != EventKind::lock)
        check_pending(window, kind == EventKind::flush || kind == EventKind::unlock ? target : all_targets);
    Event event{.kind = kind, .flag = flag, .window = window, .target = target, .values = std::move(values)};
    write(event, begin_ticks);
} catch (const std::bad_alloc&) {
}

void Recorder::add_access(EventKind kind, const RecordedAccess& access, std::uint64_t begin_ticks,
                          const MPI_Request* request) noexcept try {
    const std::lock_guard guard(mutex_);
    const auto found = windows_.find(access.win);
    if (!is_on_ || found == windows_.end() || access.target < 0) return;
    const RecordedWindow& window = found->second;
    Bytes bytes = bytes_of(access);
    if (bytes.is_known && bytes.size == 0 && request == nullptr) return;
    const std::uint64_t unit = window.units.at(static_cast<std::size_t>(access.target));
    Event event{.kind = kind, .window = window.id, .target = access.target};
    event.offset =
        static_cast<std::uint64_t>(access.displacement) * unit + static_cast<std::uint64_t>(bytes.begin);
    // An update of which it is not known where it is may be anywhere.
    const bool is_update = kind == EventKind::put || kind == EventKind::update || kind == EventKind::atomic;
    event.size = bytes.is_known || !is_update ? bytes.size : 0;
    event.values = std::move(bytes.runs);
    const bool is_run = bytes.is_known && event.values.empty();
    if (request != nullptr)
        requests_.insert({*request, {window.id, access.target, kind >= EventKind::atomic}});
    else if (kind == EventKind::get && is_run && access.origin != nullptr && pending_.size() < most_pending)
        pending_.push_back({window.id, access.target, event.offset, event.size, access.origin});
    if (is_update)
        rereads_.forget(
            window.id, access.target,
            is_run ? ByteRange{event.offset, event.offset + event.size} : ByteRange{0, ~std::uint64_t{0}});
    write(event, begin_ticks);
} catch (const std::exception&) {
}

void Recorder::check_pending(std::uint32_t window, int target) {
    std::erase_if(pending_, [&](const Pending& get) {
        if (get.window != window || (target != all_targets && get.target != target)) return false;
        rereads_.check(get.window, get.target, get.offset, {get.origin, get.size}, acquires_);
        return true;
    });
}

void Recorder::acquire(const char* call, std::uint64_t begin_ticks) noexcept try {
    const std::lock_guard guard(mutex_);
    if (!is_on_) return;
    acquires_.note(EventKind::acquire);
    const auto [text, is_new] = texts_.try_emplace(call, texts_.size());
    if (is_new) {
        Event name{.kind = EventKind::text, .size = text->second};
        const std::string_view characters = call;
        name.values = {characters.begin(), characters.end()};
        writer_->write(name);
    }
    Event event{.kind = EventKind::acquire, .size = text->second};
    write(event, begin_ticks != 0 ? begin_ticks : ticks());
} catch (const std::bad_alloc&) {
}

bool Recorder::complete(MPI_Request request, std::uint64_t begin_ticks) noexcept try {
    const std::lock_guard guard(mutex_);
    if (!is_on_) return false;
    const auto found = requests_.find(request);
    if (found == requests_.end()) return true;
    const Requested requested = found->second;
    requests_.erase(found);
    Event event{.kind = EventKind::wait, .window = requested.window, .target = requested.target};
    write(event, begin_ticks);
    return requested.fetches;
} catch (const std::bad_alloc&) {
    return true;
}

bool Recorder::may_synchronise(MPI_Request request) noexcept {
    const std::lock_guard guard(mutex_);
    const auto found = requests_.find(request);
    return found == requests_.end() || found->second.fetches;
}

void Recorder::forget(MPI_Request request) noexcept {
    const std::lock_guard guard(mutex_);
    const auto found = requests_.find(request);
    if (found != requests_.end()) requests_.erase(found);
}

}  // namespace nearfetch
