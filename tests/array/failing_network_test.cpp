// SPDX-License-Identifier: Apache-2.0
//
// A network that fails while prefetched data is refreshed: partly fetched data is never read.

#include <cstring>

#include "node_rig.hpp"

namespace nearfetch {
namespace {

std::atomic<bool> broken = false;
std::atomic<int> failures = 0;

/// While broken, it delivers half of the bytes, with other values.
class FailingTransport final : public Transport {
  public:
    explicit FailingTransport(std::unique_ptr<Transport> working) : working_(std::move(working)) {}

    int start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                  Token token) override {
        if (!broken) return working_->start_get(target, address, size, to, token);
        ++failures;
        std::memset(to, 0xee, (size + 1) / 2);
        return -77;
    }
    int start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                  Token token) override {
        return working_->start_put(target, address, size, from, token);
    }
    std::size_t test(std::span<Completion> out) override { return working_->test(out); }
    std::size_t wait(std::span<Completion> out) override { return working_->wait(out); }
    ByteRange readable(Rank target, std::uint64_t address) const noexcept override {
        return working_->readable(target, address);
    }
    void yield() override { working_->yield(); }
    std::uint64_t now_ns() override { return working_->now_ns(); }

  private:
    std::unique_ptr<Transport> working_;
};

class FailingJob final : public Job {
  public:
    explicit FailingJob(Job& working) : working_(working) {}

    std::unique_ptr<Transport> endpoint() override {
        return std::make_unique<FailingTransport>(working_.endpoint());
    }
    Rank rank() const noexcept override { return working_.rank(); }
    Rank ranks() const noexcept override { return working_.ranks(); }
    std::span<std::byte> segment(std::uint64_t address) noexcept override {
        return working_.segment(address);
    }
    AddedSegment add_segment(std::uint64_t bytes) override { return working_.add_segment(bytes); }
    void remove_segment(std::uint64_t address) override { working_.remove_segment(address); }
    bool threads() const noexcept override { return working_.threads(); }
    std::uint64_t atomic(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                         std::uint64_t compare) override {
        return working_.atomic(target, address, op, operand, compare);
    }
    void start_addition(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t amount) override {
        working_.start_addition(target, address, op, amount);
    }
    void finish_additions() override { working_.finish_additions(); }
    void send(Rank target, Port port, std::span<const std::byte> bytes) override {
        working_.send(target, port, bytes);
    }
    bool receive(Port port, Message& message, bool wait) override {
        return working_.receive(port, message, wait);
    }
    void barrier(const CollectiveCall& call) override { working_.barrier(call); }
    void compute(std::uint64_t ns) override { working_.compute(ns); }
    bool virtual_time() const noexcept override { return working_.virtual_time(); }
    std::unique_ptr<Thread> start_thread(std::function<void()> body) override {
        return working_.start_thread(std::move(body));
    }

  private:
    Job& working_;
};

void anchor() {}

void launch_failing(const std::function<void()>& main) {
    const LaunchOptions options = array_options(2);
    launch_inproc(pgas::inproc_config(options), [&](Job& job) {
        FailingJob failing(job);
        pgas::Runtime(failing, options, &anchor).run(main);
    });
}

TEST(FailingNetwork, WhatHasComeInPartIsNotRead) {
    for (const bool consistent : {true, false})
        launch_failing([consistent] {
            BlockArray<long, 1> a({100});
            const auto write = [&](long round) {
                barrier();
                a.for_each([&](const Index<1>& i, long& element) { element = value_at(i, round); });
                barrier();
            };
            const long other = rank() == 0 ? 50 : 0;
            const auto expect = [&](long round) {
                for (long i = other; i < other + 50; ++i)
                    ASSERT_EQ(static_cast<long>(a(i)), value_at(Index<1>{i}, round)) << i;
            };
            const auto expect_failure = [&](const auto& fetch) {
                barrier(std::memory_order_relaxed);
                if (rank() == 0) broken = true;
                barrier(std::memory_order_relaxed);
                const int before = failures;
                EXPECT_THROW(fetch(), Error);
                EXPECT_GT(failures, before);
                barrier(std::memory_order_relaxed);
                if (rank() == 0) broken = false;
                barrier(std::memory_order_relaxed);
            };
            write(0);
            a.prefetch_all_to_all({.consistent = consistent, .static_domain = true});
            expect(0);
            // All of the old data is as good as the new.
            expect_failure([&] { a.update_prefetch(); });
            expect(0);
            if (!consistent) return;
            write(1);
            expect_failure([&] { (void)static_cast<long>(a(other)); });
            expect(1);
        });
}

TEST(FailingNetwork, WhatHasComeInPartIsNotShared) {
    const NodeMemories memories(4, 2, {1 << 20, 1 << 24});
    const LaunchOptions options = array_options(4);
    launch_inproc(pgas::inproc_config(options), [&](Job& job) {
        FailingJob failing(job);
        pgas::Runtime runtime(failing, options, &anchor, nullptr, &memories.of_rank(job.rank()));
        runtime.run([&] {
            BlockArray<long, 2> a({200, 200});
            a.prefetch_all_to_all({.static_domain = true});
            for (long round = 1; round < 5; ++round) {
                a.for_each([&](const Index<2>& i, long& element) { element = value_at(i, round); });
                barrier();
                const auto read_all = [&] {
                    for_each_index(a.bounds(),
                                   [&](const Index<2>& i) { EXPECT_EQ(a.read(i), value_at(i, round)); });
                };
                barrier();
                if (rank() == 0) broken = true;
                barrier();
                EXPECT_THROW(read_all(), Error);
                barrier();
                if (rank() == 0) broken = false;
                barrier();
                read_all();
                EXPECT_GT(prefetch_statistics().shared_bytes, 0u);
                barrier();
            }
            a.evict_prefetch();
            barrier();
            EXPECT_EQ(runtime.node_sharing()->version_bytes(), 0u);
        });
    });
}

}  // namespace
}  // namespace nearfetch
