// SPDX-License-Identifier: Apache-2.0
#pragma once

// The C++ runtime for SPMD programs with a partitioned global address space. A page cache is between the
// program and the network, so gets and puts of single elements run at bulk speed (Ferguson and Buettner,
// *Caching Puts and Gets in a PGAS Language Runtime*, 2015).
//
//     nearfetch::launch({.ranks = 4}, [] {
//         auto a = nearfetch::allocate<long>(1000);             // on every rank
//         auto next = a.at_rank((nearfetch::rank() + 1) % nearfetch::ranks());
//         for (long i = 0; i < 1000; ++i) next[i] = i;          // written back in a few messages
//         nearfetch::barrier();
//         for (long i = 0; i < 1000; ++i) check(next[i] == i);  // fetched in a few messages
//     });
//
// A program without data races computes what it computes without the cache. Two accesses to the same bytes,
// one of them a write, are ordered by program order or by a release and an acquire (section II-A). barrier(),
// fence(), atomics, sync variables, on(), spawn() and join() include these (section III-D). acquire() and
// release() also exist alone. A rank's own memory is not cached: local() may replace gets and puts.
//
// All functions but launch() are for threads of a launched program. Failures throw Error.

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
/// \throws Error for an invalid setting in the environment
PageCacheConfig page_cache_defaults();
}  // namespace detail

struct LaunchOptions {
    Rank ranks = 2;      ///< threads of this process; with MPI, MPI's number
    bool cached = true;  ///< false: each get and put is a message
    /// Of each thread. Fields that are not set come from the environment (settings page_cache_...).
    PageCacheConfig cache = detail::page_cache_defaults();
    std::string network = {};     ///< "": no modelled network; or aries, fdr-ib, 10gbe, 1gbe
    bool virtual_time = false;    ///< the modelled network's time is counted, not waited for
    std::uint64_t seed = 1;       ///< of all random choices in virtual time
    std::uint64_t jitter_ns = 0;  ///< longest random delay of an operation on a modelled network
    // Costs to a thread in virtual time, without the network:
    std::uint64_t access_ns = 10;       ///< of a get or put
    std::uint64_t miss_ns = 105;        ///< more, for each message of the cache
    std::uint64_t overlapped_ns = 75;   ///< more, while that message travels
    std::uint64_t fence_ns = 20;        ///< of a release with nothing to write
    std::uint64_t copied_kib_ns = 130;  ///< of 1 KiB, in whole cache lines, that arrays copy
};

namespace detail {

// A reference point in the program's code; functions are sent as offsets from it.
inline void anchor() {}
using Code = void (*)(const void* closure, void* result);

void launch(const LaunchOptions& options, const std::function<void()>& main, void (*anchor)());
void get(Rank rank, std::uint64_t address, void* to, std::size_t bytes);
void put(Rank rank, std::uint64_t address, const void* from, std::size_t bytes);
/// Elements of so many bytes.
struct Elements {
    std::size_t bytes;
    std::size_t count;
    std::int64_t stride;  ///< at the target, in elements
};
void get_strided(Rank rank, std::uint64_t address, const Elements& elements, void* to);
void put_strided(Rank rank, std::uint64_t address, const Elements& elements, const void* from);
void prefetch(Rank rank, std::uint64_t address, std::size_t bytes);
void acquire(Rank rank, std::uint64_t address, std::size_t bytes);
void release(Rank rank, std::uint64_t address, std::size_t bytes);
std::uint64_t atomic(Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                     std::uint64_t compare, std::memory_order order);
void add(Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t amount, std::memory_order order);
void start_addition(Rank rank, std::uint64_t address, AtomicOp op, std::uint64_t amount);
std::byte* local(std::uint64_t address, std::size_t bytes);
std::uint64_t allocate(std::size_t bytes, const Where& where);
void free(std::uint64_t address, const Where& where);
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

/// Bytes of so many elements; on overflow the largest number, which no rank has.
template <class T>
constexpr std::size_t bytes_of(std::size_t count) {
    constexpr std::size_t most = ~std::size_t{0};
    return count > most / sizeof(T) ? most : count * sizeof(T);
}

template <class T>
inline constexpr bool is_atomic = sizeof(T) == 8 && std::is_trivially_copyable_v<T>;
template <class T>
constexpr AtomicOp addition() {
    static_assert(is_atomic<T> && (std::is_integral_v<T> || std::is_same_v<T, double>));
    return std::is_integral_v<T> ? AtomicOp::add : AtomicOp::add_double;
}

}  // namespace detail

