// SPDX-License-Identifier: Apache-2.0
#pragma once

// GETs and PUTs by MPI_Rget and MPI_Rput.
//
// A GET completes with its request. A PUT has two stages: its request (the bytes were taken), then a flush of
// the target (the bytes are there). MPI cannot test a flush. It blocks for a round trip if the library has to
// ask, and returns at once if it knows already. So flushes are rationed:
// - One flush completes all earlier PUTs of its target.
// - wait() prefers GETs. It flushes when no GET is outstanding, because then it must be a PUT that is waited
// for.
// - test() should not block, but PUTs must complete for a program that only tests. It flushes when the oldest
// PUT is `flush_age_factor` times as old as a flush took recently, and as much time has passed since the last
// flush. So flushes take at most 1/flush_age_factor of the time, and the answer has mostly arrived. It also
// flushes after many idle tests, when the program obviously waits.

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "transport/mpi/mpi_job_messages.hpp"
#include "transport/mpi/mpi_job_segments.hpp"
#include "transport/transport.hpp"

namespace nearfetch {

class MpiEndpoint final : public Transport {
  public:
    MpiEndpoint(const MpiJobSegments& segments, MpiJobMessages& messages)
        : segments_(segments), messages_(messages) {}
    /// Completes outstanding operations.
    ~MpiEndpoint() override;

    int start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                  Token token) override;
    int start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                  Token token) override;
    std::size_t test(std::span<Completion> out) override;
    std::size_t wait(std::span<Completion> out) override;
    ByteRange readable(Rank target, std::uint64_t address) const noexcept override;
    void yield() override;
    std::uint64_t now_ns() override;
    std::string status_text(int status) const override;

  private:
    enum class Kind : std::uint8_t { get, put };
    struct Operation {
        Token token = 0;
        std::uint64_t started_ns = 0;
        Rank target = 0;
        MpiSegment* segment = nullptr;
        std::uint32_t requests = 0;  ///< not complete
        int status = MPI_SUCCESS;
        Kind kind = Kind::get;
    };

    template <class Start>
    int begin(Kind kind, Rank target, std::uint64_t address, std::uint64_t size, Token token,
              const Start& start);
    void poll();
    void finished(std::uint32_t slot, int status);
    void end(std::uint32_t slot, int status);
    void flush(const Operation& oldest);
    bool flush_is_due();
    std::size_t report(std::span<Completion> out);

    const MpiJobSegments& segments_;
    MpiJobMessages& messages_;
    std::vector<Operation> operations_;
    std::vector<std::uint32_t> spare_;     ///< free entries of operations_
    std::vector<MPI_Request> requests_;    ///< outstanding GETs and PUTs ...
    std::vector<std::uint32_t> owners_;    ///< ... and their operations
    std::vector<int> indices_;             ///< scratch of poll()
    std::vector<MPI_Status> statuses_;     ///< scratch of poll()
    std::deque<std::uint32_t> unflushed_;  ///< PUTs whose request is complete
    std::deque<Completion> done_;          ///< to be reported
    std::size_t gets_ = 0;                 ///< outstanding
    std::uint64_t flush_cost_ns_ = 0;      ///< moving average
    unsigned idle_tests_ = 0;              ///< since the last start or report
    std::uint64_t flushed_ns_ = 0;         ///< end of the last flush
};

}  // namespace nearfetch
