// SPDX-License-Identifier: Apache-2.0
#include "mpi/lookups.hpp"

#include <new>

#include "mpi/window_table.hpp"

namespace nearfetch {

namespace detail {

constinit thread_local LastSeen last_seen NEARFETCH_FAST_TLS{};

Window* find_window_slowly(MPI_Win win) noexcept {
    LastSeen& last = last_seen;
    const std::uint64_t generation = interposer.window_generation.load(std::memory_order_acquire);
    if (last.generation != generation)
        for (auto& known : last.windows)
            known = {};
    last.generation = generation;
    return (last.place_of_window(win) = {win, interposer.windows().find(win)}).window;
}

LastSeen::KnownType find_type_slowly(MPI_Datatype type) noexcept try {
    const std::uint64_t generation = datatype_generation();
    const Layout& layout = layout_of(type, runs_at_once);
    return last_seen.place_of_type(type) = {type, generation, layout.known ? layout.size : 0, layout.dense(),
                                            layout.known && is_predefined(type)};
} catch (const std::bad_alloc&) {
    return {type, 0, 0, false, false};
}

}  // namespace detail

void remember_mru(MPI_Win win, Window* window) noexcept {
    if (interposer.threaded || window->off()) return;
    interposer.mru.win = win;
    interposer.mru.window = window;
}

void forget_mru(const Window& window) noexcept {
    if (interposer.mru.window == &window) interposer.mru = {};
}

void remember_mru(MPI_Datatype type) noexcept {
    const detail::LastSeen::KnownType known = detail::find_type(type);
    if (interposer.threaded || !known.dense) return;
    interposer.mru.type = type;
    interposer.mru.type_generation = known.generation;
    interposer.mru.dense_bytes = known.element_bytes;
}

void remember_bytes(MPI_Datatype type, MPI_Count count) noexcept {
    const detail::LastSeen::KnownType known = detail::find_type(type);
    if (interposer.threaded || !known.predefined || !known.dense || count <= 0) return;
    interposer.mru.known_type = type;
    interposer.mru.known_count = count;
    interposer.mru.known_bytes = bytes_of(known.element_bytes, count);
}

}  // namespace nearfetch
