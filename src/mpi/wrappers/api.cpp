// SPDX-License-Identifier: Apache-2.0

// The functions of <nearfetch/mpi.h>.

#include "nearfetch/mpi.h"

#include <iterator>
#include <new>
#include <string>
#include <vector>

#include "mpi/errors.hpp"
#include "mpi/lookups.hpp"

using namespace nearfetch;

namespace {

/// A window that nearfetch does not look after is no error: everything works without a cache.
template <class Body>
int with_window(MPI_Win win, const Body& body) {
    Window* const window = find_window(win);
    if (window == nullptr) return MPI_SUCCESS;
    try {
        return body(*window);
    } catch (const Error& error) {
        return raise_on_window(win, MPI_ERR_ARG, error);
    } catch (const std::bad_alloc&) {
        return MPI_SUCCESS;
    }
}

}  // namespace

extern "C" {

int nearfetch_win_invalidate(MPI_Win win) {
    return with_window(win, [](Window& window) -> int {
        window.cache().acquire();
        return MPI_SUCCESS;
    });
}

int nearfetch_win_prefetch(MPI_Win win, int target, MPI_Aint disp, nearfetch_count count, MPI_Datatype type) {
    return with_window(win, [&](Window& window) -> int {
        if (target == MPI_PROC_NULL || count == 0 || window.off()) return MPI_SUCCESS;
        if (!window.has(target))
            throw Error("nearfetch_win_prefetch: target " + std::to_string(target),
                        "the window has " + std::to_string(window.cache().ranks()) + " ranks",
                        "name one of them");
        if (count < 0)
            throw Error("nearfetch_win_prefetch: count " + std::to_string(count), "it is negative",
                        "give a number of elements");
        std::vector<ByteRun> runs;
        if (!make_target_runs(window, target, disp, static_cast<std::uint64_t>(count), type, runs))
            return MPI_SUCCESS;
        if (const int status = window.open_locks(); status != MPI_SUCCESS) return status;
        for (const ByteRun& run : runs) {
            const int status = window.cache().prefetch(target, run.range());
            if (status != MPI_SUCCESS) return status;
        }
        return MPI_SUCCESS;
    });
}

int nearfetch_win_set_score(MPI_Win win, nearfetch_score_function score, void* context) {
    return with_window(win, [&](Window& window) -> int {
        if (score == nullptr)
            window.cache().set_score({});
        else
            window.cache().set_score([score, context](Rank target, std::uint64_t offset, std::uint64_t size) {
                return score(target, static_cast<nearfetch_count>(offset), static_cast<nearfetch_count>(size),
                             context);
            });
        return MPI_SUCCESS;
    });
}

int nearfetch_win_stats(MPI_Win win, const char* counter, unsigned long long* value) {
    *value = 0;
    return with_window(win, [&](Window& window) -> int {
        interposer.passthrough.forbid();
        const RangeCacheCounters counters = window.cache().counters();
        for (const CounterInfo& row : range_cache_counter_table)
            if (row.name == counter) {
                *value = counters.*row.member;
                return MPI_SUCCESS;
            }
        constexpr std::string_view old_name = "puts_collected";
        if (counter == old_name)
            throw Error("counter '" + std::string(old_name) + "'", "its name is puts_combined",
                        "use that name");
        throw Error("unknown counter '" + std::string(counter) + "'", "the statistics have no such counter",
                    "use a name that stands in rank-<N>.json");
    });
}

const char* nearfetch_counter_name(int index) {
    if (index < 0 || static_cast<std::size_t>(index) >= std::size(range_cache_counter_table)) return nullptr;
    return range_cache_counter_table[static_cast<std::size_t>(index)].name.data();
}
}
