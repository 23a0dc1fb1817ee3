// SPDX-License-Identifier: Apache-2.0
#pragma once

// Large slices of remote memory that the processes of a node hold once, in memory that all of them have
// mapped: what a node buffer is for small ones, without a copy for each process.
//
//   lock, sizes | which units are taken | versions: buckets of 16 | units of 64 KiB
//
// A version is what one fetch has brought. Once it is complete nobody writes to it. So those who use it read
// it in place, at an address of their own. It knows when its fetch was issued, and how many use it. When the
// last one gives it up, its units are free again. A newer version of the same slice is another one, next to
// it.
//
// Versions are found by the hash of their name, and lie at the first place that is large enough. All of that
// changes under one lock, which nobody holds during a copy or a fetch. The lock is a robust one: if its owner
// dies, the next one gets it. A change ends with the store of one word, the version's state. So a dead
// process leaves nothing that has to be repaired. What it used stays taken.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/types.hpp"
#include "cache/node_buffer/node_buffer.hpp"

namespace nearfetch {

class VersionStore {
    struct Header;
    struct Slot;

  public:
    /// What is taken for a version begins at a multiple of this, which each system's pages divide.
    static constexpr std::uint64_t unit_bytes = std::uint64_t{64} << 10;
    /// Below this a copy costs less than what two processes do to share.
    static constexpr std::uint64_t least_bytes = unit_bytes;

    /// What a version is of.
    struct Name {
        Rank rank;
        NodeBuffer::Key key;
        std::uint64_t begin;
        std::uint64_t bytes;
        /// How many bytes of its page stand before the version. So it can be mapped where a slice begins
        /// inside of a page.
        std::uint64_t offset_in_page = 0;
        friend bool operator==(const Name&, const Name&) = default;
    };

    /// The use of a version. It ends with its life.
    class Version {
      public:
        Version() = default;
        Version(Version&& other) noexcept
            : header_(other.header_), slot_(std::exchange(other.slot_, nullptr)) {}
        Version& operator=(Version&& other) noexcept {
            std::swap(header_, other.header_);
            std::swap(slot_, other.slot_);
            return *this;
        }
        ~Version() { give_up(Memory::kept); }

        explicit operator bool() const noexcept { return slot_ != nullptr; }
        /// Its place in the store's memory, bytes. \pre it is one
        std::uint64_t offset() const noexcept;
        /// The same place, as this process has mapped it: written to before it is complete, read afterwards.
        std::byte* data() const noexcept;
        /// All its bytes are there. \pre this process has begun it
        void complete() const noexcept;
        /// What becomes of memory that nobody uses any more.
        enum class Memory : bool {
            kept,     ///< for the next version
            returned  ///< to the system
        };
        /// Ends the use.
        void give_up(Memory memory) noexcept;

      private:
        friend class VersionStore;
        Version(Header* header, Slot* slot) noexcept : header_(header), slot_(slot) {}

        Header* header_ = nullptr;
        Slot* slot_ = nullptr;
    };

    /// A version that another process is fetching.
    struct Arrival {
        NodeTime issued = 0;
        const void* slot = nullptr;
    };

    enum class Found : std::uint8_t {
        nothing,   ///< and there is no room to begin one
        complete,  ///< a version to be read
        arriving,  ///< another process is fetching one
        begun,     ///< a version that the caller is to fetch
    };
    struct Answer {
        Found found = Found::nothing;
        Version version = {};  ///< that is complete, or begun
        Arrival arrival = {};
    };

    /// Memory for versions of so many bytes together, and what describes them.
    static std::uint64_t memory_bytes(std::uint64_t version_bytes) noexcept;
    /// Makes an empty one. \pre the memory is zero, as large as memory_bytes() says, and begins at a multiple
    /// of unit_bytes of what all processes map
    /// \return false: the system has no locks that are shared and robust
    static bool create(std::span<std::byte> memory, std::uint64_t version_bytes) noexcept;
    /// Uses what create() has made, in this process or another one. \pre the memory is mapped as long as this
    /// and its versions live
    explicit VersionStore(std::byte* memory) noexcept : header_(reinterpret_cast<Header*>(memory)) {}

    /// A version that was issued no earlier than `since`: a complete one, or else one that was issued no
    /// earlier than `expected_since` and is being fetched. If there is none, begins one that is issued `now`.
    Answer take(const Name& name, NodeTime since, NodeTime expected_since, NodeTime now) const noexcept;
    /// Whether it is still being fetched: afterwards take() finds it complete, or not at all.
    bool is_arriving(const Arrival& arrival) const noexcept;
    /// Of all versions, in whole units.
    std::uint64_t used_bytes() const noexcept;

  private:
    Slot* bucket_of(const Name& name) const noexcept;
    std::uint64_t find_room(std::uint64_t count) const noexcept;
    Answer begin(Slot& slot, const Name& name, NodeTime now) const noexcept;

    Header* header_;
};

}  // namespace nearfetch
