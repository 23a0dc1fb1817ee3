// SPDX-License-Identifier: Apache-2.0
#pragma once

// nearfetch for SPMD programs with a partitioned global address space: gets and puts of single elements that
// run at bulk speed, because a page cache stands between them and the network (Ferguson and Buettner,
// *Caching Puts and Gets in a PGAS Language Runtime*, 2015).
//
//     nearfetch::launch({.ranks = 4}, [] {
//         auto a = nearfetch::allocate<long>(1000);             // on every rank
//         auto next = a.at_rank((nearfetch::rank() + 1) % nearfetch::ranks());
//         for (long i = 0; i < 1000; ++i) next[i] = i;          // collected, sent in a few messages
//         nearfetch::barrier();
//         for (long i = 0; i < 1000; ++i) check(next[i] == i);  // fetched in a few messages
//     });
//
// A program without data races sees what it would see without the cache: two accesses to the same bytes, one
// of them a write, are ordered by program order or by a release and an acquire (section II-A). barrier(),
// fence(), atomics, sync variables, on(), spawn() and join() bring these with them (section III-D); acquire()
// and release() are there alone, too. A rank's own memory is not cached: local() may be used in place of gets
// and puts.
//
// Every function but launch() is for threads of a launched program. What fails throws Error.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nearfetch/detail/base/error.hpp>
#include <nearfetch/detail/base/page_cache_config.hpp>
#include <nearfetch/detail/base/types.hpp>
#include <nearfetch/detail/pgas/collective.hpp>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {
/// \throws Error when the environment says what cannot be
PageCacheConfig page_cache_defaults();
}  // namespace detail

struct LaunchOptions {
    Rank ranks = 2;                             ///< threads of this process (with MPI: as many as MPI has)
    std::uint64_t segment_bytes = 64ull << 20;  ///< of each rank, for all it allocates; rounded up to pages
    bool cached = true;                         ///< false: every get and put is a message
    /// Of each thread. What the program does not set is as the environment says (settings page_cache_...).
    PageCacheConfig cache = detail::page_cache_defaults();
    std::string network = {};      ///< "": none is modelled; or aries, fdr-ib, 10gbe, 1gbe
    bool virtual_time = false;     ///< the modelled network's time is counted instead of waited for
    std::uint64_t seed = 1;        ///< of all that is left to chance in virtual time
    std::uint64_t jitter_ns = 0;   ///< most that chance delays an operation on a modelled network
    std::uint64_t access_ns = 10;  ///< what a get or put costs its thread in virtual time, beside the network
};

namespace detail {

// The program's side of remote execution: a place in its code, from which others are counted.
inline void anchor() {}
using Code = void (*)(const void* closure, void* result);

void launch(const LaunchOptions& options, const std::function<void()>& main, void (*anchor)());
void get(Rank rank, std::uint64_t address, void* to, std::size_t bytes);
void put(Rank rank, std::uint64_t address, const void* from, std::size_t bytes);
void prefetch(Rank rank, std::uint64_t address, std::size_t bytes);
void acquire(Rank rank, std::uint64_t address, std::size_t bytes);
void release(Rank rank, std::uint64_t address, std::size_t bytes);
std::uint64_t atomic(Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                     std::uint64_t compare, std::memory_order order);
std::byte* local(std::uint64_t address, std::size_t bytes);
std::uint64_t allocate(std::size_t bytes, const Where& where);
std::uint64_t allocate_droppable(std::size_t bytes);
void drop(std::uint64_t address, std::size_t bytes) noexcept;
std::uint64_t reallocate(std::uint64_t address, std::size_t bytes, std::size_t wanted_bytes);
void call(Rank rank, Code code, const void* closure, std::size_t closure_bytes, void* result,
          std::size_t result_bytes);

template <class F>
void run(const void* closure, void* result) {
    const F& function = *static_cast<const F*>(closure);
    if constexpr (std::is_void_v<std::invoke_result_t<const F&>>)
        function();
    else
        new (result) std::invoke_result_t<const F&>(function());
}

/// Of so many elements; where no number is large enough, the largest, which no segment has.
template <class T>
constexpr std::size_t bytes_of(std::size_t count) {
    constexpr std::size_t most = ~std::size_t{0};
    return count > most / sizeof(T) ? most : count * sizeof(T);
}

template <class T>
inline constexpr bool is_atomic = sizeof(T) == 8 && std::is_trivially_copyable_v<T>;

}  // namespace detail

