// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "rig.hpp"
#include "transport/model/random.hpp"

namespace nearfetch::test {

/// Random GETs and PUTs of one thread in bytes that only it writes, with a model of their contents.
class RandomOperations {
  public:
    /// \param number the thread's number among those of all ranks, hence its stripe of each segment
    /// \param most limit of outstanding operations
    RandomOperations(Job& job, std::uint64_t number, std::size_t most)
        : transport_(job.endpoint()), chance_(number + 1), first_(number * stripe_bytes), most_(most) {
        for (Rank rank = 0; rank < job.ranks(); ++rank)
            model_[rank].assign(stripe_bytes, std::byte{0});
    }

    void run(int operations) {
        // What earlier tests left there.
        for (auto& [target, bytes] : model_)
            start(true, target, {0, stripe_bytes});
        while (!under_way_.empty())
            report_some(true);
        for (int i = 0; i < operations; ++i) {
            const auto target = static_cast<Rank>(chance_.up_to(model_.size() - 1));
            const std::uint64_t size = 1 + chance_.up_to(chance_.up_to(7) == 0 ? 3999 : 99);
            const std::uint64_t begin = chance_.up_to(stripe_bytes - size);
            const ByteRange range{begin, begin + size};
            const bool put = chance_.up_to(1) == 0;
            while (under_way_.size() >= most_ || conflicts(put, target, range))
                report_some(chance_.up_to(1) == 0);
            start(put, target, range);
            if (chance_.up_to(2) == 0) report_some(false);
        }
        while (!under_way_.empty())
            report_some(chance_.up_to(1) == 0);
        std::array<Completion, 2> none;
        EXPECT_EQ(transport_->test(none), 0U);
    }

  private:
    static constexpr std::uint64_t stripe_bytes = 1 << 14;

    struct UnderWay {
        bool put;
        Rank target;
        ByteRange range;
        std::vector<std::byte> bytes;
    };

    bool conflicts(bool put, Rank target, ByteRange range) const {
        return std::any_of(under_way_.begin(), under_way_.end(), [&](const auto& entry) {
            const UnderWay& other = entry.second;
            return other.target == target && (put || other.put) && other.range.overlaps(range);
        });
    }

    void start(bool put, Rank target, ByteRange range) {
        UnderWay& operation =
            under_way_[++last_] = {put, target, range, std::vector<std::byte>(range.size())};
        if (put) {
            for (std::uint64_t i = 0; i < range.size(); ++i)
                model_[target][range.begin + i] = operation.bytes[i] =
                    static_cast<std::byte>(chance_.up_to(255));
        }
        const std::uint64_t address = first_ + range.begin;
        std::byte* const bytes = operation.bytes.data();
        EXPECT_EQ(put ? transport_->start_put(target, address, range.size(), bytes, last_)
                      : transport_->start_get(target, address, range.size(), bytes, last_),
                  0);
    }

    void report_some(bool wait) {
        std::array<Completion, 3> done;
        const std::size_t count = wait ? transport_->wait(done) : transport_->test(done);
        EXPECT_TRUE(count > 0 || !wait);
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(done[i].status, 0);
            const auto found = under_way_.find(done[i].token);
            ASSERT_NE(found, under_way_.end()) << "reported twice";
            const UnderWay& operation = found->second;
            const auto there =
                model_[operation.target].begin() + static_cast<std::ptrdiff_t>(operation.range.begin);
            EXPECT_TRUE(std::equal(operation.bytes.begin(), operation.bytes.end(), there));
            under_way_.erase(found);
        }
    }

    std::unique_ptr<Transport> transport_;
    SeededRandom chance_;
    std::uint64_t first_;
    std::size_t most_;
    std::map<Rank, std::vector<std::byte>> model_;
    std::map<Token, UnderWay> under_way_;
    Token last_ = 0;
};

}  // namespace nearfetch::test
