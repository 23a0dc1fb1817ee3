/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEARFETCH_NEARFETCH_H
#define NEARFETCH_NEARFETCH_H

/*
 * A write-back cache of remote memory for language runtimes and libraries that bring their own network.
 *
 * The runtime describes its network by a table of functions (nearfetch_transport) and makes one cache per
 * thread. Gets and puts of (rank, address, size) go through the cache; an acquire says that the task may have
 * learnt of others' writes, a release that others may learn of the thread's. docs/runtimes.md shows where a
 * PGAS runtime puts which call.
 *
 *     nearfetch_cache_settings settings;
 *     nearfetch_cache_settings_default(&settings, sizeof settings);
 *     nearfetch_cache* cache;
 *     if (nearfetch_cache_create(&settings, &transport, &cache) != NEARFETCH_OK)
 *         fail(nearfetch_last_error());
 *     nearfetch_task task = NEARFETCH_TASK_INIT;
 *     nearfetch_get(cache, &task, rank, address, sizeof value, &value);
 *
 * A cache belongs to one thread, and all the tasks of that thread share it. While a function of the cache
 * waits for the network the transport may run other tasks of the same thread, and these may use the cache.
 * Nothing here may be called from two threads at once for the same cache.
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
    NEARFETCH_BAD_ARGUMENT = 1, /**< NULL, a size that cannot be, a struct of another version */
    NEARFETCH_BAD_SETTING = 2,  /**< a setting whose value makes no sense */
    NEARFETCH_NO_MEMORY = 3,    /**< the system has none */
    NEARFETCH_BAD_ADDRESS = 4,  /**< there is no such rank, or not all of these bytes are addressable there */
    NEARFETCH_TRANSFER_FAILED = 5, /**< the transport said so: nearfetch_last_transport_status() */
    NEARFETCH_NOT_RELEASED = 6,    /**< bytes that were put are not at their targets */
    NEARFETCH_BUSY = 7             /**< a task waits inside the cache, or a request of it is not at its end */
} nearfetch_status;

/** A few words for a status; never NULL. */
NEARFETCH_API const char* nearfetch_status_text(nearfetch_status status);

/** What went wrong last in this thread, as *problem (why it is one): what to do*. "" when nothing has.
 * Another task of the thread may overwrite it as soon as it runs. */
NEARFETCH_API const char* nearfetch_last_error(void);

/** The transport's own status behind the last NEARFETCH_TRANSFER_FAILED or NEARFETCH_BAD_ADDRESS of this
 * thread. */
NEARFETCH_API int nearfetch_last_transport_status(void);

/** Major.minor.patch of the library. */
NEARFETCH_API const char* nearfetch_version(void);

/* ---- The runtime's network ---- */

/** Statuses by which a transport says that it is not its fault. Others are its own; 0 is success. */
#define NEARFETCH_TRANSPORT_BAD_RANK (-1)
#define NEARFETCH_TRANSPORT_OUTSIDE (-2)

/** A GET or PUT that was started. The cache owns it and shows the same object to every call that asks for it:
 * what one of them (or a completion handler of the network, in the cache's thread) marks as done is done for
 * all. So look at `done` before using `handle`, and again after running other tasks. */
typedef struct nearfetch_operation {
    void* handle; /**< the transport's, for what it needs */
    int status;   /**< of what is done: 0 or the transport's own */
    int done;     /**< 0; the transport sets 1 when it is complete, after `status` */
} nearfetch_operation;

/**
 * What the cache asks of a network. Set `size` to sizeof(nearfetch_transport), what is optional and not there
 * to NULL. `context` is given to each function. None of them may be left by an exception or longjmp.
 *
 * Operations may complete in any order, and two on the same bytes may take effect in any order, unless one
 * was done before the other was started: the cache sees to that. A GET has read its bytes, and a PUT has
 * written them, at some time between its start and its completion.
 *
 * Only wait_some may run other tasks of this thread, on other stacks or on top of its own.
 */