/// Runs `main` in every rank; ranks are threads of this process. Returns when all have ended.
/// \throws Error for invalid options; else the first exception that left a `main`
inline void launch(const LaunchOptions& options, const std::function<void()>& main) {
    detail::launch(options, main, &detail::anchor);
}

Rank rank();
Rank ranks();

template <class T>
class GlobalRef;

/// A pointer to a T in the memory of a rank. A plain value: it may be stored, sent and captured.
template <class T>
class GlobalPtr {
    static_assert(std::is_trivially_copyable_v<T>, "bytes are all that is moved");

  public:
    GlobalPtr() = default;
    GlobalPtr(Rank rank, std::uint64_t address) : rank_(rank), address_(address) {}

    Rank rank() const { return rank_; }
    std::uint64_t address() const { return address_; }
    /// The same address in another rank's memory.
    GlobalPtr at_rank(Rank other) const { return {other, address_}; }
    /// \pre rank() is the caller's. Not for memory that this rank's own puts or gets name by another rank.
    T* local() const { return reinterpret_cast<T*>(detail::local(address_, sizeof(T))); }

    GlobalRef<T> operator*() const { return GlobalRef<T>(*this); }
    GlobalRef<T> operator[](std::ptrdiff_t i) const { return GlobalRef<T>(*this + i); }
    GlobalPtr operator+(std::ptrdiff_t i) const {
        return {rank_, address_ + static_cast<std::uint64_t>(i) * sizeof(T)};
    }
    GlobalPtr operator-(std::ptrdiff_t i) const { return *this + -i; }
    /// The same address, as another type.
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

/// A reference to a remote T: reading gets, assigning puts.
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

/// Contiguous elements. Transfers from PageCacheConfig::bulk_bytes on bypass the pages.
template <class T>
void get(GlobalPtr<T> from, std::span<T> to) {
    detail::get(from.rank(), from.address(), to.data(), to.size_bytes());
}
template <class T>
void put(GlobalPtr<T> to, std::span<const std::type_identity_t<T>> from) {
    detail::put(to.rank(), to.address(), from.data(), from.size_bytes());
}

/// Elements that are `stride` elements apart at the target and contiguous here, as one operation: they travel
/// at the same time. Nothing is moved if not all of them are in one segment.
template <class T>
void get_strided(GlobalPtr<T> from, std::ptrdiff_t stride, std::span<T> to) {
    detail::get_strided(from.rank(), from.address(), {sizeof(T), to.size(), stride}, to.data());
}
template <class T>
void put_strided(GlobalPtr<T> to, std::ptrdiff_t stride, std::span<const std::type_identity_t<T>> from) {
    detail::put_strided(to.rank(), to.address(), {sizeof(T), from.size(), stride}, from.data());
}

/// Prefetches `count` elements (Listing 7). Never waits and never fails. Elements outside of what
/// was allocated are skipped.
template <class T>
void prefetch(GlobalPtr<T> from, std::size_t count = 1) {
    detail::prefetch(from.rank(), from.address(), detail::bytes_of<T>(count));
}

/// Finds the prefetch distance of a loop in iterations: the k of Listing 7. It is the GETs' latency divided
/// by the loop's time per iteration, corrected by late and unused prefetches (section VII). For one loop of
/// one thread.
///
///     Prefetcher prefetcher;
///     for (long i = 0; i < n; ++i) {
///         prefetcher.step(i, n, [&](long j) { prefetch(a + f(j)); });
///         sum += a[f(i)];
///     }
class Prefetcher {
  public:
    Prefetcher();
    Prefetcher(const Prefetcher&) = delete;
    Prefetcher& operator=(const Prefetcher&) = delete;
    ~Prefetcher();

