// SPDX-License-Identifier: Apache-2.0

// Caches of the C API: creation, statistics, destruction.

#include "capi/cache.hpp"

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/settings.hpp"

namespace capi = nearfetch::capi;
using nearfetch::Error;
using nearfetch::page_cache_counter_table;
using nearfetch::PageCacheConfig;

namespace {

/// Copies a caller's struct, which may be of an older or newer version. Fields that an older one lacks are
/// zero. Fields that only a newer one has must be zero, because they would be ignored.
/// \throws Error
template <class Struct>
Struct copy_of(const Struct& theirs, std::size_t least, const char* name) {
    Struct copy{};
    if (theirs.size < least)
        throw Error(std::string(name) + " has size = " + std::to_string(theirs.size),
                    "the smallest that there was has " + std::to_string(least),
                    std::string("set it to sizeof(") + name + ")");
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&theirs);
    for (std::size_t i = sizeof copy; i < theirs.size; ++i)
        if (bytes[i] != 0)
            throw Error(std::string(name) + " has size = " + std::to_string(theirs.size),
                        "its program was made for a newer nearfetch and asks for what this one has not",
                        "use that nearfetch");
    std::memcpy(&copy, &theirs, theirs.size < sizeof copy ? theirs.size : sizeof copy);
    return copy;
}

nearfetch_transport checked(const nearfetch_transport& theirs) {
    constexpr std::size_t least = offsetof(nearfetch_transport, now_ns);
    const nearfetch_transport table = copy_of(theirs, least, "nearfetch_transport");
    const auto need = [](bool there, const char* name) {
        if (!there)
            throw Error(std::string("nearfetch_transport has no ") + name, "the cache cannot do without it",
                        "set it to a function");
    };
    need(table.start_get != nullptr, "start_get");
    need(table.start_put != nullptr, "start_put");
    need(table.wait_some != nullptr, "wait_some");
    need(table.try_some != nullptr, "try_some");
    need(table.readable != nullptr, "readable");
    return table;
}

bool flag(std::uint8_t value, const char* name) {
    if (value > 1)
        throw Error(std::string(name) + " = " + std::to_string(value), "it is on or off", "use 0 or 1");
    return value == 1;
}

PageCacheConfig config_of(const nearfetch_cache_settings& theirs) {
    const nearfetch_cache_settings s =
        copy_of(theirs, sizeof(nearfetch_cache_settings), "nearfetch_cache_settings");
    if (s.policy == nullptr)
        throw Error("policy = NULL", "the cache has to know whom to evict", "use \"2q\" or \"s3fifo\"");
    PageCacheConfig config;
    config.capacity_bytes = s.capacity_bytes;
    config.page_bytes = s.page_bytes;
    config.line_bytes = s.line_bytes;
    config.bulk_bytes = s.bulk_bytes;
    config.policy = s.policy;
    config.new_percent = s.new_percent;
    config.names_percent = s.names_percent;
    config.dirty_pages = s.dirty_pages;
    config.operations = s.operations;
    config.read_ahead_items = s.read_ahead_items;
    config.read_ahead = flag(s.read_ahead, "read_ahead");
    config.read_ahead_beyond_paper = flag(s.read_ahead_beyond_paper, "read_ahead_beyond_paper");
    config.combine_pages = flag(s.combine_pages, "combine_pages");
    config.wait_for_writes = flag(s.wait_for_writes, "wait_for_writes");
    return config;
}

bool holds_written_bytes(const nearfetch_cache& cache) {
    const nearfetch::PageCache& pages = cache.engine.cache();
    return pages.occupancy().dirty_pages != 0 || !pages.operations().puts().empty();
}

}  // namespace

