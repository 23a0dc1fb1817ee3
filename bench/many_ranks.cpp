// SPDX-License-Identifier: Apache-2.0
//
// What a window of a group of very many ranks takes: its creation, and gets of a few targets all over the
// group, over a network that does nothing. Prints one JSON object.

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <span>

#include "base/clock.hpp"
#include "rma/window_cache.hpp"

using namespace nearfetch;

namespace {

/// A network whose gets bring nothing, at once.
struct NoNetwork final : WindowTransfers, WindowListener, GetStarter {
    int start_get(Rank, std::span<const ByteRun>) override { return 0; }
    int start_put(Rank, std::span<const ByteRun>) override { return 0; }
    int flush_local(Rank) override { return 0; }
    void progress() override {}
    int start_whole() override { return 0; }
    int start_runs(std::span<const ByteRun>) override { return 0; }
    int start_waiting(Moment) override { return 1; }
};

/// Bytes that the program has allocated.
std::uint64_t bytes_in_use() {
    const struct mallinfo2 heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
}

struct Measured {
    std::uint64_t create_ns, access_ns, again_ns, bytes;
};

/// So many targets at equal distances are read once each, and once more.
Measured measure(Rank ranks, Rank accessed) {
    Settings settings;
    settings.mode = Mode::acquire;
    settings.buffer_bytes = 1 << 16;
    settings.index_entries = 1024;
    NoNetwork network;
    ProcessState process;
    std::uint64_t to = 0;
    const std::uint64_t bytes = bytes_in_use(), begin_ns = steady_ns();
    const auto window = std::make_unique<WindowCache>(settings, ranks, 0, false, process, network, network);
    window->locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::passive); });
    const std::uint64_t created_ns = steady_ns();
    const auto access = [&](std::uint64_t offset) {
        for (Rank i = 0; i < accessed; ++i) {
            const auto target = static_cast<Rank>(std::int64_t{ranks} * i / accessed);
            const ByteRun run{offset, sizeof to, reinterpret_cast<std::byte*>(&to)};
            Begun begun{};
            (void)window->gets().get({target, {&run, 1}, sizeof to}, network, begun);
            window->completions().complete(target, window->completions().now(), FlushKind::full, 0, 1000);
        }
    };
    access(0);
    const std::uint64_t accessed_ns = steady_ns();
    access(1 << 20);
    const std::uint64_t again_ns = steady_ns();
    (void)window->completions().flush_all(FlushKind::full);
    return {created_ns - begin_ns, accessed_ns - created_ns, again_ns - accessed_ns, bytes_in_use() - bytes};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("What a window of very many ranks takes.");
    Rank ranks = 1'000'000, accessed = 100;
    app.add_option("--ranks", ranks, "of its group")->check(CLI::Range(1, 1 << 30));
    app.add_option("--accessed", accessed, "targets")->check(CLI::Range(1, 1 << 30));
    CLI11_PARSE(app, argc, argv);

    measure(accessed, accessed);  // what a process makes once
    const Measured found = measure(ranks, accessed);
    std::printf(
        "{\"ranks\": %d, \"create_ns\": %llu, \"access_ns\": %llu, \"again_ns\": %llu, \"bytes\": %llu}\n",
        ranks, static_cast<unsigned long long>(found.create_ns),
        static_cast<unsigned long long>(found.access_ns), static_cast<unsigned long long>(found.again_ns),
        static_cast<unsigned long long>(found.bytes));
    return 0;
}
