// SPDX-License-Identifier: Apache-2.0
#include "mpi/library.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "mpi/datatypes/committed.hpp"
#include "mpi/datatypes/flattener.hpp"
#include "mpi/mpi_library.hpp"
#include "mpi/report/world.hpp"
#include "mpi/wrappers/access.hpp"

namespace nearfetch {

namespace detail {

constinit thread_local LastSeen last_seen NEARFETCH_FAST_TLS{};
constinit MruLookups mru{};
std::atomic<std::uint64_t> window_generation{1};

Window* find_window_slowly(MPI_Win win) noexcept {
    LastSeen& last = last_seen;
    const std::uint64_t generation = window_generation.load(std::memory_order_acquire);
    if (last.generation != generation)
        for (auto& known : last.windows)
            known = {};
    last.generation = generation;
    return (last.place_of_window(win) = {win, Library::instance().find(win)}).window;
}

LastSeen::KnownType find_type_slowly(MPI_Datatype type) noexcept try {
    const std::uint64_t generation = datatype_generation();
    const Layout& layout = layout_of(type, runs_at_once);
    return last_seen.place_of_type(type) = {type, generation, layout.known ? layout.size : 0, layout.dense(),
                                            layout.known && is_predefined(type)};
} catch (const std::bad_alloc&) {
    return {type, 0, 0, false, false};
}

}  // namespace detail

void remember_mru(MPI_Win win, Window* window) noexcept {
    if (Library::instance().threaded() || window->off()) return;
    detail::mru.win = win;
    detail::mru.window = window;
}

void forget_mru(const Window& window) noexcept {
    if (detail::mru.window == &window) detail::mru = {};
}

void remember_mru(MPI_Datatype type) noexcept {
    const detail::LastSeen::KnownType known = detail::find_type(type);
    if (Library::instance().threaded() || !known.dense) return;
    detail::mru.type = type;
    detail::mru.type_generation = known.generation;
    detail::mru.dense_bytes = known.element_bytes;
}

void remember_bytes(MPI_Datatype type, MPI_Count count) noexcept {
    const detail::LastSeen::KnownType known = detail::find_type(type);
    if (Library::instance().threaded() || !known.predefined || !known.dense || count <= 0) return;
    detail::mru.known_type = type;
    detail::mru.known_count = count;
    detail::mru.known_bytes = bytes_of(known.element_bytes, count);
}

namespace {

int at_finalize(MPI_Comm, int, void*, void*) {
    Library::instance().finalize();
    return MPI_SUCCESS;
}

/// What tells this process's node from others'.
std::uint64_t this_node() noexcept {
    static const std::uint64_t node = [] {
        std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
        int length = 0;
        if (PMPI_Get_processor_name(name.data(), &length) != MPI_SUCCESS) return std::size_t{0};
        return std::hash<std::string_view>{}({name.data(), static_cast<std::size_t>(length)});
    }();
    return node;
}

/// One code per message, so that a program that fails the same way again and again does not use codes up.
int error_code(int error_class, const std::string& message) noexcept try {
    static std::mutex mutex;
    static auto& codes = *new std::unordered_map<std::string, int>;  // not to go before a handler of atexit()
    const std::lock_guard guard(mutex);
    if (const auto known = codes.find(message); known != codes.end()) return known->second;
    int code = error_class;
    if (codes.size() < 64 && PMPI_Add_error_code(error_class, &code) == MPI_SUCCESS) {
        const std::string text = "nearfetch: " + message;
        PMPI_Add_error_string(code, text.substr(0, MPI_MAX_ERROR_STRING - 1).c_str());
        codes.emplace(message, code);
    }
    return code;
} catch (const std::bad_alloc&) {
    return error_class;
}

/// Open MPI loses the text of an error that it aborts with; so nearfetch says it before.
void tell_before_abort(MPI_Errhandler handler, const Error& error) noexcept {
    if (handler == MPI_ERRORS_ARE_FATAL) std::fprintf(stderr, "nearfetch: %s\n", error.what());
    if (handler != MPI_ERRHANDLER_NULL) PMPI_Errhandler_free(&handler);
}

}  // namespace

int raise_on_comm(MPI_Comm comm, int error_class, const Error& error) {
    const int code = error_code(error_class, error.what());
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (PMPI_Comm_get_errhandler(comm, &handler) == MPI_SUCCESS) tell_before_abort(handler, error);
    PMPI_Comm_call_errhandler(comm, code);
    return code;
}

int raise_on_window(MPI_Win win, int error_class, const Error& error) {
    const int code = error_code(error_class, error.what());
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (PMPI_Win_get_errhandler(win, &handler) == MPI_SUCCESS) tell_before_abort(handler, error);
    PMPI_Win_call_errhandler(win, code);
    return code;
}

Library& Library::instance() {
    static Library* const library = new Library;  // outlives everything that may still call MPI at exit
    return *library;
}

bool Library::has_world() noexcept {
    need_mpi_library();
    int begun = 0, over = 0;
    PMPI_Initialized(&begun);
    PMPI_Finalized(&over);
    return begun && !over;
}

/// Asked for each window: a session may bring more threads than MPI_Init has.
void Library::look_for_threads() noexcept {
    int provided = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&provided);
    acquire_one_by_one(!threaded_ && provided != MPI_THREAD_MULTIPLE);
    if (threaded_ || provided != MPI_THREAD_MULTIPLE) return;
    process_passthrough.forbid();
    detail::mru = {};
    threaded_ = true;
}

