// SPDX-License-Identifier: Apache-2.0
#include "passthrough.hpp"

namespace passthrough {

/// A window that comes while calls of another are bypassed, and one that goes.
void windows() {
    part("windows");
    const Window first(8 * slots, 8);
    const LockAll lock(first);
    for (int version = 0; version < 3; ++version) {
        put_all(first, version);
        const Window second(8 * slots, 8);
        const LockAll second_lock(second);
        store_all(second, version);
        for (int pass = 0; pass < 2; ++pass)
            for (MPI_Aint slot = 0; slot < slots; slot += 16) {
                std::array<unsigned char, 8> seen{};
                CHECK_MPI(MPI_Get(seen.data(), 8, MPI_BYTE, right(), slot, 8, MPI_BYTE, second));
                CHECK_MPI(MPI_Win_flush(right(), second));
                CHECK_BYTES(seen.data(), seen.size(), right(), static_cast<std::uint64_t>(8 * slot), version);
            }
        publish(first);
        check_own(first, version);
        barrier();
    }
}

/// While a window is cached nothing passes through.
void after_a_window_that_is_kept() {
    part("after a window that is kept");
    {
        const Window kept(8 * slots, 8, Kind::allocate,
                          Info{{"nearfetch_mode", "always-cache"}, {"nearfetch_bypass", "off"}});
        const Window window(8 * slots, 8);
        const auto unseen = passed_through();
        {
            const LockAll kept_lock(kept), lock(window);
            std::fill_n(kept.as<std::int64_t>(), slots, 7);
            publish(kept);
            CHECK_EQ(get(kept, right(), 0), 7);
            for (int version = 0; version < (crowded() ? 1 : 24); ++version)
                put_all(window, version);
        }
        CHECK_EQ(passed_through(), unseen);
        barrier();
    }
    const Window window(8 * slots, 8);
    {
        const LockAll lock(window);
        for (int version = 100; version < 102; ++version)
            put_all(window, version);
        publish(window);
        check_own(window, 101);
    }
}

/// A window that is off, alone; beside one that is not; and switched on.
void off(Kind kind) {
    part("off");
    const Info info{{"nearfetch_mode", "off"}}, on{{"nearfetch_mode", "acquire"}};
    const Window window(8 * slots, 8, kind, info);
    const LockAll lock(window);
    const auto check_all = [](const Window& of, int version) {
        for (int i = 0; i < rounds(); ++i) {
            const MPI_Aint slot = i % (slots - 1);
            std::array<unsigned char, 8> seen{};
            CHECK_MPI(MPI_Get(seen.data(), 8, MPI_BYTE, right(), slot, 8, MPI_BYTE, of));
            CHECK_MPI(MPI_Win_flush(right(), of));
            CHECK_BYTES(seen.data(), seen.size(), right(), static_cast<std::uint64_t>(8 * slot), version);
        }
    };
    const auto unseen = passed_through();
    for (int version = 0; version < 4; ++version) {
        store_all(window, version);
        check_all(window, version);
    }
    {
        // Who sees a turn by an atomic on the one sees what was put into the other one before.
        const Window cached(8 * slots, 8, kind, on);
        const LockAll cached_lock(cached);
        std::fill_n(cached.as<std::int64_t>(), slots, 0);
        window.as<std::int64_t>()[slots - 1] = 0;
        publish(window);
        publish(cached);
        const std::int64_t one = 1;
        const auto turn = [&](MPI_Op op) {
            std::int64_t seen = -1;
            CHECK_MPI(MPI_Fetch_and_op(&one, &seen, MPI_INT64_T, 0, slots - 1, op, window));
            CHECK_MPI(MPI_Win_flush(0, window));
            return seen;
        };
        for (std::int64_t mine = rank(); mine < (crowded() ? 40 : 400); mine += size()) {
            while (turn(MPI_NO_OP) != mine) {
            }
            for (int i = 0; i < 20; ++i)
                CHECK_EQ(get(cached, 0, i % 5), mine);
            const std::int64_t value = mine + 1;
            for (int i = 0; i < 5; ++i)
                CHECK_MPI(MPI_Put(&value, 1, MPI_INT64_T, 0, i, 1, MPI_INT64_T, cached));
            CHECK_MPI(MPI_Win_flush(0, cached));
            CHECK_EQ(turn(MPI_SUM), mine);
        }
        barrier();
    }
    // Later, puts() has asked for counters, and then there is none.
    if (is_counted() && kind == Kind::allocate) CHECK(passed_through() > unseen);
    CHECK_MPI(MPI_Win_set_info(window, on));
    for (int version = 5; version < 7; ++version) {
        store_all(window, version);
        check_all(window, version);
    }
    barrier();
}

}  // namespace passthrough
