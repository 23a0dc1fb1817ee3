// SPDX-License-Identifier: Apache-2.0
#include "transport/model/network_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.hpp"

namespace nearfetch {
namespace {

/// A row of Table I, with our additions.
struct Row {
    const char* name;
    double get_us, put_us;              ///< 8 bytes
    double get_mb_per_s, put_mb_per_s;  ///< 1024 bytes, decimal megabytes
    double gbit_per_s;
    double get_gap_ns, put_gap_ns;
    double overhead_ns;
};

constexpr Row rows[] = {
    {"aries", 1.7, 1.3, 415, 632, 90.0, 700, 700, 100},
    {"fdr-ib", 2.1, 1.6, 405, 430, 56.0 * 64 / 66, 400, 450, 100},
    {"10gbe", 16, 16, 52, 53, 10.0, 4'000, 8'000, 1'000},
    {"1gbe", 49, 49, 11, 11, 1.0, 12'200, 13'200, 1'000},
};

NetworkModel model_of(const Row& row) {
    NetworkModel model;
    model.name = row.name;
    model.get = {row.get_us * 1e3, 1024 / row.get_mb_per_s * 1e3, row.get_gap_ns};
    model.put = {row.put_us * 1e3, 1024 / row.put_mb_per_s * 1e3, row.put_gap_ns};
    model.message_ns = model.put.latency_ns;
    model.atomic_ns = model.get.latency_ns;
    model.byte_ns = 8 / row.gbit_per_s;
    model.overhead_ns = row.overhead_ns;
    return model;
}

// Not negative. (std::llround is a function call.)
std::uint64_t rounded(double ns) { return static_cast<std::uint64_t>(ns + 0.5); }

void check_transfer(const NetworkModel& model, const TransferModel& transfer, const char* kind) {
    const auto refuse = [&](const char* problem, const char* why, const char* what_to_do) {
        throw Error("network " + model.name + ": a " + kind + "'s " + problem, why, what_to_do);
    };
    if (!(transfer.latency_ns >= 0) || !(transfer.gap_ns >= 0)) {
        refuse("latency or gap is negative", "time does not go back", "use 0 or more nanoseconds");
    }
    const double wire_ns = static_cast<double>(model.long_bytes - model.short_bytes) * model.byte_ns;
    if (!(transfer.long_ns >= transfer.latency_ns + wire_ns)) {
        refuse("long_ns is too short", "its bytes do not pass the wire in that time",
               "raise long_ns or lower byte_ns");
    }
    if (transfer.latency_ns < static_cast<double>(model.short_bytes) * model.byte_ns) {
        refuse("latency is too short", "short_bytes do not pass the wire in that time",
               "raise latency_ns, or lower short_bytes or byte_ns");
    }
}

}  // namespace

std::uint64_t NetworkModel::transfer_ns(const TransferModel& transfer,
                                        std::uint64_t size_bytes) const noexcept {
    if (size_bytes <= short_bytes) return rounded(transfer.latency_ns);
    if (size_bytes >= long_bytes) {
        return rounded(transfer.long_ns + static_cast<double>(size_bytes - long_bytes) * byte_ns);
    }
    const double part =
        static_cast<double>(size_bytes - short_bytes) / static_cast<double>(long_bytes - short_bytes);
    return rounded(transfer.latency_ns + part * (transfer.long_ns - transfer.latency_ns));
}

std::uint64_t NetworkModel::message_delay_ns(std::uint64_t size_bytes) const noexcept {
    const double longer_ns = static_cast<double>(put_ns(size_bytes)) - put.latency_ns;
    return rounded(message_ns + std::max(0.0, longer_ns));
}

std::uint64_t NetworkModel::barrier_ns(std::int32_t ranks) const noexcept {
    return rounded(std::bit_width(static_cast<std::uint32_t>(ranks - 1)) * message_ns);
}

std::uint64_t NetworkModel::wire_ns(std::uint64_t size_bytes) const noexcept {
    return rounded(static_cast<double>(size_bytes) * byte_ns);
}

double NetworkModel::bound_ns(std::uint64_t get_messages, std::uint64_t get_bytes, std::uint64_t put_messages,
                              std::uint64_t put_bytes, std::uint64_t round_trips) const noexcept {
    if (get_messages == 0 && put_messages == 0) return 0;
    const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
    // Latency includes the bytes' time on the wire; this is the share of the shortest transfer.
    const double shortest_wire_ns = number(short_bytes) * byte_ns;
    const double inbound_ns =
        get_messages == 0 ? 0
                          : get.latency_ns + std::max(0.0, number(get_bytes) * byte_ns - shortest_wire_ns);
    const double outbound_ns =
        put_messages == 0 ? 0
                          : put.latency_ns + std::max(0.0, number(put_bytes) * byte_ns - shortest_wire_ns);
    double last_ns = 0;  // from the start of the last one
    double last_gap_ns = 0;
    if (get_messages == 0 ||
        (put_messages > 0 && put.latency_ns - put.gap_ns < get.latency_ns - get.gap_ns)) {
        last_ns = put.latency_ns;
        last_gap_ns = put.gap_ns;
    } else {
        last_ns = get.latency_ns;
        last_gap_ns = get.gap_ns;
    }
    const double card_ns =
        number(get_messages) * get.gap_ns + number(put_messages) * put.gap_ns - last_gap_ns + last_ns;
    return std::max({inbound_ns, outbound_ns, card_ns, number(round_trips) * get.latency_ns});
}

void NetworkModel::check() const {
    if (short_bytes >= long_bytes) {
        throw Error("network " + name + ": short_bytes is " + std::to_string(short_bytes),
                    "long_bytes is " + std::to_string(long_bytes), "use a smaller short_bytes");
    }
    if (!(byte_ns >= 0) || !(overhead_ns >= 0) || !(message_ns >= 0) || !(atomic_ns >= 0)) {
        throw Error("network " + name + ": a time is negative", "time does not go back",
                    "use 0 or more nanoseconds for byte_ns, overhead_ns, message_ns and atomic_ns");
    }
    check_transfer(*this, get, "GET");
    check_transfer(*this, put, "PUT");
}

std::vector<std::string> network_names() {
    std::vector<std::string> names;
    for (const Row& row : rows)
        names.emplace_back(row.name);
    return names;
}

NetworkModel network_model(std::string_view name) {
    std::string known;
    for (const Row& row : rows) {
        if (name == row.name) return model_of(row);
        known += (known.empty() ? "" : ", ") + std::string(row.name);
    }
    throw Error("network " + std::string(name), "no model has that name", "use one of " + known);
}

}  // namespace nearfetch