/// Runs `main` in every rank, ranks being threads of this process. Returns when all have ended.
/// \throws Error for options that make no sense; else the first exception that left a `main`
inline void launch(const LaunchOptions& options, const std::function<void()>& main) {
    detail::launch(options, main, &detail::anchor);
}

Rank rank();
Rank ranks();

template <class T>
class GlobalRef;

/// Names a T in the segment of a rank. A plain value: it may be stored, sent and captured.
template <class T>
class GlobalPtr {
    static_assert(std::is_trivially_copyable_v<T>, "bytes are all that is moved");

  public:
    GlobalPtr() = default;
    GlobalPtr(Rank rank, std::uint64_t address) : rank_(rank), address_(address) {}

    Rank rank() const { return rank_; }
    std::uint64_t address() const { return address_; }
    /// The same address in another rank's segment.
    GlobalPtr at_rank(Rank other) const { return {other, address_}; }
    /// \pre rank() is the caller's. Not for memory that this rank's own puts or gets name by another rank.
    T* local() const { return reinterpret_cast<T*>(detail::local(address_, sizeof(T))); }

    GlobalRef<T> operator*() const { return GlobalRef<T>(*this); }
    GlobalRef<T> operator[](std::ptrdiff_t i) const { return GlobalRef<T>(*this + i); }
    GlobalPtr operator+(std::ptrdiff_t i) const {
        return {rank_, address_ + static_cast<std::uint64_t>(i) * sizeof(T)};
    }
    GlobalPtr operator-(std::ptrdiff_t i) const { return *this + -i; }
    /// The same place, as another type.
    template <class U>
    GlobalPtr<U> as() const {
        return {rank_, address_};
    }
    friend bool operator==(const GlobalPtr&, const GlobalPtr&) = default;

  private:
    Rank rank_ = -1;
    std::uint64_t address_ = 0;
};

template <class T>
T get(GlobalPtr<T> from) {
    T value;
    detail::get(from.rank(), from.address(), &value, sizeof(T));
    return value;
}

template <class T>
void put(GlobalPtr<T> to, const std::type_identity_t<T>& value) {
    detail::put(to.rank(), to.address(), &value, sizeof(T));
}

/// A T elsewhere that reads and writes like one here.
template <class T>
class GlobalRef {
  public:
    explicit GlobalRef(GlobalPtr<T> where) : where_(where) {}
    GlobalRef(const GlobalRef&) = default;
    operator T() const { return get(where_); }
    const GlobalRef& operator=(const T& value) const {
        put(where_, value);
        return *this;
    }
    const GlobalRef& operator=(const GlobalRef& other) const { return *this = static_cast<T>(other); }
    const GlobalRef& operator+=(const T& value) const { return *this = static_cast<T>(*this) + value; }
    GlobalPtr<T> operator&() const { return where_; }

  private:
    GlobalPtr<T> where_;
};

/// Elements side by side. Large ones (PageCacheConfig::bulk_bytes) go straight to the program's memory.
template <class T>
void get(GlobalPtr<T> from, std::span<T> to) {
    detail::get(from.rank(), from.address(), to.data(), to.size_bytes());
}
template <class T>
void put(GlobalPtr<T> to, std::span<const std::type_identity_t<T>> from) {
    detail::put(to.rank(), to.address(), from.data(), from.size_bytes());
}

