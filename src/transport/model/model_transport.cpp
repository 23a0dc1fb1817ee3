// SPDX-License-Identifier: Apache-2.0
#include "transport/model/model_transport.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"
#include "transport/model/virtual_ranks.hpp"

namespace nearfetch {
namespace {

/// Cost of a test() without completions.
constexpr std::uint64_t test_ns = 20;

}  // namespace

ModelTransport::ModelTransport(std::unique_ptr<Transport> inner, const ModelSettings& settings,
                               std::uint64_t seed, Rank self, Network& network, ModelClock& clock,
                               VirtualRanks* ranks)
    : inner_(std::move(inner)),
      settings_(settings),
      self_(self),
      network_(network),
      clock_(clock),
      ranks_(ranks),
      chance_(seed) {}

int ModelTransport::start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                              Token token) {
    return start({.target = target, .address = address, .size = size, .to = to, .token = token});
}

int ModelTransport::start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                              Token token) {
    return start({.target = target, .address = address, .size = size, .from = from, .token = token});
}

int ModelTransport::start(const Operation& operation) {
    NF_EXPECT(operation.size > 0);
    clock_.run_earlier_events();
    if (free_.empty()) {
        free_.push_back(operations_.size());
        operations_.emplace_back();
    }
    const std::size_t place = free_.back();
    operations_[place] = operation;

    // Failures have to be known now, so an operation that may be refused is not started late.
    const bool late =
        settings_.late_effects &&
        inner_->readable(operation.target, operation.address).contains(operation.address, operation.size);
    const std::uint64_t now_ns = clock_.now_ns();
    if (!late) {
        if (const int status = start_inside(place)) return status;
    }
    free_.pop_back();
    const std::uint64_t due_ns = done_ns(operation, now_ns);
    operations_[place].due_ns = due_ns;
    if (late) late_.emplace(now_ns + chance_.up_to(due_ns - now_ns), place);
    if (inside_ > 0) collect(false);
    clock_.spend(static_cast<std::uint64_t>(network_.model().overhead_ns));
    return 0;
}

int ModelTransport::start_inside(std::size_t place) {
    const Operation& operation = operations_[place];
    const int status =
        operation.to != nullptr
            ? inner_->start_get(operation.target, operation.address, operation.size, operation.to, place)
            : inner_->start_put(operation.target, operation.address, operation.size, operation.from, place);
    if (status == 0) ++inside_;
    return status;
}

std::uint64_t ModelTransport::done_ns(const Operation& operation, std::uint64_t now_ns) {
    const std::uint64_t delay_ns = settings_.jitter_ns == 0 ? 0 : chance_.up_to(settings_.jitter_ns);
    if (operation.target == self_) return now_ns + delay_ns;
    NetworkInterface& target = network_.at(operation.target);
    if (operation.to != nullptr)
        return network_.at(self_).get_done_ns(target, now_ns, operation.size) + delay_ns;
    return network_.at(self_).put_done_ns(target, now_ns, operation.size) + delay_ns;
}

void ModelTransport::start_late_ones(std::uint64_t now_ns) {
    while (!late_.empty() && late_.top().first <= now_ns) {
        const std::size_t place = late_.top().second;
        late_.pop();
        const int status = start_inside(place);
        if (status == 0) continue;
        operations_[place].status = status;
        complete_.emplace(operations_[place].due_ns, place);
    }
}

void ModelTransport::collect(bool wait) {
    std::array<Completion, 16> done;
    while (inside_ > 0) {
        const std::size_t count = wait ? inner_->wait(done) : inner_->test(done);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t place = done[i].token;
            operations_[place].status = done[i].status;
            complete_.emplace(operations_[place].due_ns, place);
        }
        inside_ -= count;
        wait = false;
        if (count < done.size()) return;
    }
}

std::size_t ModelTransport::report(std::span<Completion> out, std::uint64_t now_ns) {
    start_late_ones(now_ns);
    collect(false);
    std::size_t count = 0;
    while (count < out.size() && !complete_.empty() && complete_.top().first <= now_ns) {
        const std::size_t place = complete_.top().second;
        complete_.pop();
        out[count++] = {.token = operations_[place].token, .status = operations_[place].status};
        free_.push_back(place);
    }
    return count;
}

std::size_t ModelTransport::test(std::span<Completion> out) {
    const std::size_t count = report(out, clock_.now_ns());
    if (count == 0) {
        clock_.spend(test_ns);
        clock_.run_earlier_events();
    }
    return count;
}

std::size_t ModelTransport::wait(std::span<Completion> out) {
    const std::uint64_t begin_ns = clock_.now_ns();
    std::uint64_t now_ns = begin_ns;
    std::size_t count = report(out, now_ns);
    while (count == 0 && free_.size() < operations_.size()) {
        const std::uint64_t next_ns = next_event_ns();
        if (inside_ > 0) {
            if (next_ns == never_ns) collect(true);
            now_ns = clock_.now_ns();
        } else {
            // The clock is not read again, because that would add to every latency.
            clock_.wait_until(next_ns);
            now_ns = std::max(now_ns, next_ns);
        }
        count = report(out, now_ns);
    }
    if (now_ns > begin_ns) network_.at(self_).count_wait(now_ns - begin_ns);
    return count;
}

void ModelTransport::yield() {
    if (ranks_ == nullptr) return inner_->yield();
    ranks_->simulation().yield(std::min(next_event_ns(), ranks_->next_message_ns(self_)));
}

std::uint64_t ModelTransport::next_event_ns() const {
    std::uint64_t next_ns = never_ns;
    if (!late_.empty()) next_ns = late_.top().first;
    if (!complete_.empty()) next_ns = std::min(next_ns, complete_.top().first);
    return next_ns;
}

}  // namespace nearfetch
