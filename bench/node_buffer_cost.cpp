// SPDX-License-Identifier: Apache-2.0
//
// What the node buffer costs: a range that is found, one that is not, one that is offered, and a copy of as
// many bytes. Other processes do the same with other ranges meanwhile. Prints one JSON object.

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <vector>

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/xorshift.hpp"
#include "replay/own_node_buffer.hpp"

using namespace nearfetch;

namespace {

constexpr std::uint64_t record_bytes = 64 << 20;  // as a window has them by default
constexpr std::uint64_t ranges = 512;             // of each process: those of eight fit

/// A node buffer and one process's ranges in it.
class Process {
  public:
    Process(const NodeBuffer& buffer, Rank self, std::uint64_t size)
        : buffer_(buffer), self_(self), size_(size), bytes_(size) {
        for (std::uint64_t i = 0; i < ranges; ++i)
            while (!offer(range(i))) {
            }
    }

    /// Any of its ranges.
    ByteRange any() { return range(chance_.below(ranges)); }
    /// \param since 1: what is there
    bool find(ByteRange range, NodeTime since) {
        NodeTime issued = 0;
        return buffer_.find(self_, range.begin, range, since, bytes_.data(), issued) !=
               NodeBuffer::Found::nothing;
    }
    bool offer(ByteRange range) { return buffer_.offer(self_, range.begin, range, ++now_, bytes_.data()); }
    /// As a window does that misses: another process may be fetching the range, and this one is going to.
    bool misses(ByteRange range, NodeTime since) {
        if (find(range, since) || buffer_.last_flight(self_, range.begin) == ~NodeTime{0}) return false;
        buffer_.note_flight(self_, range.begin, now_);
        return true;
    }
    /// What is not found is fetched, and offered. Some of it is too old.
    void ask() {
        const ByteRange range = any();
        if (misses(range, chance_.below(1024) == 0 ? now_ + 1 : 1)) offer(range);
    }
    void copy(const std::byte* from) { copy_bytes(bytes_.data(), from + any().begin, size_); }

  private:
    ByteRange range(std::uint64_t i) const { return {i * size_, (i + 1) * size_}; }

    NodeBuffer buffer_;
    Rank self_;
    std::uint64_t size_;
    NodeTime now_ = 0;
    Xorshift chance_{static_cast<std::uint64_t>(self_) + 1};
    std::vector<std::byte> bytes_;
};

template <class Call>
double ns_each(std::uint64_t count, const Call& call) {
    const std::uint64_t begin_ns = steady_ns();
    for (std::uint64_t i = 0; i < count; ++i)
        call();
    return static_cast<double>(steady_ns() - begin_ns) / static_cast<double>(count);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("What the node buffer costs.");
    std::uint64_t size = 8, count = 1'000'000;
    int processes = 1;
    app.add_option("--size", size, "bytes of a range")->check(CLI::Range(1, 65536));
    app.add_option("--count", count, "operations of each kind")->check(CLI::Range(1, 1 << 30));
    app.add_option("--processes", processes, "that use it")->check(CLI::Range(1, 64));
    CLI11_PARSE(app, argc, argv);

    const OwnNodeBuffer shared(record_bytes);
    std::vector<pid_t> others;
    for (int i = 1; i < processes; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);  // not to outlive what it is measured for
            for (Process other(shared.buffer(), i, size);;)
                other.ask();
        }
        others.push_back(child);
    }
    Process own(shared.buffer(), 0, size);
    std::uint64_t found = 0, missed = 0, offered = 0;
    const std::vector<std::byte> source(ranges * size);
    const double copy_ns = ns_each(count, [&] { own.copy(source.data()); });
    const double hit_ns = ns_each(count, [&] { found += own.find(own.any(), 1); });
    const double miss_ns = ns_each(count, [&] { missed += own.misses(own.any(), ~NodeTime{0}); });
    const double offer_ns = ns_each(count, [&] { offered += own.offer(own.any()); });
    for (const pid_t other : others) {
        kill(other, SIGKILL);
        waitpid(other, nullptr, 0);
    }
    std::printf(
        "{\"size\": %llu, \"processes\": %d, \"hit_ns\": %.2f, \"miss_ns\": %.2f, \"offer_ns\": %.2f, "
        "\"copy_ns\": %.2f, \"found\": %llu, \"missed\": %llu, \"offered\": %llu}\n",
        static_cast<unsigned long long>(size), processes, hit_ns, miss_ns, offer_ns, copy_ns,
        static_cast<unsigned long long>(found), static_cast<unsigned long long>(missed),
        static_cast<unsigned long long>(offered));
    return 0;
}