    /// Call at the start of iteration `i` of `end`. Calls hint(j) for later iterations that it was not called
    /// for.
    template <class Hint>
    void step(std::int64_t i, std::int64_t end, Hint&& hint) {
        if (i >= tune_next_) tune(i);
        next_ = std::max(next_, i + 1);
        for (const std::int64_t stop = std::min(end, i + 1 + distance_); next_ < stop; ++next_)
            hint(next_);
    }
    /// The present distance in iterations; 0 without a cache.
    std::int64_t distance() const { return distance_; }

  private:
    class State;
    void tune(std::int64_t i);

    std::unique_ptr<State> state_;
    std::int64_t distance_ = 0;
    std::int64_t next_ = 0;
    std::int64_t tuned_ = 0;  ///< iteration of the last adjustment
    std::int64_t tune_next_ = 0;
};

/// A get or put in progress. Its memory may not change until wait(), or until test() is true.
class Transfer {
  public:
    class State {
      public:
        virtual ~State() = default;
        virtual bool test() = 0;
        virtual int wait() = 0;
    };

    explicit Transfer(std::unique_ptr<State> state) : state_(std::move(state)) {}
    /// Whether it is complete.
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
/// Complete means that `from` may change. At the target the data is complete after the next release.
template <class T>
[[nodiscard]] Transfer start_put(GlobalPtr<T> to, std::span<const std::type_identity_t<T>> from) {
    return detail::start_put(to.rank(), to.address(), from.data(), from.size_bytes());
}

/// Later gets of this thread see nothing that was read before.
void acquire();
/// All puts of this thread are complete at their targets.
void release();
/// A release and an acquire.
void fence();
/// The same for `count` elements only.
template <class T>
void acquire(GlobalPtr<T> of, std::size_t count) {
    detail::acquire(of.rank(), of.address(), detail::bytes_of<T>(count));
}
template <class T>
void release(GlobalPtr<T> of, std::size_t count) {
    detail::release(of.rank(), of.address(), detail::bytes_of<T>(count));
}

/// Waits for all ranks, with a release before and an acquire after; with memory_order_relaxed without these.
/// One thread of each rank calls it.
///
/// At barriers, collective functions and the end of `main`, ranks compare what they call. A difference is a
/// CollectiveError in all ranks. It names each rank's function, arguments and source line (`where`).
void barrier(std::memory_order order = std::memory_order_seq_cst, const Where& where = Where::current());

/// Allocates `count` zero-initialised elements in each rank, at the same address in all. The result names the
/// calling rank's. Collective: the main thread of every rank calls it, in the same order. Lives until free().
/// It waits for all ranks if they need more memory from the system. If not, it waits for nobody, and the next
/// barrier compares the calls. \throws Error in all ranks when one of them has no memory
template <class T>
GlobalPtr<T> allocate(std::size_t count, const Where& where = Where::current()) {
    static_assert(alignof(T) <= 64);
    return {rank(), detail::allocate(detail::bytes_of<T>(count), where)};
}

/// Ends an allocation in all ranks; later ones use its memory again. Collective, with two barriers, each a
/// release and an acquire. No thread of any rank may access it any more.
/// \param allocated what allocate() returned, of any rank
/// \throws Error in all ranks when no allocation begins there
template <class T>
void free(GlobalPtr<T> allocated, const Where& where = Where::current()) {
    detail::free(allocated.rank() < 0 ? ~std::uint64_t{0} : allocated.address(), where);
}

/// Atomic operations on 8 bytes. What writes with a releasing order completes earlier puts first; what reads
/// with an acquiring order lets later gets see nothing older. memory_order_relaxed does neither.
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
/// \return whether the value was `expected`, and now is `value`; else `expected` is set to the value
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
/// Integers and double; unsigned and negative amounts are allowed. A double that ranks add to is not used by
/// other atomics until a barrier. \return the value before
template <class T>
T atomic_fetch_add(GlobalPtr<T> p, std::type_identity_t<T> amount,
                   std::memory_order order = std::memory_order_seq_cst) {
    return std::bit_cast<T>(detail::atomic(p.rank(), p.address(), detail::addition<T>(),
                                           std::bit_cast<std::uint64_t>(amount), 0, order));
}
/// The same without a result. So nothing tells yet what others wrote before it, and the cache keeps what it
/// has: it acquires at this thread's next atomic with a result, or at once if a relaxed one was before.
template <class T>
void atomic_add(GlobalPtr<T> p, std::type_identity_t<T> amount,
                std::memory_order order = std::memory_order_seq_cst) {
    detail::add(p.rank(), p.address(), detail::addition<T>(), std::bit_cast<std::uint64_t>(amount), order);
}
/// The same without waiting: it is complete at this thread's next release. Until then nobody, this thread
/// included, can rely on either value. Earlier puts of these 8 bytes are complete first.
template <class T>
void unordered_add(GlobalPtr<T> p, std::type_identity_t<T> amount) {
    detail::start_addition(p.rank(), p.address(), detail::addition<T>(),
                           std::bit_cast<std::uint64_t>(amount));
}

/// Runs `function` on a rank, in a separate thread there, and waits for its value. On the caller's own rank
/// it is a plain call. It sees what this thread has put before; this thread sees what it put, afterwards. The
/// closure and the value are moved as bytes. A remote exception arrives as an Error with its text.
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

/// A thread of this rank, with a cache of its own. When it has ended, later tasks use both again; whatever
/// was cached counts as read before their start.
class Task {
  public:
    class State;
    explicit Task(std::unique_ptr<State> state);
    Task(Task&&) noexcept;
    Task& operator=(Task&&) = delete;
    /// Joins. An exception of a task that was not joined is lost.
    ~Task();
    /// Waits for the end; its puts are visible from now on. Rethrows its exception.
    void join();

