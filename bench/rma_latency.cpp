// SPDX-License-Identifier: Apache-2.0
//
// What single one-sided operations cost: 001, section IV-A, Fig. 7 and 8. Rank 0 reads from rank 1, which
// sits inside MPI. A plain MPI program; under nearfetch each --config is a window with settings of its own
// (windows.hpp), and all take turns, batch by batch.
//
// Patterns:
//   hit      get + flush of one address, again and again
//   rotating get + flush of 64 addresses in turn
//   miss     get + flush, never the same address twice, and never near one that was read before
//   flush    a flush with nothing outstanding
//   overlap  get, computation for as long as a get + flush takes, flush: how much of the communication the
//            computation hides, 1 - (T_total - T_computation) / T_communication; never the same address twice
//   call     for reference: two calls of functions that do nothing, with the arguments of a get and a flush
//   memcpy   for reference: a copy of `size` bytes, the same ones again and again
//   memcpy_rotating  for reference: a copy of `size` bytes, from 64 places in turn
// Copies take turns with the hits, or rotating ones, that they are compared with: what the others leave in
// the processor's caches is the same for both, and so is the processor's speed, which is not always.
//
// One JSON object per line: pattern, config, size_bytes, and the median time of one operation in ns over
// `samples` batches (for overlap: the median of ratios); the counters of nearfetch over that time,
// unless with --counted 0, for nearfetch looks at every call then, or where it does not see the calls.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "windows.hpp"

namespace nearfetch::bench {
namespace {

constexpr double batch_ns_least = 20000;
constexpr std::uint64_t warm_up_gets = 16;
constexpr std::uint64_t warm_up_turns = 4;
constexpr std::uint64_t rotating_ranges = 64;
constexpr std::uint64_t hot_ranges = 1 + rotating_ranges;
constexpr std::uint64_t cache_line = 64;
/// Between one miss and the next. More than a block of nearfetch's read-ahead, so that no miss touches a
/// block for the second time, nor one beside it; and a line more, so that misses use all sets of the CPU's
/// caches.
constexpr std::uint64_t miss_gap = 8192 + cache_line;

constexpr std::uint64_t memory_per_size = 16u << 20;  ///< that misses walk over, at most

struct Plan {
    bool allocate = false;
    std::vector<std::uint64_t> sizes;
    std::vector<std::string> patterns;
    std::vector<Config> configs;
    bool counted = true;
    std::uint64_t samples = 0;
    std::uint64_t gets = 0;  ///< misses per size and window, at most

    bool has(const std::string& pattern) const {
        return std::find(patterns.begin(), patterns.end(), pattern) != patterns.end();
    }
    static std::uint64_t stride(std::uint64_t size) {
        return (size + cache_line - 1) / cache_line * cache_line;
    }
    static std::uint64_t miss_stride(std::uint64_t size) { return stride(size) + miss_gap; }
    std::uint64_t misses(std::uint64_t size) const {
        return std::clamp<std::uint64_t>(memory_per_size / miss_stride(size), 64,
                                         std::max<std::uint64_t>(gets, 64));
    }
    std::uint64_t overlap_samples(std::uint64_t size) const { return std::min(samples, misses(size) / 4); }
    /// Memory of the target: a hot range for each size, then what misses and overlaps walk through.
    /// \param users configurations that share the window
    std::uint64_t window_bytes(std::uint64_t users) const {
        std::uint64_t bytes = 0;
        for (const std::uint64_t size : sizes)
            bytes +=
                stride(size) * hot_ranges +
                users * miss_stride(size) * (misses(size) + 2 * overlap_samples(size) + 3 * warm_up_gets);
        return bytes;
    }
};

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void print(const char* pattern, const std::string& config, std::uint64_t size,
           const std::vector<double>& values, std::uint64_t batch, const std::optional<Counters>& counters) {
    std::printf(
        "{\"pattern\": \"%s\", \"config\": \"%s\", \"size_bytes\": %llu, \"median\": %.6g, \"batch\": %llu, "
        "\"samples\": %zu%s%s}\n",
        pattern, config.c_str(), static_cast<unsigned long long>(size), median(values),
        static_cast<unsigned long long>(batch), values.size(), counters ? ", \"counters\": " : "",
        counters ? counters->json().c_str() : "");
    std::fflush(stdout);
}

template <class Operation>
double time_ns(std::uint64_t count, const Operation& operation) {
    const double begin = now_ns();
    for (std::uint64_t i = 0; i < count; ++i)
        operation();
    return now_ns() - begin;
}

/// Operations per batch, so that the clock is not what is measured; nor one operation that takes long.
/// \param batch_ns(n) what n of them take
template <class BatchNs>
std::uint64_t calibrate(const BatchNs& batch_ns) {
    std::uint64_t batch = 1;
    while (std::min(batch_ns(batch), batch_ns(batch)) < batch_ns_least && batch < (1u << 20))
        batch *= 2;
    return batch;
}
/// The same of an operation that is made again and again.
template <class Operation>
std::uint64_t calibrate_each(const Operation& operation) {
    return calibrate([&](std::uint64_t batch) { return time_ns(batch, operation); });
}

class Origin {
  public:
    Origin(const Plan& plan, const std::vector<std::unique_ptr<BenchWindow>>& windows)
        : plan_(plan), windows_(windows), buffer_(new (std::align_val_t{64}) std::byte[plan.sizes.back()]) {
        std::uint64_t hot_bytes = 0;
        for (const std::uint64_t size : plan.sizes)
            hot_bytes += hot_ranges * Plan::stride(size);
        for (const auto& window : windows)
            cursors_[window->handle()] = hot_bytes;
    }

