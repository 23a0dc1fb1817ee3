// SPDX-License-Identifier: Apache-2.0
#pragma once

// Litmus tests of mode acquire (docs/consistency.md). One rank reads a place of another's memory; the other
// changes it and tells the reader so by the call that is tested, the only one through which the reader can
// learn of it; what the reader gets then has to be new. Linked with the fault-injection build, in which the
// acquire of a call can be left out, each test is repeated without it, and then has to see the old value: so
// each line of the table of calls that is tested is needed.
//
// Whether a call waits for another process is often left to the library, and what it waits for is seldom the
// writer. So there are two ways: Data lets the reader make the call at any time, and the call has to bring
// the news; Data{Told::outside} tells all ranks of the change by shared memory, which MPI does not see, and
// the call only has to acquire.
//
// The reader is the last rank, because it learns from those before it even by MPI_Scan. It tells the writer
// that it may write by a plain send, which is no acquire.

#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "check.hpp"

extern "C" void nearfetch_fault_leave_out(const char* names) __attribute__((weak));

namespace litmus {

using namespace check;

inline constexpr int writer = 0;
inline int reader() { return size() - 1; }
inline bool writes() { return rank() == writer; }
inline bool reads() { return rank() == reader(); }

/// A test: how the reader learns of the change, and what remains to be done after it has looked.
struct Litmus {
    const char* calls;  ///< whose acquires are needed
    std::function<void()> learn;
    std::function<void()> after = [] {};
    std::function<void()> before = [] {};  ///< the reader has looked for the first time
};

/// A number that all ranks see, and MPI does not.
class Outside {
  public:
    Outside() {
        char name[64];
        std::snprintf(name, sizeof name, "/nearfetch-litmus-%d", static_cast<int>(getpid()));
        MPI_Bcast(name, sizeof name, MPI_CHAR, writer, MPI_COMM_WORLD);
        const int file = shm_open(name, O_CREAT | O_RDWR, 0600);
        CHECK(file >= 0 && ftruncate(file, sizeof *stage_) == 0);
        void* const memory = mmap(nullptr, sizeof *stage_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        CHECK(memory != MAP_FAILED);
        stage_ = static_cast<std::atomic<std::int64_t>*>(memory);
        close(file);
        barrier();
        if (writes()) shm_unlink(name);
    }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;
    ~Outside() { munmap(stage_, sizeof *stage_); }

    void set(std::int64_t stage) { stage_->store(stage); }
    bool has_come(std::int64_t stage) const { return stage_->load() >= stage; }
    void wait(std::int64_t stage) const {
        while (!has_come(stage))
            std::this_thread::yield();
    }

  private:
    std::atomic<std::int64_t>* stage_ = nullptr;
};

enum class Told { by_the_call, outside };

inline std::int64_t get(MPI_Win window, int target, MPI_Aint place) {
    std::int64_t value = -1;
    CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_flush(target, window));
    return value;
}

/// What is read, always in mode acquire.
class Data {
  public:
    explicit Data(Told told = Told::by_the_call)
        : told_(told),
          info_{{"nearfetch_mode", "acquire"}, {"nearfetch_bypass", "off"}},
          window_(1024 * 8, 8, Kind::allocate, info_) {
        CHECK_MPI(MPI_Win_lock_all(0, window_));
        window_.as<std::int64_t>()[0] = 0;
        publish(window_);
    }
    Data(const Data&) = delete;
    Data& operator=(const Data&) = delete;
    ~Data() { CHECK_MPI(MPI_Win_unlock_all(window_)); }
    operator MPI_Win() const { return window_; }

