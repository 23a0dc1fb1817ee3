// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which values the reads of a random program may return.
//
// The reference model of the simulation (tests/simulation/memory_model.hpp) watches a run whose events are in
// one order. Here ranks run by themselves, so only what the program orders is known. Each rank counts its
// events; a vector clock says how many events of each rank are over when an event takes place, as far as the
// program makes sure (Lamport 1978; Mattern 1989). Of a read R and a write W of a byte,
//  - W is *before* R if W was complete at its target before R was issued; then it is not seen any more
//    if another write, before R, was issued after W was complete;
//  - W is *after* R if R was complete before W was issued: not seen;
//  - else they are concurrent: R may see W or not, byte by byte.
// Accumulates and atomics of one rank at one place are in the order in which they were issued, complete or
// not. What is there at the beginning is a write before all.
//
// Each addition to a word sets a bit of its own, so that every sum says which additions it has.

#include <unordered_map>

#include "random_extra.hpp"

namespace random_programs {

using Clock = std::array<std::uint32_t, most_ranks>;
constexpr std::uint32_t never = ~std::uint32_t{0};

inline void join(Clock& clock, const Clock& other) {
    for (std::size_t rank = 0; rank < most_ranks; ++rank)
        clock[rank] = std::max(clock[rank], other[rank]);
}

/// A step as it is executed: clipped to the window, as a kind that its epoch allows.
struct Act {
    Step step;
    std::uint32_t number = 0;  ///< of the act
    bool legal = false;
    bool begun = false;      ///< a message whose receive was posted before
    int expected = 0;        ///< the flag's value from which on it is raised
    std::uint64_t bit = 0;   ///< what an addition adds to each of its words
    int memory = 0;          ///< of an access; two windows may have the same
    std::uint64_t base = 0;  ///< where its window begins there
    ExtraWindow extra;       ///< of an access of one, and where one is made or freed
    int read = -1;           ///< index of what it reads
    int write = -1;
};

struct Write {
    std::uint32_t act;
    int rank;
    bool ordered;
    Clock issued;
    int complete_rank;  ///< whose clock `complete` is of
    std::uint32_t complete = never;
};

struct Read {
    std::uint32_t act;
    int rank;
    bool ordered;
    Clock issued;
    /// When the oldest of the rank's gets at this target was issued that was not complete then. Modes other
    /// than acquire share its transfer (docs/mpi.md).
    Clock oldest;
    std::uint32_t complete = never;
};

/// Whether there are words that are only added to.
inline bool is_of_sums(int memory, int rank, std::uint64_t offset) {
    return memory < windows && offset >= data_bytes(memory, rank);
}

/// The bytes of a rank's part at the beginning.
inline unsigned char byte_at_first(std::uint64_t fill, int memory, int rank, std::uint64_t offset) {
    if (is_of_sums(memory, rank, offset)) return 0;
    return check::pattern_byte(rank + 16 * memory, offset, static_cast<int>(fill % 1000));
}

/// All reads and writes of a program, and their order.
class History {
  public:
    explicit History(std::uint64_t fill) : fill_(fill) {}

    const std::vector<Act>& acts() const { return acts_; }

    /// \param strict whether a get may not share the transfer of one before it that is not complete
    /// \return what is wrong with the bytes that an act has read, or nothing
    std::string check(const Act& act, const unsigned char* bytes, bool strict) const {
        const Read& read = reads_[static_cast<std::size_t>(act.read)];
        for (std::uint64_t i = 0; i < act.step.size_bytes; ++i) {
            std::string wrong = check_byte(act, read, act.base + act.step.place(i), bytes[i], strict);
            if (!wrong.empty()) return wrong;
        }
        return {};
    }

    /// How many values the first byte of a read may have.
    int choices(const Act& act, bool strict) const {
        const Read& read = reads_[static_cast<std::size_t>(act.read)];
        int number = 0;
        for (int value = 0; value < 256; ++value)
            if (check_byte(act, read, act.base + act.step.place(0), static_cast<unsigned char>(value), strict)
                    .empty())
                ++number;
        return number;
    }

    /// \return what is wrong with a rank's part of a memory of so many bytes after all is over
    std::string check_part(int memory, int rank, const unsigned char* bytes, std::uint64_t size_bytes) const {
        Act act;
        act.memory = memory;
        act.step.window = std::min(memory, static_cast<int>(extra));
        act.step.peer = act.step.rank = rank;
        act.number = never - 1;
        Read read{act.number, nobody, false, {}, {}, never};
        read.issued.fill(never - 1);
        for (std::uint64_t at = 0; at < size_bytes; ++at) {
            std::string wrong = check_byte(act, read, at, bytes[at], true);
            if (!wrong.empty()) return wrong;
        }
        return {};
    }

