// SPDX-License-Identifier: Apache-2.0
#include "mpi/report/report.hpp"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "mpi/interposer.hpp"
#include "mpi/report/stats_file.hpp"

namespace nearfetch {

namespace {

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
    char text[320];
    std::va_list values;
    va_start(values, format);
    std::vsnprintf(text, sizeof text, format, values);
    va_end(values);
    return text;
}

std::string readable_bytes(std::uint64_t bytes) {
    if (bytes < 1024) return std::to_string(bytes) + " B";
    auto value = static_cast<double>(bytes) / 1024;
    const char* unit = "KMGT";
    for (; value >= 1024 && unit[1] != '\0'; ++unit)
        value /= 1024;
    return formatted("%.1f %ciB", value, *unit);
}

/// The summary's columns of shares of the gets, with their titles.
struct Share {
    const char* title;
    std::uint64_t RangeCacheCounters::* member;
};
constexpr Share shares[] = {{" hit%", &RangeCacheCounters::hits},
                            {"partial%", &RangeCacheCounters::partial_hits},
                            {"pending%", &RangeCacheCounters::pending_hits},
                            {"direct%", &RangeCacheCounters::direct},
                            {"confl.%", &RangeCacheCounters::conflicting},
                            {"capac.%", &RangeCacheCounters::capacity},
                            {"fail.%", &RangeCacheCounters::failing},
                            {"byp.%", &RangeCacheCounters::bypassed}};

std::string line_of(const Decision& decision) {
    const std::string begin =
        formatted("    %.*s for %d %s", static_cast<int>(decision.what.size()), decision.what.data(),
                  decision.targets, decision.targets == 1 ? "target" : "targets");
    if (decision.plain_ns == 0) return begin + "\n";
    return begin + formatted(" (%d, when it was decided: %.0f ns each without nearfetch, %.0f ns with it)\n",
                             decision.example, decision.plain_ns, decision.ours_ns);
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

void Report::write(const MemoryLimit& memory) noexcept {
    if (!wanted()) return;
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        if (!stats_dir_.empty())
            write_stats_file({stats_dir_, job_, interposer.world.name(), rank, interposer.world.spawned()},
                             json(rank, memory));
        // The other ranks have their files.
        if (summary_ && rank == 0) std::fputs(summary(memory).c_str(), stderr);
    } catch (const std::exception& error) {
        std::fprintf(
            stderr,
            "nearfetch: rank %d: no statistics (%s): see to it that it can be written, or name another "
            "folder by %s\n",
            rank, error.what(), environment_name("stats_dir").c_str());
    }
}

std::string Report::json(int rank, const MemoryLimit& memory) const {
    using Json = nlohmann::ordered_json;
    Json document{{"job", job_},  {"world", interposer.world.name()}, {"spawned", interposer.world.spawned()},
                  {"rank", rank}, {"mpi", NEARFETCH_MPI_FAMILY},      {"windows", Json::array()}};
    document["memory"] = {{"limit_bytes", memory.bytes()},
                          {"most_taken_bytes", memory.most_taken_bytes()},
                          {"origin", memory.origin()}};
    for (const Record& record : records_) {
        Json window{{"name", record.name},
                    {"mode", record.mode},
                    {"windows", record.windows},
                    {"ranks", record.ranks}};
        for (const CounterInfo& counter : range_cache_counter_table)
            window[std::string(counter.name)] = record.counters.*counter.member;
        window["decisions"] = Json::array();
        for (const Decision& d : record.decisions)
            window["decisions"].push_back({{"what", d.what},
                                           {"targets", d.targets},
                                           {"example", d.example},
                                           {"plain_ns", d.plain_ns},
                                           {"ours_ns", d.ours_ns}});
        document["windows"].push_back(std::move(window));
    }
    return document.dump(2) + "\n";
}

/// One screen: the windows that were used.
std::string Report::summary(const MemoryLimit& memory) const {
    std::string text = "nearfetch: summary of rank 0" +
                       (interposer.world.spawned() ? " of world " + interposer.world.name() : "") +
                       "\n  window                mode               gets";
    for (const Share& share : shares)
        text += std::string("  ") + share.title;
    text += "  from cache  from network  flushes elided\n";
    int shown = 0, left_out = 0;
    for (const Record& record : records_) {
        const RangeCacheCounters& c = record.counters;
        if ((c.gets == 0 && c.puts == 0) || shown == 20) {
            ++left_out;
            continue;
        }
        ++shown;
        text +=
            formatted("  %-20.20s  %-12s %10" PRIu64, record.name.empty() ? "(unnamed)" : record.name.c_str(),
                      record.mode.c_str(), c.gets);
        const double percent = c.gets == 0 ? 0.0 : 100.0 / static_cast<double>(c.gets);
        for (const Share& share : shares)
            text += formatted("  %*.1f", static_cast<int>(std::string_view(share.title).size()),
                              percent * static_cast<double>(c.*share.member));
        text += formatted(
            "  %10s  %12s  %7" PRIu64 "/%" PRIu64 "\n", readable_bytes(c.bytes_from_cache).c_str(),
            readable_bytes(c.bytes_from_network + c.bytes_read_ahead).c_str(), c.flushes_elided, c.flushes);
        if (c.puts_combined != 0)
            text += formatted("    %" PRIu64 " puts, %" PRIu64 " of them combined and sent in %" PRIu64
                              " messages\n",
                              c.puts, c.puts_combined, c.put_messages);
        for (const Decision& decision : record.decisions)
            text += line_of(decision);
    }
    text += formatted("  memory of the caches: at most %s of %s (%s)\n",
                      readable_bytes(memory.most_taken_bytes()).c_str(),
                      readable_bytes(memory.bytes()).c_str(), memory.origin().c_str());
    if (left_out != 0)
        text += formatted("  %d more windows without gets and puts, or beyond this screen\n", left_out);
    return text;
}

}  // namespace nearfetch
