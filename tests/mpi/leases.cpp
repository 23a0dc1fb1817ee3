// SPDX-License-Identifier: Apache-2.0
// Leases (docs/leases.md): what readers under shared locks see while others write under exclusive ones, in
// orders that are forced by memory which MPI does not see. Linked with the fault-injection build each test
// whose rule can be left out has to see an old value without it.
#include "litmus.hpp"

using namespace litmus;

namespace {

using namespace std::chrono_literals;

constexpr int a = 0, b = 8, c = 16;  ///< places, of 8 bytes each
constexpr int places = 64;

/// Whether gets are there when they are complete, and not before: else there are no leases.
bool is_remote = false;

int target() { return size() == 2 ? 0 : 1; }

/// A window of numbers at the target, which the writer raises all together.
class Numbers {
  public:
    explicit Numbers(std::chrono::microseconds lease)
        : lease_(lease),
          lease_us_(std::to_string(lease.count())),
          info_{{"nearfetch_mode", "acquire"},
                {"nearfetch_bypass", "off"},
                {"nearfetch_locks", "auto"},
                {"nearfetch_lease_us", lease_us_.c_str()},
                {"nearfetch_read_ahead_bytes", "0"}},
          window_(places * 8, 8, Kind::allocate, info_) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank(), 0, window_));
        std::fill_n(window_.as<std::int64_t>(), places, 0);
        CHECK_MPI(MPI_Win_unlock(rank(), window_));
        barrier();
    }
    operator MPI_Win() const { return window_; }
    std::chrono::microseconds lease() const { return lease_; }

    void lock(int type = MPI_LOCK_SHARED) const { CHECK_MPI(MPI_Win_lock(type, target(), 0, window_)); }
    void unlock() const { CHECK_MPI(MPI_Win_unlock(target(), window_)); }
    void get(std::int64_t& value, int place) const {
        CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, target(), place, 1, MPI_INT64_T, window_));
    }
    /// Under a lock of its own.
    std::int64_t read(int place) const {
        std::int64_t value = -1;
        lock();
        get(value, place);
        unlock();
        return value;
    }
    void put_all(std::int64_t value) const {
        static std::int64_t values[places];
        std::fill_n(values, places, value);
        CHECK_MPI(MPI_Put(values, places, MPI_INT64_T, target(), 0, places, MPI_INT64_T, window_));
    }
    void write(std::int64_t value, int type = MPI_LOCK_EXCLUSIVE) const {
        lock(type);
        put_all(value);
        unlock();
    }
    long long count(const char* name) const { return static_cast<long long>(counter(window_, name)); }

  private:
    std::chrono::microseconds lease_;
    std::string lease_us_;
    Info info_;
    Window window_;
};

/// What a test needs beside its window.
struct Run {
    const Numbers& numbers;
    Outside& outside;
    std::int64_t before;  ///< what all numbers are at first
    std::int64_t stage;   ///< of `outside`, at first

