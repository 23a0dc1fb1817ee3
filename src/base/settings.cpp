// SPDX-License-Identifier: Apache-2.0
#include "base/settings.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "base/edit_distance.hpp"
#include "base/error.hpp"
#include "base/setting_kinds.hpp"

namespace nearfetch {

namespace {

/// What may have its own value.
enum class Scope : std::uint8_t { window, program };

struct Row {
    std::string_view name;
    std::string_view unit;
    SettingKind kind;
    std::string_view meaning;
    Scope scope = Scope::window;
    std::string_view old_name = {};
};

constexpr std::uint64_t any_count = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t most_entries = any_count / 2;
constexpr std::string_view policies = "density gdsf lru clampi temporal positional application";

const std::array rows{
    Row{"mode", "", ModeKind{},
        "when a window invalidates cached data: off caches nothing; transparent at each epoch closure; "
        "acquire at each call that may synchronise with another process (docs/consistency.md); always-cache "
        "never; user-defined when the program calls nearfetch_win_invalidate"},
    Row{"memory_bytes", "bytes", BytesKind{&Settings::memory_bytes, 0},
        "how much the caches of all windows of a process may grow to together (0: an eighth of what its node "
        "has for each of its processes, by its memory and control group)",
        Scope::program, "buffer_bytes_max" /* old name */},
    Row{"buffer_bytes", "bytes", BytesKind{&Settings::buffer_bytes, 4096},
        "size of a window's cache buffer; adaptive: at first, and at most half of what is left of "
        "memory_bytes"},
    Row{"node_buffer_bytes", "bytes", BytesKind{&Settings::node_buffer_bytes, 0},
        "size of the buffer in which the processes of a node share what they have fetched from others, one "
        "for each window and node (0: they share nothing; docs/node-level.md)"},
    Row{"node_ranks", "ranks", CountKind{&Settings::node_ranks, 0, any_count},
        "for tests on one machine: so many ranks in a row of MPI_COMM_WORLD count as a node of their own (0: "
        "nodes are what they are)",
        Scope::program},
    Row{"index_entries", "entries", CountKind{&Settings::index_entries, 16, most_entries},
        "slots of a window's index, if it is not adaptive; else storage best_fit begins with them, and in a "
        "log they follow the number of entries",
        Scope::window, "index_entries_max" /* old name */},
    Row{"sample_entries", "entries", CountKind{&Settings::sample_entries, 1, 65536},
        "index slots that a sampling eviction policy visits per victim"},
    Row{"storage", "", ChoiceKind{&Settings::storage, "log best_fit"},
        "where a window's cached bytes lie: in a log, whose oldest ranges make room; or in 001's best-fit "
        "buffer",
        Scope::window, "weak_admission" /* old name */},
    Row{"policy", "", ChoiceKind{&Settings::policy, policies},
        "eviction policy: what is evicted when there is no room"},
    Row{"adaptive", "", SwitchKind{&Settings::adaptive},
        "adapt index and buffer sizes while the program runs"},
    Row{"keep_on_resize", "", SwitchKind{&Settings::keep_on_resize},
        "keep the entries when a size adapts (off: invalidate, as 001 does)"},
    Row{"exact_match", "", SwitchKind{&Settings::exact_match},
        "only a get at an entry's own displacement hits (as 001 does; off: any sub-range hits)"},
    Row{"conflict_threshold", "ratio", RatioKind{&Settings::conflict_threshold, 0, 1},
        "conflicting accesses per get above which the index grows"},
    Row{"index_increase_factor", "ratio", RatioKind{&Settings::index_increase_factor, 1.01, 64},
        "by how much the index grows"},
    Row{"sparsity_threshold", "ratio", RatioKind{&Settings::sparsity_threshold, 0, 1},
        "used slots per visited slot in evictions below which the index shrinks"},
    Row{"index_decrease_factor", "ratio", RatioKind{&Settings::index_decrease_factor, 0.01, 0.99},
        "by how much the index shrinks"},
    Row{"capacity_threshold", "ratio", RatioKind{&Settings::capacity_threshold, 0, 1},
        "capacity and failing accesses per get above which the buffer grows"},
    Row{"memory_increase_factor", "ratio", RatioKind{&Settings::memory_increase_factor, 1.01, 64},
        "by how much the buffer grows"},
    Row{"stable_threshold", "ratio", RatioKind{&Settings::stable_threshold, 0, 1},
        "hits per get above which the working set counts as stable and the buffer may shrink"},
    Row{"free_threshold", "ratio", RatioKind{&Settings::free_threshold, 0, 1},
        "free share of the buffer above which it may shrink"},
    Row{"memory_decrease_factor", "ratio", RatioKind{&Settings::memory_decrease_factor, 0.01, 0.99},
        "by how much the buffer shrinks"},
    Row{"adapt_interval_gets", "gets", CountKind{&Settings::adapt_interval_gets, 16, any_count},
        "gets between two adaptations"},
    Row{"bypass", "", BypassKind{},
        "on: bypass targets whose plain gets are measured to be as cheap as a hit, or that show no reuse; "
        "combine no puts where that saves nothing. The last three are for tests: they fix the state of every "
        "target"},
    Row{"run_limit", "runs", CountKind{&Settings::run_limit, 1, 1u << 24},
        "contiguous runs of bytes of one access above which it bypasses the cache", Scope::window,
        "block_limit" /* old name */},
    Row{"read_ahead_bytes", "bytes", BytesKind{&Settings::read_ahead_bytes, 0},
        "all modes but transparent: the second miss within a region of at most this size, as it pays, "
        "fetches all that is missing of the region (0: never)"},
    Row{"read_only_phases", "", SwitchKind{&Settings::read_only_phases},
        "user-defined: promise that nobody writes to the window between two invalidates: what is read ahead "
        "lasts as long"},
    Row{"write_combining_bytes", "bytes", BytesKind{&Settings::write_combining_bytes, 0},
        "largest put that is combined with others into one message, which is sent when they have to be "
        "complete (0: none; never in modes off and transparent)",
        Scope::window, "write_behind_bytes" /* old name */},
    Row{"combining_buffer_bytes", "bytes", BytesKind{&Settings::combining_buffer_bytes, 2048},
        "memory of a window for puts that are combined or in flight, allocated at the first of them",
        Scope::window, "write_behind_buffer_bytes" /* old name */},
    Row{"locks", "", ChoiceKind{&Settings::locks, "auto synchronize access"},
        "auto: while nobody has an exclusive lock of a target, shared locks are no acquires, and are elided "
        "if everything hits; synchronize: all locks acquire; access: promise that locks only open epochs"},
    Row{"lease_us", "us", CountKind{&Settings::lease_us, 100, 10'000'000},
        "how long a lease of a target lasts; whoever wants an exclusive lock waits for leases to end"},
    Row{"atomics", "", ChoiceKind{&Settings::atomics, "synchronize relaxed"},
        "relaxed: promise that no process concludes from the result of an atomic that another has written: "
        "then atomics are no acquires in mode acquire"},
    Row{"atomic_reads", "", ChoiceKind{&Settings::atomic_reads, "network cached"},
        "cached: promise that no process waits for a change by MPI_Fetch_and_op or MPI_Get_accumulate with "
        "MPI_NO_OP: then these are cached as gets are"},
    Row{"check_hits", "hits", CountKind{&Settings::check_hits, 0, any_count},
        "fetch one of so many hits again, and report different bytes at the target: then the program breaks "
        "its mode's rules, or has a race (0: none)"},
    Row{"progress_interval_us", "us", CountKind{&Settings::progress_interval_us, 1, 1000000},
        "longest time without entering MPI while all accesses are hits and elided flushes"},
    Row{"idle_progress_interval_us", "us", CountKind{&Settings::idle_progress_interval_us, 1, 1000000},
        "the same while no rank accesses this one, and at most a 32nd of the time since the last access",
        Scope::window, "quiet_progress_interval_us" /* old name */},
    Row{"passthrough_calls", "calls", CountKind{&Settings::passthrough_calls, 0, 1u << 30},
        "most gets, puts, accumulates and atomics in passthrough, while all windows are bypassed or off; "
        "then calls are looked at again (0: no passthrough, as with statistics)",
        Scope::program, "recess_calls" /* old name */},
    Row{"seed", "", CountKind{&Settings::seed, 0, any_count}, "seed of the cache's own random choices"},
    Row{"stats_dir", "path", TextKind{&Settings::stats_dir, "a path"},
        "folder for rank-<N>.json, or world-<W>-rank-<N>.json of spawned processes, with every counter of "
        "every window, written at MPI_Finalize",
        Scope::program},
    Row{"job", "", TextKind{&Settings::job, "a name"},
        "name of the job in these files; nearfetch run --stats generates one", Scope::program},
    Row{"summary", "", SwitchKind{&Settings::summary},
        "print one page about all ranks at MPI_Finalize: what was gained, or why not", Scope::program},
    Row{"seen_file", "path", TextKind{&Settings::seen_file, "a path"},
        "a file that is made when MPI begins, so that a run without nearfetch is noticed", Scope::program},
    Row{"page_cache_capacity_bytes", "bytes", BytesKind{&PageCacheConfig::capacity_bytes, 128},
        "data that a thread's page cache holds; the metadata adds less than half of it", Scope::program},
    Row{"page_cache_page_bytes", "bytes", BytesKind{&PageCacheConfig::page_bytes, 64, 1u << 22},
        "size of its pages, a power of two and at most 64 lines", Scope::program},
    Row{"page_cache_line_bytes", "bytes", BytesKind{&PageCacheConfig::line_bytes, 8, 1u << 16},
        "size of its lines, to which GETs are rounded, a power of two", Scope::program},
    Row{"page_cache_bulk_bytes", "bytes", BytesKind{&PageCacheConfig::bulk_bytes, 1},
        "size from which gets and puts bypass its pages", Scope::program},
    Row{"page_cache_policy", "", ChoiceKind{&PageCacheConfig::policy, "2q s3fifo"},
        "eviction policy of its pages", Scope::program},
    Row{"page_cache_new_percent", "%", CountKind{&PageCacheConfig::new_percent, 1, 99},
        "policy 2q: share of its pages for what was fetched once", Scope::program},
    Row{"page_cache_names_percent", "%", CountKind{&PageCacheConfig::names_percent, 1, 1000},
        "policy 2q: names of evicted pages that it remembers, over its pages", Scope::program},
    Row{"page_cache_dirty_pages", "pages", CountKind{&PageCacheConfig::dirty_pages, 1, 1u << 25},
        "limit of its dirty pages, at most half of its pages", Scope::program},
    Row{"page_cache_operations", "operations", CountKind{&PageCacheConfig::operations, 2, 65536},
        "limit of its outstanding GETs and PUTs", Scope::program},
    Row{"page_cache_read_ahead", "", SwitchKind{&PageCacheConfig::read_ahead},
        "it recognises access patterns and fetches ahead", Scope::program},
    Row{"page_cache_read_ahead_items", "pages", CountKind{&PageCacheConfig::read_ahead_items, 1, 65536},
        "limit of read-ahead, in pages or accesses", Scope::program},
    Row{"page_cache_read_ahead_beyond_paper", "", SwitchKind{&PageCacheConfig::read_ahead_beyond_paper},
        "it also reads ahead backward, by strides, at an adaptive distance (off: as 000)", Scope::program},
    Row{"page_cache_combine_pages", "", SwitchKind{&PageCacheConfig::combine_pages},
        "adjacent pages share messages", Scope::program},
    Row{"page_cache_wait_for_writes", "", SwitchKind{&PageCacheConfig::wait_for_writes},
        "it writes back a page before its other lines are read (as 000 does)", Scope::program},
};

// The rows that most users need, and those that make a paper's own algorithm; the others are for tuning.
constexpr std::string_view everyday =
    "mode memory_bytes bypass read_ahead_bytes write_combining_bytes locks atomics atomic_reads "
    "read_only_phases check_hits stats_dir summary page_cache_capacity_bytes";
constexpr std::string_view as_in_the_papers =
    "storage exact_match keep_on_resize page_cache_read_ahead_beyond_paper page_cache_wait_for_writes";

const Row* find_row(std::string_view name) {
    const auto found = std::ranges::find(rows, name, &Row::name);
    return found == rows.end() ? nullptr : &*found;
}

/// Throws Error for a former name of a setting.
void refuse_old_name(std::string_view name) {
    const auto row = std::ranges::find(rows, name, &Row::old_name);
    if (name.empty() || row == rows.end()) return;
    throw Error("setting '" + std::string(name) + "'", "its name is " + std::string(row->name),
                "use that name");
}

std::string_view nearest_name(std::string_view name) {
    return std::ranges::min_element(rows, {},
                                    [name](const Row& row) { return edit_distance(name, row.name); })
        ->name;
}

SettingGroup group_of(std::string_view name) {
    if (is_choice(everyday, name)) return SettingGroup::everyday;
    return is_choice(as_in_the_papers, name) ? SettingGroup::papers : SettingGroup::tuning;
}

}  // namespace

std::vector<SettingInfo> settings_table() {
    const Settings defaults;
    std::vector<SettingInfo> table;
    for (const Row& row : rows)
        table.push_back({row.name, row.unit, row.meaning, allowed_text(row.kind),
                         value_text(row.kind, defaults), row.old_name, group_of(row.name)});
    return table;
}

void apply_setting(Settings& settings, std::string_view name, std::string_view text) {
    const Row* row = find_row(name);
    refuse_old_name(name);
    if (row == nullptr)
        throw Error("unknown setting '" + std::string(name) + "'",
                    "`nearfetch settings` lists those there are",
                    "do you mean " + std::string(nearest_name(name)) + "?");
    if (!store_setting(row->kind, settings, text))
        throw Error("bad value '" + std::string(text) + "' for setting '" + std::string(name) + "'",
                    "allowed: " + allowed_text(row->kind), "give one of these");
}

void check_together(const Settings& settings, const std::function<bool(std::string_view)>& given) {
    const PageCacheConfig& cache = settings.page_cache;
    const auto refuse = [](std::string_view name, std::uint64_t value, const std::string& why,
                           std::uint64_t least, std::uint64_t most) {
        throw Error(std::string(name) + "=" + std::to_string(value), why,
                    "use a value from " + std::to_string(least) + " to " + std::to_string(most));
    };
    if (given("page_cache_page_bytes") && given("page_cache_line_bytes") &&
        (cache.page_bytes < cache.line_bytes || cache.page_bytes / cache.line_bytes > 64))
        refuse("page_cache_page_bytes", cache.page_bytes,
               "a page has 1 to 64 lines, and page_cache_line_bytes is " + std::to_string(cache.line_bytes),
               std::max<std::uint64_t>(64, cache.line_bytes), 64 * cache.line_bytes);
    const std::uint64_t pages = cache.capacity_bytes / cache.page_bytes;
    if (given("page_cache_dirty_pages") && given("page_cache_capacity_bytes") && pages >= 2 &&
        cache.dirty_pages > pages / 2)
        refuse("page_cache_dirty_pages", cache.dirty_pages,
               "half of the " + std::to_string(pages) + " pages are for reading", 1, pages / 2);
}

void apply_window_setting(Settings& settings, std::string_view name, std::string_view text) {
    const Row* row = find_row(name);
    if (row != nullptr && row->scope != Scope::window)
        throw Error("setting '" + std::string(name) + "' for a window",
                    "it is the same for the whole program",
                    "set " + environment_name(name) + " before the program starts");
    apply_setting(settings, name, text);
}

void apply_environment(Settings& settings, const std::function<const char*(const char*)>& lookup) {
    for (const Row& row : rows) {
        const auto is_set = [&](const std::string& variable) {
            const char* const value = lookup(variable.c_str());
            return value != nullptr && *value != '\0';
        };
        if (!row.old_name.empty() && is_set(environment_name(row.old_name))) refuse_old_name(row.old_name);
        const std::string variable = environment_name(row.name);
        if (is_set(variable)) apply_setting(settings, row.name, lookup(variable.c_str()));
    }
}

Settings settings_of_environment() {
    Settings settings;
    apply_environment(settings, [](const char* name) -> const char* { return std::getenv(name); });
    return settings;
}

std::string environment_name(std::string_view setting) {
    std::string name = "NEARFETCH_";
    for (char c : setting)
        name += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    return name;
}

}  // namespace nearfetch
