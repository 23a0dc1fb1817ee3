// SPDX-License-Identifier: Apache-2.0
#include "mpi/report/report.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "mpi/call_site.hpp"
#include "mpi/interposer.hpp"
#include "mpi/report/environment.hpp"
#include "mpi/report/last_words.hpp"
#include "mpi/report/reduction.hpp"
#include "mpi/report/stats_file.hpp"
#include "report/page.hpp"
#include "report/run_summary.hpp"

namespace nearfetch {

namespace {

using Json = nlohmann::ordered_json;

/// Intervals of equal length from the beginning of MPI on.
Json json_of(const Timeline& timeline) {
    Json hits = Json::array(), gets = Json::array(), cache = Json::array(), network = Json::array();
    const auto number = [](double value) { return static_cast<std::uint64_t>(std::max(value, 0.0) + 0.5); };
    for (std::size_t i = 0; i < timeline.size(); ++i) {
        const TimelineTotals& in = timeline.at(i);
        hits.push_back(number(in.hits));
        gets.push_back(number(in.gets));
        cache.push_back(number(in.bytes_from_cache));
        network.push_back(number(in.bytes_from_network));
    }
    return {{"interval_s", timeline.interval_s()},
            {"gets", std::move(gets)},
            {"hits", std::move(hits)},
            {"bytes_from_cache", std::move(cache)},
            {"bytes_from_network", std::move(network)}};
}

}  // namespace

void Report::configure(const Settings& settings) {
    has_summary_ = settings.summary;
    stats_dir_ = settings.stats_dir;
    job_ = settings.job;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
}

void Report::add(Window& window, const WindowOrigin& origin) noexcept {
    if (!wanted()) return;
    try {
        Record record{.name = window.name(),
                      .mode = std::string(mode_name(window.mode())),
                      .site = origin.site == nullptr ? "" : place_of(origin.site),
                      .not_shared = window.not_shared_because(),
                      .total_bytes = origin.total_bytes,
                      .ranks = window.cache().ranks(),
                      .counters = window.cache().counters(),
                      .decisions = window.cache().decisions()};
        if (const GetProfile* const profile = window.cache().profile()) {
            record.timeline = profile->timeline();
            for (const GetProfile::Cause& cause : profile->causes())
                record.forgotten_by.emplace_back(cause.call, cause.gets);
        }
        add_record(std::move(record));
    } catch (const std::bad_alloc&) {
    }
}

void Report::add_record(Record record) {
    if (records_.size() < record_limit) {
        records_.push_back(std::move(record));
        return;
    }
    Record& rest = records_.back();
    rest.name = "further windows";
    if (rest.mode != record.mode) rest.mode = "several";
    rest.site.clear();
    rest.total_bytes = 0;
    ++rest.windows;
    rest.decisions.clear();
    rest.timeline = {};
    rest.counters.add(record.counters);
    for (const auto& [call, gets] : record.forgotten_by) {
        const auto known = std::ranges::find(rest.forgotten_by, call, [](const auto& c) { return c.first; });
        if (known != rest.forgotten_by.end())
            known->second += gets;
        else
            rest.forgotten_by.emplace_back(call, gets);
    }
}

void Report::stop_clock() noexcept { elapsed_s_ = interposer.process.elapsed_s(); }

void Report::write_file(const char* end, const MemoryLimit& memory) noexcept {
    if (!writes_file()) return;
    try {
        forget_last_words();
        write_stats_file({stats_dir_, job_, interposer.world.name(), rank_, interposer.world.spawned()},
                         with_end(end, document(memory).dump(2) + "\n"));
    } catch (const std::exception& error) {
        std::fprintf(
            stderr,
            "nearfetch: rank %d: no statistics (%s): see to it that it can be written, or name another "
            "folder by %s\n",
            rank_, error.what(), environment_name("stats_dir").c_str());
    }
}

void Report::prepare_file(const MemoryLimit& memory) noexcept {
    if (!writes_file()) return;
    try {
        prepare_last_words({stats_dir_, job_, interposer.world.name(), rank_, interposer.world.spawned()},
                           document(memory).dump(2) + "\n");
    } catch (const std::exception&) {
        // What was prepared before stays.
    }
}

void Report::print_summary(const MemoryLimit& memory) noexcept {
    if (!has_summary_) return;
    try {
        RunSummary all = reduce_over_world(summary_of_rank(document(memory)), interposer.world.has_met_all());
        if (rank_ != 0) return;
        all.sort();
        int ranks = 0;
        PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
        std::string title = std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
        if (all.ranks != ranks) title = "rank 0 alone (others have not answered)";
        if (interposer.world.spawned()) title += " of world " + interposer.world.name();
        std::fputs(page_of(all, title).c_str(), stderr);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "nearfetch: rank %d: no summary (%s): see the files of --stats\n", rank_,
                     error.what());
    }
}

Json Report::json_of(const Record& record) {
    Json window{{"name", record.name},         {"mode", record.mode},       {"site", record.site},
                {"bytes", record.total_bytes}, {"windows", record.windows}, {"ranks", record.ranks}};
    if (!record.not_shared.empty()) window["not_shared"] = record.not_shared;
    for (const CounterInfo& counter : range_cache_counter_table)
        window[std::string(counter.name)] = record.counters.*counter.member;
    window["forgotten_by"] = Json::object();
    for (const auto& [call, gets] : record.forgotten_by)
        window["forgotten_by"][call] = gets;
    window["timeline"] = nearfetch::json_of(record.timeline);
    window["decisions"] = Json::array();
    for (const Decision& d : record.decisions)
        window["decisions"].push_back({{"what", d.what},
                                       {"targets", d.targets},
                                       {"example", d.example},
                                       {"plain_ns", d.plain_ns},
                                       {"ours_ns", d.ours_ns}});
    return window;
}

Json Report::document(const MemoryLimit& memory) const {
    Json document{{"job", job_},
                  {"world", interposer.world.name()},
                  {"spawned", interposer.world.spawned()},
                  {"rank", rank_},
                  {"elapsed_s", elapsed_s_ < 0 ? interposer.process.elapsed_s() : elapsed_s_}};
    document.update(describe_environment());
    document["thread_multiple"] = interposer.threaded;
    document["memory"] = {{"limit_bytes", memory.bytes()},
                          {"most_taken_bytes", memory.most_taken_bytes()},
                          {"origin", memory.origin()}};
    document["windows"] = Json::array();
    for (const Record& record : records_)
        document["windows"].push_back(json_of(record));
    return document;
}

}  // namespace nearfetch
