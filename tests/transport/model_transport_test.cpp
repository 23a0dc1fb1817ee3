// SPDX-License-Identifier: Apache-2.0

// The model in front of a transport that is slow and fails: both have to be complete, and statuses are passed
// on.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "rig.hpp"
#include "transport/model/model_transport.hpp"

namespace nearfetch {
namespace {

using namespace test;

/// Completes each operation when it is asked for the third time, in the reverse order.
class SlowTransport final : public Transport {
  public:
    int start_get(Rank target, std::uint64_t, std::uint64_t, std::byte* to, Token token) override {
        if (target == refused_target) return 42;
        *to = std::byte{7};
        return start(target, token);
    }
    int start_put(Rank target, std::uint64_t, std::uint64_t, const std::byte*, Token token) override {
        return start(target, token);
    }
    std::size_t test(std::span<Completion> out) override {
        std::size_t count = 0;
        for (auto operation = under_way_.rbegin(); operation != under_way_.rend(); ++operation) {
            if (--operation->looks > 0 || count == out.size()) continue;
            out[count++] = {.token = operation->token,
                            .status = operation->target == failing_target ? 43 : 0};
        }
        std::erase_if(under_way_, [](const Operation& operation) { return operation.looks <= 0; });
        return count;
    }
    std::size_t wait(std::span<Completion> out) override {
        ++waits;
        std::size_t count = 0;
        while (count == 0)
            count = test(out);
        return count;
    }
    ByteRange readable(Rank, std::uint64_t) const noexcept override { return {0, 1000}; }
    void yield() override { ++yields; }
    std::uint64_t now_ns() override { return 0; }
    std::string status_text(int status) const override { return "slow " + std::to_string(status); }

    static constexpr Rank refused_target = 8;
    static constexpr Rank failing_target = 9;
    int starts = 0;
    int waits = 0;
    int yields = 0;

  private:
    struct Operation {
        Rank target;
        Token token;
        int looks;
    };

    int start(Rank target, Token token) {
        ++starts;
        under_way_.push_back({target, token, 3});
        return 0;
    }

    std::vector<Operation> under_way_;
};

/// A clock that advances only when it is waited for; no ranks.
class HandClock final : public ModelClock {
  public:
    std::uint64_t now_ns() const override { return now; }
    void compute(std::uint64_t ns) override { now += ns; }
    void spend(std::uint64_t) override {}
    void wait_until(std::uint64_t ns) override { now = std::max(now, ns); }
    void run_earlier_events() override {}

    std::uint64_t now = 1000;
};

class OverSlow : public testing::TestWithParam<bool> {
  protected:
    OverSlow() {
        auto inner = std::make_unique<SlowTransport>();
        slow_ = inner.get();
        settings_.late_effects = GetParam();
        model_ =
            std::make_unique<ModelTransport>(std::move(inner), settings_, 1, 0, network_, clock_, nullptr);
    }

    int get(Rank target, Token token) { return model_->start_get(target, 0, 1, &byte_, token); }

    ModelSettings settings_;
    HandClock clock_;
    Network network_{network_model("fdr-ib"), 10};
    SlowTransport* slow_ = nullptr;
    std::unique_ptr<ModelTransport> model_;
    std::byte byte_{};
    std::array<Completion, 4> done_{};
};

TEST_P(OverSlow, BothTheTransportAndTheModelHaveToBeDone) {
    ASSERT_EQ(get(1, 5), 0);
    clock_.now += 1'000'000;
    EXPECT_EQ(model_->test(done_), 0U);  // due, but incomplete inside
    ASSERT_EQ(model_->wait(done_), 1U);
    EXPECT_EQ(done_[0].token, 5U);
    EXPECT_EQ(byte_, std::byte{7});

    const std::uint64_t begin_ns = clock_.now;
    ASSERT_EQ(get(1, 6), 0);
    for (int look = 0; look < 10; ++look)
        EXPECT_EQ(model_->test(done_), 0U);  // complete inside, but not due
    ASSERT_EQ(model_->wait(done_), 1U);
    EXPECT_GE(clock_.now - begin_ns, 2100U);
    EXPECT_EQ(model_->test(done_), 0U);
}

TEST_P(OverSlow, AStatusIsPassedOn) {
    ASSERT_EQ(get(SlowTransport::failing_target, 5), 0);
    ASSERT_EQ(get(1, 6), 0);
    std::map<Token, int> status;
    while (status.size() < 2) {
        const std::size_t count = model_->wait(done_);
        ASSERT_GT(count, 0U);
        for (std::size_t i = 0; i < count; ++i)
            status[done_[i].token] = done_[i].status;
    }
    EXPECT_EQ(status[5], 43);
    EXPECT_EQ(status[6], 0);
    EXPECT_EQ(model_->status_text(43), "slow 43");
}

TEST_P(OverSlow, ARefusalComesAtOnceOrWithTheCompletion) {
    const int status = get(SlowTransport::refused_target, 5);
    if (!GetParam()) {
        EXPECT_EQ(status, 42);
        EXPECT_EQ(model_->test(done_), 0U);
        EXPECT_EQ(network_.at(0).traffic().get_messages, 0U);
    } else {
        EXPECT_EQ(status, 0);
        ASSERT_EQ(model_->wait(done_), 1U);
        EXPECT_EQ(done_[0].token, 5U);
        EXPECT_EQ(done_[0].status, 42);
    }
}

TEST_P(OverSlow, ManyAreEachStartedAndReportedOnce) {
    std::map<Token, int> reported;
    Token token = 0;
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 7; ++i)
            ASSERT_EQ(get(1, token++), 0);
        const std::size_t count = model_->wait(done_);
        for (std::size_t i = 0; i < count; ++i)
            ++reported[done_[i].token];
    }
    while (reported.size() < token) {
        const std::size_t count = model_->wait(done_);
        ASSERT_GT(count, 0U);
        for (std::size_t i = 0; i < count; ++i)
            ++reported[done_[i].token];
    }
    for (const auto& [which, times] : reported)
        EXPECT_EQ(times, 1) << which;
    EXPECT_EQ(slow_->starts, 350);
    EXPECT_EQ(network_.at(0).traffic().get_messages, 350U);
}

TEST_P(OverSlow, YieldingReachesTheTransport) {
    model_->yield();
    EXPECT_EQ(slow_->yields, 1);
}

INSTANTIATE_TEST_SUITE_P(Effects, OverSlow, testing::Bool(),
                         [](const auto& late) { return late.param ? "late" : "at_start"; });

}  // namespace
}  // namespace nearfetch
