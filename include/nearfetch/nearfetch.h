/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEARFETCH_NEARFETCH_H
#define NEARFETCH_NEARFETCH_H

/*
 * A write-back cache of remote memory for language runtimes and libraries that bring their own network.
 *
 * The runtime describes its network by a table of functions (nearfetch_transport) and makes one cache per
 * thread. Gets and puts of (rank, address, size) go through the cache. After an acquire a task sees the
 * writes that others have released. A release completes the thread's own writes at their targets.
 * docs/runtimes.md shows where a PGAS runtime makes which call.
 *
 *     nearfetch_cache_settings settings;
 *     nearfetch_cache_settings_default(&settings, sizeof settings);
 *     nearfetch_cache* cache;
 *     if (nearfetch_cache_create(&settings, &transport, &cache) != NEARFETCH_OK)
 *         fail(nearfetch_last_error());
 *     nearfetch_task task = NEARFETCH_TASK_INIT;
 *     nearfetch_get(cache, &task, rank, address, sizeof value, &value);
 *
 * A cache belongs to one thread. All tasks of that thread share it. While a cache function waits for the
 * network, the transport may run other tasks of the same thread, and these may use the cache. Two threads
 * may not use the same cache at the same time.
 *
 * Addresses are numbers that the transport understands: offsets in a segment, or a rank's virtual addresses.
 */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define NEARFETCH_API __attribute__((visibility("default")))
#else
#define NEARFETCH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ---- */

typedef enum nearfetch_status {
    NEARFETCH_OK = 0,
    NEARFETCH_BAD_ARGUMENT = 1,    /**< NULL, an invalid size, a struct of another version */
    NEARFETCH_BAD_SETTING = 2,     /**< a setting with an invalid value */
    NEARFETCH_NO_MEMORY = 3,       /**< memory is exhausted */
    NEARFETCH_BAD_ADDRESS = 4,     /**< the transport says: unknown rank, or bytes that are not there */
    NEARFETCH_TRANSFER_FAILED = 5, /**< see nearfetch_last_transport_status() */
    NEARFETCH_NOT_RELEASED = 6,    /**< some puts are not complete at their targets */
    NEARFETCH_BUSY = 7             /**< a task waits in the cache, or something is pending */
} nearfetch_status;

/** A few words for a status; never NULL. */
NEARFETCH_API const char* nearfetch_status_text(nearfetch_status status);

/** The last error of this thread, as *problem (why it is one): what to do*; "" if there was none. Another
 * task of the thread may overwrite it. */
NEARFETCH_API const char* nearfetch_last_error(void);

/** The transport's own status behind the last NEARFETCH_TRANSFER_FAILED or NEARFETCH_BAD_ADDRESS of this
 * thread. */
NEARFETCH_API int nearfetch_last_transport_status(void);

/** The library's version: major.minor.patch. */
NEARFETCH_API const char* nearfetch_version(void);

/* ---- The runtime's network ---- */

/** Statuses for invalid arguments, to be returned by start_get and start_put or reported by an operation.
 * Other values are the transport's own errors; 0 is success. */
#define NEARFETCH_TRANSPORT_BAD_RANK (-1)
#define NEARFETCH_TRANSPORT_OUTSIDE (-2)

/** A GET or PUT in progress. The cache owns it and passes the same object to every call. Any of these calls,
 * or a completion handler in the cache's thread, may mark it as done. So check `done` before using `handle`,
 * and again after running other tasks. */
typedef struct nearfetch_operation {
    void* handle; /**< for the transport's use */
    int status;   /**< when done: 0 or the transport's status */
    int done;     /**< 0; the transport sets 1 when it is complete, after `status` */
} nearfetch_operation;

/**
 * The network functions that a cache needs. Set `size` to sizeof(nearfetch_transport), and unused optional
 * functions to NULL. `context` is passed to each function. They may not exit by an exception or longjmp.
 *
 * Operations may complete in any order. The cache orders operations on the same bytes itself: it starts the
 * second when the first is done. A GET reads, and a PUT writes, between its start and its completion.
 *
 * start_get, start_put and wait_some may run other tasks of this thread, which may use the cache. wait_some
 * may run them on other stacks or on top of its own. The starts may only switch stacks: a task on top of one
 * would wait for it for ever, if it needs the same bytes.
 */