  protected:
    static constexpr int nobody = -1;
    /// Of a write, its byte number `i`.
    struct Entry {
        std::uint32_t write;
        std::uint32_t i;
    };

    static std::uint64_t key(int a, int b, std::uint64_t c) {
        return (static_cast<std::uint64_t>(a) * 64 + static_cast<std::uint64_t>(b)) << 32 | c;
    }

    std::vector<Act> acts_;
    std::vector<Read> reads_;
    std::vector<Write> writes_;
    std::unordered_map<std::uint64_t, std::vector<Entry>> entries_;  ///< by memory, rank and offset

  private:
    enum class Relation { before, concurrent, after };

    static Relation relation(const Write& write, const Read& read, bool strict) {
        if (write.act == read.act) return Relation::after;
        if (write.rank == read.rank && write.ordered && read.ordered)
            return write.act < read.act ? Relation::before : Relation::after;
        if (read.rank != nobody && read.complete != never &&
            read.complete <= write.issued[static_cast<std::size_t>(read.rank)])
            return Relation::after;
        const Clock& known = strict ? read.issued : read.oldest;
        return write.complete <= known[static_cast<std::size_t>(write.complete_rank)] ? Relation::before
                                                                                      : Relation::concurrent;
    }

    static bool superseded(const Write& write, const Write& by) {
        if (write.rank == by.rank && write.ordered && by.ordered) return write.act < by.act;
        return write.complete <= by.issued[static_cast<std::size_t>(write.complete_rank)];
    }

    bool allowed(const std::vector<Entry>& entries, const Write& write, const Read& read, bool strict) const {
        const Relation here = relation(write, read, strict);
        if (here != Relation::before) return here == Relation::concurrent;
        for (const Entry& other : entries) {
            const Write& by = writes_[other.write];
            if (&by != &write && superseded(write, by) && relation(by, read, strict) == Relation::before)
                return false;
        }
        return true;
    }

    std::string check_byte(const Act& act, const Read& read, std::uint64_t at, unsigned char value,
                           bool strict) const {
        const Step& step = act.step;
        const unsigned char first = byte_at_first(fill_, act.memory, step.peer, at);
        const auto found = entries_.find(key(act.memory, step.peer, at));
        static const std::vector<Entry> none;
        const std::vector<Entry>& entries = found == entries_.end() ? none : found->second;
        if (is_of_sums(act.memory, step.peer, at)) return check_sum(entries, act, read, at, value, strict);
        bool first_allowed = true;
        for (const Entry& entry : entries) {
            const Write& write = writes_[entry.write];
            if (relation(write, read, strict) == Relation::before) first_allowed = false;
            if (value == value_of(acts_[write.act].step.id, entry.i) && allowed(entries, write, read, strict))
                return {};
        }
        if (value == first && first_allowed) return {};
        std::ostringstream text;
        text << to_text(step) << ": byte " << at << " is " << int{value};
        for (const Entry& entry : entries)
            if (value == value_of(acts_[writes_[entry.write].act].step.id, entry.i))
                text << " (written by #" << acts_[writes_[entry.write].act].step.id << ')';
        text << (value == first ? " (there at the beginning)" : "") << ". Allowed:";
        if (first_allowed) text << ' ' << int{first} << " (there at the beginning)";
        for (const Entry& entry : entries) {
            const Write& write = writes_[entry.write];
            if (!allowed(entries, write, read, strict)) continue;
            const Step& by = acts_[write.act].step;
            text << ' ' << int{value_of(by.id, entry.i)} << " (written by #" << by.id << " of rank "
                 << by.rank
                 << (relation(write, read, strict) == Relation::concurrent ? ", concurrent)" : ")");
        }
        return text.str();
    }

    /// Additions that are before the read are there, concurrent ones may be.
    std::string check_sum(const std::vector<Entry>& entries, const Act& act, const Read& read,
                          std::uint64_t at, unsigned char value, bool strict) const {
        unsigned must = 0, may = 0;
        for (const Entry& entry : entries) {
            const Write& write = writes_[entry.write];
            const auto bits = static_cast<unsigned char>(acts_[write.act].bit >> (8 * (entry.i % 8)));
            const Relation here = relation(write, read, strict);
            if (here == Relation::before) must |= bits;
            if (here != Relation::after) may |= bits;
        }
        if ((value & must) == must && (value & ~may) == 0) return {};
        std::ostringstream text;
        text << to_text(act.step) << ": byte " << at << ", of a sum, is " << int{value}
             << ". It has to have the bits " << must << " and none but " << may;
        return text.str();
    }

    std::uint64_t fill_;
};

}  // namespace random_programs
