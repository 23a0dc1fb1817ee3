// SPDX-License-Identifier: Apache-2.0
#include "pgas/program.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <fstream>
#include <iostream>

#include "common/command_line.hpp"
#include "common/validators.hpp"

namespace nearfetch::programs {

namespace {

void add_cache_options(CLI::App& app, PageCacheConfig& cache) {
    const auto number = [&](const char* name, auto& value, const char* meaning) {
        app.add_option(name, value, meaning)
            ->check(apps::whole_number())
            ->type_name("N")
            ->group("The cache")
            ->capture_default_str();
    };
    number("--cache-bytes", cache.capacity_bytes, "of data, for each thread");
    number("--page-bytes", cache.page_bytes, "a power of two");
    number("--line-bytes", cache.line_bytes, "a power of two");
    number("--dirty-pages", cache.dirty_pages, "pages that wait for their write-back");
    number("--operations", cache.operations, "limit of outstanding messages");
    number("--new-percent", cache.new_percent, "2q: share of the pages for what was fetched once");
    number("--names-percent", cache.names_percent, "2q: names of evicted pages, over the pages");
    number("--bulk-bytes", cache.bulk_bytes, "larger gets and puts go past the pages");
    number("--read-ahead-items", cache.read_ahead_items, "most pages or accesses ahead");
    app.add_option("--policy", cache.policy, "of eviction: 2q or s3fifo")
        ->group("The cache")
        ->capture_default_str();
    const auto without = [&](const char* name, bool& value, const char* meaning) {
        app.add_flag_callback(name, [&value] { value = false; }, meaning)->group("The cache");
    };
    without("--no-read-ahead", cache.read_ahead, "fetch nothing that was not asked for");
    without("--paper-read-ahead", cache.read_ahead_beyond_paper, "forwards only, a page at a time");
    without("--no-combine-pages", cache.combine_pages, "each message is one page's");
    app.add_flag("--wait-for-writes", cache.wait_for_writes, "write a page back before other lines are read")
        ->group("The cache");
}

void add_launch_options(CLI::App& app, LaunchOptions& launch) {
    app.add_flag_callback(
        "--no-cache", [&launch] { launch.cached = false; }, "every get and put is a message");
    app.add_option("--seed", launch.seed, "of what is left to chance")
        ->check(apps::whole_number())
        ->type_name("N")
        ->capture_default_str();
    if (!launches_ranks) return;
    app.add_option("--ranks", launch.ranks, "threads of this process")
        ->check(CLI::Range(1, 65536))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--network", launch.network, "is modelled: aries, fdr-ib, 10gbe or 1gbe; default: none")
        ->type_name("NAME");
    app.add_flag("--virtual", launch.virtual_time, "count the network's time instead of waiting for it");
    app.add_option("--jitter-ns", launch.jitter_ns, "most that chance delays an operation")
        ->check(apps::whole_number())
        ->type_name("N");
    const auto add_cost = [&app](const char* name, std::uint64_t& ns, const char* of) {
        app.add_option(name, ns, of)->check(apps::whole_number())->type_name("N")->capture_default_str();
    };
    add_cost("--access-ns", launch.access_ns, "of each get or put, in virtual time");
    add_cost("--miss-ns", launch.miss_ns, "of each message of the cache, in virtual time");
    add_cost("--overlapped-ns", launch.overlapped_ns, "of each of these while it travels, in virtual time");
    add_cost("--fence-ns", launch.fence_ns, "of each release, in virtual time");
    add_cost("--copied-kib-ns", launch.copied_kib_ns,
             "of each KiB of cache lines that arrays copy, in virtual time");
}

/// The peak memory of this process, as Linux reports it; 0 if unknown.
std::uint64_t peak_memory_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:"))
            return 1024 * std::stoull(line.substr(line.find_first_of("0123456789")));
    return 0;
}

/// Sums figures of the ranks, at rank 0.
class Sum {
  public:
    explicit Sum(std::size_t cells) : cells_(allocate<std::uint64_t>(cells).at_rank(0)) {}
    void add(std::size_t i, std::uint64_t value) const {
        atomic_fetch_add(cells_ + static_cast<std::ptrdiff_t>(i), value, std::memory_order_relaxed);
    }
    /// After a barrier.
    std::uint64_t of(std::size_t i) const {
        return atomic_load(cells_ + static_cast<std::ptrdiff_t>(i), std::memory_order_relaxed);
    }