    void run() {
        if (plan_.has("call")) measure_call();
        if (plan_.has("hit")) measure_hits("hit", 1);
        if (plan_.has("rotating")) measure_hits("rotating", rotating_ranges);
        if (plan_.has("flush")) measure_flush();
        if (plan_.has("overlap")) measure_overlap();
        if (plan_.has("miss")) measure_misses();
    }

  private:
    /// A copy for reference: its times, and what takes the time of a batch.
    struct Reference {
        const char* pattern;
        std::function<double(std::uint64_t)> batch_ns;
        std::uint64_t batch;
        std::vector<double> values;
    };

    struct Free {
        void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
    };

    void get_flush(std::size_t window, std::uint64_t offset, std::uint64_t size) {
        windows_[window]->get(buffer_.get(), offset, size);
        windows_[window]->flush();
    }
    void get_flush_next(std::size_t window, std::uint64_t size) {
        get_flush(window, next(window, size), size);
    }
    std::uint64_t next(std::size_t window, std::uint64_t size) {
        std::uint64_t& cursor = cursors_.at(windows_[window]->handle());
        const std::uint64_t offset = cursor + miss_gap;
        cursor += Plan::miss_stride(size);
        return offset;
    }

    /// The windows take turns, every other time backwards.
    template <class Visit>
    void each_window(std::uint64_t turn, const Visit& visit) {
        for (std::size_t i = 0; i < windows_.size(); ++i)
            visit(turn % 2 == 0 ? i : windows_.size() - 1 - i);
    }

    using AllCounters = std::vector<std::optional<Counters>>;

    /// Of each window; none where they are not wanted, or the calls go past nearfetch.
    AllCounters counters() const {
        AllCounters all;
        for (std::size_t w = 0; w < windows_.size(); ++w) {
            const bool is_seen = plan_.counted && !BenchWindow::goes_past(plan_.configs[w]);
            all.push_back(is_seen ? std::optional(Counters::of(*windows_[w])) : std::nullopt);
        }
        return all;
    }
    /// \param before what counters() were before that
    void report(const char* pattern, std::uint64_t size, const std::vector<std::vector<double>>& values,
                const std::vector<std::uint64_t>& batches, const AllCounters& before) const {
        AllCounters during = counters();
        for (std::size_t w = 0; w < windows_.size(); ++w) {
            if (during[w]) during[w] = during[w]->since(*before[w]);
            print(pattern, plan_.configs[w].name, size, values[w], batches[w], during[w]);
        }
    }

    /// Batches of `operation(window)` on each window, and of the reference, in turn.
    template <class Operation>
    void measure_batches(const char* pattern, std::uint64_t size, std::uint64_t samples,
                         std::vector<std::uint64_t> batches, const Operation& operation,
                         std::optional<Reference> reference = {}) {
        const AllCounters before = counters();
        std::vector<std::vector<double>> values(windows_.size());
        for (std::uint64_t sample = 0; sample < samples; ++sample) {
            each_window(sample, [&](std::size_t w) {
                values[w].push_back(time_ns(batches[w], [&] { operation(w); }) /
                                    static_cast<double>(batches[w]));
            });
            if (reference)
                reference->values.push_back(reference->batch_ns(reference->batch) /
                                            static_cast<double>(reference->batch));
        }
        report(pattern, size, values, batches, before);
        if (reference) print(reference->pattern, "reference", size, reference->values, reference->batch, {});
    }

