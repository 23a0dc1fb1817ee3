// SPDX-License-Identifier: Apache-2.0
#include "campaign.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "dice.hpp"
#include "lock_run.hpp"
#include "page_run.hpp"
#include "range_run.hpp"
#include "shrink.hpp"

namespace nearfetch::simulation {

namespace {

constexpr const char* races = "not race-free";
constexpr int shrink_runs = 4000;
constexpr int shrink_children = 600;
constexpr int shrink_hangs = 40;
constexpr unsigned program_s = 60;  ///< for one program, which takes milliseconds
constexpr unsigned hang_s = 5;      ///< the same while shrinking one that hangs
constexpr double shrink_s = 30;     ///< for shrinking, all of it before the alarm of program_s

PageCacheCounters page_counters;
RangeCacheCounters range_counters;
RangeCacheCounters lock_counters;

Outcome run_one(const PageProgram& program, Fault fault) { return run(program, fault, page_counters); }
Outcome run_one(const RangeProgram& program, Fault fault) { return run(program, fault, range_counters); }
Outcome run_one(const LockProgram& program, Fault fault) { return run(program, fault, lock_counters); }

/// Calls `use` with the program of that seed.
template <class Use>
auto with_program(CacheKind cache, std::uint64_t seed, const Use& use) {
    switch (cache) {
        case CacheKind::pages:
            return use(make_page_program(seed));
        case CacheKind::ranges:
            return use(make_range_program(seed));
        default:
            return use(make_lock_program(seed));
    }
}

/// A campaign's report to its parent, in shared memory.
struct Report {
    CacheKind cache;
    std::uint64_t program;
    bool told;  ///< it has reported its failure itself
};

class Clock {
  public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }

  private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

template <class Program>
Finding finding(const Program& program, const std::string& failure, std::uint32_t op) {
    Finding result;
    result.what = failure + "\n  at #" + std::to_string(op) + ", with " + to_text(program);
    for (const auto& one : program.ops)
        result.history.push_back(to_text(one));
    return result;
}

/// The shortest program that fails, found by fails(program). Random decisions are tried with several seeds:
/// without some operations a program often behaves differently.
template <class Program, class Fails>
Program smallest(const Program& program, int runs, std::uint64_t seeds, Fails&& fails) {
    Program tried = program;
    Program small = program;
    using Op = typename decltype(Program::ops)::value_type;
    const auto fails_somehow = [&](const std::vector<Op>& ops) {
        tried.ops = ops;
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
            tried.chance = seed == 0 ? small.chance : mixed(small.chance + seed);
            if (!fails(tried)) continue;
            small.chance = tried.chance;
            return true;
        }
        return false;
    };
    small.ops = shrunk(program.ops, fails_somehow, runs);
    return small;
}

template <class Program>
std::optional<Finding> examine(const Program& program, Fault fault, Outcome& total) {
    const Outcome outcome = run_one(program, fault);
    total.ops += outcome.ops;
    total.bytes += outcome.bytes;
    if (outcome.failure.empty()) return std::nullopt;
    const Clock clock;
    const auto fails = [&](const Program& one) {
        if (clock.seconds() > shrink_s) return false;
        // Without a barrier a program may have races; that alone is then no failure.
        const std::string failure = run_one(one, fault).failure;
        return !failure.empty() && failure.find(races) == failure.npos;
    };
    if (outcome.failure.find(races) != outcome.failure.npos)
        return finding(program, outcome.failure, outcome.op);
    const Program small = smallest(program, shrink_runs, 6, fails);
    const Outcome last = run_one(small, fault);
    // Timing-dependent failures may not repeat.
    if (last.failure.empty()) return finding(program, outcome.failure, outcome.op);
    return finding(small, last.failure, last.op);
}

/// \return whether the program crashes, in a silent child process
template <class Program>
bool crashes(const Program& program, Fault fault) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, 1);
        dup2(nowhere, 2);
        alarm(hang_s);
        run_one(program, fault);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status != 0;
}

template <class Program>
Finding examine_crash(const Program& program, Fault fault, bool hangs) {
    if (!crashes(program, fault)) return finding(program, "it crashed, but not a second time", 0);
    const Program small = smallest(program, hangs ? shrink_hangs : shrink_children, 1,
                                   [&](const Program& one) { return crashes(one, fault); });
    return finding(small, hangs ? "it hangs" : "it crashes: the message stands above",
                   small.ops.empty() ? 0 : small.ops.back().id);
}

