// SPDX-License-Identifier: Apache-2.0
#pragma once

// The reference model: a slow, simple memory that knows for every byte which values a read may return.
//
// Time is a count of events. A write is *issued*, later *finished* (the put has returned), later *complete*
// (its rank's release has). A read's bound is the last acquire of its task, or of its rank for that range. It
// may return any value that the byte can have had at its target between the bound and now, or what its own
// rank wrote. So a write w is excluded if
// - some w' was issued when w was complete, and was itself complete at the bound; or
// - some w' of w's rank was issued when w was finished, and was complete at the bound; or
// - some w' of the reader's rank, finished when the read began, was issued when w was complete, or w was the
// same rank's and finished then: own newer writes hide older ones. A failed put may or may not have happened,
// as may earlier writes of its rank there. Such a write is allowed, and excludes nothing.
//
// When every rank has released and acquired, the history starts again.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace nearfetch::simulation {

class MemoryModel {
  public:
    using Time = std::uint64_t;
    using WriteId = std::uint32_t;

    /// Whether the write is visible to the writer's rank at once, or bypassed the cache.
    enum class Path : std::uint8_t { cached, bypassing };

    struct Acquired {
        Time time;
        Rank target;
        ByteRange range;
    };
    /// The state of a reader when the read begins.
    struct View {
        Rank rank = nobody;
        Time begun = 0;
        Time acquired = 0;
        std::vector<Acquired> ranges;  ///< acquired by the rank, of those that overlap the read
    };
    static constexpr Rank nobody = -1;

    MemoryModel(Rank ranks, std::uint64_t memory_bytes, const std::vector<std::vector<std::byte>>& memory);

    Time tick() noexcept { return ++now_; }

    WriteId issue(Rank writer, std::uint32_t op, Rank target, std::uint64_t offset, std::uint64_t size,
                  const std::byte* bytes);
    void finish(WriteId write) noexcept;
    /// The write may fail in a way that leaves its bytes undefined, and those that its rank writes there
    /// meanwhile.
    void endanger(WriteId write);
    /// The write failed.
    void doubt(WriteId write) noexcept;
    /// A write directly to the target, of an operation that began at `issued`.
    void write_through(Rank writer, std::uint32_t op, Rank target, std::uint64_t offset, std::uint64_t size,
                       const std::byte* bytes, Time issued);
    /// A release of the rank that began at `begun` has returned; an empty `range` means all.
    void released(Rank rank, Time begun, Rank target, ByteRange range) noexcept;
    void acquired(Rank rank, Rank target, ByteRange range);

    View look(Rank rank, Time acquired, Rank target, ByteRange range) const;
    /// A direct read of the target's memory.
    View look_there() const { return {nobody, 0, now_, {}}; }

    /// \return what is wrong with the bytes of a read, or nothing
    std::string check(const View& view, Rank target, std::uint64_t offset, std::uint64_t size,
                      const std::byte* bytes) const;
    /// How many values of a byte a read may return.
    std::size_t choices(const View& view, Rank target, std::uint64_t offset) const;

    bool doubts() const noexcept { return doubts_; }

    /// All ranks have released and acquired: checks the memory, which becomes the new initial state.
    /// \return what is wrong, or nothing
    std::string check_and_reset(const std::vector<std::vector<std::byte>>& memory, bool race_free);

  private:
    static constexpr Time never = ~Time{0};
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    struct Write {
        Time issued = 0;
        Time finished = never;
        Time complete = never;
        Rank rank = nobody;
        Rank target = 0;
        ByteRange range;
        std::uint32_t op = 0;
        Path path = Path::cached;
        bool doubtful = false;
    };
    /// A write to a byte, in a list from the newest.
    struct Node {
        WriteId write;
        std::uint32_t older;
        std::uint8_t value;
    };
    /// Exclusion limits: times after which something newer was present.
    struct Limits {
        Time complete = 0;  ///< a write that was complete then
        Time own = 0;       ///< a write of the reader's rank that was finished then
        Time of_rank[4] = {};
    };

    std::size_t index(Rank target, std::uint64_t offset) const noexcept {
        return static_cast<std::size_t>(target) * memory_bytes_ + offset;
    }
    void discredit(WriteId write) noexcept;
    Limits limits(const View& view, Rank target, std::uint64_t offset) const noexcept;
    bool ruled_out(const Limits& limits, const View& view, const Write& write) const noexcept;
    template <class Visitor>
    void for_each_allowed(const View& view, Rank target, std::uint64_t offset, Visitor&& visit) const;
    std::string complaint(const View& view, Rank target, std::uint64_t offset, std::uint8_t value) const;

    std::uint64_t memory_bytes_;
    std::vector<std::uint8_t> base_;
    std::vector<std::uint32_t> newest_;
    std::vector<Node> nodes_;
    std::vector<Write> writes_;
    std::vector<WriteId> incomplete_[4];  ///< by rank
    std::vector<Acquired> acquired_[4];
    std::vector<WriteId> dangerous_;  ///< and not finished
    bool doubts_ = false;             ///< something has failed
    Time now_ = 0;
};

}  // namespace nearfetch::simulation