    /// What the reader gets after the writer has told it of a change, relative to what it was changed to.
    std::int64_t seen_after(const Litmus& litmus) {
        ++version_;
        litmus.before();
        barrier();
        CHECK_EQ(NEARFETCH_CALL(nearfetch_win_invalidate, (window_)), MPI_SUCCESS);
        if (reads()) {
            CHECK_EQ(get(window_, writer, 0), version_ - 1);
            get(window_, writer, 8);
            if (told_ == Told::outside)
                outside_.set(2 * version_);
            else
                CHECK_MPI(MPI_Send(nullptr, 0, MPI_BYTE, writer, 1, MPI_COMM_WORLD));
        }
        if (writes()) {
            if (told_ == Told::outside)
                outside_.wait(2 * version_);
            else
                CHECK_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, reader(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            window_.as<std::int64_t>()[0] = version_;
            CHECK_MPI(MPI_Win_sync(window_));
            outside_.set(2 * version_ + 1);
        }
        if (told_ == Told::outside) outside_.wait(2 * version_ + 1);
        litmus.learn();
        const std::int64_t seen = reads() ? get(window_, writer, 0) - version_ : 0;
        if (reads()) get(window_, writer, 16);  // else the next get would be a poll
        litmus.after();
        barrier();
        return seen;
    }

  private:
    Told told_;
    Outside outside_;
    Info info_;
    Window window_;
    std::int64_t version_ = 0;
};

inline void run(Data& data, const Litmus& litmus) {
    part(litmus.calls);
    state().at = litmus.calls;
    const std::int64_t seen = data.seen_after(litmus);
    if (seen != 0) report(__FILE__, __LINE__, std::string(litmus.calls) + ": the old value");
#if defined(LITMUS_FAULT_INJECTION)
    CHECK(nearfetch_fault_leave_out != nullptr);
#endif
    if (nearfetch_fault_leave_out == nullptr) return;
    nearfetch_fault_leave_out(litmus.calls);
    const std::int64_t without = data.seen_after(litmus);
    nearfetch_fault_leave_out("");
    if (reads() && without != -1)
        report(__FILE__, __LINE__, std::string(litmus.calls) + ": not missed when left out");
    else if (reads())
        std::printf("missed: %s\n", litmus.calls);
}

inline void tell() { CHECK_MPI(MPI_Send(nullptr, 0, MPI_BYTE, reader(), 2, MPI_COMM_WORLD)); }
inline void told() {
    CHECK_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, writer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/// The writer sends, the reader does something about it.
inline Litmus by_message(
    const char* calls, std::function<void()> receive, std::function<void()> rest = [] {}) {
    return {calls,
            [receive] {
                if (writes()) tell();
                if (reads()) receive();
            },
            [rest] {
                if (reads()) rest();
            }};
}

inline MPI_Request request = MPI_REQUEST_NULL;
inline MPI_Message message = MPI_MESSAGE_NULL;

inline Litmus by_request(
    const char* calls, std::function<void()> complete, std::function<void()> rest = [] {}) {
    return by_message(
        calls,
        [complete] {
            CHECK_MPI(MPI_Irecv(nullptr, 0, MPI_BYTE, writer, 2, MPI_COMM_WORLD, &request));
            complete();
        },
        rest);
}

using Look = std::function<void(std::int64_t*)>;

/// The writer raises a flag, a number from 0, by one; the reader looks again and again until it has.
inline Litmus by_flag(const char* calls, std::int64_t& raised, std::function<void()> raise, Look look) {
    return {calls, [&raised, raise, look] {
                ++raised;
                if (writes()) raise();
                std::int64_t value = 0;
                while (reads() && value != raised)
                    look(&value);
            }};
}

/// The flag is the first number of the writer's part of a window, inside lock_all; the reader looks by an
/// atomic.
inline Litmus by_atomic(const char* calls, MPI_Win flags, std::int64_t& raised, Look look) {
    return by_flag(
        calls, raised,
        [flags] {
            const std::int64_t one = 1;
            CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, writer, 0, 1, MPI_INT64_T, MPI_SUM, flags));
            CHECK_MPI(MPI_Win_flush(writer, flags));
        },
        [flags, look](std::int64_t* value) {
            look(value);
            CHECK_MPI(MPI_Win_flush(writer, flags));
        });
}

/// A reader that looks under a lock, again and again: between two of them the writer gets its own. No MPI
/// library promises that it does otherwise.
inline void leave_time_for_a_lock() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

inline void run_all(Data& data, const std::vector<Litmus>& all) {
    for (const Litmus& litmus : all)
        run(data, litmus);
}

}  // namespace litmus