  private:
    std::unique_ptr<State> state_;
};

/// The task sees what this thread has put before. \throws Error unless can_spawn()
[[nodiscard]] Task spawn(std::function<void()> body);
/// Whether several threads of a process may communicate. With some MPI libraries and networks only one may.
bool can_spawn();

/// Yields the processor; in virtual time some time passes.
void yield();
/// Simulates computation: in virtual time the time passes; else the processor is kept busy.
void compute(std::uint64_t ns);
/// This thread's clock.
std::uint64_t now_ns();

/// Counters of this thread's cache, or of its messages without a cache, as the counters' table names them;
/// waited_ns for gets, puts and releases; calls of functions of on() and of arrays' owners (a message each
/// way), and their call_bytes. In tasks and functions of on() they begin at 0.
class Statistics {
  public:
    std::vector<std::pair<std::string_view, std::uint64_t>> rows;
    /// \throws Error for an unknown counter
    std::uint64_t operator[](std::string_view name) const;
};
Statistics statistics();
/// The same, added for this thread and all tasks and functions of on() that have ended in this rank. For the
/// main thread: what others count while they run is left out.
Statistics rank_statistics();

/// The least time that a modelled network needs for one rank's messages and bytes: a lower bound for any
/// cache. \param round_trips GETs that can start only when the previous one is complete
/// \throws Error for an unknown network
double network_bound_ns(const std::string& network, std::uint64_t get_messages, std::uint64_t get_bytes,
                        std::uint64_t put_messages, std::uint64_t put_bytes, std::uint64_t round_trips = 0);

}  // namespace nearfetch
