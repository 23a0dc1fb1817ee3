// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the conformance programs share. Each program checks every value it reads against a pattern that is a
// function of (rank, index, version), so a byte that is stale, misplaced or never written is recognised as
// such. A program goes on after a failed check, so that the ranks stay in step, and its exit code says
// whether all checks passed.
//
// The programs are legal MPI and run unchanged with and without nearfetch. Where a mode asks the program for
// a promise (user-defined, always-cache), forget() keeps it; in the other modes forget() does nothing, so
// that these are tested as they are.

#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <nearfetch/mpi.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace check {

/// The one per process: ranks, the seed of random parts, and what failed.
struct State {
    int rank = 0;
    int size = 1;
    std::uint64_t seed = 0;
    int failures = 0;
    const char* at = "start";
};

inline State& state() {
    static State instance;
    return instance;
}

inline int rank() { return state().rank; }
inline int size() { return state().size; }
inline int right() { return (rank() + 1) % size(); }

inline void report(const char* file, int line, const std::string& what) {
    State& s = state();
    if (++s.failures > 20) return;
    std::ostringstream text;
    text << file << ':' << line << ": rank " << s.rank << " of " << s.size << ", seed " << s.seed << ", at "
         << s.at << ": " << what << '\n';
    std::cerr << text.str() << std::flush;
}

template <class T>
std::string show(const T& value) {
    std::ostringstream text;
    if constexpr (sizeof(T) == 1)
        text << int{static_cast<unsigned char>(value)};
    else
        text << value;
    return text.str();
}

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) ::check::report(__FILE__, __LINE__, "failed: " #condition); \
    } while (false)

template <class Seen, class Expected>
void check_equal(const char* file, int line, const char* what, const Seen& seen, const Expected& expected) {
    if (seen == static_cast<Seen>(expected)) return;
    report(file, line,
           std::string(what) + ": expected " + show(static_cast<Seen>(expected)) + ", seen " + show(seen));
}
#define CHECK_EQ(seen, expected) ::check::check_equal(__FILE__, __LINE__, #seen, seen, expected)

#define CHECK_MPI(call) CHECK_EQ(call, MPI_SUCCESS)

/// A value that tells rank, index and version apart.
inline std::uint64_t pattern(int rank, std::uint64_t index, int version = 0) {
    std::uint64_t z = index + 0x9e3779b97f4a7c15ull * static_cast<std::uint64_t>(rank + 1) +
                      0xd1b54a32d192ed03ull * static_cast<std::uint64_t>(version + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

inline unsigned char pattern_byte(int rank, std::uint64_t index, int version = 0) {
    return static_cast<unsigned char>(pattern(rank, index, version));
}

inline void fill(void* memory, std::uint64_t bytes, int owner, int version = 0, std::uint64_t first = 0) {
    auto* out = static_cast<unsigned char*>(memory);
    for (std::uint64_t i = 0; i < bytes; ++i)
        out[i] = pattern_byte(owner, first + i, version);
}

/// Compares with the bytes [first, first + bytes) of `owner`'s pattern and reports the first that differs.
inline void check_bytes(const char* file, int line, const void* memory, std::uint64_t bytes, int owner,
                        std::uint64_t first, int version = 0) {
    const auto* seen = static_cast<const unsigned char*>(memory);
    for (std::uint64_t i = 0; i < bytes; ++i) {
        const unsigned char expected = pattern_byte(owner, first + i, version);
        if (seen[i] == expected) continue;
        report(file, line,
               "byte " + std::to_string(i) + " of " + std::to_string(bytes) + " (target " +
                   std::to_string(owner) + ", offset " + std::to_string(first + i) + ", version " +
                   std::to_string(version) + "): expected " + show(expected) + ", seen " + show(seen[i]));
        return;
    }
}
#define CHECK_BYTES(memory, bytes, owner, first, ...) \
    ::check::check_bytes(__FILE__, __LINE__, memory, bytes, owner, first __VA_OPT__(, ) __VA_ARGS__)

/// A small generator of its own, the same everywhere.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
    std::uint64_t next() { return pattern(7, ++state_, 11); }
    /// Uniform in [0, bound).
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }
    int between(int low, int high) {
        return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low + 1)));
    }

  private:
    std::uint64_t state_;
};

// --- nearfetch, if it is loaded

