// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `nearfetch record` loads in the interposer's place. It changes nothing: each call goes to the library
// as it is, and is written down (recording/event.hpp). What gets have brought is compared with what they
// brought before (recording/reread_check.hpp).
//
// One file for each process, as long as a limit; then fewer blocks of memory are sampled.

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ticks.hpp"
#include "recording/event_writer.hpp"
#include "recording/reread_check.hpp"
#include "recording/sampling.hpp"

namespace nearfetch {

/// The target's side of an access. An origin is only known of gets of one run of bytes.
struct RecordedAccess {
    const std::byte* origin = nullptr;
    int target = 0;
    MPI_Aint displacement = 0;
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Win win = MPI_WIN_NULL;
};

class Recorder {
  public:
    /// MPI has begun. Does nothing unless the environment names a folder.
    void begin() noexcept;
    /// Writes the end. Within MPI_Finalize.
    void end() noexcept;
    bool is_on() const noexcept { return is_on_; }

    /// Collective over `comm`, like the window's creation.
    /// \param declared where the program's own memory is; null: the library has allocated it, or there is
    /// none
    void add_window(MPI_Win win, MPI_Comm comm, std::uint64_t bytes, std::uint64_t unit,
                    const void* declared) noexcept;
    void remove_window(MPI_Win win) noexcept;

    /// A call of the library that began and ended then, and succeeded.
    void add(EventKind kind, MPI_Win win, int target, bool flag, std::uint64_t begin_ticks,
             std::vector<std::uint64_t> values = {}) noexcept;
    /// The same of an access. \param request that completes it, if it is one
    void add_access(EventKind kind, const RecordedAccess& access, std::uint64_t begin_ticks,
                    const MPI_Request* request = nullptr) noexcept;
    /// A call has acquired. \param begin_ticks 0: it has taken no time
    void acquire(const char* call, std::uint64_t begin_ticks = 0) noexcept;
    /// A request has completed. \return whether it may have synchronised: it was none of an access
    bool complete(MPI_Request request, std::uint64_t begin_ticks) noexcept;
    /// Whether the end of a request may synchronise: it is none of an access, or of one that fetches.
    bool may_synchronise(MPI_Request request) noexcept;
    /// Nobody sees the end of that request.
    void forget(MPI_Request request) noexcept;

  private:
    struct RecordedWindow {
        std::uint32_t id = 0;
        std::vector<std::uint64_t> units{};  ///< bytes, of each rank
    };
    struct Pending {
        std::uint32_t window;
        int target;
        std::uint64_t offset;
        std::uint64_t size;
        const std::byte* origin;
    };
    struct Requested {
        std::uint32_t window;
        int target;
        bool fetches;
    };
    /// Gets whose bytes are looked at when they are complete.
    static constexpr std::size_t most_pending = 4096;

    void open();
    void write(Event& event, std::uint64_t begin_ticks);
    void check_pending(std::uint32_t window, int target);
    void sample_less();

    std::recursive_mutex mutex_;
    bool is_on_ = false;
    std::uint64_t limit_bytes_ = 0;
    std::uint64_t begun_ticks_ = 0;
    std::uint64_t last_ticks_ = 0;
    AcquireCount acquires_;
    std::uint32_t windows_made_ = 0;
    std::unique_ptr<EventWriter> writer_;
    Sampling sampling_;
    RereadCheck rereads_;
    std::unordered_map<MPI_Win, RecordedWindow> windows_;
    std::unordered_multimap<MPI_Request, Requested> requests_;
    std::unordered_map<const char*, std::uint64_t> texts_;
    std::vector<Pending> pending_;
};

extern Recorder recorder __attribute__((visibility("hidden")));

}  // namespace nearfetch
