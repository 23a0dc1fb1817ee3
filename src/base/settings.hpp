// SPDX-License-Identifier: Apache-2.0
#pragma once

// Settings. One table has each setting's name, kind, default, unit, allowed values and meaning. The
// environment (NEARFETCH_BUFFER_BYTES), `--set` (buffer_bytes=4MiB), info keys (nearfetch_buffer_bytes) and
// `nearfetch settings` all use it.

#include <cstdint>
#include <functional>
#include <nearfetch/detail/base/page_cache_config.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nearfetch {

/// When a window invalidates cached data (ARCHITECTURE.md, "Consistency"; 001, section III-A).
enum class Mode : std::uint8_t { off, transparent, acquire, always_cache, user_defined };

/// The mode's name in settings, reports and info keys.
std::string_view mode_name(Mode mode) noexcept;

/// When targets are bypassed. The last three fix the state of every target, for tests.
enum class Bypass : std::uint8_t { off, on, sampling, always, passthrough };

struct Settings {
    Mode mode = Mode::acquire;
    std::uint64_t memory_bytes = 0;
    std::uint64_t buffer_bytes = 32ull << 20;
    std::uint64_t node_buffer_bytes = 64ull << 20;
    std::uint64_t node_ranks = 0;
    std::uint64_t index_entries = 16384;
    std::uint64_t sample_entries = 16;
    std::string storage = "log";
    std::string policy = "density";
    bool adaptive = true;
    bool keep_on_resize = true;
    bool exact_match = false;
    double conflict_threshold = 0.1;
    double index_increase_factor = 1.5;
    double sparsity_threshold = 0.1;
    double index_decrease_factor = 0.75;
    double capacity_threshold = 0.1;
    double memory_increase_factor = 2.0;
    double stable_threshold = 0.9;
    double free_threshold = 0.5;
    double memory_decrease_factor = 0.5;
    std::uint64_t adapt_interval_gets = 1000;
    Bypass bypass = Bypass::on;
    std::uint64_t run_limit = 4096;
    std::uint64_t read_ahead_bytes = 4096;
    bool read_only_phases = false;
    std::uint64_t write_combining_bytes = 1024;
    std::uint64_t combining_buffer_bytes = 1 << 20;
    std::string locks = "auto";
    std::uint64_t lease_us = 2'000;
    std::string atomic_reads = "network";
    std::string atomics = "synchronize";
    std::uint64_t check_hits = 0;
    std::uint64_t progress_interval_us = 20;
    std::uint64_t idle_progress_interval_us = 500;
    std::uint64_t passthrough_calls = 131072;
    std::uint64_t seed = 1;
    std::string stats_dir;
    std::string job;
    bool summary = false;
    std::string seen_file;
    PageCacheConfig page_cache;  ///< of SPMD programs and runtimes, not of windows

    friend bool operator==(const Settings&, const Settings&) = default;
};

/// Whom a setting is for; `papers`: it makes the algorithm of a paper, to compare with.
enum class SettingGroup : std::uint8_t { everyday, tuning, papers };

/// A row of the table.
struct SettingInfo {
    std::string_view name;
    std::string_view unit;
    std::string_view meaning;
    std::string allowed;
    std::string default_value;
    std::string_view old_name;  ///< an error that names the new one; empty: none
    SettingGroup group = SettingGroup::tuning;
};

/// The whole table, in display order.
std::vector<SettingInfo> settings_table();

/// Sets `name` to the value of `text`.
/// \throws Error with the setting, the value and the allowed values; `settings` is then unchanged
void apply_setting(Settings& settings, std::string_view name, std::string_view text);

/// Checks combinations of settings that are both `given`. \throws Error for an invalid combination
void check_together(const Settings& settings, const std::function<bool(std::string_view)>& given);

/// The same for a window's settings. \throws Error also if the setting is not a window's
void apply_window_setting(Settings& settings, std::string_view name, std::string_view text);

/// Applies every NEARFETCH_<NAME> that `lookup` (usually getenv) finds.
/// \throws Error as apply_setting
void apply_environment(Settings& settings, const std::function<const char*(const char*)>& lookup);

/// The defaults, changed by the environment of this process.
/// \throws Error as apply_setting
Settings settings_of_environment();

/// The environment variable of a setting: buffer_bytes -> NEARFETCH_BUFFER_BYTES.
std::string environment_name(std::string_view setting);

/// Prefix of info keys: nearfetch_buffer_bytes.
inline constexpr std::string_view info_key_prefix = "nearfetch_";

/// "4MiB", "64 KiB", "1000" -> bytes. Units B, KB/KiB, MB/MiB, GB/GiB (decimal/binary); nothing for other
/// texts.
std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept;

}  // namespace nearfetch
