/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEARFETCH_MPI_H
#define NEARFETCH_MPI_H

/*
 * What an MPI program may say to nearfetch. Nothing of it is needed: a program that never includes this
 * header is cached as well.
 *
 * All functions are weak symbols. A program that calls them needs no library to link and runs with and
 * without nearfetch: where nearfetch is not loaded, the NEARFETCH_CALL macro below does nothing.
 *
 *     NEARFETCH_CALL(nearfetch_win_invalidate, (win));
 *
 * Each function of a window returns MPI_SUCCESS or an MPI error code; an error is also given to the window's
 * error handler. None of them is collective.
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
 * Forgets everything that is cached of `win`: gets that are issued later see what was written before. For
 * windows in mode user-defined, at the end of a read-only phase (001, section III-A), and in mode acquire
 * after synchronisation that does not pass through MPI; allowed in every mode.
 */
int nearfetch_win_invalidate(MPI_Win win) NEARFETCH_WEAK;

/**
 * Asks for `count` elements of `type` at displacement `disp` (in displacement units of `target`) ahead of
 * their use. Does not wait: the bytes are cached when the next call that completes gets of this target
 * returns. Needs an access epoch at `target`, as a get does. Does nothing in the modes off and transparent,
 * and where there is no room.
 */
int nearfetch_win_prefetch(MPI_Win win, int target, MPI_Aint disp, nearfetch_count count,
                           MPI_Datatype type) NEARFETCH_WEAK;

/**
 * What a range of a window is worth: it is called once for each range that is admitted, and the lowest goes
 * first. It must not call MPI.
 */
typedef double (*nearfetch_score_function)(int target, nearfetch_count offset_bytes,
                                           nearfetch_count size_bytes, void* context);

/**
 * Gives the score by which policy=application decides who stays; `context` is handed to it. NULL takes it
 * back.
 */
int nearfetch_win_set_score(MPI_Win win, nearfetch_score_function score, void* context) NEARFETCH_WEAK;

/**
 * Reads one counter of this rank for `win`, by the name it has in the statistics (hits, direct,
 * bytes_from_cache, ...). MPI_ERR_ARG for a name that does not exist. Every call is counted from the first
 * use of this on; before it, where nothing is cached and calls are quick, not all are (setting
 * passthrough_calls).
 */
int nearfetch_win_stats(MPI_Win win, const char* counter, unsigned long long* value) NEARFETCH_WEAK;

/** The name of counter number `index`, from 0; NULL where there is none of that number. */
const char* nearfetch_counter_name(int index) NEARFETCH_WEAK;

#ifdef __cplusplus
}
#endif

#endif /* NEARFETCH_MPI_H */