  private:
    GlobalPtr<std::uint64_t> cells_;
};

}  // namespace

void Run::begin() {
    barrier();
    before_ = rank_statistics();
    // Nobody's on() runs here before that.
    barrier();
    begin_ns_ = now_ns();
}

void Run::end() {
    barrier();
    end_ns_ = now_ns();
    after_ = rank_statistics();
}

void Run::result(std::uint64_t checksum, bool right) {
    checksum_ = checksum;
    right_ = right;
}

bool Run::finish() {
    const std::size_t counters = after_.rows.size();
    const Sum sum(counters + 2);
    for (std::size_t i = 0; i < counters; ++i)
        sum.add(i, after_.rows[i].second - before_.rows[i].second);
    sum.add(counters, checksum_);
    sum.add(counters + 1, right_ ? 0 : 1);
    barrier();
    const bool right = sum.of(counters + 1) == 0;
    if (rank() != 0) return right;
    report_.add("ranks", static_cast<std::uint64_t>(ranks()));
    report_.add("mpi", mpi_family);
    report_.add("network", options_.network.empty() ? "none" : options_.network);
    report_.add("virtual", options_.virtual_time ? 1 : 0);
    report_.add("cached", options_.cached ? 1 : 0);
    report_.add("seconds", static_cast<double>(end_ns_ - begin_ns_) * 1e-9);
    if (!options_.network.empty())
        report_.add("bound_seconds",
                    network_bound_ns(options_.network, least_.get_messages, least_.get_bytes,
                                     least_.put_messages, least_.put_bytes, least_.round_trips) *
                        1e-9);
    report_.add("checksum", std::to_string(sum.of(counters)));
    report_.add("right", right ? 1 : 0);
    for (std::size_t i = 0; i < counters; ++i)
        report_.add(std::string(after_.rows[i].first), sum.of(i));
    return right;
}

Program::Program(const std::string& name, const std::string& description)
    : app_(std::make_unique<CLI::App>(description, name)) {}

Program::~Program() = default;

int Program::run(int argc, char** argv, const std::function<void(Run&)>& main,
                 const std::function<void()>& prepare) {
    add_launch_options(*app_, launch_);
    add_cache_options(*app_, launch_.cache);
    bool peak_memory = false;
    app_->add_flag("--peak-memory", peak_memory, "report the most memory that rank 0's process has had");
    app_->add_option("--json", json_path_, "write the results to this file, too")->type_name("FILE");
    const apps::Parsed parsed = apps::parse(*app_, argc, argv);
    if (!parsed.run) {
        (parsed.exit_code == 0 ? std::cout : std::cerr) << parsed.text;
        return parsed.exit_code;
    }
    std::atomic<bool> right = true;
    const std::string name = app_->get_name();
    const auto rank_main = [&] {
        apps::Report report;
        report.add("program", name);
        Run run(launch_, report);
        main(run);
        if (!run.finish()) right = false;
        if (rank() != 0) return;
        if (peak_memory) report.add("peak_memory_bytes", peak_memory_bytes());
        report.write_json_line(std::cout);
        if (json_path_.empty()) return;
        std::ofstream file(json_path_);
        report.write_json_line(file);
        if (!file.flush())
            throw Error(json_path_ + " cannot be written", "it takes the results",
                        "name another file by --json");
    };
    try {
        prepare();
        const int code = start_ranks(launch_, argc, argv, rank_main);
        if (code != 0) return code;
    } catch (const std::exception& problem) {
        std::cerr << name << ": " << problem.what() << '\n';
        return apps::kBadUse;
    }
    if (right) return 0;
    std::cerr << name << ": the result is wrong\n";
    return 1;
}

}  // namespace nearfetch::programs