/// Elements `stride` elements apart there, side by side here.
template <class T>
void get_strided(GlobalPtr<T> from, std::ptrdiff_t stride, std::span<T> to) {
    for (T& value : to) {
        value = get(from);
        from = from + stride;
    }
}
template <class T>
void put_strided(GlobalPtr<T> to, std::ptrdiff_t stride, std::span<const std::type_identity_t<T>> from) {
    for (const T& value : from) {
        put(to, value);
        to = to + stride;
    }
}

/// Asks for `count` elements ahead of their use (Listing 7). Never waits, and never fails: what lies outside
/// of the segment is left out.
template <class T>
void prefetch(GlobalPtr<T> from, std::size_t count = 1) {
    detail::prefetch(from.rank(), from.address(), detail::bytes_of<T>(count));
}

/// Finds out how many iterations ahead of their use a loop has to ask for what it reads: the k of Listing 7,
/// from the time that GETs take and the loop's own per iteration, corrected by what came late or was never
/// used (section VII). For one loop of one thread.
///
///     Prefetcher ahead;
///     for (long i = 0; i < n; ++i) {
///         ahead.step(i, n, [&](long j) { prefetch(a + f(j)); });
///         sum += a[f(i)];
///     }
class Prefetcher {
  public:
    Prefetcher();
    Prefetcher(const Prefetcher&) = delete;
    Prefetcher& operator=(const Prefetcher&) = delete;
    ~Prefetcher();

    /// Iteration `i` of those up to `end` begins: calls hint(j) for later ones that it was not called for.
    template <class Hint>
    void step(std::int64_t i, std::int64_t end, Hint&& hint) {
        if (i >= tune_next_) tune(i);
        next_ = std::max(next_, i + 1);
        for (const std::int64_t stop = std::min(end, i + 1 + distance_); next_ < stop; ++next_)
            hint(next_);
    }
    /// At the moment, in iterations; 0 where there is no cache.
    std::int64_t distance() const { return distance_; }

  private:
    class State;
    void tune(std::int64_t i);

    std::unique_ptr<State> state_;
    std::int64_t distance_ = 0;
    std::int64_t next_ = 0;
    std::int64_t tuned_ = 0;  ///< in that iteration
    std::int64_t tune_next_ = 0;
};

/// A get or put under way. Its memory stays as it is until wait() or a test() that is true.
class Transfer {
  public:
    class State {
      public:
        virtual ~State() = default;
        virtual bool test() = 0;
        virtual int wait() = 0;
    };

    explicit Transfer(std::unique_ptr<State> state) : state_(std::move(state)) {}
    /// Whether it is done.
    bool test() { return state_->test(); }
    /// \throws Error when a message failed
    void wait();

  private:
    std::unique_ptr<State> state_;
};

namespace detail {
Transfer start_get(Rank rank, std::uint64_t address, void* to, std::size_t bytes);
Transfer start_put(Rank rank, std::uint64_t address, const void* from, std::size_t bytes);
}  // namespace detail

template <class T>
[[nodiscard]] Transfer start_get(GlobalPtr<T> from, std::span<T> to) {
    return detail::start_get(from.rank(), from.address(), to.data(), to.size_bytes());
}
/// Done means that `from` may change; at the target it is after the release that follows.
template <class T>
[[nodiscard]] Transfer start_put(GlobalPtr<T> to, std::span<const std::type_identity_t<T>> from) {
    return detail::start_put(to.rank(), to.address(), from.data(), from.size_bytes());
}

/// This thread's later gets see nothing that was read earlier.
void acquire();
/// All that this thread has put is at its target.
void release();
/// Both.
void fence();
/// Of `count` elements alone.
template <class T>
void acquire(GlobalPtr<T> of, std::size_t count) {
    detail::acquire(of.rank(), of.address(), detail::bytes_of<T>(count));
}
template <class T>
void release(GlobalPtr<T> of, std::size_t count) {
    detail::release(of.rank(), of.address(), detail::bytes_of<T>(count));
}