    void set(int step) const { outside.set(stage + step); }
    bool has_come(int step) const { return outside.has_come(stage + step); }
    /// Serves others meanwhile, by a call that tells nobody anything.
    void wait(int step) const {
        int flag = 0;
        while (!has_come(step))
            CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
    /// The same within a lock epoch, whose lock may keep the writer away.
    void give_time(int step) const {
        const auto end = std::chrono::steady_clock::now() + numbers.lease() * 3 + 100ms;
        while (!has_come(step) && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(1ms);
    }
    /// Serves others meanwhile.
    void rest(std::chrono::microseconds time) const {
        int flag = 0;
        const auto end = std::chrono::steady_clock::now() + time;
        while (std::chrono::steady_clock::now() < end)
            CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
    std::int64_t after() const { return before + 1; }
    /// The reader has read two places, and has a lease.
    void cache() const {
        for (int round = 0; round < 2; ++round) {
            CHECK_EQ(numbers.read(a), before);
            CHECK_EQ(numbers.read(b), before);
        }
    }
};

struct Rule {
    const char* name;
    const char* fault;  ///< what the fault-injection build leaves out; null: nothing
    std::chrono::microseconds lease;
    std::function<void(const Run&)> write;
    std::function<bool(const Run&)> read;  ///< whether all was seen that has to be
};

/// An epoch that hits, lets the writer write, and then gets something else. \return whether both are of one
/// state
bool is_snapshot(const Run& run, const std::function<void(std::int64_t&)>& get) {
    std::int64_t first = -1, second = -1;
    run.cache();
    run.numbers.lock();
    run.numbers.get(first, a);
    run.set(1);
    run.give_time(2);
    get(second);
    run.numbers.unlock();
    return first == second;
}

std::vector<Rule> rules() {
    const auto write_at_1 = [](const Run& run) {
        run.wait(1);
        run.numbers.write(run.after());
        run.set(2);
    };
    return {
        {"a writer waits for leases", "lease-wait", 1s, write_at_1,
         [](const Run& run) {
             run.cache();
             run.set(1);
             run.wait(2);
             return run.numbers.read(a) == run.after() && run.numbers.read(b) == run.after();
         }},
        {"versions are compared", "lease-versions", 20ms, write_at_1,
         [](const Run& run) {
             run.cache();
             std::this_thread::sleep_for(run.numbers.lease() * 3 / 2);
             run.set(1);
             run.wait(2);
             return run.numbers.read(a) == run.after() && run.numbers.read(b) == run.after();
         }},
        {"no lease while there is a writer", "lease-writers", 60ms,
         [](const Run& run) {
             run.wait(1);
             run.numbers.lock(MPI_LOCK_EXCLUSIVE);
             run.numbers.put_all(run.after());
             CHECK_MPI(MPI_Win_flush(target(), run.numbers));
             run.set(2);
             run.rest(20ms);
             run.numbers.unlock();
             run.set(3);
         },
         [](const Run& run) {
             run.cache();
             run.set(1);
             run.wait(2);
             const bool first = run.numbers.read(a) == run.after();
             run.wait(3);
             return first && run.numbers.read(b) == run.after();
         }},
        {"an epoch is a snapshot", "lease-snapshots", 20ms, write_at_1,
         [](const Run& run) {
             return is_snapshot(run, [&](std::int64_t& value) { run.numbers.get(value, c); });
         }},
        {"so is one with a request", nullptr, 20ms, write_at_1,
         [](const Run& run) {
             return is_snapshot(run, [&](std::int64_t& value) {
                 CHECK_MPI(
                     MPI_Rget(&value, 1, MPI_INT64_T, target(), c, 1, MPI_INT64_T, run.numbers, &request));
                 CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
             });
         }},
        {"so is one with many gets", nullptr, 20ms, write_at_1,
         [](const Run& run) {
             std::int64_t values[2 * places];
             run.cache();
             run.numbers.lock();
             for (int i = 0; i < places + 6; ++i)
                 run.numbers.get(values[i], i % 2 == 0 ? a : b);
             run.set(1);
             run.give_time(2);
             for (int i = 0; i < places - 6; ++i)
                 run.numbers.get(values[places + 6 + i], i);
             run.numbers.unlock();
             return std::all_of(values, values + 2 * places, [&](auto v) { return v == values[0]; });
         }},
        {"who was told within an epoch sees it", "MPI_Recv", 20ms,
         [](const Run& run) {
             run.wait(1);
             run.numbers.write(run.after());
             tell();
             run.set(2);
         },
         [](const Run& run) {
             std::int64_t value = -1;
             run.cache();
             run.numbers.lock();
             run.numbers.get(value, a);
             run.set(1);
             run.give_time(2);
             const bool is_told = run.has_come(2);
             if (is_told) told();
             run.numbers.unlock();
             if (!is_told) told();
             return value == (is_told ? run.after() : run.before);
         }},
        {"a flush takes the lock", nullptr, 20ms,
         [](const Run& run) {
             run.wait(1);
             run.numbers.write(run.after());
         },
         [](const Run& run) {
             std::int64_t first = -1, second = -1;
             run.cache();
             run.numbers.lock();
             run.numbers.get(first, a);
             CHECK_MPI(MPI_Win_flush(target(), run.numbers));
             const std::int64_t looked_at = first;
             run.set(1);
             std::this_thread::sleep_for(run.numbers.lease() * 3);
             run.numbers.get(second, c);
             run.numbers.unlock();
             return looked_at == second;
         }},
        {"updates under shared locks are announced", "lease-announcements", 20ms,
         [](const Run& run) {
             run.wait(1);
             run.numbers.write(run.after(), MPI_LOCK_SHARED);
             run.set(2);
         },
         [](const Run& run) {
             run.cache();
             run.set(1);
             run.wait(2);
             std::this_thread::sleep_for(run.numbers.lease() * 3 / 2);
             return run.numbers.read(a) == run.after() && run.numbers.read(b) == run.after();
         }},
    };
}

class Board {
  public:
    /// \return whether the reader has seen all that it has to
    bool holds(const Rule& rule) {
        const Numbers numbers(rule.lease);
        if (writes()) numbers.write(++value_);
        barrier();
        const Run run{numbers, outside_, rank() == writer ? value_ : expected_++, 10 * ++runs_};
        bool well = true;
        if (writes()) {
            rule.write(run);
            ++value_;
        } else {
            ++expected_;
        }
        if (reads()) well = rule.read(run);
        int all_well = well ? 1 : 0;
        MPI_Bcast(&all_well, 1, MPI_INT, reader(), MPI_COMM_WORLD);
        return all_well != 0;
    }

  private:
    Outside outside_;
    std::int64_t value_ = 0;
    std::int64_t expected_ = 1;
    std::int64_t runs_ = 0;
};

void keep_to_the_rules() {
    Board board;
    for (const Rule& rule : rules()) {
        part(rule.name);
        if (!board.holds(rule)) report(__FILE__, __LINE__, std::string(rule.name) + ": it does not hold");
        if (!is_remote || nearfetch_fault_leave_out == nullptr || rule.fault == nullptr) continue;
        nearfetch_fault_leave_out(rule.fault);
        // A machine may be too busy to be quicker than a lease.
        bool holds = true;
        for (int i = 0; i < 10 && holds; ++i)
            holds = board.holds(rule);
        nearfetch_fault_leave_out("");
        if (holds) report(__FILE__, __LINE__, std::string(rule.name) + ": not missed when left out");
    }
}

/// Counted: what a reader gains where nobody writes.
void read_only() {
    part("read only");
    const Numbers numbers(10s);
    if (reads()) {
        for (int round = 0; round < 4; ++round) {
            // Its own memory's lock says nothing either, but for the first one.
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, numbers));
            CHECK_MPI(MPI_Win_unlock(rank(), numbers));
            for (const int place : {a, b, c})
                CHECK_EQ(numbers.read(place), 0);
        }
        if (loaded() && is_remote) {
            CHECK_EQ(numbers.count("locks"), 1 + 12 + 4);
            // The first look, at the second lock of the target, is an acquire.
            CHECK_EQ(numbers.count("hits"), 8);
            CHECK_EQ(numbers.count("locks_elided"), 8);
            CHECK_EQ(numbers.count("lease_looks"), 2);
        }
    }
    barrier();
    if (reads()) {
        CHECK_EQ(numbers.read(a), 0);
        if (loaded() && is_remote) CHECK_EQ(numbers.count("locks_elided"), 8);  // a barrier acquires
    }
    barrier();
}

/// Nobody has a lease: then a writer does not wait.
void write_only() {
    part("write only");
    const Numbers numbers(10s);
    if (writes())
        for (int i = 1; i < 20; ++i)
            numbers.write(i);
    barrier();
    if (writes() && loaded()) CHECK_EQ(numbers.count("lease_waits"), 0);
    barrier();
}

/// More windows than there are words for, and words that are used again.
void many_windows() {
    part("many windows");
    for (int round = 0; round < 2; ++round) {
        std::vector<std::unique_ptr<Numbers>> windows;
        for (int i = 0; i < 70; ++i)
            windows.push_back(std::make_unique<Numbers>(1ms));
        for (int i = 0; i < 70; ++i) {
            if (writes()) windows[static_cast<std::size_t>(i)]->write(i + 1);
            barrier();
            CHECK_EQ(windows[static_cast<std::size_t>(i)]->read(a), i + 1);
        }
        barrier();
    }
}

/// All ranks write and read at random: what one exclusive epoch writes, a shared one sees as a whole, and
/// never goes back; and who has seen the second of two numbers sees the first.
void at_random() {
    part("at random");
    const Numbers first(1ms), second(700us);
    Random random(state().seed + static_cast<std::uint64_t>(rank()));
    const auto pause = [&] {
        if (random.below(4) == 0) std::this_thread::sleep_for(std::chrono::microseconds(random.below(2500)));
    };
    std::int64_t last = 0;
    const int rounds = crowded() ? 60 : 300;
    for (int i = 1; i <= rounds; ++i) {
        if (writes() && random.below(8) == 0) {
            first.write(i);
            second.write(i);
        }
        std::int64_t seen = -1, values[3] = {-1, -1, -1};
        second.lock();
        second.get(seen, static_cast<int>(random.below(places)));
        second.unlock();
        first.lock();
        for (std::int64_t& value : values) {
            pause();
            first.get(value, static_cast<int>(random.below(places)));
            if (random.below(16) == 0) CHECK_MPI(MPI_Win_flush(target(), first));
        }
        pause();
        first.unlock();
        CHECK_EQ(values[0], values[1]);
        CHECK_EQ(values[0], values[2]);
        CHECK(values[0] >= seen);
        CHECK(seen >= last);
        last = seen;
    }
    barrier();
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, 100);
    is_remote = argc > 1 && std::string_view(argv[1]) == "--remote";
    return program.run_with_others([] {
        keep_to_the_rules();
        read_only();
        write_only();
        many_windows();
        at_random();
    });
}
