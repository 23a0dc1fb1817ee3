// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls of code on other ranks, whose servers run it (runtime.hpp). Each thread has a port for the replies,
// which name their calls by number. A call moves no cached bytes: call() in ordered.hpp adds the release and
// the acquire (000, section III-D).

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>

#include "transport/job.hpp"

namespace nearfetch::pgas {

class Runtime;

/// Code to run on a rank, and the consumer of its result.
struct RemoteCall {
    using Take = std::function<void(std::span<const std::byte> result)>;
    static Take copy_to(void* memory) {
        return [memory](std::span<const std::byte> result) {
            std::memcpy(memory, result.data(), result.size());
        };
    }
    Rank rank = 0;
    std::int64_t code = 0;  ///< Runtime::code_offset()
    std::span<const std::byte> closure;
    std::uint64_t result_bytes = 0;
    Take take;  ///< called with the result, unless it is empty
    /// little work on the owner's own memory; the server runs it without another thread
    bool is_short = false;
};

/// Limits of outstanding calls: a number, and the bytes of their results. One is always allowed.
struct CallLimits {
    std::size_t calls = ~std::size_t{0};
    std::uint64_t result_bytes = ~std::uint64_t{0};
};

/// Calls that were made: a request and an answer each, and the bytes of both.
struct CallCounts {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;

    void add(const CallCounts& other) noexcept {
        calls += other.calls;
        bytes += other.bytes;
    }
};

/// The calls of one thread.
class RemoteCalls {
  public:
    /// Takes a port, until its end.
    explicit RemoteCalls(Runtime& runtime);
    RemoteCalls(const RemoteCalls&) = delete;
    RemoteCalls& operator=(const RemoteCalls&) = delete;
    ~RemoteCalls();

    /// \throws Error unless all of the ranks exist and answer
    void check(std::span<const RemoteCall> calls) const;
    /// Makes checked calls concurrently, starting in order, and waits for the results.
    /// \return the text of the last remote exception; empty if there was none
    std::string run(std::span<const RemoteCall> calls, const CallLimits& limits);
    const CallCounts& counts() const noexcept { return counts_; }

  private:
    void send(const RemoteCall& call);

    Runtime& runtime_;
    Port port_;
    std::uint32_t calls_ = 0;  ///< number of the last call
    CallCounts counts_;
};

}  // namespace nearfetch::pgas