typedef struct nearfetch_transport {
    size_t size;
    void* context;

    /** Starts to fetch `bytes` (not 0) at `address` of `rank` to `to`. It may be done when the call returns.
     * Returns 0, or a status if it was not started; then the operation does not exist. No list has the
     * operation before that. */
    int (*start_get)(void* context, int32_t rank, uint64_t address, uint64_t bytes, void* to,
                     nearfetch_operation* operation);
    /** Starts to write. Done means visible at the target to every reader. `from` does not change before that.
     */
    int (*start_put)(void* context, int32_t rank, uint64_t address, uint64_t bytes, const void* from,
                     nearfetch_operation* operation);
    /** Returns when at least one of them is done. At most 64 are passed. None are passed when the cache needs
     * an operation that another task is starting: then it lets other tasks run, and returns. */
    void (*wait_some)(void* context, nearfetch_operation* const* operations, size_t count);
    /** Marks the completed ones as done; does not wait, and runs no other task. */
    void (*try_some)(void* context, nearfetch_operation* const* operations, size_t count);
    /** What GETs may read along with the bytes [address, address + bytes): [*begin, *end), for example the
     * registered segment, or the system's page. It only clips what the cache adds to an access: the rounding
     * to lines, and read-ahead. An access that the answer does not contain is made all the same, with exactly
     * its own bytes; start_get and start_put say whether it is legal. Prefetches are clipped to the answer.
     * Returns 0 if nothing is known, else not 0. It is not asked for hits or small puts, and runs no other
     * task. */
    int (*readable)(void* context, int32_t rank, uint64_t address, uint64_t bytes, uint64_t* begin,
                    uint64_t* end);

    /** Optional: a monotonic clock in nanoseconds; NULL for the system's. It is used for the read-ahead
     * distance. */
    uint64_t (*now_ns)(void* context);
    /** Optional: a description of a transport status, for messages. */
    const char* (*status_text)(void* context, int status);
} nearfetch_transport;

/* ---- Caches ---- */

typedef struct nearfetch_cache nearfetch_cache;

/** Fill in with nearfetch_cache_settings_default(), then change fields. */
typedef struct nearfetch_cache_settings {
    size_t size;                     /**< sizeof(nearfetch_cache_settings) */
    uint64_t capacity_bytes;         /**< data; the metadata adds less than half of it */
    uint64_t page_bytes;             /**< a power of two, at most 64 lines */
    uint64_t line_bytes;             /**< a power of two; GETs are rounded to lines */
    uint64_t bulk_bytes;             /**< gets and puts of this size and more bypass the pages */
    const char* policy;              /**< eviction policy: "2q" or "s3fifo" */
    uint32_t new_percent;            /**< 2Q: share of the pages for what was fetched once */
    uint32_t names_percent;          /**< 2Q: names of evicted pages, over the pages */
    uint32_t dirty_pages;            /**< limit of dirty pages, at most half of the pages */
    uint32_t operations;             /**< limit of outstanding GETs and PUTs */
    uint32_t read_ahead_items;       /**< limit of read-ahead, in pages or accesses */
    uint8_t read_ahead;              /**< 0 or 1, as the fields below */
    uint8_t read_ahead_beyond_paper; /**< backward and strided streams, adaptive distance */
    uint8_t combine_pages;           /**< adjacent pages share messages */
    uint8_t wait_for_writes;         /**< write back a page before its other lines are read */
} nearfetch_cache_settings;

/** Fills in the defaults. Environment variables override them, for example
 * NEARFETCH_PAGE_CACHE_CAPACITY_BYTES=4MiB; `nearfetch settings` lists all. `size` is sizeof *settings.
 * Returns NEARFETCH_BAD_SETTING for an invalid variable. */
NEARFETCH_API nearfetch_status nearfetch_cache_settings_default(nearfetch_cache_settings* settings,
                                                                size_t size);

/** Makes a cache for the calling thread, and allocates all its memory. The table is copied, its context is
 * not. `settings` may be NULL for the defaults. Errors, with *cache NULL: NEARFETCH_BAD_SETTING (also for a
 * capacity that is not available), NEARFETCH_BAD_ARGUMENT, NEARFETCH_NO_MEMORY. */
NEARFETCH_API nearfetch_status nearfetch_cache_create(const nearfetch_cache_settings* settings,
                                                      const nearfetch_transport* transport,
                                                      nearfetch_cache** cache);

/** Waits for outstanding operations and frees everything; NULL is allowed. It does not release, because a
 * destructor should not fail. If puts were not released it does nothing and returns NEARFETCH_NOT_RELEASED,
 * unless `discard` is not 0: then these puts are lost. NEARFETCH_BUSY when a task waits in the cache, or a
 * request was not waited for. */
NEARFETCH_API nearfetch_status nearfetch_cache_destroy(nearfetch_cache* cache, int discard);