inline bool loaded() { return nearfetch_win_stats != nullptr; }

/// The mode that windows have which name none: "plain" without nearfetch.
inline std::string mode() {
    if (!loaded()) return "plain";
    const char* name = std::getenv("NEARFETCH_MODE");
    return name ? name : "transparent";
}

inline bool never_forgets(const std::string& name) {
    return name == "always-cache" || name == "user-defined";
}

/// Whether the targets of this run are cached whatever their gets cost, so that hits can be counted.
inline bool counts_hits() {
    const char* bypass = std::getenv("NEARFETCH_BYPASS");
    return loaded() && bypass && std::string_view(bypass) == "off";
}

inline unsigned long long counter(MPI_Win win, const char* name) {
    unsigned long long value = 0;
    if (loaded()) CHECK_EQ(nearfetch_win_stats(win, name, &value), MPI_SUCCESS);
    return value;
}

/// What a program owes the modes that never forget by themselves: others' writes come after this call.
inline void forget(MPI_Win win, const std::string& window_mode = mode()) {
    if (never_forgets(window_mode)) CHECK_EQ(NEARFETCH_CALL(nearfetch_win_invalidate, (win)), MPI_SUCCESS);
}

// --- start and end

inline void on_alarm(int) {
    const State& s = state();
    char text[256];
    const int length = std::snprintf(text, sizeof text, "rank %d of %d is stuck (at: %s), seed %llu\n",
                                     s.rank, s.size, s.at, static_cast<unsigned long long>(s.seed));
    if (length > 0 && write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) _exit(4);
    _exit(3);
}

/// Names the part that runs now, for the message of a rank that is stuck (and for CHECK_TRACE=1).
inline void part(const char* name) {
    static const bool trace = std::getenv("CHECK_TRACE") != nullptr;
    state().at = name;
    if (trace) std::fprintf(stderr, "rank %d: %s\n", state().rank, name);
}

/// MPI_Init_thread, and an end after `limit_s` seconds whatever happens.
class Program {
  public:
    Program(int& argc, char**& argv, unsigned limit_s = 60, int wanted = MPI_THREAD_SINGLE) {
        signal(SIGALRM, on_alarm);
        alarm(limit_s);
        MPI_Init_thread(&argc, &argv, wanted, &provided_);
        MPI_Comm_rank(MPI_COMM_WORLD, &state().rank);
        MPI_Comm_size(MPI_COMM_WORLD, &state().size);
    }
    int provided() const { return provided_; }
    /// MPI_Finalize; the exit code of the program: 0 where no rank saw a failure.
    int finish() {
        int mine = state().failures, all = 0;
        part("finish");
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Finalize();
        if (state().rank == 0)
            std::cout << (all ? "FAILED " : "passed ") << all << " failures, mode " << mode() << ", "
                      << state().size << " ranks" << std::endl;
        return all ? 1 : 0;
    }
    /// All of a program that one rank alone cannot run; its exit code.
    int run_with_others(void (*test)()) {
        if (state().size == 1) return skip("it needs two ranks");
        test();
        return finish();
    }
    /// The exit code of a program that this MPI cannot run.
    int skip(const char* why) {
        MPI_Finalize();
        if (state().rank == 0) std::cout << "skipped: " << why << std::endl;
        return 77;
    }

  private:
    int provided_ = 0;
};

// --- windows

/// An MPI_Info of nearfetch's and other keys; MPI_INFO_NULL when empty.
class Info {
  public:
    Info() = default;
    Info(std::initializer_list<std::pair<const char*, const char*>> pairs) {
        MPI_Info_create(&info_);
        for (const auto& [key, value] : pairs)
            MPI_Info_set(info_, key, value);
    }
    Info(const Info&) = delete;
    Info& operator=(const Info&) = delete;
    ~Info() {
        if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
    }
    operator MPI_Info() const { return info_; }

  private:
    MPI_Info info_ = MPI_INFO_NULL;
};

/// For a window's info, where hits are counted: nothing is forgotten for standing still, however long a run
/// on a busy machine takes.
#define NEVER_STANDS_STILL {"nearfetch_progress_interval_us", "10000"}

enum class Kind { allocate, create };

