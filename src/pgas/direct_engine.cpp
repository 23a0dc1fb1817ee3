// SPDX-License-Identifier: Apache-2.0
#include "pgas/direct_engine.hpp"

#include <array>

namespace nearfetch {

DirectEngine::Pending::Pending(DirectEngine& engine, Rank target, std::uint64_t address,
                               std::uint64_t size_bytes, std::byte* to)
    : engine_(engine) {
    began(engine.transport_.start_get(target, address, size_bytes, to, token()));
    ++engine.counters_.get_messages;
    engine.counters_.get_message_bytes += size_bytes;
}

DirectEngine::Pending::Pending(DirectEngine& engine, Rank target, std::uint64_t address,
                               std::uint64_t size_bytes, const std::byte* from)
    : engine_(engine) {
    began(engine.transport_.start_put(target, address, size_bytes, from, token()));
    ++engine.counters_.put_messages;
    engine.counters_.put_message_bytes += size_bytes;
}

void DirectEngine::Pending::began(int status) noexcept {
    status_ = status;
    done_ = status != 0;
    if (!done_) ++engine_.under_way_;
}

bool DirectEngine::Pending::test() {
    if (!done_) engine_.collect(false);
    return done_;
}

int DirectEngine::Pending::wait() {
    if (done_) return status_;
    const std::uint64_t begin_ns = engine_.transport_.now_ns();
    while (!done_)
        engine_.collect(true);
    engine_.waited_ns_ += engine_.transport_.now_ns() - begin_ns;
    return status_;
}

void DirectEngine::collect(bool wait) {
    std::array<Completion, 16> done;
    const std::size_t count = wait ? transport_.wait(done) : transport_.test(done);
    under_way_ -= count;
    for (std::size_t i = 0; i < count; ++i) {
        Pending& pending = *reinterpret_cast<Pending*>(done[i].token);
        pending.done_ = true;
        pending.status_ = done[i].status;
    }
}

}  // namespace nearfetch