/** A task's clock: its gets see nothing older than its last acquire. Embed one in each task. A new task may
 * see anything in the cache; call nearfetch_acquire() when it starts from data of another task. A task that
 * moves to another thread needs a release in the old thread, then a new clock and an acquire in the new one.
 */
typedef struct nearfetch_task {
    uint64_t acquired;                     /**< the cache's stamp; 0 at the start */
    struct nearfetch_unordered* unordered; /**< the cache's; NULL at the start and after each task fence */
} nearfetch_task;
#define NEARFETCH_TASK_INIT {0, NULL}

/* ---- Access ---- */

/** Copies `bytes` at `address` of `rank` to `to`, as fresh as the task's last acquire requires. After
 * NEARFETCH_BAD_ADDRESS or NEARFETCH_TRANSFER_FAILED `to` is incomplete, and none of the bytes is cached. */
NEARFETCH_API nearfetch_status nearfetch_get(nearfetch_cache* cache, const nearfetch_task* task, int32_t rank,
                                             uint64_t address, uint64_t bytes, void* to);

/** Writes the bytes. `from` may be reused at once. All tasks of the thread see the bytes; the target has them
 * after a release. NEARFETCH_BAD_ADDRESS for a negative rank; of a small put the transport's refusal shows at
 * the release. NEARFETCH_TRANSFER_FAILED when an eviction or a bulk put failed. A small put is then done in
 * part or not at all. After a bulk put the bytes, and earlier unreleased puts of them, are undefined: put
 * them again. */
NEARFETCH_API nearfetch_status nearfetch_put(nearfetch_cache* cache, const nearfetch_task* task, int32_t rank,
                                             uint64_t address, uint64_t bytes, const void* from);

/** Elements at regular distances, as in a part of a matrix. The first dimension varies fastest. */
#define NEARFETCH_DIMENSIONS_MAX 8
typedef struct nearfetch_strides {
    uint64_t bytes;         /**< of each element, which is contiguous */
    size_t dimensions;      /**< 0 for a single element */
    const uint64_t* counts; /**< number of elements in each dimension */
    const int64_t* remote;  /**< in each: bytes from one element to the next at the rank, also below 0 */
    const int64_t* local;   /**< the same in the task's memory */
} nearfetch_strides;

/** As nearfetch_get() and nearfetch_put() of each element, as one operation: the elements of a get are
 * fetched at the same time, in whole lines, and rows with small gaps in long messages. `address`, `to` and
 * `from` are those of the first element. Elements of a get may overlap at the rank, those of a put may not.
 * Also NEARFETCH_BAD_ARGUMENT for more than NEARFETCH_DIMENSIONS_MAX dimensions, NEARFETCH_BAD_ADDRESS for
 * elements below address 0 or above 2^62; then nothing was done. */
NEARFETCH_API nearfetch_status nearfetch_get_strided(nearfetch_cache* cache, const nearfetch_task* task,
                                                     int32_t rank, uint64_t address, void* to,
                                                     const nearfetch_strides* strides);
NEARFETCH_API nearfetch_status nearfetch_put_strided(nearfetch_cache* cache, const nearfetch_task* task,
                                                     int32_t rank, uint64_t address, const void* from,
                                                     const nearfetch_strides* strides);

/** Prefetches bytes. Never waits. Skips bytes that are not known to be readable. */
NEARFETCH_API nearfetch_status nearfetch_prefetch(nearfetch_cache* cache, const nearfetch_task* task,
                                                  int32_t rank, uint64_t address, uint64_t bytes);

/* ---- Order ---- */

/** The task's later gets see nothing that was read before. O(1), no communication. */
NEARFETCH_API nearfetch_status nearfetch_acquire(nearfetch_cache* cache, nearfetch_task* task);

/** Completes all earlier puts of the thread at their targets. NEARFETCH_TRANSFER_FAILED if a PUT fails: its
 * bytes are kept. The next release tries again, as does an access that needs them written first, for example
 * a get of the same line. */
NEARFETCH_API nearfetch_status nearfetch_release(nearfetch_cache* cache);

/** A release and, if it succeeds, an acquire. */
NEARFETCH_API nearfetch_status nearfetch_fence(nearfetch_cache* cache, nearfetch_task* task);

/** The same for one range. acquire: no task's later gets of these bytes see what was read before. release:
 * earlier puts of these bytes are complete at the target. */
NEARFETCH_API nearfetch_status nearfetch_acquire_range(nearfetch_cache* cache, int32_t rank, uint64_t address,
                                                       uint64_t bytes);