void Library::start() {
    look_for_threads();
    if (started_) return;
    world.look();
    settings_ = settings_of_environment();
    const Settings& settings = settings_;
    report_.configure(settings);
    if (!threaded_ && !report_.wanted())
        process_passthrough.allow(settings.passthrough_calls, settings.bypass == Bypass::passthrough);
    int key = MPI_KEYVAL_INVALID;
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, nullptr) == MPI_SUCCESS &&
        PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS)
        start_type_checks();
    started_ = true;
}

void Library::apply_info(Settings& settings, MPI_Info info) {
    // What is none is for the library's own call to refuse: by the right error handler.
    if (info == MPI_INFO_NULL || info == MPI_Info{}) return;
    int keys = 0;
    if (PMPI_Info_get_nkeys(info, &keys) != MPI_SUCCESS) return;
    std::array<char, MPI_MAX_INFO_KEY + 1> key{};
    for (int i = 0; i < keys; ++i) {
        if (PMPI_Info_get_nthkey(info, i, key.data()) != MPI_SUCCESS) continue;
        const std::string_view name = key.data();
        if (!name.starts_with(info_key_prefix)) continue;
        int length = 0, found = 0;
        if (PMPI_Info_get_valuelen(info, key.data(), &length, &found) != MPI_SUCCESS || !found) continue;
        std::vector<char> value(static_cast<std::size_t>(length) + 1);
        if (PMPI_Info_get(info, key.data(), length, value.data(), &found) != MPI_SUCCESS || !found) continue;
        apply_window_setting(settings, name.substr(info_key_prefix.size()), value.data());
    }
}

Settings Library::settings_for(MPI_Info info) {
    const std::lock_guard guard(mutex_);
    start();
    Settings settings = settings_;
    apply_info(settings, info);
    return settings;
}

bool Library::overlaps_another(const Exposed& exposed) {
    const std::lock_guard guard(mutex_);
    return std::ranges::any_of(exposed_, [&](const auto& other) { return exposed.overlaps(other.second); });
}

