/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEARFETCH_MPI_H
#define NEARFETCH_MPI_H

/*
 * Optional calls from an MPI program to nearfetch. A program that never includes this header is cached as
 * well.
 *
 * All functions are weak symbols. A program that calls them links no library and runs with and without
 * nearfetch. If nearfetch is not loaded, NEARFETCH_CALL does nothing.
 *
 *     NEARFETCH_CALL(nearfetch_win_invalidate, (win));
 *
 * Functions on a window return MPI_SUCCESS or an MPI error code. An error also goes to the window's error
 * handler. None is collective.
 */

#include <mpi.h>

#if MPI_VERSION < 4
typedef MPI_Aint nearfetch_count; /* bytes and elements, 64 bit */
#else
typedef MPI_Count nearfetch_count;
#endif

#if defined(__GNUC__) || defined(__clang__)
#define NEARFETCH_WEAK __attribute__((weak))
#else
#define NEARFETCH_WEAK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Calls `function` with the parenthesised `arguments` if nearfetch is loaded; its value is the call's, or
 * MPI_SUCCESS. */
#define NEARFETCH_CALL(function, arguments) ((function) ? (function)arguments : MPI_SUCCESS)

/**
 * Invalidates all cached data of `win`: later gets see what was written before. Needed in mode user-defined
 * at the end of a read-only phase (001, section III-A), and in mode acquire after synchronisation outside of
 * MPI. Allowed in every mode.
 */
int nearfetch_win_invalidate(MPI_Win win) NEARFETCH_WEAK;

/**
 * Prefetches `count` elements of `type` at displacement `disp` (in displacement units of `target`). Does not
 * wait: the bytes are cached after the next call that completes gets of this target. Needs an access epoch at
 * `target`, as a get does. Does nothing in the modes off and transparent, and if the cache has no room.
 */
int nearfetch_win_prefetch(MPI_Win win, int target, MPI_Aint disp, nearfetch_count count,
                           MPI_Datatype type) NEARFETCH_WEAK;

/**
 * The score of a range of a window. It is called once for each admitted range; the range with the lowest
 * score is evicted first. It must not call MPI.
 */
typedef double (*nearfetch_score_function)(int target, nearfetch_count offset_bytes,
                                           nearfetch_count size_bytes, void* context);

/**
 * Sets the score for policy=application; `context` is handed to it. NULL removes it.
 */
int nearfetch_win_set_score(MPI_Win win, nearfetch_score_function score, void* context) NEARFETCH_WEAK;

/**
 * Reads one counter of this rank for `win`, by its name in the statistics (hits, direct, bytes_from_cache,
 * ...). MPI_ERR_ARG for an unknown name. From the first use on every call is counted. Before, calls in
 * passthrough are not (setting passthrough_calls).
 */
int nearfetch_win_stats(MPI_Win win, const char* counter, unsigned long long* value) NEARFETCH_WEAK;

/** The name of counter `index`, from 0; NULL after the last. */
const char* nearfetch_counter_name(int index) NEARFETCH_WEAK;

#ifdef __cplusplus
}
#endif

#endif /* NEARFETCH_MPI_H */
