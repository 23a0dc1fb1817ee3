// SPDX-License-Identifier: Apache-2.0
#pragma once

// GETs and PUTs by MPI_Rget and MPI_Rput.
//
// A GET is complete with its request. A PUT has two stages: its request says that the bytes have been taken,
// and a flush of the target, after that, that they are there. MPI has no flush that can be tested: it waits,
// for a round trip if the library has to ask (43 us on Open MPI over TCP, even when nothing is under way),
// not at all if it knows already. So a flush has to be worth it:
//  - One flush completes all PUTs of its target that were started before.
//  - wait() looks for GETs first. It flushes when there is no GET to wait for, which must then be what is
//    waited for; nothing is started meanwhile, so a PUT is overtaken by the GETs under way and no others.
//  - test() should not wait, yet who only tests has to see its PUTs complete some day. It flushes when the
//    oldest is `patience` times as old as a flush took lately, and as much time has gone since its last
//    flush: at most 1/patience of the time goes into it, by then the answer has mostly come, and where a
//    flush costs nothing (shared memory) PUTs complete at once. It also flushes for who has tested so often
//    in vain, and started nothing meanwhile, that waiting must be all he does.

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
    /// Completes what is under way.
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
        std::uint32_t requests = 0;  ///< not complete
        int status = MPI_SUCCESS;
        Kind kind = Kind::get;
    };

    template <class Start>
    int begin(Kind kind, Rank target, std::uint64_t address, std::uint64_t size, Token token,
              const Start& start);
    void poll();
    void finished(std::uint32_t slot, int status);
    void flush(Rank target);
    bool flush_is_due();
    std::size_t report(std::span<Completion> out);

    const MpiJobSegments& segments_;
    MpiJobMessages& messages_;
    std::vector<Operation> operations_;
    std::vector<std::uint32_t> spare_;     ///< of operations_
    std::vector<MPI_Request> requests_;    ///< of GETs and PUTs ...
    std::vector<std::uint32_t> owners_;    ///< ... and whose they are
    std::vector<int> indices_;             ///< scratch of poll()
    std::vector<MPI_Status> statuses_;     ///< scratch of poll()
    std::deque<std::uint32_t> unflushed_;  ///< PUTs whose bytes have been taken
    std::deque<Completion> done_;          ///< to be reported
    std::size_t gets_ = 0;                 ///< not complete
    std::uint64_t flush_cost_ns_ = 0;      ///< moving average
    unsigned tests_in_vain_ = 0;           ///< since something was started or reported
    std::uint64_t flushed_ns_ = 0;         ///< when the last flush was over
};

}  // namespace nearfetch