int Library::attach(MPI_Win win, MPI_Comm comm, Exposed exposed, const Settings& settings) {
    process_passthrough.restart();
    int ranks = 0, self = 0;
    PMPI_Comm_size(comm, &ranks);
    PMPI_Comm_rank(comm, &self);
    struct Told {
        std::uint64_t unit;
        std::uint64_t size_bytes;
        std::uint64_t base;  ///< where it begins
        std::uint64_t node;
        std::uint64_t overlaps;
        std::uint64_t declared;
        std::uint64_t world;
    };
    constexpr int words = sizeof(Told) / sizeof(std::uint64_t);
    const Told mine{exposed.displacement_unit,
                    exposed.size_bytes,
                    reinterpret_cast<std::uintptr_t>(exposed.base),
                    this_node(),
                    overlaps_another(exposed) ? 1u : 0u,
                    exposed.declared ? 1u : 0u,
                    world.number()};
    std::vector<Told> all(static_cast<std::size_t>(ranks));
    const int status = PMPI_Allgather(&mine, words, MPI_UINT64_T, all.data(), words, MPI_UINT64_T, comm);
    if (status != MPI_SUCCESS) return status;
    std::vector<std::uint64_t> units, worlds;
    std::vector<TargetMemory> memory;
    for (const Told& told : all) {
        units.push_back(told.unit);
        worlds.push_back(told.world);
        const bool is_declared = told.declared != 0;
        memory.push_back({.extent_bytes = told.size_bytes,
                          .page_phase = is_declared ? told.base % memory_page_bytes : 0,
                          .is_declared = is_declared,
                          .is_on_this_node = told.node == mine.node});
        exposed.overlapping |= told.overlaps != 0;
    }
    if (report_.wanted()) world.meet(comm, worlds);
    if (std::ranges::all_of(units, [&](std::uint64_t unit) { return unit == units.front(); }))
        units.resize(1);
    auto window = std::make_unique<Window>(win, ranks, self, std::move(units), settings, threaded_);
    window->cache().describe_memory(memory);
    if (exposed.shared) window->cache().bypass().keep_off();
    const std::lock_guard guard(mutex_);
    if (settings.bypass == Bypass::on) window->cache().bypass().postpone_caching(habits_.gets_to_postpone());
    windows_[win] = std::move(window);
    exposed_[win] = exposed;
    overlapping_ += exposed.overlapping ? 1 : 0;
    detail::window_generation.fetch_add(1, std::memory_order_release);
    return MPI_SUCCESS;
}

void Library::detach(MPI_Win win) {
    process_passthrough.restart();
    std::unique_ptr<Window> window;
    {
        const std::lock_guard guard(mutex_);
        const auto found = windows_.find(win);
        if (found == windows_.end()) return;
        window = std::move(found->second);
        windows_.erase(found);
        overlapping_ -= exposed_.at(win).overlapping ? 1 : 0;
        exposed_.erase(win);
        detail::window_generation.fetch_add(1, std::memory_order_release);
        if (!threaded_) put_window_away();
    }
    const std::lock_guard guard(mutex_);
    habits_.gone(window->cache().bypass().gets_without_gain());
    report_.add(*window);
}

Window* Library::find(MPI_Win win) noexcept {
    const std::lock_guard guard(mutex_);
    const auto found = windows_.find(win);
    return found == windows_.end() ? nullptr : found->second.get();
}

std::optional<std::uint64_t> Library::passthrough_budget() noexcept {
    const std::lock_guard guard(mutex_);
    std::uint64_t least = ~std::uint64_t{0};
    for (const auto& [win, window] : windows_) {
        const std::optional<std::uint64_t> budget = window->cache().bypass().passthrough_budget();
        if (!budget || window->locks_wait()) return std::nullopt;
        least = std::min(least, *budget);
    }
    return windows_.empty() ? std::nullopt : std::optional(least);
}

void Library::after_passthrough(std::uint64_t calls) noexcept {
    const std::lock_guard guard(mutex_);
    for (const auto& [win, window] : windows_)
        window->cache().bypass().after_passthrough(calls);
}

void Library::finalize() noexcept {
    for (auto& [win, window] : windows_)
        report_.add(*window);
    report_.write();
    end_type_checks();
}

}  // namespace nearfetch
