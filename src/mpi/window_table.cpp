// SPDX-License-Identifier: Apache-2.0
#include "mpi/window_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/ticks.hpp"
#include "cache/node_buffer/node_buffer.hpp"
#include "mpi/call_site.hpp"
#include "mpi/interposer.hpp"
#include "mpi/lookups.hpp"
#include "mpi/mpi_library.hpp"
#include "mpi/report/world.hpp"
#include "mpi/window_exchange.hpp"

namespace nearfetch {

namespace {

void at_exit() { interposer.windows().write_before_end("exit without MPI_Finalize"); }

int at_finalize(MPI_Comm, int, void*, void*) {
#if !defined(NEARFETCH_MPI_SMPI)  // there it is too late to call MPI, and MPI_Finalize is intercepted
    interposer.windows().finalize();
#endif
    return MPI_SUCCESS;
}

/// A window whose locks may be kept under leases, if there is a slot. \throws std::bad_alloc
template <class Make>
std::unique_ptr<Window> make_window(std::unique_ptr<LeaseSlot>& slot, std::uint64_t lease_ns,
                                    const Make& make) {
    const MPI_Win hidden = slot == nullptr ? MPI_WIN_NULL : slot->hidden();
    const int number = slot == nullptr ? 0 : slot->number();
    try {
        std::unique_ptr<Window> window = make();
        if (slot != nullptr) window->locks().open_leases(std::move(slot), lease_ns);
        return window;
    } catch (const std::bad_alloc&) {
        if (hidden != MPI_WIN_NULL) LeaseWindows::renounce(hidden, number);
        throw;
    }
}

Sharing sharing_of(const Exposed& exposed, const Settings& settings) noexcept {
    if (settings.node_buffer_bytes == 0 || exposed.shared || settings.mode == Mode::off ||
        settings.mode == Mode::transparent)
        return Sharing::not_wanted;
    // Others could not tell what a thread has written since.
    return interposer.threaded ? Sharing::not_with_threads : Sharing::wanted;
}

/// For reports.
void note_origin(WindowOrigin& origin, MPI_Comm comm, const WindowExchange& exchange) noexcept {
    interposer.world.meet(comm, exchange.worlds(), exchange.facts().has_summary != 0);
    origin.site = program_caller();
    origin.total_bytes = exchange.facts().total_bytes;
}

/// Collective over `comm`.
void share_with_node(Window& window, MPI_Comm comm, const WindowExchange& exchange) {
    const Sharing sharing = exchange.facts().sharing;
    if (sharing == Sharing::not_wanted || !NodeSegment::is_of_use(exchange.nodes())) return;
    if (sharing == Sharing::not_with_threads) return window.do_not_share("`MPI_THREAD_MULTIPLE`");
    const std::uint64_t record_bytes = window.cache().settings().node_buffer_bytes;
    auto segment = NodeSegment::make(
        comm, exchange.nodes(), NodeBuffer::memory_bytes(record_bytes),
        [&](std::span<std::byte> memory) { return NodeBuffer::create(memory, record_bytes); });
    if (exchange.ranks_here() > 1) window.share(std::move(segment));
}

}  // namespace

bool WindowTable::has_world() noexcept {
    need_mpi_library();
    int begun = 0, over = 0;
    PMPI_Initialized(&begun);
    PMPI_Finalized(&over);
    return begun && !over;
}

void WindowTable::start() {
    interposer.look_for_threads();
    if (started_) return;
    interposer.world.look();
    settings_ = settings_of_environment();
#if defined(NEARFETCH_MPI_SMPI)
    // A part of the program, asked for or not.
    if (std::getenv("NEARFETCH_MODE") == nullptr) settings_.mode = Mode::off;
#endif
    const Settings& settings = settings_;
    report_.configure(settings);
    memory_limit_.configure(settings.memory_bytes);
    if (!interposer.threaded && !report_.wanted())
        interposer.passthrough.allow(settings.passthrough_calls, settings.bypass == Bypass::passthrough);
    int key = MPI_KEYVAL_INVALID;
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, nullptr) == MPI_SUCCESS &&
        PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS)
        start_type_checks();
    started_ = true;
    if (!report_.writes_file()) return;
    process_ = getpid();
    std::atexit(at_exit);
    report_.prepare_file(memory_limit_);
    interposer.report_due_ticks = ticks();
}

