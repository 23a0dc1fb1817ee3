// SPDX-License-Identifier: Apache-2.0
//
// Listings 1 to 7 of Ferguson and Buettner, *Caching Puts and Gets in a PGAS Language Runtime* (2015), in
// C++.
//
//     listings            two ranks in this process
//     listings fdr-ib     on a modelled network, in virtual time
//
// The paper's locale is a rank here; a Chapel int has 8 bytes. Each listing checks its result.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <nearfetch/pgas.hpp>
#include <optional>
#include <string>
#include <vector>

using namespace nearfetch;

namespace {

void check(bool good, const std::string& what) {
    if (!good) throw Error(what);
}

// Listing 1 is Listing 2 with an ordinary variable:
//
//     task A:  x = 42;  notify = 1;                  // nothing orders the two writes
//     task B:  while (notify == 0) {}  use(x);       // may see an old x, or an old notify for ever
//
// It has a race, which a cache exposes: both puts of task A stay in its cache until a release, and task B
// gets `notify` once and then keeps it. Listing 2 corrects it.

// Listing 2: a producer and a consumer.
void correct_synchronization() {
    const auto x = allocate<std::int64_t>(1).at_rank(0);
    const auto notify = allocate<std::int64_t>(1).at_rank(1);
    const Rank producer = 1, consumer = 0;
    if (rank() == producer) {
        *x = 42;
        atomic_store(notify, 1, std::memory_order_release);
    }
    if (rank() == consumer) {
        while (atomic_load(notify, std::memory_order_acquire) == 0)
            yield();
        check(*x == 42, "Listing 2: the consumer sees an old x");
    }
}

struct Point {
    std::int64_t x, y;
};

// Listing 3: a value that was just written is read by another rank, which writes it too. on() is a release
// here and an acquire there, and the same on the way back. (Memory lives as long as the program, so the
// listing's free() is omitted; it would be another on().)
void allocation_and_on() {
    const auto p = allocate<Point>(1).at_rank(0);
    if (rank() != 0) return;
    *p = Point{1, 2};
    on(1, [p] {
        const Point before = *p;
        if (before.x == 1 && before.y == 2) *p = Point{5, 10};
    });
    const Point after = *p;
    check(after.x == 5 && after.y == 10, "Listing 3: the point is not what rank 1 has made of it");
}

// Listing 4: two puts to one address and a get. Without program order it may give 0, 2 or 3.
void program_order() {
    const auto x = allocate<std::int64_t>(1).at_rank(1);
    if (rank() != 0) return;
    *x = 2;
    *x = 3;
    const std::int64_t y = *x;
    check(y == 3, "Listing 4: a get does not see the last put");
}

constexpr std::int64_t n = 2000;       // accesses
constexpr std::int64_t size = 65'521;  // of the array
std::int64_t f(std::int64_t i) { return i * i * i * 7919 % size; }
std::int64_t value(std::int64_t i) { return i + 1; }
std::int64_t expected() {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i)
        sum += value(f(i));
    return sum;
}

GlobalPtr<std::int64_t> numbers() {
    const auto a = allocate<std::int64_t>(size).at_rank(0);
    if (rank() == 0)
        for (std::int64_t i = 0; i < size; ++i)
            a.local()[i] = value(i);
    barrier();
    return a;
}

// Listing 5: reading from a computed index.
std::int64_t computed_index(GlobalPtr<std::int64_t> a) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i)
        sum += a[f(i)];
    return sum;
}

// Listing 6: the same with explicit transfers, k iterations ahead.
std::int64_t non_blocking(GlobalPtr<std::int64_t> a, std::int64_t k) {
    std::vector<std::optional<Transfer>> transfers(static_cast<std::size_t>(k));
    std::vector<std::int64_t> buffers(static_cast<std::size_t>(k));
    const auto start = [&](std::int64_t i) {
        const auto slot = static_cast<std::size_t>(i % k);
        transfers[slot].emplace(start_get(a + f(i), std::span(&buffers[slot], 1)));
    };
    for (std::int64_t i = 0; i < k; ++i)
        start(i);
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const auto slot = static_cast<std::size_t>(i % k);
        transfers[slot]->wait();
        sum += buffers[slot];
        if (i + k < n) start(i + k);
    }
    return sum;
}

// Listing 7: the same with prefetch hints.
std::int64_t prefetching(GlobalPtr<std::int64_t> a, std::int64_t k) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < k; ++i)
        prefetch(a + f(i));
    for (std::int64_t i = 0; i < n; ++i) {
        if (i + k < n) prefetch(a + f(i + k));
        sum += a[f(i)];
    }
    return sum;
}

// With a k that is found at run time, which the paper leaves to future work.
std::int64_t prefetching(GlobalPtr<std::int64_t> a) {
    Prefetcher ahead;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        ahead.step(i, n, [&](std::int64_t j) { prefetch(a + f(j)); });
        sum += a[f(i)];
    }
    return sum;
}

template <class Sum>
void run(const char* name, Sum&& sum) {
    barrier();  // each version begins with an empty cache
    if (rank() != 1) return;
    const std::uint64_t messages = statistics()["get_messages"];
    const std::uint64_t begin = now_ns();
    check(sum() == expected(), std::string(name) + ": the sum is wrong");
    const double us = static_cast<double>(now_ns() - begin) / 1000;
    std::printf("%-36s %9.1f us  %5lu messages\n", name, us,
                static_cast<unsigned long>(statistics()["get_messages"] - messages));
}

void listings() {
    correct_synchronization();
    barrier();
    allocation_and_on();
    program_order();
    const auto a = numbers();
    run("Listing 5, computed index", [&] { return computed_index(a); });
    run("Listing 6, non-blocking gets, k = 8", [&] { return non_blocking(a, 8); });
    run("Listing 7, prefetching, k = 8", [&] { return prefetching(a, 8); });
    run("Listing 7, k found as it runs", [&] { return prefetching(a); });
}

}  // namespace

int main(int argc, char** argv) {
    try {
        LaunchOptions options;
        if (argc > 1) {
            options.network = argv[1];
            options.virtual_time = true;
        }
        launch(options, listings);
        return 0;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "listings: %s\n", problem.what());
        return 1;
    }
}
