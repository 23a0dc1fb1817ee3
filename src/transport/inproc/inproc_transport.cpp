// SPDX-License-Identifier: Apache-2.0
#include "transport/inproc/inproc_transport.hpp"

#include <algorithm>
#include <thread>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/racy_copy.hpp"

namespace nearfetch {

int InprocTransport::start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                               Token token) {
    NF_EXPECT(size > 0);
    if (const int status = check(target, address, size)) return status;
    copy_racy(to, world_.segments().at(target, address).data(), size);
    complete(token);
    return 0;
}

int InprocTransport::start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                               Token token) {
    NF_EXPECT(size > 0);
    if (const int status = check(target, address, size)) return status;
    copy_racy(world_.segments().at(target, address).data(), from, size);
    complete(token);
    return 0;
}

std::size_t InprocTransport::test(std::span<Completion> out) {
    const std::size_t count = std::min(out.size(), done_.size() - reported_);
    std::copy_n(done_.begin() + static_cast<std::ptrdiff_t>(reported_), count, out.begin());
    reported_ += count;
    if (reported_ == done_.size()) {
        done_.clear();
        reported_ = 0;
    }
    return count;
}

ByteRange InprocTransport::readable(Rank target, std::uint64_t address) const noexcept {
    if (check(target, address, 1) != 0) return {};
    return world_.segments().around(address);
}

void InprocTransport::yield() {
    world_.throw_if_failed();
    std::this_thread::yield();
}

std::uint64_t InprocTransport::now_ns() { return steady_ns(); }

std::string InprocTransport::status_text(int status) const {
    if (status == transport_status::bad_rank) {
        return "there is no such rank (there are 0 to " + std::to_string(world_.ranks() - 1) + ")";
    }
    return Transport::status_text(status);
}

int InprocTransport::check(Rank target, std::uint64_t address, std::uint64_t size) const noexcept {
    if (!world_.has_rank(target)) return transport_status::bad_rank;
    return world_.segments().contain(address, size) ? 0 : transport_status::outside;
}

void InprocTransport::complete(Token token) { done_.push_back({.token = token, .status = 0}); }

}  // namespace nearfetch