    /// Get + flush of `ranges` addresses in turn, all of them asked for before.
    void measure_hits(const char* pattern, std::uint64_t ranges) {
        for (const std::uint64_t size : plan_.sizes) {
            const std::uint64_t first = hot_;
            hot_ += ranges * Plan::stride(size);
            std::uint64_t turn = 0;
            const auto get_next = [&](std::size_t w) {
                get_flush(w, first + turn * Plan::stride(size), size);
                turn = turn + 1 == ranges ? 0 : turn + 1;
            };
            std::vector<std::uint64_t> batches;
            for (std::size_t w = 0; w < windows_.size(); ++w) {
                // More than once: a large range is cached when it is asked for again.
                time_ns(ranges * warm_up_turns, [&] { get_next(w); });
                batches.push_back(calibrate_each([&] { get_next(w); }));
            }
            measure_batches(pattern, size, plan_.samples, batches, get_next,
                            reference(ranges == 1 ? "memcpy" : "memcpy_rotating", ranges, size));
        }
    }

    void measure_flush() {
        std::vector<std::uint64_t> batches;
        for (const auto& window : windows_)
            batches.push_back(calibrate_each([&] { window->flush(); }));
        measure_batches("flush", 0, plan_.samples, batches, [&](std::size_t w) { windows_[w]->flush(); });
    }

    void measure_misses() {
        for (const std::uint64_t size : plan_.sizes) {
            // What the first of them take is no measure.
            double slowest_ns = 0;
            for (const bool counts : {false, true})
                each_window(0, [&](std::size_t w) {
                    const double ns = time_ns(warm_up_gets, [&] { get_flush_next(w, size); });
                    if (counts) slowest_ns = std::max(slowest_ns, ns / static_cast<double>(warm_up_gets));
                });
            const std::uint64_t gets = plan_.misses(size);
            const auto wanted = static_cast<std::uint64_t>(batch_ns_least / std::max(slowest_ns, 1.0)) + 1;
            const std::uint64_t batch = std::min(wanted, gets / 16);
            measure_batches("miss", size, gets / batch, std::vector(windows_.size(), batch),
                            [&](std::size_t w) { get_flush_next(w, size); });
        }
    }

    void measure_overlap() {
        for (const std::uint64_t size : plan_.sizes) {
            const std::uint64_t samples = plan_.overlap_samples(size);
            std::vector<std::vector<double>> alone_ns(windows_.size());
            std::vector<std::vector<double>> overlaps(windows_.size());
            each_window(0, [&](std::size_t w) { time_ns(warm_up_gets, [&] { get_flush_next(w, size); }); });
            const AllCounters before = counters();
            for (std::uint64_t i = 0; i < samples; ++i)
                each_window(i, [&](std::size_t w) {
                    alone_ns[w].push_back(time_ns(1, [&] { get_flush_next(w, size); }));
                });
            for (std::uint64_t i = 0; i < samples; ++i)
                each_window(
                    i, [&](std::size_t w) { overlaps[w].push_back(overlap(w, size, median(alone_ns[w]))); });
            report("overlap", size, overlaps, std::vector<std::uint64_t>(windows_.size(), 1), before);
        }
    }

    double overlap(std::size_t w, std::uint64_t size, double alone_ns) {
        const double begin = now_ns();
        windows_[w]->get(buffer_.get(), next(w, size), size);
        const double computing_from = now_ns();
        while (now_ns() - computing_from < alone_ns) {
        }
        const double computed_ns = now_ns() - computing_from;
        windows_[w]->flush();
        return 1 - (now_ns() - begin - computed_ns) / alone_ns;
    }

    static int nothing_get(void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win) { return 0; }
    static int nothing_flush(int, MPI_Win) { return 0; }