typedef struct nearfetch_transport {
    size_t size;
    void* context;

    /** Starts to fetch `bytes` (not 0) at `address` of `rank` to `to`; does not wait. It may be done at once.
     * Returns 0, or why it was not started: then the operation is forgotten. */
    int (*start_get)(void* context, int32_t rank, uint64_t address, uint64_t bytes, void* to,
                     nearfetch_operation* operation);
    /** Starts to write there. Done means there, for every reader. `from` stays as it is until then. */
    int (*start_put)(void* context, int32_t rank, uint64_t address, uint64_t bytes, const void* from,
                     nearfetch_operation* operation);
    /** Returns when at least one of them is done. At most 64. */
    void (*wait_some)(void* context, nearfetch_operation* const* operations, size_t count);
    /** Marks those that are done; does not wait, and runs no other task. */
    void (*try_some)(void* context, nearfetch_operation* const* operations, size_t count);
    /** The memory around `address` that a GET may read along with it, [*begin, *end): a segment, say. What it
     * answers for an address has to hold as long as anything of it is cached, and two regions share no line.
     * Returns 0 when not even that byte is addressable, else not 0. */
    int (*readable)(void* context, int32_t rank, uint64_t address, uint64_t* begin, uint64_t* end);

    /** Optional: this thread's time in nanoseconds, which never goes back; NULL for the machine's clock. The
     * distance of read-ahead is worked out from it. */
    uint64_t (*now_ns)(void* context);
    /** Optional: what one of the transport's statuses means, for messages. */
    const char* (*status_text)(void* context, int status);
} nearfetch_transport;

/* ---- Caches ---- */

typedef struct nearfetch_cache nearfetch_cache;

/** Take all from nearfetch_cache_settings_default() and change what is to be different. */
typedef struct nearfetch_cache_settings {
    size_t size;                     /**< sizeof(nearfetch_cache_settings) */
    uint64_t capacity_bytes;         /**< of data; all the rest adds less than half of it */
    uint64_t page_bytes;             /**< a power of two, at most 64 lines */
    uint64_t line_bytes;             /**< a power of two; what a GET is rounded up to */
    uint64_t bulk_bytes;             /**< gets and puts from that size on go past the pages */
    const char* policy;              /**< of replacement: "2q" or "s3fifo" */
    uint32_t dirty_pages;            /**< written pages that are kept back, at most half of the pages */
    uint32_t operations;             /**< GETs and PUTs under way at a time: what throttles the network */
    uint32_t read_ahead_items;       /**< most pages, or accesses, ahead of the reader */
    uint8_t read_ahead;              /**< 0 or 1, as those that follow */
    uint8_t read_ahead_beyond_paper; /**< backwards and by strides, at a distance that adapts */
    uint8_t combine_pages;           /**< adjacent pages share messages */
    uint8_t wait_for_writes;         /**< write a page back before the rest of it is read */
} nearfetch_cache_settings;

/** Fills in the defaults, or what the environment says in their place:
 * NEARFETCH_PAGE_CACHE_CAPACITY_BYTES=4MiB and the like, which `nearfetch settings` lists. `size` is sizeof
 * *settings. NEARFETCH_BAD_SETTING when a variable says what cannot be. */
NEARFETCH_API nearfetch_status nearfetch_cache_settings_default(nearfetch_cache_settings* settings,
                                                                size_t size);

/** Makes a cache for the calling thread; all its memory is taken now. The table is copied, its context is
 * not. `settings` may be NULL for the defaults. NEARFETCH_BAD_SETTING (also for a capacity that the system
 * has no memory for), NEARFETCH_BAD_ARGUMENT, NEARFETCH_NO_MEMORY; then *cache is NULL. */
NEARFETCH_API nearfetch_status nearfetch_cache_create(const nearfetch_cache_settings* settings,
                                                      const nearfetch_transport* transport,
                                                      nearfetch_cache** cache);

/** Waits for what is under way and frees everything; NULL is fine. Where bytes that were put have not reached
 * their targets it does nothing and returns NEARFETCH_NOT_RELEASED, unless `discard` is not 0: then they are
 * lost. It does not release by itself: an end that cannot fail has to be an end that has nothing to write.
 * NEARFETCH_BUSY when a task waits in the cache, or a request has not been waited for. */
NEARFETCH_API nearfetch_status nearfetch_cache_destroy(nearfetch_cache* cache, int discard);

/** A task's own time: its gets see nothing older than its last acquire. Embed one in each task. A new one may
 * see whatever is in the cache; say nearfetch_acquire() where a task begins by learning something. A task
 * that moves to another thread needs a release there, and here a new clock and an acquire. */
typedef struct nearfetch_task {
    uint64_t acquired; /**< the cache's; 0 at the start */
} nearfetch_task;
#define NEARFETCH_TASK_INIT {0}

/* ---- Access ---- */

/** Copies `bytes` at `address` of `rank` to `to`, as the task may see them. NEARFETCH_BAD_ADDRESS,
 * NEARFETCH_TRANSFER_FAILED: then not all of them are there, and nothing of them is cached. */