void print(const Finding& found, CacheKind cache, std::uint64_t program, const Options& options) {
    const std::string name(name_of(cache));
    std::printf("\nFAILED: cache %s, seed %llu, program 0x%llx\n  %s\n\nHistory, shrunk to %zu operations:\n",
                name.c_str(), static_cast<unsigned long long>(options.seed),
                static_cast<unsigned long long>(program), found.what.c_str(), found.history.size());
    for (const std::string& line : found.history)
        std::printf("  %s\n", line.c_str());
    std::string fault;
    for (const FaultInfo& info : fault_table)
        if (info.fault == options.fault) fault = " --fault " + std::string(info.name);
    std::printf("\nTo run it again: ./nf simulate --cache %s --program 0x%llx%s\n", name.c_str(),
                static_cast<unsigned long long>(program), fault.c_str());
    std::fflush(stdout);
}

/// Totals over all programs of a cache.
struct Totals {
    CacheKind cache;
    Outcome sum;
    std::uint64_t programs = 0;
};

std::string to_text(const Totals& totals, double seconds) {
    char text[160];
    std::snprintf(text, sizeof text, "%s: %llu operations in %llu programs, %llu bytes checked, %.0f s",
                  std::string(name_of(totals.cache)).c_str(), static_cast<unsigned long long>(totals.sum.ops),
                  static_cast<unsigned long long>(totals.programs),
                  static_cast<unsigned long long>(totals.sum.bytes), seconds);
    return text;
}

void show_progress(const std::vector<Totals>& all, const Clock& clock) {
    static const bool terminal = isatty(2) != 0;
    static double next = 0;
    if (clock.seconds() < next) return;
    next = clock.seconds() + (terminal ? 0.5 : 10);
    std::string line = terminal ? "\r" : "";
    for (const Totals& totals : all)
        line += (&totals == all.data() ? "" : "; ") + to_text(totals, clock.seconds());
    std::fprintf(stderr, "%s%s", line.c_str(), terminal ? "" : "\n");
}

/// The counters' table, to show what the programs did and never did.
template <class Table, class Counters>
void print_counters(const Table& table, const Counters& counters) {
    int column = 0;
    for (const auto& row : table) {
        std::printf("  %-22s%12llu%s", std::string(row.name).c_str(),
                    static_cast<unsigned long long>(counters.*row.member), ++column % 3 == 0 ? "\n" : "");
    }
    if (column % 3 != 0) std::printf("\n");
}

int run_programs(const Options& options, Report& report) {
    const Clock clock;
    std::vector<Totals> all;
    for (const CacheKind cache : options.caches)
        all.push_back({cache, {}, 0});
    const auto enough = [&](const Totals& totals) {
        if (options.program) return totals.programs != 0;
        return (options.seconds != 0 && clock.seconds() >= options.seconds) ||
               (options.operations != 0 && totals.sum.ops >= options.operations);
    };
    for (bool more = true; more;) {
        more = false;
        for (Totals& totals : all) {
            if (enough(totals)) continue;
            more = true;
            report.cache = totals.cache;
            report.program = options.program ? *options.program
                                             : program_seed(totals.cache, options.seed, totals.programs);
            ++totals.programs;
            alarm(program_s);
            if (const auto found = examine(totals.cache, report.program, options.fault, totals.sum)) {
                report.told = true;
                print(*found, totals.cache, report.program, options);
                return 1;
            }
        }
        if (options.progress) show_progress(all, clock);
    }
    alarm(0);
    if (options.progress && isatty(2) != 0) std::fprintf(stderr, "\n");
    for (const Totals& totals : all) {
        std::printf("%s, nothing found (seed %llu)\n", to_text(totals, clock.seconds()).c_str(),
                    static_cast<unsigned long long>(options.seed));
        if (totals.cache == CacheKind::pages)
            print_counters(page_cache_counter_table, page_counters);
        else
            print_counters(range_cache_counter_table,
                           totals.cache == CacheKind::ranges ? range_counters : lock_counters);
    }
    std::fflush(stdout);
    return 0;
}

}  // namespace

std::uint64_t program_seed(CacheKind cache, std::uint64_t seed, std::uint64_t index) {
    return mixed(mixed(seed * 2 + static_cast<std::uint64_t>(cache)) + index);
}

std::optional<Finding> examine(CacheKind cache, std::uint64_t seed, Fault fault, Outcome& total) {
    return with_program(cache, seed, [&](const auto& program) { return examine(program, fault, total); });
}

int campaign(const Options& options) {
    void* const memory =
        mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return run_programs(options, *new Report());
    auto& report = *new (memory) Report();
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) std::exit(run_programs(options, report));
    int status = 1;
    waitpid(child, &status, 0);
    if (status == 0) return 0;
    if (report.told) return 1;
    const bool hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    std::printf("\nThe campaign has died; its last program is run again to shrink it.\n");
    const Finding found = with_program(report.cache, report.program, [&](const auto& program) {
        return examine_crash(program, options.fault, hangs);
    });
    print(found, report.cache, report.program, options);
    return 1;
}

}  // namespace nearfetch::simulation