extern "C" {

nearfetch_status nearfetch_cache_settings_default(nearfetch_cache_settings* settings, size_t size) {
    if (settings == nullptr || size != sizeof *settings)
        return capi::fail(NEARFETCH_BAD_ARGUMENT, "there is no place for the settings",
                          "it is NULL, or its size is not that of nearfetch_cache_settings",
                          "give the address and the size of one");
    return capi::guarded(NEARFETCH_BAD_SETTING, [&] {
        const PageCacheConfig config = nearfetch::settings_of_environment().page_cache;
        *settings = {};
        settings->size = sizeof *settings;
        settings->capacity_bytes = config.capacity_bytes;
        settings->page_bytes = config.page_bytes;
        settings->line_bytes = config.line_bytes;
        settings->bulk_bytes = config.bulk_bytes;
        settings->policy = config.policy == "s3fifo" ? "s3fifo" : "2q";  // the caller keeps the pointer
        settings->new_percent = config.new_percent;
        settings->names_percent = config.names_percent;
        settings->dirty_pages = config.dirty_pages;
        settings->operations = config.operations;
        settings->read_ahead_items = config.read_ahead_items;
        settings->read_ahead = config.read_ahead;
        settings->read_ahead_beyond_paper = config.read_ahead_beyond_paper;
        settings->combine_pages = config.combine_pages;
        settings->wait_for_writes = config.wait_for_writes;
        return NEARFETCH_OK;
    });
}

nearfetch_status nearfetch_cache_create(const nearfetch_cache_settings* settings,
                                        const nearfetch_transport* transport, nearfetch_cache** cache) {
    if (cache != nullptr) *cache = nullptr;
    if (cache == nullptr || transport == nullptr)
        return capi::fail(NEARFETCH_BAD_ARGUMENT, "a cache cannot be made",
                          cache == nullptr ? "there is no place for its pointer" : "it has no transport",
                          "give one");
    return capi::guarded(NEARFETCH_BAD_ARGUMENT, [&] {
        const nearfetch_transport table = checked(*transport);
        return capi::guarded(NEARFETCH_BAD_SETTING, [&] {
            const PageCacheConfig config =
                settings != nullptr ? config_of(*settings) : nearfetch::settings_of_environment().page_cache;
            *cache = new nearfetch_cache(config, table);
            return NEARFETCH_OK;
        });
    });
}

nearfetch_status nearfetch_cache_destroy(nearfetch_cache* cache, int discard) {
    if (cache == nullptr) return NEARFETCH_OK;
    return capi::guarded(NEARFETCH_BUSY, [&] {
        if (cache->transport.in_use() || cache->requests != 0 || cache->unordered_tasks != 0)
            return capi::fail(
                NEARFETCH_BUSY, "a cache cannot end yet",
                cache->requests != 0
                    ? std::to_string(cache->requests) + " of its requests have not been waited for"
                : cache->unordered_tasks != 0 ? std::to_string(cache->unordered_tasks) +
                                                    " tasks have not fenced their unordered transfers"
                                              : "one of the thread's tasks waits in it",
                "let them finish first");
        if (discard == 0 && holds_written_bytes(*cache))
            return capi::fail(NEARFETCH_NOT_RELEASED, "a cache cannot end yet",
                              "bytes that were put may not have reached their targets",
                              "call nearfetch_release() first, or discard them");
        delete cache;
        return NEARFETCH_OK;
    });
}

const char* nearfetch_statistics_name(size_t row) {
    return row < page_cache_counter_table.size() ? page_cache_counter_table[row].name.data() : nullptr;
}

const char* nearfetch_statistics_meaning(size_t row) {
    return row < page_cache_counter_table.size() ? page_cache_counter_table[row].meaning.data() : nullptr;
}

nearfetch_status nearfetch_statistics(const nearfetch_cache* cache, uint64_t* values, size_t count) {
    if (cache == nullptr || values == nullptr || count > page_cache_counter_table.size())
        return capi::fail(NEARFETCH_BAD_ARGUMENT, "the counters cannot be read",
                          "an argument is NULL, or there are not so many",
                          "ask for those that nearfetch_statistics_name() names");
    const nearfetch::PageCacheCounters counters = cache->engine.cache().counters();
    for (std::size_t i = 0; i < count; ++i)
        values[i] = counters.*page_cache_counter_table[i].member;
    return NEARFETCH_OK;
}

nearfetch_status nearfetch_statistic(const nearfetch_cache* cache, const char* name, uint64_t* value) {
    return capi::guarded(NEARFETCH_BAD_ARGUMENT, [&] {
        if (cache == nullptr || name == nullptr || value == nullptr)
            throw Error("a counter cannot be read", "an argument is NULL", "give all three");
        for (const nearfetch::PageCacheCounterInfo& row : page_cache_counter_table) {
            if (row.name != name) continue;
            *value = cache->engine.cache().counters().*row.member;
            return NEARFETCH_OK;
        }
        throw Error(std::string("there is no counter '") + name + "'", "the table has none of that name",
                    "see nearfetch_statistics_name()");
    });
}

}  // extern "C"