NEARFETCH_API nearfetch_status nearfetch_get(nearfetch_cache* cache, const nearfetch_task* task, int32_t rank,
                                             uint64_t address, uint64_t bytes, void* to);

/** Writes them. The memory may be used again at once; the bytes are at their target after a release. Every
 * task of the thread sees them. NEARFETCH_BAD_ADDRESS; NEARFETCH_TRANSFER_FAILED when room had to be made and
 * that failed, or the put was a large one that failed. A small one is then put in part or not at all; of a
 * large one nothing is certain, nor is what was put there before and not released. Put it again. */
NEARFETCH_API nearfetch_status nearfetch_put(nearfetch_cache* cache, const nearfetch_task* task, int32_t rank,
                                             uint64_t address, uint64_t bytes, const void* from);

/** Asks for bytes ahead of their use. Never waits and fetches nothing that is not addressable. */
NEARFETCH_API nearfetch_status nearfetch_prefetch(nearfetch_cache* cache, const nearfetch_task* task,
                                                  int32_t rank, uint64_t address, uint64_t bytes);

/* ---- Order ---- */

/** The task's later gets see nothing that was read before. O(1), no communication. */
NEARFETCH_API nearfetch_status nearfetch_acquire(nearfetch_cache* cache, nearfetch_task* task);

/** All that any task of the thread has put before is at its target when it returns NEARFETCH_OK. When PUTs
 * fail: NEARFETCH_TRANSFER_FAILED; their bytes are kept, and the next release, or whatever needs them done
 * before it can go on (a get of the same line, say), tries them again. */
NEARFETCH_API nearfetch_status nearfetch_release(nearfetch_cache* cache);

/** A release and, when that is well, an acquire. */
NEARFETCH_API nearfetch_status nearfetch_fence(nearfetch_cache* cache, nearfetch_task* task);

/** The same for one range: no task's later gets of these bytes see what was read before; what was put there
 * is at its target. */
NEARFETCH_API nearfetch_status nearfetch_acquire_range(nearfetch_cache* cache, int32_t rank, uint64_t address,
                                                       uint64_t bytes);
NEARFETCH_API nearfetch_status nearfetch_release_range(nearfetch_cache* cache, int32_t rank, uint64_t address,
                                                       uint64_t bytes);

/** For what goes around the cache, an atomic or a strided put say: releases the range and forgets it. To be
 * called before such an access; after one that writes, or that waits, nearfetch_acquire_range() as well. */
NEARFETCH_API nearfetch_status nearfetch_invalidate(nearfetch_cache* cache, int32_t rank, uint64_t address,
                                                    uint64_t bytes);

/* ---- Gets and puts that do not wait ---- */

typedef struct nearfetch_request nearfetch_request;

/** As nearfetch_get() and nearfetch_put(), begun. *request is NULL when it is at its end already; else the
 * memory stays as it is until nearfetch_wait(), or nearfetch_test() says that it is done. The task's clock is
 * that of the start. */
NEARFETCH_API nearfetch_status nearfetch_start_get(nearfetch_cache* cache, const nearfetch_task* task,
                                                   int32_t rank, uint64_t address, uint64_t bytes, void* to,
                                                   nearfetch_request** request);
NEARFETCH_API nearfetch_status nearfetch_start_put(nearfetch_cache* cache, const nearfetch_task* task,
                                                   int32_t rank, uint64_t address, uint64_t bytes,
                                                   const void* from, nearfetch_request** request);
/** Brings it forward without waiting; *done is 1 when it is at its end. It has to be waited for all the same.
 * NULL is done. */
NEARFETCH_API nearfetch_status nearfetch_test(nearfetch_request* request, int* done);
/** Waits for its end, frees it and returns how it went. NULL is fine. */
NEARFETCH_API nearfetch_status nearfetch_wait(nearfetch_request* request);

/* ---- What it has done ---- */

/** The counters, in a table: the name and meaning of row 0, 1, ..., NULL beyond the last. */
NEARFETCH_API const char* nearfetch_statistics_name(size_t row);
NEARFETCH_API const char* nearfetch_statistics_meaning(size_t row);
/** Their values since the cache was made, the first `count` of them. */
NEARFETCH_API nearfetch_status nearfetch_statistics(const nearfetch_cache* cache, uint64_t* values,
                                                    size_t count);
/** One by its name. NEARFETCH_BAD_ARGUMENT when there is none of that name. */
NEARFETCH_API nearfetch_status nearfetch_statistic(const nearfetch_cache* cache, const char* name,
                                                   uint64_t* value);

#ifdef __cplusplus
}
#endif

#endif /* NEARFETCH_NEARFETCH_H */
