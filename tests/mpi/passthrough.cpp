// SPDX-License-Identifier: Apache-2.0
#include "passthrough.hpp"

#include <thread>

using namespace passthrough;

namespace {

/// No get of the window has been seen: its puts are bypassed.
void puts(Kind kind) {
    part("puts");
    const Window window(8 * slots, 8, kind);
    const LockAll lock(window);
    for (int version = 0; version < (crowded() ? 2 : 8); ++version) {
        put_all(window, version);
        publish(window);
        check_own(window, version);
        barrier();
    }
    // What was put is read back; then the left neighbour's puts.
    put_all(window, 100);
    for (int i = 0; i < slots; ++i)
        CHECK_EQ(get(window, right(), i), pattern(rank(), static_cast<std::size_t>(i), 100));
    publish(window);
    check_own(window, 100);
    if (!is_counted()) return;
    barrier();
    put_all(window, 101);
    CHECK(counter(window, "puts") > 0);
    const auto unseen = passed_through();
    const auto counted = counter(window, "puts");
    put_all(window, 102);
    CHECK_EQ(counter(window, "puts"), counted + slots);
    CHECK_EQ(passed_through(), unseen);
}

/// Whatever completes puts.
void completions_of_puts(Kind kind) {
    part("completions of puts");
    const Window window(8 * slots, 8, kind);
    const LockAll lock(window);
    std::vector<std::uint64_t> values(slots);
    for (int version = 0; version < (crowded() ? 2 : 8); ++version) {
        for (int i = 0; i < slots; ++i) {
            const auto slot = static_cast<std::size_t>(i);
            values[slot] = pattern(rank(), slot, version);
            CHECK_MPI(MPI_Put(&values[slot], 1, MPI_UINT64_T, right(), i, 1, MPI_UINT64_T, window));
            if (i % 3 == 0) CHECK_MPI(MPI_Win_flush(right(), window));
            if (i % 3 == 1) CHECK_MPI(MPI_Win_flush_all(window));
            if (i % 3 == 2) CHECK_MPI(MPI_Win_flush_local(right(), window));
        }
        CHECK_MPI(MPI_Win_flush_local_all(window));
        CHECK_MPI(MPI_Win_flush_all(window));
        publish(window);
        check_own(window, version);
        barrier();
    }
    CHECK_EQ(get(window, right(), 1), pattern(rank(), 1, crowded() ? 1 : 7));
}

#if !defined(OPEN_MPI)
int failures = 0;

void sync_window(MPI_Win* win, int*, ...) {
    ++failures;
    MPI_Win_sync(*win);
}

/// Puts and flushes that fail, and whose error handler calls MPI. Not on Open MPI,
/// which flushes any rank.
void failing_calls() {
    part("failing calls");
    const Window window(8 * slots, 8, Kind::allocate);
    const LockAll lock(window);
    MPI_Errhandler handler;
    CHECK_MPI(MPI_Win_create_errhandler(sync_window, &handler));
    CHECK_MPI(MPI_Win_set_errhandler(window, handler));
    CHECK_MPI(MPI_Errhandler_free(&handler));
    const int last = crowded() ? 1 : 19;
    for (int version = 0; version <= last; ++version) {
        put_all(window, version);
        MPI_Win_flush(size() + 1, window);
        put_all(window, version);
        MPI_Win_flush_local(size() + 1, window);
        put_all(window, version);
        MPI_Put(&last, 1, MPI_INT, size() + 1, 0, 1, MPI_INT, window);
    }
    CHECK_EQ(failures, 3 * (last + 1));
    publish(window);
    check_own(window, last);
    if (!is_counted()) return;
    const auto flushes = counter(window, "flushes");
    CHECK_MPI(MPI_Win_flush_all(window));
    CHECK_EQ(counter(window, "flushes"), flushes + 1);
}
#endif

/// Gets without reuse until the target is bypassed, and further ones while its owner changes what is read.
void gets(Kind kind) {
    part("gets");
    const Window window(8 * slots, 8, kind);
    const LockAll lock(window);
    for (int version = 0; version < 10; ++version) {
        store_all(window, version);
        for (int i = 0; i < rounds(); ++i) {
            const MPI_Aint slot = (i * 37) % slots;
            std::array<unsigned char, 8> seen{};
            CHECK_MPI(MPI_Get(seen.data(), 8, MPI_BYTE, right(), slot, 8, MPI_BYTE, window));
            CHECK_MPI(i % 2 == 0 ? MPI_Win_flush(right(), window) : MPI_Win_flush_all(window));
            CHECK_BYTES(seen.data(), seen.size(), right(), static_cast<std::uint64_t>(8 * slot), version);
        }
        for (int i = 0; i < 200; ++i) {
            std::array<unsigned char, 8> seen{};
            MPI_Request request;
            CHECK_MPI(MPI_Rget(seen.data(), 8, MPI_BYTE, right(), i, 8, MPI_BYTE, window, &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_BYTES(seen.data(), seen.size(), right(), static_cast<std::uint64_t>(8 * i), version);
        }
    }
}

/// All breakers are held open: passthrough begins as soon as it may.
void held() {
    part("held");
    const auto before = passed_through();
    {
        const Window window(8 * slots, 8, Kind::allocate, Info{{"nearfetch_bypass", "passthrough"}});
        const LockAll lock(window);
        for (int version = 0; version < 4; ++version) {
            store_all(window, version);
            for (int i = 0; i < 256; ++i) {
                std::array<unsigned char, 8> seen{};
                CHECK_MPI(MPI_Get(seen.data(), 8, MPI_BYTE, right(), i, 8, MPI_BYTE, window));
                CHECK_MPI(MPI_Win_flush(right(), window));
                CHECK_BYTES(seen.data(), seen.size(), right(), static_cast<std::uint64_t>(8 * i), version);
            }
        }
    }
    if (is_counted()) CHECK(passed_through() > before);
}

/// The ranks hand a value on by a counter that is polled and moved by atomics alone: who sees its turn has to
/// see what was put before. The slots have been read, and put, by everybody many times.
void turns() {
    part("turns");
    const Window window(8 * slots, 8);
    const LockAll lock(window);
    std::fill_n(window.as<std::int64_t>(), slots, 0);
    publish(window);
    const std::int64_t one = 1, nothing = 0;
    const auto turn = [&](MPI_Op op, const std::int64_t& operand) {
        std::int64_t seen = -1;
        CHECK_MPI(MPI_Fetch_and_op(&operand, &seen, MPI_INT64_T, 0, 0, op, window));
        CHECK_MPI(MPI_Win_flush(0, window));
        return seen;
    };
    for (std::int64_t mine = rank(); mine < (crowded() ? 40 : 400); mine += size()) {
        while (turn(mine % 2 == 0 ? MPI_NO_OP : MPI_SUM, nothing) != mine) {
        }
        const MPI_Aint slot = 1 + mine % 5;
        for (int i = 0; i < 20; ++i)
            CHECK_EQ(get(window, 0, 1 + (mine + i) % 5), std::max<std::int64_t>(mine - (5 - i % 5), -1) + 1);
        const std::int64_t value = mine + 1;
        CHECK_MPI(MPI_Put(&value, 1, MPI_INT64_T, 0, slot, 1, MPI_INT64_T, window));
        CHECK_MPI(MPI_Win_flush(0, window));
        CHECK_EQ(turn(MPI_SUM, one), mine);
    }
    barrier();
}

/// Reads at random, for half a second in all: targets are looked at again every hundred thousand gets or so.
class Reader {
  public:
    bool goes_on() const { return MPI_Wtime() < end_; }
    /// \param version what the first slot has, which is read again and again
    void read(MPI_Win win, int target, std::int64_t version) {
        for (int i = 0; i < 1000 && goes_on(); ++i) {
            if (i % 8 == 0)
                CHECK_EQ(get(win, target, 0), version);
            else
                (void)get(win, target, random_.between(1, many_slots - 1));
        }
    }

  private:
    Random random_{static_cast<unsigned>(rank())};
    double end_ = MPI_Wtime() + 0.5;
};

/// Every other rank reads at random what the next one changes now and then. What was cached before the target
/// was bypassed is still there when it is looked at again: then it has to be known that there was a barrier.
void acquires() {
    part("acquires");
    const Window window(8 * many_slots, 8);
    const LockAll lock(window);
    store_all(window, 0);
    Reader reader;
    for (std::int64_t version = 1;; ++version) {
        int go_on = reader.goes_on() ? 1 : 0;
        CHECK_MPI(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
        if (go_on == 0) break;
        barrier();
        if (rank() % 2 != 0) {
            CHECK_MPI(MPI_Put(&version, 1, MPI_INT64_T, rank(), 0, 1, MPI_INT64_T, window));
            CHECK_MPI(MPI_Win_flush(rank(), window));
        }
        barrier();
        if (rank() % 2 == 0 && right() % 2 != 0) reader.read(window, right(), version);
    }
}

/// The same, but that something was changed is told by `tell(version)` alone, which the reader asks its
/// writer by, and is answered by: the writer waits for `asked()`.
template <class Tell, class Asked>
void read_what_is_told(const Window& window, const Tell& tell, Asked asked) {
    const int readers_rank = rank() - rank() % 2, writer = readers_rank + 1;
    if (rank() == writer) {
        while (const std::int64_t version = asked(readers_rank)) {
            CHECK_MPI(MPI_Put(&version, 1, MPI_INT64_T, rank(), 0, 1, MPI_INT64_T, window));
            CHECK_MPI(MPI_Win_flush(rank(), window));
            tell(version, readers_rank);
        }
    } else {
        Reader reader;
        for (std::int64_t version = 1; reader.goes_on(); ++version) {
            tell(version, writer);
            CHECK_EQ(asked(writer), version);
            reader.read(window, writer, version);
        }
        tell(0, writer);
    }
    barrier();
}

/// By messages, which are waited for.
void messages() {
    part("messages");
    const Window window(8 * many_slots, 8);
    const LockAll lock(window);
    store_all(window, 0);
    read_what_is_told(
        window,
        [](std::int64_t version, int to) {
            MPI_Request request;
            CHECK_MPI(MPI_Isend(&version, 1, MPI_INT64_T, to, 0, MPI_COMM_WORLD, &request));
            CHECK_MPI(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
        },
        [](int from) {
            std::int64_t version = -1;
            MPI_Request request;
            CHECK_MPI(MPI_Irecv(&version, 1, MPI_INT64_T, from, 0, MPI_COMM_WORLD, &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            return version;
        });
}

/// By a word that each has in another window, under a lock for each access. The reader makes no updates:
/// after these nothing is used that is older.
void locked_words() {
    part("locked words");
    if (crowded()) return;  // whoever has no processor does not come to its lock
    const Window window(8 * many_slots, 8), words(8, 8);
    const LockAll lock(window);
    store_all(window, 0);
    std::int64_t& own = *words.as<std::int64_t>();
    own = -1;
    barrier();
    read_what_is_told(
        window,
        [&](std::int64_t version, int) {
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank(), 0, words));
            own = version;
            CHECK_MPI(MPI_Win_unlock(rank(), words));
        },
        [&, last = std::int64_t{-1}](int from) mutable {
            for (std::int64_t version = last;;) {
                CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, from, 0, words));
                CHECK_MPI(MPI_Get(&version, 1, MPI_INT64_T, from, 0, 1, MPI_INT64_T, words));
                CHECK_MPI(MPI_Win_unlock(from, words));
                if (version != last) return last = version;
                std::this_thread::yield();
            }
        });
}

/// Two windows of the same memory: what every other rank puts through the one is read through the other.
void overlapping() {
    part("overlapping");
    const Window window(8 * many_slots, 8);
    MPI_Win other = MPI_WIN_NULL;
    CHECK_MPI(MPI_Win_create(window.bytes(), window.size_bytes(), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &other));
    {
        const LockAll lock(window), other_lock(other);
        store_all(window, 0);
        Reader reader;
        for (std::int64_t version = 1; rank() % 2 == 0 && reader.goes_on(); ++version) {
            CHECK_MPI(MPI_Put(&version, 1, MPI_INT64_T, right(), 0, 1, MPI_INT64_T, window));
            CHECK_MPI(MPI_Win_flush(right(), window));
            reader.read(other, right(), version);
        }
        barrier();
    }
    CHECK_MPI(MPI_Win_free(&other));
}

/// Halos that neighbours exchange between fences, by puts and by gets.
void fences(Kind kind) {
    part("fences");
    const Window window(8 * slots, 8, kind);
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOPRECEDE, window));
    for (int step = 0; step < rounds(); ++step) {
        const std::int64_t put = 1000 * rank() + step;
        CHECK_MPI(MPI_Put(&put, 1, MPI_INT64_T, right(), 0, 1, MPI_INT64_T, window));
        CHECK_MPI(MPI_Win_fence(0, window));
        CHECK_EQ(window.as<std::int64_t>()[0], 1000 * left() + step);
        window.as<std::int64_t>()[1 + step % 8] = put + 1;
        std::int64_t got = -1;
        CHECK_MPI(MPI_Win_fence(0, window));
        CHECK_MPI(MPI_Get(&got, 1, MPI_INT64_T, right(), 1 + step % 8, 1, MPI_INT64_T, window));
        CHECK_MPI(MPI_Win_fence(step + 1 < rounds() ? 0 : MPI_MODE_NOSUCCEED, window));
        CHECK_EQ(got, 1000 * right() + step + 1);
    }
    // Then epochs are the program's to open.
    std::int64_t got = -1;
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window));
    CHECK_MPI(MPI_Get(&got, 1, MPI_INT64_T, right(), 0, 1, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_unlock(right(), window));
    CHECK_EQ(got, 1000 * rank() + rounds() - 1);
    barrier();
}