NEARFETCH_API nearfetch_status nearfetch_release_range(nearfetch_cache* cache, int32_t rank, uint64_t address,
                                                       uint64_t bytes);

/** For memory that is freed, unregistered or accessed in other ways, for example by atomics: releases the
 * range, and waits until nothing of it is cached or outstanding. If it fails the unreleased bytes are kept.
 *
 * Before memory is unregistered, `readable` says so, then each cache that may have read it invalidates it.
 * Before an access in another way call it, too; after one that writes, or that waits, call
 * nearfetch_acquire_range(). */
NEARFETCH_API nearfetch_status nearfetch_invalidate(nearfetch_cache* cache, int32_t rank, uint64_t address,
                                                    uint64_t bytes);

/** As nearfetch_invalidate(), but unreleased puts of the range are lost. For memory that is gone: the network
 * refuses such puts, and no release would succeed any more. NEARFETCH_BUSY if failed puts around the range
 * have to be released first. */
NEARFETCH_API nearfetch_status nearfetch_discard(nearfetch_cache* cache, int32_t rank, uint64_t address,
                                                 uint64_t bytes);

/* ---- Gets and puts that do not wait ---- */

typedef struct nearfetch_request nearfetch_request;

/** As nearfetch_get() and nearfetch_put(), but without waiting. *request is NULL if it is complete already.
 * Else the memory may not change until nearfetch_wait(), or until nearfetch_test() reports completion. The
 * task's clock at the start counts. */
NEARFETCH_API nearfetch_status nearfetch_start_get(nearfetch_cache* cache, const nearfetch_task* task,
                                                   int32_t rank, uint64_t address, uint64_t bytes, void* to,
                                                   nearfetch_request** request);
NEARFETCH_API nearfetch_status nearfetch_start_put(nearfetch_cache* cache, const nearfetch_task* task,
                                                   int32_t rank, uint64_t address, uint64_t bytes,
                                                   const void* from, nearfetch_request** request);
/** Makes progress without waiting; *done is 1 when it is complete. nearfetch_wait() is still needed. NULL is
 * complete. */
NEARFETCH_API nearfetch_status nearfetch_test(nearfetch_request* request, int* done);
/** Waits for completion, frees the request and returns its status. NULL is allowed. */
NEARFETCH_API nearfetch_status nearfetch_wait(nearfetch_request* request);

/* ---- Unordered gets and puts ---- */

/** As nearfetch_get() and nearfetch_put(), but they need not be done before the task's next
 * nearfetch_task_fence(), and are done in any order. Until then the memory is the cache's: `to` is undefined,
 * `from` may not change, and the task may not access the same bytes of the rank in another way, or write them
 * twice. A hit is done at once. Of the others at most `operations` (a setting) are outstanding in a cache;
 * then a call waits for earlier ones of its task. They return errors of their arguments only, and
 * NEARFETCH_NO_MEMORY; then nothing has begun. */
NEARFETCH_API nearfetch_status nearfetch_get_unordered(nearfetch_cache* cache, nearfetch_task* task,
                                                       int32_t rank, uint64_t address, uint64_t bytes,
                                                       void* to);
NEARFETCH_API nearfetch_status nearfetch_put_unordered(nearfetch_cache* cache, nearfetch_task* task,
                                                       int32_t rank, uint64_t address, uint64_t bytes,
                                                       const void* from);

/** Completes the task's unordered gets and puts: from now on they are as ordinary ones that have returned.
 * Their puts reach the target with a release. Those of other tasks go on. Returns the status of the first one
 * that failed since the task's last fence; any number of them may have failed. Acquire, release and fence do
 * not include it. A task calls it before it ends, and before it moves to another thread. */
NEARFETCH_API nearfetch_status nearfetch_task_fence(nearfetch_cache* cache, nearfetch_task* task);

/* ---- Statistics ---- */

/** Name and meaning of counter 0, 1, ...; NULL after the last. */
NEARFETCH_API const char* nearfetch_statistics_name(size_t row);
NEARFETCH_API const char* nearfetch_statistics_meaning(size_t row);
/** The first `count` values, counted since the cache was made. */
NEARFETCH_API nearfetch_status nearfetch_statistics(const nearfetch_cache* cache, uint64_t* values,
                                                    size_t count);
/** One value by name. NEARFETCH_BAD_ARGUMENT for an unknown name. */
NEARFETCH_API nearfetch_status nearfetch_statistic(const nearfetch_cache* cache, const char* name,
                                                   uint64_t* value);

#ifdef __cplusplus
}
#endif

#endif /* NEARFETCH_NEARFETCH_H */
