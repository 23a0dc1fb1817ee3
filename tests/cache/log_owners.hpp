// SPDX-License-Identifier: Apache-2.0
#pragma once

// Payloads in a log with known bytes, each of an owner; whatever moves, they are still there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>

#include "base/assert.hpp"
#include "cache/range_cache/log_storage.hpp"

namespace nearfetch::testing {

class LogOwners final : public LogStorage::Owners {
  public:
    LogOwners(std::uint64_t bytes, std::uint64_t bytes_max) : log(bytes, bytes_max, *this) {}

    /// \return whether there was room
    bool add(std::uint64_t bytes, std::uint8_t skew = 0) {
        const std::uint32_t owner = next_++;
        const LogStorage::Payload payload{bytes, skew};
        const bool fits = log.fits(payload);
        const LogStorage::Place place = log.append(owner, payload);
        ensure((place.data != nullptr) == fits, "fits() was wrong");
        if (!fits) return false;
        payloads[owner] = {place, payload, false};
        for (std::uint64_t i = 0; i < bytes; ++i)
            place.data[i] = expected(owner, i);
        return true;
    }
    bool add_all(std::initializer_list<std::uint64_t> sizes) {
        return std::all_of(sizes.begin(), sizes.end(), [this](std::uint64_t bytes) { return add(bytes); });
    }
    void remove(std::uint32_t owner) {
        log.release(payloads.at(owner).place.number);
        payloads.erase(owner);
    }
    /// Also where the ring ends.
    std::uint32_t oldest() {
        const std::uint32_t owner = log.oldest();
        return owner == LogStorage::ring_end ? log.oldest() : owner;
    }
    bool keep_oldest() { return oldest() < LogStorage::ring_end && log.keep_oldest(); }
    /// The owner of the last add().
    std::uint32_t last() const { return next_ - 1; }

    /// Aborts with a message on a fault.
    void check() const {
        log.check_invariants();
        std::uint64_t bytes = 0;
        for (const auto& [owner, its] : payloads) {
            for (std::uint64_t i = 0; i < its.payload.bytes; ++i)
                ensure(its.place.data[i] == expected(owner, i), "a byte has changed");
            bytes += its.payload.bytes;
        }
        ensure(bytes + log.free_bytes() <= log.size_bytes(), "more is stored than there is room");
    }

    LogStorage::Payload payload_of(std::uint32_t owner) const noexcept override {
        return payloads.at(owner).payload;
    }
    bool is_pinned(std::uint32_t owner) const noexcept override { return payloads.at(owner).pinned; }
    void moved(std::uint32_t owner, LogStorage::Place place) noexcept override {
        Stored& its = payloads.at(owner);
        ensure(!its.pinned || its.place.data == place.data, "a pinned payload has moved");
        its.place = place;
    }

    struct Stored {
        LogStorage::Place place;
        LogStorage::Payload payload;
        bool pinned;
    };
    std::map<std::uint32_t, Stored> payloads;
    LogStorage log;

  private:
    static void ensure(bool holds, const char* what) { require_invariant(holds, "log owners", what); }
    static std::byte expected(std::uint32_t owner, std::uint64_t at) {
        return static_cast<std::byte>((owner * 131 + at * 7) & 0xff);
    }

    std::uint32_t next_ = 0;
};

}  // namespace nearfetch::testing