/// Atomics of all kinds, each of which counts; then epochs of the other kinds.
void updates(Kind kind) {
    part("updates");
    const Window window(8 * slots, 8, kind);
    std::fill_n(window.as<std::int64_t>(), slots, 0);
    std::int64_t one = 1, seen = 0;
    {
        const LockAll lock(window);
        publish(window);
        for (int i = 0; i < rounds(); ++i) {
            CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, right(), 0, 1, MPI_INT64_T, MPI_SUM, window));
            CHECK_MPI(MPI_Fetch_and_op(&one, &seen, MPI_INT64_T, right(), 1, MPI_SUM, window));
            CHECK_MPI(MPI_Get_accumulate(&one, 1, MPI_INT64_T, &seen, 1, MPI_INT64_T, right(), 2, 1,
                                         MPI_INT64_T, MPI_SUM, window));
            CHECK_MPI(MPI_Win_flush(right(), window));
            CHECK_EQ(seen, i);
        }
        CHECK_EQ(get(window, right(), 0), rounds());
        publish(window);
    }
    for (int i = 0; i < 3; ++i)
        CHECK_EQ(window.as<std::int64_t>()[i], rounds());
    barrier();
    for (int i = 0; i < rounds(); ++i) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window));
        CHECK_MPI(MPI_Get(&seen, 1, MPI_INT64_T, right(), i % 3, 1, MPI_INT64_T, window));
        CHECK_MPI(MPI_Win_unlock(right(), window));
        CHECK_EQ(seen, rounds());
    }
    CHECK_MPI(MPI_Win_fence(0, window));
    CHECK_MPI(MPI_Put(&one, 1, MPI_INT64_T, right(), 0, 1, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_fence(0, window));
    CHECK_MPI(MPI_Get(&seen, 1, MPI_INT64_T, right(), 0, 1, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    CHECK_EQ(seen, 1);
}

/// A lock that was passed through is held while its target is looked up again: then its gets hit.
void held_lock() {
    part("held lock");
    if (!is_counted() || crowded()) return;
    const Window window(8 * many_slots, 8);
    const auto before = passed_through();
    const auto under_lock = [&](MPI_Aint slot) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window));
        (void)get(window, right(), slot);
        CHECK_MPI(MPI_Win_unlock(right(), window));
    };
    for (int i = 0; passed_through() < before + 1000 && i < many_slots; ++i)
        under_lock(i);
    CHECK(passed_through() > before);
    for (int i = 0; i < 100; ++i)
        under_lock(0);
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window));
    const auto hits = counter(window, "hits");  // from here on nothing passes through
    for (int i = 0; i < 300'000 && counter(window, "hits") < hits + 100; ++i)
        (void)get(window, right(), i % 4);
    CHECK(counter(window, "hits") >= hits + 100);
    CHECK_MPI(MPI_Win_unlock(right(), window));
    barrier();
}

