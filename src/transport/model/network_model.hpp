// SPDX-License-Identifier: Apache-2.0
#pragma once

// A LogGP-style network: the time of a transfer, the gap before the next may follow, and the wire's
// bandwidth. The presets are the networks of 000.
//
// From Table I of 000, reproduced exactly: latencies of blocking 8-byte GETs and PUTs, and bandwidths of
// blocking 1024-byte ones. In between it is linear: 64 bytes take 2 to 5 % longer than 8. Our assumption
// beyond that: each byte costs its time on the wire, and costs of fragments and copies overlap with it. The
// time per byte is the link's nominal rate: 1 and 10 Gb/s; FDR's 56 Gb/s less its 64/66 coding; 90 Gb/s for
// Aries.
//
// 000 does not give the gap, during which a message occupies the sender's card, and then the target's. It
// bounds the gain of overlap, so the presets fit it to the gains that 000 reports (V-A):
//   fdr-ib  PUT 450 ns (rand-puts 3x), GET 400 ns (prefetch 4x)
//   1gbe    PUT 13.2 us (rand-puts 3.7x), GET 12.2 us (prefetch about 4x)
//   10gbe   PUT 8 us (rand-puts 2.0x), GET 4 us
//   aries   700 ns (prefetch 1.3x and 1.9x, rand-puts "modest")
//
// Also our assumptions: a message takes as long as a PUT, an atomic as long as a GET, and a barrier
// log2(ranks) messages. overhead_ns, the processor's time per operation, is part of the latency and passes
// only in virtual time.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nearfetch {

/// Parameters of one kind of transfer. The default takes no time.
struct TransferModel {
    double latency_ns = 0;  ///< of a blocking transfer of 8 bytes
    double long_ns = 0;     ///< of a blocking transfer of NetworkModel::long_bytes
    double gap_ns = 0;      ///< from the start of one to the start of the next
};

/// Network traffic, measured or required.
struct Traffic {
    std::uint64_t get_messages = 0;
    std::uint64_t get_bytes = 0;
    std::uint64_t put_messages = 0;
    std::uint64_t put_bytes = 0;
    std::uint64_t atomics = 0;
    std::uint64_t messages = 0;  ///< to other ranks, without barriers
    std::uint64_t message_bytes = 0;
    std::uint64_t wait_ns = 0;  ///< time in Transport::wait()
};

struct NetworkModel {
    std::string name = "none";
    TransferModel get;
    TransferModel put;
    double message_ns = 0;          ///< from send to receive of a short message
    double atomic_ns = 0;           ///< of an atomic operation
    double byte_ns = 0;             ///< per byte on the wire, which is full duplex
    double overhead_ns = 0;         ///< processor time per operation (virtual time only)
    std::uint64_t short_bytes = 8;  ///< up to so many, the latency is constant
    std::uint64_t long_bytes = 1024;

    /// Duration of a blocking GET or PUT on an idle network.
    std::uint64_t get_ns(std::uint64_t size_bytes) const noexcept { return transfer_ns(get, size_bytes); }
    std::uint64_t put_ns(std::uint64_t size_bytes) const noexcept { return transfer_ns(put, size_bytes); }
    /// Time from send() until a message can be received.
    std::uint64_t message_delay_ns(std::uint64_t size_bytes) const noexcept;
    /// Time of a barrier after the last arrival.
    std::uint64_t barrier_ns(std::int32_t ranks) const noexcept;
    /// Time of a transfer's bytes on the wire.
    std::uint64_t wire_ns(std::uint64_t size_bytes) const noexcept;

    /// Lower bound of the network time for one rank's messages and bytes: card, wire in each direction and
    /// one latency, with perfect overlap.
    /// \param round_trips GETs that can start only when the previous one is complete
    double bound_ns(std::uint64_t get_messages, std::uint64_t get_bytes, std::uint64_t put_messages,
                    std::uint64_t put_bytes, std::uint64_t round_trips = 0) const noexcept;

    /// \throws Error for an invalid parameter
    void check() const;

  private:
    std::uint64_t transfer_ns(const TransferModel& transfer, std::uint64_t size_bytes) const noexcept;
};

/// The names of the presets, fastest first.
std::vector<std::string> network_names();
/// \throws Error for an unknown name, with the known ones
NetworkModel network_model(std::string_view name);

}  // namespace nearfetch
