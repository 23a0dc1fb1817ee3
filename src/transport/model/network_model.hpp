// SPDX-License-Identifier: Apache-2.0
#pragma once

// A network as LogGP sees it: how long one transfer takes, how soon the next may follow it, and how many
// bytes fit through the wire. The presets are the networks of 000.
//
// Measured by 000 (Table I) and reproduced exactly: the latencies of a blocking GET and PUT of 8 bytes, and
// the bandwidth of blocking ones of 1024 bytes. In between: up to short_bytes the size "has no significant
// increase in latency" (000, III-B); from there to 1024 bytes the time rises in a straight line. Beyond,
// which 000 does not print, each byte costs what it costs on the wire: what fragments and copies cost is paid
// for the first 1024 bytes and is overlapped with the wire from then on. That is our assumption.
//
// The wire's time per byte is the link's rate by its standard: 1 and 10 Gb/s; FDR's 56 Gb/s less its 64/66
// coding; 90 Gb/s for "90+ Gb" Aries.
//
// The gap, the time that each message keeps the sending network card busy, is not in 000. It bounds how much
// overlapping can win, so we chose it by what overlapping won there (000, V-A):
//   fdr-ib  PUT 450 ns: rand-puts 3x, 1.6 us / 450 ns = 3.6 less the software; GET 400 ns: prefetching won 4x
//           with Chapel's software in the way, 2.1 us / 400 ns = 5.3 without
//   1gbe    PUT 13.2 us: rand-puts 3.7x; GET 12.2 us: prefetching was "similar to InfiniBand", 4x
//   10gbe   PUT 8 us: rand-puts 2.0x; GET 4 us, as before
//   aries   700 ns: prefetching won 1.3x on one software and 1.9x on the other, rand-puts "modest"; 2.4x and
//           1.9x at most with ours, because both layers ordered more than was necessary
//
// Also ours: a message between ranks takes as long as a PUT, an atomic operation as long as a GET, and a
// barrier one message in each of its log2(ranks) rounds. The processor's time for starting an operation,
// overhead_ns, is part of the latency, and passes in virtual time only: on the wall's clock the real software
// takes its own.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nearfetch {

/// How one kind of transfer behaves. Default: takes no time.
struct TransferModel {
    double latency_ns = 0;  ///< of a blocking one of 8 bytes
    double long_ns = 0;     ///< of a blocking one of NetworkModel::long_bytes
    double gap_ns = 0;      ///< from the start of one to the start of the next
};

/// What went over the network, or has to.
struct Traffic {
    std::uint64_t get_messages = 0;
    std::uint64_t get_bytes = 0;
    std::uint64_t put_messages = 0;
    std::uint64_t put_bytes = 0;
    std::uint64_t atomics = 0;
    std::uint64_t messages = 0;  ///< sent to other ranks, without barriers
    std::uint64_t message_bytes = 0;
    std::uint64_t wait_ns = 0;  ///< spent in Transport::wait()
};

struct NetworkModel {
    std::string name = "none";
    TransferModel get;
    TransferModel put;
    double message_ns = 0;   ///< from send to receive, of a short message
    double atomic_ns = 0;    ///< of an atomic operation
    double byte_ns = 0;      ///< a byte's time on the wire, which is used in both directions at once
    double overhead_ns = 0;  ///< the processor's, for each operation started (virtual time only)
    std::uint64_t short_bytes = 64;
    std::uint64_t long_bytes = 1024;

    /// How long a blocking GET or PUT takes on an idle network.
    std::uint64_t get_ns(std::uint64_t size_bytes) const noexcept { return transfer_ns(get, size_bytes); }
    std::uint64_t put_ns(std::uint64_t size_bytes) const noexcept { return transfer_ns(put, size_bytes); }
    /// How long after send() a message can be received.
    std::uint64_t message_delay_ns(std::uint64_t size_bytes) const noexcept;
    /// How long a barrier takes after the last has come.
    std::uint64_t barrier_ns(std::int32_t ranks) const noexcept;
    /// How long a transfer's bytes are on the wire.
    std::uint64_t wire_ns(std::uint64_t size_bytes) const noexcept;

    /// The network's time that one rank cannot avoid for so many messages and bytes: what the network card,
    /// the wire in either direction and one latency take at least, all overlapped as well as can be.
    /// \param round_trips so many GETs of them, each of which can only start when the one before is complete
    double bound_ns(std::uint64_t get_messages, std::uint64_t get_bytes, std::uint64_t put_messages,
                    std::uint64_t put_bytes, std::uint64_t round_trips = 0) const noexcept;

    /// \throws Error when a parameter makes no sense
    void check() const;

  private:
    std::uint64_t transfer_ns(const TransferModel& transfer, std::uint64_t size_bytes) const noexcept;
};

/// The names of the presets, fastest first.
std::vector<std::string> network_names();
/// \throws Error naming the known ones
NetworkModel network_model(std::string_view name);

}  // namespace nearfetch
