// SPDX-License-Identifier: Apache-2.0

// The layouts that are known, by the handle of their type. An attribute tells when a handle dies: MPI calls
// its delete callback whichever language frees the type, and only when it really gives the handle up.
// Predefined types never die.

#include "mpi/datatypes/datatype.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "mpi/fast_tls.hpp"

namespace nearfetch {

std::atomic<std::uint64_t> detail::layout_generation{1};

namespace {

const Layout not_known;
MPI_Comm errors_return = MPI_COMM_NULL;  ///< for is_committed()

void change_generation() noexcept { detail::layout_generation.fetch_add(1, std::memory_order_release); }

/// MPI has no call that asks. So this packs nothing, on a communicator whose errors only come back.
bool is_committed(MPI_Datatype type) noexcept {
    if (errors_return == MPI_COMM_NULL) return true;
    char from = 0, to = 0;
    int position = 0;
    return PMPI_Pack(&from, 0, type, &to, sizeof to, &position, errors_return) == MPI_SUCCESS;
}

class Cache {
  public:
    static Cache& instance() {
        static Cache* const cache = new Cache;  // outlives the last type, which MPI may free at exit
        return *cache;
    }

    /// \return null if only a computation can tell
    const Layout* find(MPI_Datatype type, std::uint64_t run_limit) {
        const std::shared_lock guard(mutex_);
        const auto found = entries_.find(type);
        return found == entries_.end() ? nullptr : found->second.answer(run_limit);
    }

    const Layout& compute(MPI_Datatype type, std::uint64_t run_limit) {
        const std::uint64_t limit = std::max(run_limit, runs_at_once);
        Layout layout = detail::compute_layout(type, limit);
        // A second attribute would replace the first one, and MPI would call on_free().
        const std::lock_guard one_at_a_time(attaching_);
        const bool is_attached = find(type, 0) != nullptr;
        if (!is_attached && !attach(type)) return not_known;
        const std::unique_lock guard(mutex_);
        Entry& entry = entries_[type];
        if (!entry.layout.known) entry = {std::max(limit, entry.limit), std::move(layout)};
        return *entry.answer(run_limit);
    }

  private:
    struct Entry {
        std::uint64_t limit = 0;  ///< of the blocks of `layout`
        Layout layout;            ///< does not change any more once it is known

        const Layout* answer(std::uint64_t run_limit) const noexcept {
            if (layout.known) return layout.blocks.size() <= run_limit ? &layout : &not_known;
            return run_limit <= limit ? &not_known : nullptr;
        }
    };

    static int on_free(MPI_Datatype type, int, void*, void*) {
        Cache& cache = instance();
        const std::unique_lock guard(cache.mutex_);
        cache.entries_.erase(type);
        change_generation();
        return MPI_SUCCESS;
    }

    /// A duplicate of the type does not inherit the attribute: it has its own life.
    static bool attach(MPI_Datatype type) {
        static const int key = [] {
            int made = MPI_KEYVAL_INVALID;
            const int status = PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, on_free, &made, nullptr);
            return status == MPI_SUCCESS ? made : MPI_KEYVAL_INVALID;
        }();
        if (key == MPI_KEYVAL_INVALID) return false;
        return is_predefined(type) || PMPI_Type_set_attr(type, key, nullptr) == MPI_SUCCESS;
    }

    std::mutex attaching_;
    std::shared_mutex mutex_;  // never held while MPI is called: MPI calls on_free() with locks of its own
    std::unordered_map<MPI_Datatype, Entry> entries_;
};

/// The last layouts that this thread asked for, so that a loop over a few types takes no lock.
struct Recent {
    std::uint64_t generation;
    MPI_Datatype type;
    std::uint64_t run_limit;
    const Layout* layout;
};
constexpr std::uint32_t recent_count = 4;
constinit thread_local Recent recent[recent_count] NEARFETCH_FAST_TLS{};
constinit thread_local std::uint32_t next_recent NEARFETCH_FAST_TLS = 0;

}  // namespace

const Layout& layout_of(MPI_Datatype type, std::uint64_t run_limit) {
    const std::uint64_t generation = datatype_generation();
    for (const Recent& last : recent)
        if (last.type == type && last.run_limit == run_limit && last.generation == generation)
            return *last.layout;

    if (!is_datatype(type)) return not_known;
    const Layout* layout = Cache::instance().find(type, run_limit);
    if (layout == nullptr && !is_committed(type)) {
        change_generation();  // the type may be committed before its next use
        return not_known;
    }
    if (layout == nullptr) layout = &Cache::instance().compute(type, run_limit);
    recent[next_recent++ % recent_count] = {generation, type, run_limit, layout};
    return *layout;
}

void start_type_checks() noexcept {
    if (PMPI_Comm_dup(MPI_COMM_SELF, &errors_return) != MPI_SUCCESS)
        errors_return = MPI_COMM_NULL;
    else if (PMPI_Comm_set_errhandler(errors_return, MPI_ERRORS_RETURN) != MPI_SUCCESS)
        end_type_checks();
}

void end_type_checks() noexcept {
    if (errors_return != MPI_COMM_NULL) PMPI_Comm_free(&errors_return);
}

}  // namespace nearfetch
