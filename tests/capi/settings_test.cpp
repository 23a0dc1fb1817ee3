// SPDX-License-Identifier: Apache-2.0

// Settings and function tables of the C API: accepted values, and errors.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <string>

#include "tasking.hpp"

namespace nearfetch::testing {
namespace {

TEST(CApiSettings, AreChecked) {
    SimulatedNetwork network({}, 1, 4096);
    const nearfetch_transport table = network.table();
    const auto refused = [&](const char* text, const std::function<void(nearfetch_cache_settings&)>& change,
                             nearfetch_status expected = NEARFETCH_BAD_SETTING) {
        const nearfetch_cache_settings settings = settings_with(change);
        auto* cache = reinterpret_cast<nearfetch_cache*>(&network);
        EXPECT_EQ(nearfetch_cache_create(&settings, &table, &cache), expected) << text;
        EXPECT_EQ(cache, nullptr);
        EXPECT_NE(std::string(nearfetch_last_error()).find(text), std::string::npos)
            << nearfetch_last_error();
    };
    using Settings = nearfetch_cache_settings;
    refused("page_bytes = 1000 (", [](Settings& s) { s.page_bytes = 1000; });
    refused("line_bytes = 0 (", [](Settings& s) { s.line_bytes = 0; });
    refused("capacity_bytes = 5 (", [](Settings& s) { s.capacity_bytes = 5; });
    refused("dirty_pages = 1000000 (", [](Settings& s) { s.dirty_pages = 1000000; });
    refused("operations = 1 (", [](Settings& s) { s.operations = 1; });
    refused("operations = 4294967295 (", [](Settings& s) { s.operations = 4294967295; });
    refused("policy = lru (", [](Settings& s) { s.policy = "lru"; });
    refused("policy = NULL (", [](Settings& s) { s.policy = nullptr; });
    refused("read_ahead = 2 (", [](Settings& s) { s.read_ahead = 2; });
    refused("nearfetch_cache_settings has size = 3 (", [](Settings& s) { s.size = 3; });
    nearfetch_cache_settings settings;
    EXPECT_EQ(nearfetch_cache_settings_default(&settings, 3), NEARFETCH_BAD_ARGUMENT);
    EXPECT_EQ(nearfetch_cache_settings_default(nullptr, sizeof settings), NEARFETCH_BAD_ARGUMENT);
}

TEST(CApiSettings, TheDefaultsAreTheEnvironments) {
    SimulatedNetwork network({}, 2, 4096);
    const nearfetch_transport table = network.table();
    nearfetch_cache_settings settings;
    nearfetch_cache* cache = nullptr;
    ASSERT_EQ(setenv("NEARFETCH_PAGE_CACHE_LINE_BYTES", "128", 1), 0);
    ASSERT_EQ(setenv("NEARFETCH_PAGE_CACHE_POLICY", "s3fifo", 1), 0);
    EXPECT_EQ(nearfetch_cache_settings_default(&settings, sizeof settings), NEARFETCH_OK);
    EXPECT_EQ(settings.line_bytes, 128u);
    EXPECT_STREQ(settings.policy, "s3fifo");
    EXPECT_EQ(settings.page_bytes, 1024u);
    ASSERT_EQ(nearfetch_cache_create(nullptr, &table, &cache), NEARFETCH_OK);
    nearfetch_task task = NEARFETCH_TASK_INIT;
    std::uint64_t value = 1;
    EXPECT_EQ(nearfetch_get(cache, &task, 1, 0, 8, &value), NEARFETCH_OK);
    EXPECT_EQ(network.bytes_got, 128u);
    EXPECT_EQ(nearfetch_cache_destroy(cache, 0), NEARFETCH_OK);
    ASSERT_EQ(setenv("NEARFETCH_PAGE_CACHE_POLICY", "lru", 1), 0);
    EXPECT_EQ(nearfetch_cache_settings_default(&settings, sizeof settings), NEARFETCH_BAD_SETTING);
    EXPECT_NE(std::string(nearfetch_last_error()).find("'lru' for setting 'page_cache_policy'"),
              std::string::npos);
    EXPECT_EQ(nearfetch_cache_create(nullptr, &table, &cache), NEARFETCH_BAD_SETTING);
    EXPECT_EQ(cache, nullptr);
    unsetenv("NEARFETCH_PAGE_CACHE_LINE_BYTES");
    unsetenv("NEARFETCH_PAGE_CACHE_POLICY");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(CApiSettings, ACacheThatThereIsNoMemoryForIsRefused) {
    SimulatedNetwork network({}, 1, 4096);
    const nearfetch_transport table = network.table();
    const nearfetch_cache_settings settings = settings_with([](auto& s) { s.capacity_bytes = 1ull << 36; });
    rlimit old;
    ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
    const rlimit little{1u << 30, old.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
    nearfetch_cache* cache = nullptr;
    const nearfetch_status status = nearfetch_cache_create(&settings, &table, &cache);
    ASSERT_EQ(setrlimit(RLIMIT_AS, &old), 0);
    EXPECT_EQ(status, NEARFETCH_BAD_SETTING);
    EXPECT_EQ(cache, nullptr);
    EXPECT_NE(
        std::string(nearfetch_last_error()).find("capacity_bytes = 68719476736 (the system has no memory"),
        std::string::npos)
        << nearfetch_last_error();
}
#endif

TEST(CApiSettings, OfANewerVersionAreTakenWhereTheyAskForNothingNew) {
    SimulatedNetwork network({}, 1, 4096);
    struct Newer {
        nearfetch_transport table;
        void* more = nullptr;
    } newer{network.table(), nullptr};
    newer.table.size = sizeof newer;
    nearfetch_cache* cache = nullptr;
    EXPECT_EQ(nearfetch_cache_create(nullptr, &newer.table, &cache), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_cache_destroy(cache, 0), NEARFETCH_OK);
    newer.more = &network;
    EXPECT_EQ(nearfetch_cache_create(nullptr, &newer.table, &cache), NEARFETCH_BAD_ARGUMENT);
    EXPECT_NE(std::string(nearfetch_last_error()).find("newer nearfetch"), std::string::npos);
}

TEST(CApiSettings, ATransportNeedsItsFunctionsButTheOptionalOnes) {
    SimulatedNetwork network({}, 1, 4096);
    nearfetch_cache* cache = nullptr;
    const auto refused = [&](const nearfetch_transport& table, const char* text) {
        EXPECT_EQ(nearfetch_cache_create(nullptr, &table, &cache), NEARFETCH_BAD_ARGUMENT);
        EXPECT_EQ(cache, nullptr);
        EXPECT_NE(std::string(nearfetch_last_error()).find(text), std::string::npos)
            << nearfetch_last_error();
    };
    nearfetch_transport table = network.table();
    table.start_get = nullptr;
    refused(table, "has no start_get (");
    table = network.table();
    table.try_some = nullptr;
    refused(table, "has no try_some (");
    table = network.table();
    table.readable = nullptr;
    refused(table, "has no readable (");
    table = network.table();
    table.size = 24;
    refused(table, "nearfetch_transport has size = 24 (");
    EXPECT_EQ(nearfetch_cache_create(nullptr, nullptr, &cache), NEARFETCH_BAD_ARGUMENT);
    EXPECT_EQ(nearfetch_cache_create(nullptr, &table, nullptr), NEARFETCH_BAD_ARGUMENT);

    // A table of the first version, which ends before the optional functions.
    table = network.table();
    table.size = offsetof(nearfetch_transport, now_ns);
    table.now_ns = nullptr;
    ASSERT_EQ(nearfetch_cache_create(nullptr, &table, &cache), NEARFETCH_OK);
    nearfetch_task task = NEARFETCH_TASK_INIT;
    std::uint64_t value = 1;
    EXPECT_EQ(nearfetch_get(cache, &task, 0, 0, 8, &value), NEARFETCH_OK);
    EXPECT_EQ(value, 0u);
    EXPECT_EQ(nearfetch_cache_destroy(cache, 0), NEARFETCH_OK);
}

}  // namespace
}  // namespace nearfetch::testing
