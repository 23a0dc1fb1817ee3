// SPDX-License-Identifier: Apache-2.0
#include "base/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/error.hpp"

namespace nearfetch {
namespace {

std::string error_of(std::string_view name, std::string_view value) {
    Settings settings;
    const Settings before = settings;
    try {
        apply_setting(settings, name, value);
    } catch (const Error& error) {
        EXPECT_EQ(settings, before) << "a refused value must change nothing";
        return error.what();
    }
    return "accepted";
}

void apply(Settings& settings, const std::map<std::string, std::string>& environment) {
    apply_environment(settings, [&](const char* name) -> const char* {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
    });
}

TEST(RenamedSettings, NameTheNewOne) {
    for (const auto& [old_name, name] :
         {std::pair("recess_calls", /* old name */ "passthrough_calls"),
          std::pair("block_limit", /* old name */ "run_limit"),
          std::pair("quiet_progress_interval_us", /* old name */ "idle_progress_interval_us"),
          std::pair("write_behind_bytes", /* old name */ "write_combining_bytes"),
          std::pair("write_behind_buffer_bytes", /* old name */ "combining_buffer_bytes"),
          std::pair("buffer_bytes_max", /* old name */ "memory_bytes"),
          std::pair("index_entries_max", /* old name */ "index_entries")}) {
        EXPECT_NE(error_of(old_name, "4096").find(name), std::string::npos) << old_name;
        Settings settings;
        EXPECT_THROW(apply(settings, {{environment_name(old_name), "4096"}}), Error) << old_name;
        EXPECT_NO_THROW(apply(settings, {{environment_name(old_name), ""}})) << old_name;
    }
}

// Open MPI takes no info key of 36 characters or more.
TEST(SettingsTable, NamesOfWindowsSettingsFitIntoInfoKeys) {
    constexpr std::size_t most_characters = 35;
    for (const SettingInfo& row : settings_table()) {
        Settings settings;
        try {
            apply_window_setting(settings, row.name, row.default_value);
        } catch (const Error&) {
            continue;  // the program's
        }
        EXPECT_LE(info_key_prefix.size() + row.name.size(), most_characters) << row.name;
    }
}

TEST(ParseBytes, UnderstandsBinaryAndDecimalUnits) {
    EXPECT_EQ(parse_bytes("0"), 0u);
    EXPECT_EQ(parse_bytes("1000"), 1000u);
    EXPECT_EQ(parse_bytes("1000B"), 1000u);
    EXPECT_EQ(parse_bytes("4KiB"), 4096u);
    EXPECT_EQ(parse_bytes("4 KiB"), 4096u);
    EXPECT_EQ(parse_bytes("4KB"), 4000u);
    EXPECT_EQ(parse_bytes("3MiB"), 3u << 20);
    EXPECT_EQ(parse_bytes("2GiB"), 2ull << 30);
}

TEST(ParseBytes, RefusesWhatIsNotASize) {
    for (const char* text : {"", " ", "x", "-1", "1.5MiB", "4kib", "4MiBs", "99999999999999999999",
                             "18446744073709551615KiB", "0x10", "MiB", "1 2"})
        EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

TEST(ApplySetting, StoresEveryKind) {
    Settings s;
    apply_setting(s, "mode", "always-cache");
    apply_setting(s, "buffer_bytes", "4MiB");
    apply_setting(s, "index_entries", "1500");
    apply_setting(s, "conflict_threshold", "0.25");
    apply_setting(s, "adaptive", "off");
    apply_setting(s, "policy", "gdsf");
    apply_setting(s, "stats_dir", "some/where");
    apply_setting(s, "job", "Monday, 9:00");
    EXPECT_EQ(s.mode, Mode::always_cache);
    EXPECT_EQ(s.buffer_bytes, 4u << 20);
    EXPECT_EQ(s.index_entries, 1500u);
    EXPECT_DOUBLE_EQ(s.conflict_threshold, 0.25);
    EXPECT_FALSE(s.adaptive);
    EXPECT_EQ(s.policy, "gdsf");
    EXPECT_EQ(s.stats_dir, "some/where");
    EXPECT_EQ(s.job, "Monday, 9:00");
}

TEST(ApplySetting, NamesTheSettingTheValueAndWhatIsAllowed) {
    EXPECT_EQ(
        error_of("mode", "fast"),
        "bad value 'fast' for setting 'mode' (allowed: off transparent acquire always-cache user-defined): "
        "give one of these");
    EXPECT_NE(error_of("buffer_bytes", "7").find("a size from 4KiB"), std::string::npos);
    EXPECT_NE(error_of("index_entries", "0").find("a whole number from 16"), std::string::npos);
    EXPECT_NE(error_of("index_entries", "1e3").find("bad value '1e3'"), std::string::npos);
    EXPECT_NE(error_of("conflict_threshold", "1.5").find("a number from 0 to 1"), std::string::npos);
    EXPECT_NE(error_of("conflict_threshold", "nan").find("bad value"), std::string::npos);
    EXPECT_NE(error_of("adaptive", "maybe").find("on off"), std::string::npos);
    EXPECT_NE(error_of("policy", "lru gdsf").find("bad value"), std::string::npos);
    EXPECT_NE(error_of("policy", "").find("bad value"), std::string::npos);
}

TEST(ApplySetting, NamesTheNearestToAnUnknownName) {
    EXPECT_EQ(error_of("bufer_bytes", "1"),
              "unknown setting 'bufer_bytes' (`nearfetch settings` lists those there are): do you mean "
              "buffer_bytes?");
    EXPECT_NE(error_of("index_entry", "1").find("do you mean index_entries?"), std::string::npos);
    EXPECT_NE(error_of("Mode", "off").find("do you mean mode?"), std::string::npos);
    EXPECT_NE(error_of("", "1").find("unknown setting ''"), std::string::npos);
}

TEST(SettingsTable, EachIsInOneGroup) {
    const auto table = settings_table();
    const auto count = [&](SettingGroup group) {
        return std::ranges::count(table, group, &SettingInfo::group);
    };
    EXPECT_EQ(count(SettingGroup::everyday), 13);
    EXPECT_EQ(count(SettingGroup::papers), 5);
}

TEST(ApplySetting, CountsEntriesInThirtyOneBits) {
    Settings s;
    apply_setting(s, "index_entries", "2147483647");
    EXPECT_EQ(s.index_entries, 2147483647u);
    EXPECT_NE(error_of("index_entries", "2147483648").find("from 16 to 2147483647"), std::string::npos);
}

TEST(SettingsTable, HoldsTheDefaultsAndAcceptsThem) {
    std::set<std::string_view> names;
    for (const SettingInfo& row : settings_table()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_FALSE(row.meaning.empty()) << row.name;
        EXPECT_FALSE(row.allowed.empty()) << row.name;
        Settings settings;
        apply_setting(settings, row.name, row.default_value);
        EXPECT_EQ(settings, Settings{}) << row.name << " = " << row.default_value;
    }
    for (const char* name : {"mode", "buffer_bytes", "index_entries", "sample_entries", "policy", "adaptive"})
        EXPECT_TRUE(names.contains(name)) << name;
}

TEST(ApplySetting, WindowsHaveNotAllOfThem) {
    Settings settings;
    apply_window_setting(settings, "buffer_bytes", "8KiB");
    EXPECT_EQ(settings.buffer_bytes, 8192u);
    for (const char* name : {"page_cache_page_bytes", "stats_dir", "job", "summary"}) {
        try {
            apply_window_setting(settings, name, "on");
            FAIL() << name;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(environment_name(name)), std::string::npos)
                << error.what();
        }
    }
    EXPECT_THROW(apply_window_setting(settings, "bufer_bytes", "1"), Error);
}

TEST(ApplySetting, AlsoOfThePageCache) {
    Settings s;
    PageCacheConfig expected;
    apply_setting(s, "page_cache_capacity_bytes", "3MiB");
    apply_setting(s, "page_cache_dirty_pages", "7");
    apply_setting(s, "page_cache_policy", "s3fifo");
    apply_setting(s, "page_cache_read_ahead", "off");
    expected.capacity_bytes = 3u << 20;
    expected.dirty_pages = 7;
    expected.policy = "s3fifo";
    expected.read_ahead = false;
    EXPECT_EQ(s.page_cache, expected);
    s.page_cache = {};
    EXPECT_EQ(s, Settings{}) << "nothing else has changed";
    EXPECT_NE(error_of("page_cache_operations", "1").find("a whole number from 2 to 65536"),
              std::string::npos);
    EXPECT_NE(error_of("page_cache_operations", "4294967298").find("bad value"), std::string::npos);
    EXPECT_NE(error_of("page_cache_policy", "lru").find("2q s3fifo"), std::string::npos);
}

TEST(ApplySetting, PagesAndLinesArePowersOfTwo) {
    EXPECT_NE(error_of("page_cache_page_bytes", "1000").find("a power of two from 64 to 4MiB"),
              std::string::npos);
    EXPECT_NE(error_of("page_cache_line_bytes", "24").find("a power of two from 8 to 64KiB"),
              std::string::npos);
    EXPECT_NE(error_of("page_cache_line_bytes", "128KiB").find("bad value"), std::string::npos);
    EXPECT_NE(error_of("page_cache_dirty_pages", "33554433").find("bad value"), std::string::npos);
}

TEST(ApplySetting, ASizeNamesItsUnitsAndBounds) {
    EXPECT_NE(
        error_of("buffer_bytes", "4kB").find("from 4KiB to 64TiB in B, KiB, MiB, GiB, TiB, KB, MB or GB"),
        std::string::npos);
    EXPECT_EQ(parse_bytes("64TiB"), 1ull << 46);
}

TEST(CheckTogether, RefusesOnlyWhatIsGiven) {
    Settings s;
    s.page_cache.line_bytes = 8;
    s.page_cache.page_bytes = 1024;
    s.page_cache.capacity_bytes = 16384;
    s.page_cache.dirty_pages = 9;
    EXPECT_NO_THROW(check_together(s, [](std::string_view) { return false; }));
    const auto message = [&s](std::string_view text) -> std::string {
        try {
            check_together(s, [text](std::string_view name) { return text.find(name) != text.npos; });
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(message("page_cache_dirty_pages page_cache_capacity_bytes"),
              "page_cache_dirty_pages=9 (half of the 16 pages are for reading): use a value from 1 to 8");
    EXPECT_EQ(message("page_cache_page_bytes page_cache_line_bytes").substr(0, 27),
              "page_cache_page_bytes=1024 ");
    s.page_cache.dirty_pages = 8;
    s.page_cache.line_bytes = 16;
    EXPECT_EQ(message("dirty page_cache_dirty_pages page_cache_capacity_bytes page_cache_page_bytes "
                      "page_cache_line_bytes"),
              "");
}

TEST(Environment, OneVariablePerSetting) {
    EXPECT_EQ(environment_name("buffer_bytes"), "NEARFETCH_BUFFER_BYTES");
    Settings s;
    apply(s, {{"NEARFETCH_BUFFER_BYTES", "8MiB"}, {"NEARFETCH_MODE", "off"}, {"NEARFETCH_POLICY", ""}});
    EXPECT_EQ(s.buffer_bytes, 8u << 20);
    EXPECT_EQ(s.mode, Mode::off);
    EXPECT_EQ(s.policy, Settings{}.policy) << "an empty variable is no value";
    EXPECT_THROW(apply(s, {{"NEARFETCH_MODE", "on"}}), Error);
}

}  // namespace
}  // namespace nearfetch
