// SPDX-License-Identifier: Apache-2.0
#pragma once

// A recording that a test writes event by event.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recording/event_writer.hpp"
#include "recording/recorded_process.hpp"

namespace nearfetch {

/// A rank's file, which is gone with this.
class TemporaryRecording {
  public:
    static constexpr std::uint64_t call_ns = 10'000;
    static constexpr std::uint64_t window_bytes = 1u << 20;

    explicit TemporaryRecording(Rank rank = 0, Rank ranks = 2, std::uint64_t begin_ns = 1'000'000) {
        static int count = 0;
        path_ = std::filesystem::path(::testing::TempDir()) /
                ("nearfetch-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".events");
        writer_ = std::make_unique<EventWriter>(path_.string());
        write({.kind = EventKind::world,
               .target = rank,
               .size = begin_ns,
               .values = {static_cast<std::uint64_t>(ranks)}});
        Event window{.kind = EventKind::window, .target = rank};
        window.values = {static_cast<std::uint64_t>(ranks)};
        for (Rank r = 0; r < ranks; ++r) {
            window.values.push_back(window_bytes);
            window.values.push_back(4096);  // the library's own memory
        }
        write(window);
    }
    ~TemporaryRecording() {
        writer_.reset();
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    TemporaryRecording(const TemporaryRecording&) = delete;
    TemporaryRecording& operator=(const TemporaryRecording&) = delete;

    std::string path() const { return path_.string(); }
    void write(const Event& event) { writer_->write(event); }
    /// A call that took its time.
    void call(EventKind kind, Rank target, bool flag = false) {
        write({.kind = kind, .flag = flag, .target = target, .gap_ns = 1000, .took_ns = call_ns});
    }
    void get(Rank target, std::uint64_t offset, std::uint64_t size, std::vector<std::uint64_t> runs = {}) {
        write({.kind = EventKind::get,
               .target = target,
               .gap_ns = 1000,
               .took_ns = 500,
               .offset = offset,
               .size = size,
               .values = std::move(runs)});
    }
    /// An epoch of all targets, until further notice.
    void lock_all() { call(EventKind::lock_all, 0); }
    /// As a program that waits for each get.
    void blocking_get(Rank target, std::uint64_t offset, std::uint64_t size) {
        get(target, offset, size);
        call(EventKind::flush, target);
    }
    /// As a program that locks for each.
    void locked_get(Rank target, std::uint64_t offset, std::uint64_t size) {
        call(EventKind::lock, target);
        get(target, offset, size);
        call(EventKind::unlock, target);
    }
    /// The same bytes over and over, `step` apart.
    void sweep(int times, std::uint64_t bytes, std::uint64_t step, std::uint64_t size) {
        for (int i = 0; i < times; ++i)
            for (std::uint64_t at = 0; at < bytes; at += step)
                blocking_get(1, at, size);
    }
    void locked_sweep(int times, std::uint64_t bytes, std::uint64_t step, std::uint64_t size) {
        for (int i = 0; i < times; ++i)
            for (std::uint64_t at = 0; at < bytes; at += step)
                locked_get(1, at, size);
    }
    void acquire(const std::string& call) {
        write({.kind = EventKind::text, .size = call.size(), .values = {call.begin(), call.end()}});
        write({.kind = EventKind::acquire, .gap_ns = 1000, .took_ns = call_ns, .size = call.size()});
    }
    /// The end, and what reads of the window have shown.
    RecordedProcess read(const Rereads& seen = {}) {
        write({.kind = EventKind::end,
               .size = 1'000'000'000,
               .values = {seen.same, seen.changed_unordered, seen.changed_by_locks, seen.changed}});
        writer_->close();
        return read_process(path());
    }
    void close() { writer_->close(); }

  private:
    std::filesystem::path path_;
    std::unique_ptr<EventWriter> writer_;
};

}  // namespace nearfetch
