// SPDX-License-Identifier: Apache-2.0
#include "mpi/datatypes/datatype.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "base/thread_scratch.hpp"
#include "mpi/datatypes/committed.hpp"
#include "mpi/datatypes/flattener.hpp"

// 001 (section II-B) sends derived types through the same cache as plain ones and flattens them at each get;
// here a layout is computed once and kept until its handle dies.
//
// The handle's end is noticed through an attribute: its delete callback runs whichever language frees the
// type, and (unlike a wrapper around MPI_Type_free) only when MPI really gives the handle up, which may be
// later than the program does. Predefined types never die. A type that takes no attribute is flattened anew
// each time.

namespace nearfetch {

std::atomic<std::uint64_t> detail::layout_generation{1};

namespace {

const Layout not_known;

/// What is kept for a handle. Asking with a higher limit adds a version; older ones stay, somebody may be
/// reading them.
struct Entry {
    bool settled = false;  ///< false: whoever made the entry has not yet attached the attribute
    std::uint64_t limit = 0;
    std::vector<std::unique_ptr<const Layout>> versions;

    /// Null if only a computation can tell.
    const Layout* answer(std::uint64_t run_limit) const noexcept {
        if (!settled || versions.empty()) return nullptr;
        const Layout& newest = *versions.back();
        if (newest.known) return newest.blocks.size() <= run_limit ? &newest : &not_known;
        return limit >= run_limit ? &newest : nullptr;
    }
};

class Cache {
  public:
    static Cache& instance() {
        static Cache* const cache = new Cache;  // outlives the last type, which MPI may free at exit
        return *cache;
    }

    const Layout* find(MPI_Datatype type, std::uint64_t run_limit) {
        const std::shared_lock guard(mutex_);
        const auto found = entries_.find(type);
        return found == entries_.end() ? nullptr : found->second.answer(run_limit);
    }

    /// Keeps a layout. No lock is held while MPI is called: MPI calls forget() with locks of its own.
    /// \return null if the layout cannot be kept
    const Layout* keep(MPI_Datatype type, std::uint64_t run_limit, const Layout& layout) {
        auto version = std::make_unique<const Layout>(layout);
        {
            const std::unique_lock guard(mutex_);
            const auto [place, made] = entries_.try_emplace(type);
            if (!made) return add(place->second, run_limit, std::move(version));
        }
        const bool attached = attach(type);
        const std::unique_lock guard(mutex_);
        const auto place = entries_.find(type);
        if (place == entries_.end()) return nullptr;
        if (!attached) {
            entries_.erase(place);
            return nullptr;
        }
        place->second.settled = true;
        return add(place->second, run_limit, std::move(version));
    }

    void forget(MPI_Datatype type) noexcept {
        const std::unique_lock guard(mutex_);
        entries_.erase(type);
        detail::layout_generation.fetch_add(1, std::memory_order_release);
    }

  private:
    static const Layout* add(Entry& entry, std::uint64_t run_limit, std::unique_ptr<const Layout> version) {
        if (!entry.settled) return nullptr;
        if (const Layout* const answer = entry.answer(run_limit)) return answer;
        entry.versions.push_back(std::move(version));
        entry.limit = run_limit;
        return entry.versions.back().get();
    }

    static int on_free(MPI_Datatype type, int, void*, void*) {
        instance().forget(type);
        return MPI_SUCCESS;
    }

    /// Asks to be told when the type dies. A duplicate does not inherit that: it has its own life.
    static bool attach(MPI_Datatype type) {
        static const int key = [] {
            int made = MPI_KEYVAL_INVALID;
            const int status = PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, on_free, &made, nullptr);
            return status == MPI_SUCCESS ? made : MPI_KEYVAL_INVALID;
        }();
        if (key == MPI_KEYVAL_INVALID) return false;
        return is_predefined(type) || PMPI_Type_set_attr(type, key, nullptr) == MPI_SUCCESS;
    }

    std::shared_mutex mutex_;
    std::unordered_map<MPI_Datatype, Entry> entries_;
};

/// The last layouts this thread asked for, so that a loop over a few types takes no lock.
struct Recent {
    std::uint64_t generation = 0;
    MPI_Datatype type{};
    std::uint64_t run_limit = 0;
    const Layout* layout = nullptr;
};
struct RecentLayouts {
    std::array<Recent, 4> entries;
    std::uint32_t next = 0;
};
__attribute__((tls_model("initial-exec"))) thread_local constinit RecentLayouts recent;

}  // namespace

const Layout& layout_of(MPI_Datatype type, std::uint64_t run_limit) {
    const std::uint64_t generation = datatype_generation();
    for (const Recent& last : recent.entries)
        if (last.type == type && last.run_limit == run_limit && last.generation == generation)
            return *last.layout;

    if (!is_datatype(type)) return not_known;
    const Layout* layout = Cache::instance().find(type, run_limit);
    if (layout == nullptr && !is_committed(type)) {
        // It may be before it is used again.
        detail::layout_generation.fetch_add(1, std::memory_order_release);
        return not_known;
    }
    if (layout == nullptr) {
        const std::uint64_t blocks = std::max(run_limit, runs_at_once);
        Layout computed = compute_layout(type, blocks);
        layout = Cache::instance().keep(type, blocks, computed);
        if (layout == nullptr) {
            auto& transient = thread_scratch<std::array<Layout, 4>, struct TransientLayouts>();
            static thread_local std::size_t next = 0;
            detail::layout_generation.fetch_add(1, std::memory_order_release);
            if (computed.blocks.size() > run_limit) return not_known;
            return transient[next++ % transient.size()] = std::move(computed);
        }
        if (layout->blocks.size() > run_limit) layout = &not_known;
    }
    recent.entries[recent.next++ % recent.entries.size()] = {generation, type, run_limit, layout};
    return *layout;
}

bool flatten(const Layout& layout, std::int64_t base, std::uint64_t count, std::uint64_t run_limit,
             std::vector<LayoutRun>& out) {
    out.clear();
    return layout.known && repeat(layout.blocks, base, count, layout.extent, run_limit, out);
}

}  // namespace nearfetch