    void measure_call() {
        // Volatile: the compiler may not see through them.
        decltype(&nothing_get) volatile get = nothing_get;
        decltype(&nothing_flush) volatile flush = nothing_flush;
        const auto both = [&] {
            get(buffer_.get(), 8, MPI_BYTE, target_rank, 0, 8, MPI_BYTE, MPI_WIN_NULL);
            flush(target_rank, MPI_WIN_NULL);
        };
        const std::uint64_t batch = calibrate_each(both);
        std::vector<double> values;
        for (std::uint64_t i = 0; i < plan_.samples; ++i)
            values.push_back(time_ns(batch, both) / static_cast<double>(batch));
        print("call", "reference", 0, values, batch, {});
    }

    /// What hits of `ranges` addresses are compared with, if it is wanted.
    std::optional<Reference> reference(const char* pattern, std::uint64_t ranges, std::uint64_t size) {
        if (!plan_.has(pattern)) return {};
        auto memory = std::make_shared<std::vector<std::byte>>(ranges * Plan::stride(size));
        std::function<double(std::uint64_t)> batch_ns =
            [=, this, turn = std::uint64_t{0}](std::uint64_t batch) mutable {
                // Volatile: the compiler may not see through it.
                void* (*volatile copy)(void*, const void*, std::size_t) = std::memcpy;
                return time_ns(batch, [&] {
                    copy(buffer_.get(), memory->data() + turn * Plan::stride(size), size);
                    turn = turn + 1 == ranges ? 0 : turn + 1;
                });
            };
        const std::uint64_t batch = calibrate(batch_ns);
        return Reference{pattern, std::move(batch_ns), batch, {}};
    }

    const Plan& plan_;
    const std::vector<std::unique_ptr<BenchWindow>>& windows_;
    std::unique_ptr<std::byte[], Free> buffer_;
    std::map<MPI_Win, std::uint64_t> cursors_;  ///< where their next misses are
    std::uint64_t hot_ = 0;                     ///< where the next hot range begins
};

int run(const apps::MpiSession& mpi, const Plan& plan) {
    std::vector<std::unique_ptr<BenchWindow>> windows;
    const auto& configs = plan.configs;
    for (std::size_t i = 0; i < configs.size(); ++i) {
        const bool is_shared = i + 1 < configs.size() && BenchWindow::goes_past(configs[i + 1]);
        windows.push_back(i > 0 && BenchWindow::goes_past(configs[i])
                              ? std::make_unique<BenchWindow>(past, *windows.back())
                              : std::make_unique<BenchWindow>(
                                    mpi, configs[i], plan.window_bytes(is_shared ? 2 : 1), plan.allocate));
    }
    if (mpi.rank() == origin_rank) {
        for (const auto& window : windows)
            window->lock_all();
        Origin(plan, windows).run();
        for (const auto& window : windows)
            window->unlock_all();
    }
    // The target waits inside MPI, where it serves.
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}

}  // namespace
}  // namespace nearfetch::bench

int main(int argc, char** argv) {
    using namespace nearfetch;
    using namespace nearfetch::bench;
    const Arguments arguments(
        argc, argv, {"--window", "--sizes", "--patterns", "--config", "--samples", "--gets", "--counted"});
    Plan plan;
    plan.allocate = arguments.text("--window", "create") == "allocate";
    plan.sizes = arguments.numbers("--sizes", "8,64,512,4096,16384,65536");
    plan.patterns = split(arguments.text("--patterns", "call,memcpy,hit,miss,flush"), ',');
    plan.configs = arguments.configs();
    if (plan.configs.empty()) plan.configs.push_back({"plain", {}});
    plan.counted = arguments.number("--counted", 1) != 0;
    plan.samples = arguments.number("--samples", 100);
    plan.gets = arguments.number("--gets", 1000);
    if ((plan.has("memcpy") && !plan.has("hit")) || (plan.has("memcpy_rotating") && !plan.has("rotating")))
        give_up("bad --patterns (a copy takes turns with hits): add hit, or rotating");
    if (plan.sizes.empty() || !std::is_sorted(plan.sizes.begin(), plan.sizes.end()) ||
        plan.sizes.front() == 0 || plan.sizes.back() > (1u << 30) || plan.samples < 2)
        give_up("bad --sizes or --samples (sizes ascend from 1, samples are 2 or more): correct them");
    return run_two_ranks(argc, argv, [&](const apps::MpiSession& mpi) { return run(mpi, plan); });
}