/// A counter that everybody reads and writes under an exclusive lock, each access of its own; locks that are
/// held for longer; and epochs of all after those of one.
void locks(Kind kind) {
    part("locks");
    const Window window(8 * slots, 8, kind);
    std::fill_n(window.as<std::int64_t>(), slots, 0);
    barrier();
    const auto under_lock = [&](int type, int target, const auto& access) {
        CHECK_MPI(MPI_Win_lock(type, target, 0, window));
        access();
        CHECK_MPI(MPI_Win_unlock(target, window));
    };
    const auto get_one = [&](int target, MPI_Aint slot) {
        std::int64_t value = -1;
        under_lock(MPI_LOCK_SHARED, target,
                   [&] { CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, target, slot, 1, MPI_INT64_T, window)); });
        return value;
    };
    const auto count = [&](std::int64_t times) {
        for (std::int64_t i = 0; i < times; ++i)
            under_lock(MPI_LOCK_EXCLUSIVE, 0, [&] {
                const std::int64_t next = get(window, 0, 0) + 1;
                CHECK_MPI(MPI_Put(&next, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window));
            });
    };
    const std::int64_t times = crowded() ? 20 : 500;
    for (std::int64_t version = 1; version <= 3; ++version) {
        for (int i = 0; i < rounds(); ++i)
            CHECK_EQ(get_one(right(), 1 + i % 7), i % 7 == 0 ? version - 1 : 0);
        barrier();
        count(times);
        // What a lock of the other target says while one is held is not lost.
        under_lock(MPI_LOCK_SHARED, right(), [&] {
            for (int i = 0; i < rounds(); ++i)
                CHECK_EQ(get(window, right(), 1), version - 1);
        });
        barrier();
        CHECK_EQ(get_one(0, 0), version * size() * times);
        {
            const LockAll lock(window);
            for (int i = 0; i < 20; ++i)
                CHECK_EQ(get(window, 0, 0), version * size() * times);
            CHECK_MPI(MPI_Win_flush_all(window));
        }
        barrier();
        under_lock(MPI_LOCK_EXCLUSIVE, right(),
                   [&] { CHECK_MPI(MPI_Put(&version, 1, MPI_INT64_T, right(), 1, 1, MPI_INT64_T, window)); });
        barrier();
    }
}

void test() {
#if defined(PASSTHROUGH_FAULT_INJECTION)
    CHECK(is_counted());
#endif
    // First: where such calls are counted, puts() asks for counters, and then there are none.
    after_a_window_that_is_kept();
    locks(Kind::allocate);
    off(Kind::allocate);
    batches();
    held();
    for (const Kind kind : {Kind::allocate, Kind::create})
        completions_of_puts(kind);
    held_lock();
#if !defined(OPEN_MPI)
    failing_calls();
#endif
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        puts(kind);
        gets(kind);
        updates(kind);
        fences(kind);
    }
    locks(Kind::create);
    acquires();
    messages();
    locked_words();
    if (can_create()) overlapping();
    turns();
    windows();
    off(Kind::create);
}

}  // namespace

int main(int argc, char** argv) { return Program(argc, argv).run_with_others(test); }
