// SPDX-License-Identifier: Apache-2.0
#include "mpi/report/report.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "mpi/report/stats_file.hpp"
#include "mpi/report/world.hpp"

namespace nearfetch {

namespace {

double percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string readable_bytes(std::uint64_t bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < std::size(units))
        value /= 1024, ++unit;
    char text[32];
    std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

nlohmann::ordered_json decisions_json(const std::vector<Decision>& decisions) {
    auto rows = nlohmann::ordered_json::array();
    for (const Decision& d : decisions)
        rows.push_back({{"what", d.what},
                        {"targets", d.targets},
                        {"example", d.example},
                        {"plain_ns", d.plain_ns},
                        {"ours_ns", d.ours_ns}});
    return rows;
}

std::string decision_line(const Decision& decision) {
    char text[200];
    const std::string what(decision.what);
    const char* const targets = decision.targets == 1 ? "target" : "targets";
    if (decision.plain_ns == 0)
        std::snprintf(text, sizeof text, "    %s for %d %s\n", what.c_str(), decision.targets, targets);
    else
        std::snprintf(
            text, sizeof text,
            "    %s for %d %s (%d, when it was decided: %.0f ns each without nearfetch, %.0f ns with it)\n",
            what.c_str(), decision.targets, targets, decision.example, decision.plain_ns, decision.ours_ns);
    return text;
}

std::string puts_line(const RangeCacheCounters& counters) {
    if (counters.puts_combined == 0) return {};
    return "    " + std::to_string(counters.puts) + " puts, " + std::to_string(counters.puts_combined) +
           " of them combined and sent in " + std::to_string(counters.put_messages) + " messages\n";
}

}  // namespace

void Report::configure(const Settings& settings) {
    summary_ = settings.summary;
    stats_dir_ = settings.stats_dir;
    job_ = settings.job;
}

void Report::add(Window& window) noexcept {
    if (!wanted()) return;
    try {
        Record record{window.name(),
                      std::string(mode_name(window.mode())),
                      1,
                      window.cache().ranks(),
                      window.cache().counters(),
                      window.cache().decisions()};
        if (records_.size() < record_limit) {
            records_.push_back(std::move(record));
            return;
        }
        Record& rest = records_.back();
        rest.name = "further windows";
        if (rest.mode != record.mode) rest.mode = "several";
        ++rest.windows;
        rest.decisions.clear();
        rest.counters.add(record.counters);
    } catch (const std::bad_alloc&) {
    }
}

void Report::write() noexcept {
    if (!wanted()) return;
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        if (!stats_dir_.empty()) write_json(rank);
        if (summary_) write_summary(rank);
    } catch (const std::exception& error) {
        std::fprintf(
            stderr,
            "nearfetch: rank %d: no statistics (%s): see to it that it can be written, or name another "
            "folder by %s\n",
            rank, error.what(), environment_name("stats_dir").c_str());
    }
}

void Report::write_json(int rank) const {
    auto windows = nlohmann::ordered_json::array();
    for (const Record& record : records_) {
        nlohmann::ordered_json row{{"name", record.name},
                                   {"mode", record.mode},
                                   {"windows", record.windows},
                                   {"ranks", record.ranks}};
        for (const CounterInfo& counter : range_cache_counter_table)
            row[std::string(counter.name)] = record.counters.*counter.member;
        row["decisions"] = decisions_json(record.decisions);
        windows.push_back(std::move(row));
    }
    const nlohmann::ordered_json document{
        {"job", job_},  {"world", world.name()},       {"spawned", world.spawned()},
        {"rank", rank}, {"mpi", NEARFETCH_MPI_FAMILY}, {"windows", windows}};
    write_stats_file({stats_dir_, job_, world.name(), rank, world.spawned()}, document.dump(2) + "\n");
}

/// One screen: the windows that were used, of rank 0 (the others have their files).
void Report::write_summary(int rank) const {
    if (rank != 0) return;
    std::string text =
        "nearfetch: summary of rank 0" + (world.spawned() ? " of world " + world.name() : "") +
        "\n"
        "  window                mode               gets   hit%  partial%  pending%  direct%  confl.%  "
        "capac.%  fail.%  byp.%  from cache  from network  flushes elided\n";
    int shown = 0, silent = 0;
    for (const Record& record : records_) {
        const RangeCacheCounters& c = record.counters;
        if ((c.gets == 0 && c.puts == 0) || shown == 20) {
            ++silent;
            continue;
        }
        ++shown;
        char line[320];
        std::snprintf(
            line, sizeof line,
            "  %-20.20s  %-12s %10llu  %5.1f  %8.1f  %8.1f  %7.1f  %7.1f  %7.1f  %6.1f  %5.1f  %10s  %12s"
            "  %7llu/%llu\n",
            record.name.empty() ? "(unnamed)" : record.name.c_str(), record.mode.c_str(),
            static_cast<unsigned long long>(c.gets), percent(c.hits, c.gets), percent(c.partial_hits, c.gets),
            percent(c.pending_hits, c.gets), percent(c.direct, c.gets), percent(c.conflicting, c.gets),
            percent(c.capacity, c.gets), percent(c.failing, c.gets), percent(c.bypassed, c.gets),
            readable_bytes(c.bytes_from_cache).c_str(),
            readable_bytes(c.bytes_from_network + c.bytes_read_ahead).c_str(),
            static_cast<unsigned long long>(c.flushes_elided), static_cast<unsigned long long>(c.flushes));
        text += line;
        text += puts_line(c);
        for (const Decision& decision : record.decisions)
            text += decision_line(decision);
    }
    if (silent != 0)
        text +=
            "  " + std::to_string(silent) + " more windows without gets and puts, or beyond this screen\n";
    std::fputs(text.c_str(), stderr);
}

}  // namespace nearfetch
