// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "transport/inproc/world.hpp"
#include "transport/transport.hpp"

namespace nearfetch {

/// Copies at the start, and reports at the next test() or wait(). For one thread.
class InprocTransport final : public Transport {
  public:
    explicit InprocTransport(InprocWorld& world) : world_(world) {}

    int start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                  Token token) override;
    int start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                  Token token) override;
    std::size_t test(std::span<Completion> out) override;
    std::size_t wait(std::span<Completion> out) override { return test(out); }
    ByteRange readable(Rank target, std::uint64_t address) const noexcept override;
    /// \throws Error when another rank has failed: the awaited event may never happen
    void yield() override;
    std::uint64_t now_ns() override;
    std::string status_text(int status) const override;

  private:
    int check(Rank target, std::uint64_t address, std::uint64_t size) const noexcept;
    void complete(Token token);

    InprocWorld& world_;
    std::vector<Completion> done_;
    std::size_t reported_ = 0;  ///< reported completions of done_
};

}  // namespace nearfetch