/// Nobody leaves before all ranks have come, with a release before and an acquire after it; with
/// memory_order_relaxed without. One thread of each rank calls it.
///
/// This, the end of `main`, and all that is called collective: ranks that meet in different ones, or with
/// different arguments, get a CollectiveError, which names what they are in and where they called it
/// (`where`).
void barrier(std::memory_order order = std::memory_order_seq_cst, const Where& where = Where::current());

/// `count` elements in each rank's segment, at the same address everywhere, zero; named for the calling rank.
/// Collective: the main thread of every rank calls it, in the same order. Lives as long as the program.
/// It waits for nobody: that all ranks have called it is compared at the next barrier.
template <class T>
GlobalPtr<T> allocate(std::size_t count, const Where& where = Where::current()) {
    static_assert(alignof(T) <= 64);
    return {rank(), detail::allocate(detail::bytes_of<T>(count), where)};
}

/// Atomic operations on 8 bytes, whoever else works on them. With an order that releases, what was put before
/// is at its target first; with one that acquires, later gets see nothing older. memory_order_relaxed does
/// neither, and leaves the cache as it is.
template <class T>
T atomic_load(GlobalPtr<T> p, std::memory_order order = std::memory_order_seq_cst) {
    static_assert(detail::is_atomic<T>);
    return std::bit_cast<T>(detail::atomic(p.rank(), p.address(), AtomicOp::load, 0, 0, order));
}
template <class T>
void atomic_store(GlobalPtr<T> p, std::type_identity_t<T> value,
                  std::memory_order order = std::memory_order_seq_cst) {
    static_assert(detail::is_atomic<T>);
    detail::atomic(p.rank(), p.address(), AtomicOp::store, std::bit_cast<std::uint64_t>(value), 0, order);
}
template <class T>
T atomic_exchange(GlobalPtr<T> p, std::type_identity_t<T> value,
                  std::memory_order order = std::memory_order_seq_cst) {
    static_assert(detail::is_atomic<T>);
    return std::bit_cast<T>(
        detail::atomic(p.rank(), p.address(), AtomicOp::swap, std::bit_cast<std::uint64_t>(value), 0, order));
}
/// \return whether the value was `expected`, and is `value` now; else `expected` is what it was
template <class T>
bool atomic_compare_exchange(GlobalPtr<T> p, T& expected, std::type_identity_t<T> value,
                             std::memory_order order = std::memory_order_seq_cst) {
    static_assert(detail::is_atomic<T>);
    const auto wanted = std::bit_cast<std::uint64_t>(expected);
    const std::uint64_t was = detail::atomic(p.rank(), p.address(), AtomicOp::compare_swap,
                                             std::bit_cast<std::uint64_t>(value), wanted, order);
    expected = std::bit_cast<T>(was);
    return was == wanted;
}
/// \return the value before; also for unsigned and negative amounts
template <class T>
T atomic_fetch_add(GlobalPtr<T> p, std::type_identity_t<T> amount,
                   std::memory_order order = std::memory_order_seq_cst) {
    static_assert(detail::is_atomic<T> && std::is_integral_v<T>);
    return static_cast<T>(
        detail::atomic(p.rank(), p.address(), AtomicOp::add, static_cast<std::uint64_t>(amount), 0, order));
}

/// Runs `function` on a rank, in a thread of it that is there for that, while its program goes on; waits for
/// it and gives its value; on the caller's own rank it is simply called. What this thread has put before is
/// seen there, and what is put there is seen after it. The closure and its value are moved as bytes. What it
/// throws elsewhere arrives as an Error with its text.
template <class F>
auto on(Rank where, const F& function) -> std::invoke_result_t<const F&> {
    using Value = std::invoke_result_t<const F&>;
    static_assert(std::is_trivially_copyable_v<F>, "capture values and global pointers only");
    static_assert(alignof(F) <= alignof(std::max_align_t));
    if constexpr (std::is_void_v<Value>) {
        detail::call(where, &detail::run<F>, &function, sizeof(F), nullptr, 0);
    } else {
        static_assert(std::is_trivially_copyable_v<Value> && alignof(Value) <= alignof(std::max_align_t));
        alignas(Value) std::byte value[sizeof(Value)];
        detail::call(where, &detail::run<F>, &function, sizeof(F), value, sizeof(Value));
        return *std::launder(reinterpret_cast<Value*>(value));
    }
}