void WindowTable::apply_info(Settings& settings, MPI_Info info) {
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

Settings WindowTable::settings_for(MPI_Info info) {
    const std::lock_guard guard(mutex_);
    start();
    Settings settings = settings_;
    apply_info(settings, info);
    return settings;
}

bool WindowTable::overlaps_another(const Exposed& exposed) {
    const std::lock_guard guard(mutex_);
    return std::ranges::any_of(exposed_, [&](const auto& other) { return exposed.overlaps(other.second); });
}

LeaseWindows::Offer WindowTable::lease_offer(MPI_Comm comm, const Exposed& exposed,
                                             const Settings& settings) {
    if (interposer.threaded || exposed.has_no_locks || interposer.world.has_sessions()) return {};
    LeaseWindows::Offer offer = lease_windows_.offer(comm);
    int ranks = 0;
    PMPI_Comm_size(comm, &ranks);
    offer.may_lease = ranks > 1 ? 1 : 0;
    const bool keeps_data = settings.mode != Mode::off && settings.mode != Mode::transparent;
    offer.wants_lease = settings.locks == "auto" && keeps_data && !exposed.shared ? 1 : 0;
    offer.lease_ns = settings.lease_us * 1000;
    return offer;
}

int WindowTable::attach(MPI_Win win, MPI_Comm comm, Exposed exposed, const Settings& settings) {
    interposer.passthrough.restart();
    int ranks = 0, self = 0;
    PMPI_Comm_size(comm, &ranks);
    PMPI_Comm_rank(comm, &self);
    const WindowFacts mine{
        .memory = {.unit_bytes = exposed.displacement_unit,
                   .extent_bytes = exposed.size_bytes,
                   .page_phase = exposed.declared
                                     ? reinterpret_cast<std::uintptr_t>(exposed.base) % memory_page_bytes
                                     : 0,
                   .is_declared = exposed.declared ? 1u : 0u},
        .total_bytes = exposed.size_bytes,
        .overlaps = overlaps_another(exposed) ? 1u : 0u,
        .has_summary = report_.has_summary() ? 1u : 0u,
        .sharing = sharing_of(exposed, settings),
        .leases = lease_offer(comm, exposed, settings)};
    WindowExchange exchange;
    const int status = exchange.meet(comm, mine, this_node(settings.node_ranks), interposer.world.number());
    if (status != MPI_SUCCESS) return status;
    exposed.overlapping = exchange.facts().overlaps != 0;
    if (report_.wanted()) note_origin(exposed.origin, comm, exchange);
    const LeaseWindows::Offer& leases = exchange.facts().leases;
    std::unique_ptr<LeaseSlot> slot = lease_windows_.take(comm, leases);
    auto window = make_window(slot, leases.lease_ns, [&] {
        return std::make_unique<Window>(win, ranks, self, exchange.units(), settings, interposer.threaded);
    });
    window->cache().describe_memory(exchange.memory());
    share_with_node(*window, comm, exchange);
    if (report_.wanted()) window->cache().keep_profile();
    if (exposed.shared) window->cache().bypass().keep_off();
    const std::lock_guard guard(mutex_);
    memory_limit_.meet(exchange.ranks_here());
    if (settings.bypass == Bypass::on) window->cache().bypass().postpone_caching(habits_.gets_to_postpone());
    windows_[win] = std::move(window);
    exposed_[win] = exposed;
    interposer.overlapping_windows += exposed.overlapping ? 1 : 0;
    interposer.window_generation.fetch_add(1, std::memory_order_release);
    return MPI_SUCCESS;
}

std::unique_ptr<LeaseSlot> WindowTable::detach(MPI_Win win) {
    interposer.passthrough.restart();
    std::unique_ptr<Window> window;
    WindowOrigin origin;
    {
        const std::lock_guard guard(mutex_);
        const auto found = windows_.find(win);
        if (found == windows_.end()) return nullptr;
        window = std::move(found->second);
        windows_.erase(found);
        origin = exposed_.at(win).origin;
        interposer.overlapping_windows -= exposed_.at(win).overlapping ? 1 : 0;
        exposed_.erase(win);
        interposer.window_generation.fetch_add(1, std::memory_order_release);
        if (!interposer.threaded) interposer.mru.window = nullptr;  // until it is looked up again
    }
    const std::lock_guard guard(mutex_);
    habits_.gone(window->cache().bypass().gets_without_gain());
    report_.add(*window, origin);
    return window->locks().close_leases();
}

Window* WindowTable::find(MPI_Win win) noexcept {
    const std::lock_guard guard(mutex_);
    const auto found = windows_.find(win);
    return found == windows_.end() ? nullptr : found->second.get();
}

std::optional<std::uint64_t> WindowTable::passthrough_budget(std::uint64_t unread) noexcept {
    const std::lock_guard guard(mutex_);
    std::uint64_t least = ~std::uint64_t{0};
    for (const auto& [win, window] : windows_) {
        const std::optional<std::uint64_t> budget = window->cache().bypass().passthrough_budget(unread);
        if (!budget || window->locks_wait()) return std::nullopt;
        least = std::min(least, *budget);
    }
    return windows_.empty() ? std::nullopt : std::optional(least);
}

void WindowTable::before_passthrough() noexcept {
    const std::lock_guard guard(mutex_);
    for (const auto& [win, window] : windows_)
        window->cache().bypass().before_passthrough();
}

void WindowTable::end_lease_writing() noexcept {
    const std::lock_guard guard(mutex_);
    for (const auto& [win, window] : windows_)
        window->cache().locks().end_writing();
}

void WindowTable::after_passthrough(std::uint64_t calls, Bypassed kinds) noexcept {
    const std::lock_guard guard(mutex_);
    for (const auto& [win, window] : windows_)
        window->cache().bypass().after_passthrough(calls, kinds);
}

void WindowTable::finalize() noexcept {
    if (!started_) return;
    for (auto& [win, window] : windows_)
        report_.add(*window, exposed_.at(win).origin);
    for (auto& [win, window] : windows_)
        window->locks().close_leases();
    interposer.report_due_ticks = ~std::uint64_t{0};
    report_.stop_clock();
    report_.write_file("MPI_Finalize", memory_limit_);
    report_.print_summary(memory_limit_);
    is_over_ = true;
    lease_windows_.free_all();
    end_type_checks();
}

void WindowTable::begin() noexcept {
    const auto is_given = [](const char* setting) {
        const char* const value = std::getenv(environment_name(setting).c_str());
        return value != nullptr && *value != '\0';
    };
    try {
        if (!is_given("summary") && !is_given("stats_dir")) return;
        const std::lock_guard guard(mutex_);
        start();
    } catch (const std::exception&) {
        // Of a bad setting the first window tells.
    }
}

Report WindowTable::report_so_far() noexcept {
    Report report = report_;
    for (auto& [win, window] : windows_)
        report.add(*window, exposed_.at(win).origin);
    return report;
}

void WindowTable::write_before_end(const char* end) noexcept {
    // A process that was forked is none of the job's.
    if (!started_ || is_over_ || process_ != getpid()) return;
    is_over_ = true;
    const std::lock_guard guard(mutex_);
    report_so_far().write_file(end, memory_limit_);
}

void WindowTable::prepare_for_end() noexcept {
    const std::uint64_t begin = ticks();
    interposer.report_due_ticks = ~std::uint64_t{0};  // for other threads
    const std::lock_guard guard(mutex_);
    report_so_far().prepare_file(memory_limit_);
    // The numbers of a short run are to be recent, and those of a long one cost little.
    const double taken_s = static_cast<double>(ticks() - begin) * ns_per_tick() * 1e-9;
    preparing_interval_s_ = std::min(2 * preparing_interval_s_, 1.0);
    const double wait_s = std::max(preparing_interval_s_, (preparing_interval_s_ < 1 ? 4 : 100) * taken_s);
    interposer.report_due_ticks = ticks() + static_cast<std::uint64_t>(wait_s * 1e9 / ns_per_tick());
}

}  // namespace nearfetch
