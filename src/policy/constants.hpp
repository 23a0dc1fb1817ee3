// SPDX-License-Identifier: Apache-2.0
#pragma once

// All numbers by which it is decided whether caching pays.

#include <cstdint>

namespace nearfetch::policy {

// What is taken for granted.
inline constexpr double hit_ns = 20;                     ///< a lookup, beside its copy: what one takes today
inline constexpr std::uint64_t most_own_ns = 50'000;     ///< of one measurement: a time slice takes longer
inline constexpr std::uint64_t long_copy_bytes = 4'096;  ///< from there a copy leaves the processor's cache

// What nobody notices.
inline constexpr double unnoticed_ns = 10;       ///< for an access: what is promised for single calls
inline constexpr double unnoticed_share = 0.03;  ///< of its time: what is promised for whole programs
inline constexpr double copy_share = 0.01;       ///< of a get's time: above it, a copy waits for a second get

// When to decide.
inline constexpr std::uint64_t interval_accesses = 32;   ///< few, so that a short program is not all interval
inline constexpr std::uint64_t budget_accesses = 64;     ///< two intervals: one may be a cold start
inline constexpr double first_backoff_accesses = 256;    ///< eight intervals
inline constexpr double most_backoff_accesses = 65'536;  ///< a phase of reuse is found within these
inline constexpr double sampling_share = 0.02;      ///< of the time: what half-open intervals lose; below 3 %
inline constexpr std::uint64_t sampled_bytes = 64;  ///< ranges that begin in one line are sampled, or none
inline constexpr std::uint64_t sampled_divisor = 8;  ///< one line in so many is

// What is measured beside.
inline constexpr std::uint64_t regions_per_plain_get = 64;  ///< one in so many shows what a plain get takes
inline constexpr std::uint32_t first_puts = 8;              ///< timed at first, of which the quickest counts

}  // namespace nearfetch::policy