/// A thread of this rank, with a cache of its own.
class Task {
  public:
    class State;
    explicit Task(std::unique_ptr<State> state);
    Task(Task&&) noexcept;
    Task& operator=(Task&&) = delete;
    /// A task that was not joined is; what it threw is lost.
    ~Task();
    /// Waits for its end; what it put is seen from now on. Throws what it threw.
    void join();

  private:
    std::unique_ptr<State> state_;
};

/// What this thread has put before is seen by the task.
[[nodiscard]] Task spawn(std::function<void()> body);

/// A variable that is full or empty (a Chapel sync variable). Reading waits until it is full, writing until
/// it is empty; either is a fence. Lives at a rank; the pointer may be shared with all.
template <class T>
class SyncVar {
    static_assert(detail::is_atomic<T>, "8 bytes");

  public:
    struct Cell {
        std::uint64_t state = 0;
        T value;
    };

    /// Empty, where the cells are zero.
    explicit SyncVar(GlobalPtr<Cell> cell) : cell_(cell) {}

    /// Waits until it is empty, leaves it full.
    void write_ef(T value) const {
        take(empty);
        atomic_store(value_ptr(), value, std::memory_order_relaxed);
        set(full);
    }
    /// Waits until it is full, leaves it empty.
    T read_fe() const { return read(empty); }
    /// Waits until it is full, leaves it full.
    T read_ff() const { return read(full); }
    bool is_full() const { return atomic_load(state_ptr()) == full; }

  private:
    static constexpr std::uint64_t empty = 0, full = 1, busy = 2;

    GlobalPtr<std::uint64_t> state_ptr() const { return cell_.template as<std::uint64_t>(); }
    GlobalPtr<T> value_ptr() const { return {cell_.rank(), cell_.address() + 8}; }
    T read(std::uint64_t after) const {
        take(full);
        const T value = atomic_load(value_ptr(), std::memory_order_relaxed);
        set(after);
        return value;
    }
    void take(std::uint64_t state) const;
    void set(std::uint64_t state) const { atomic_store(state_ptr(), state); }

    GlobalPtr<Cell> cell_;
};

/// Lets others have the processor, or in virtual time some of the time.
void yield();
/// The program computes for so long: in virtual time it passes; else the processor is kept busy.
void compute(std::uint64_t ns);
/// This thread's time.
std::uint64_t now_ns();

template <class T>
void SyncVar<T>::take(std::uint64_t state) const {
    for (std::uint64_t seen = state; !atomic_compare_exchange(state_ptr(), seen, busy); seen = state)
        yield();
}

/// What this thread's cache has done; without a cache its messages. The names are those of the counters'
/// table, and waited_ns: how long the thread has waited for gets, puts and releases.
class Statistics {
  public:
    std::vector<std::pair<std::string_view, std::uint64_t>> rows;
    /// \throws Error when there is no counter of that name
    std::uint64_t operator[](std::string_view name) const;
};
Statistics statistics();

/// The least time in which a modelled network can move so many bytes in so many messages for one rank: what
/// no cache can avoid. \param round_trips so many of the GETs can only start when the one before is complete
/// \throws Error when there is no network of that name
double network_bound_ns(const std::string& network, std::uint64_t get_messages, std::uint64_t get_bytes,
                        std::uint64_t put_messages, std::uint64_t put_bytes, std::uint64_t round_trips = 0);

}  // namespace nearfetch