/// Whether this MPI makes windows by MPI_Win_create on `comm`: Open MPI 4.1 does not for one process in
/// shared memory.
inline bool can_create(MPI_Comm comm = MPI_COMM_WORLD) {
    static const bool can = [comm] {
        static double memory[8];
        MPI_Win win;
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        const bool made = MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win) == MPI_SUCCESS;
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
        if (made) MPI_Win_free(&win);
        return made;
    }();
    return can;
}

/// Open MPI 4.1 crashes in MPI_Compare_and_swap on allocated windows in shared memory (osc rdma over vader).
inline bool can_swap(Kind kind) {
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
    return kind == Kind::create && can_create();
#else
    (void)kind;
    return true;
#endif
}

/// Ranks that outnumber the machine's cores wait for each other's time slices: programs then do less.
inline bool crowded() { return size() > 2; }

/// A window over bytes of its own, freed in the destructor. Where the MPI cannot create one it is allocated.
class Window {
  public:
    explicit Window(MPI_Aint bytes, int disp_unit = 1, Kind kind = Kind::allocate,
                    MPI_Info info = MPI_INFO_NULL, MPI_Comm comm = MPI_COMM_WORLD)
        : bytes_(bytes), disp_unit_(disp_unit) {
        if (kind == Kind::allocate || !can_create()) {
            CHECK_MPI(MPI_Win_allocate(bytes, disp_unit, info, comm, &base_, &win_));
        } else {
            memory_.resize(static_cast<std::size_t>(bytes) / 8 + 1);
            base_ = reinterpret_cast<unsigned char*>(memory_.data());
            CHECK_MPI(MPI_Win_create(base_, bytes, disp_unit, info, comm, &win_));
        }
    }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;
    ~Window() {
        if (win_ != MPI_WIN_NULL) MPI_Win_free(&win_);
    }
    operator MPI_Win() const { return win_; }
    unsigned char* bytes() const { return base_; }
    template <class T>
    T* as() const {
        return reinterpret_cast<T*>(base_);
    }
    MPI_Aint size_bytes() const { return bytes_; }
    int disp_unit() const { return disp_unit_; }

  private:
    MPI_Aint bytes_;
    int disp_unit_;
    unsigned char* base_ = nullptr;
    MPI_Win win_ = MPI_WIN_NULL;
    std::vector<std::uint64_t> memory_;
};

/// An access epoch at every target, until the end of the block.
class LockAll {
  public:
    explicit LockAll(MPI_Win win) : win_(win) { CHECK_MPI(MPI_Win_lock_all(0, win_)); }
    LockAll(const LockAll&) = delete;
    LockAll& operator=(const LockAll&) = delete;
    ~LockAll() { CHECK_MPI(MPI_Win_unlock_all(win_)); }

  private:
    MPI_Win win_;
};

inline void barrier() { MPI_Barrier(MPI_COMM_WORLD); }

/// Calls test(&flag), an MPI call, until the flag is true.
template <class Test>
void until(const Test& test) {
    int flag = 0;
    while (!flag)
        CHECK_MPI(test(&flag));
}

/// Local flushes, which Open MPI's osc pt2pt may hang in.
inline bool flushes_locally() {
    const char* osc = std::getenv("OMPI_MCA_osc");
    return !osc || !std::strstr(osc, "pt2pt");
}
inline int flush_local(int target, MPI_Win win) {
    return flushes_locally() ? MPI_Win_flush_local(target, win) : MPI_Win_flush(target, win);
}
inline int flush_local_all(MPI_Win win) {
    return flushes_locally() ? MPI_Win_flush_local_all(win) : MPI_Win_flush_all(win);
}

/// Between the owners' stores and the others' gets (inside a lock_all epoch): the stores are visible, and
/// nearfetch keeps no promise that the program broke.
inline void publish(MPI_Win win, const std::string& window_mode = mode()) {
    MPI_Win_sync(win);
    barrier();
    MPI_Win_sync(win);
    forget(win, window_mode);
}

/// Every rank stores version `version` of its pattern into its window; others may get it afterwards. Inside
/// lock_all.
inline void store_all(const Window& window, int version, const std::string& window_mode = mode()) {
    CHECK_MPI(MPI_Win_flush_all(window));
    barrier();
    MPI_Win_sync(window);
    fill(window.bytes(), static_cast<std::uint64_t>(window.size_bytes()), rank(), version);
    publish(window, window_mode);
}

}  // namespace check
