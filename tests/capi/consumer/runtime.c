/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The smallest runtime that there is: two ranks in one memory, a network that is memcpy. It sums up what
 * rank 1 has, element by element, and prints how many messages that took.
 */

#include <inttypes.h>
#include <nearfetch/nearfetch.h>
#include <stdio.h>
#include <string.h>

enum { elements = 1000 };
static uint64_t segment[2][elements];

static int is_there(int32_t rank, uint64_t address, uint64_t bytes) {
    return rank < 2 && address <= sizeof segment[0] && bytes <= sizeof segment[0] - address;
}

static int start_get(void* network, int32_t rank, uint64_t address, uint64_t bytes, void* to,
                     nearfetch_operation* operation) {
    (void)network;
    if (!is_there(rank, address, bytes)) return NEARFETCH_TRANSPORT_OUTSIDE;
    memcpy(to, (char*)segment[rank] + address, bytes);
    operation->done = 1;
    return 0;
}

static int start_put(void* network, int32_t rank, uint64_t address, uint64_t bytes, const void* from,
                     nearfetch_operation* operation) {
    (void)network;
    if (!is_there(rank, address, bytes)) return NEARFETCH_TRANSPORT_OUTSIDE;
    memcpy((char*)segment[rank] + address, from, bytes);
    operation->done = 1;
    return 0;
}

static void look(void* network, nearfetch_operation* const* operations, size_t count) {
    (void)network, (void)operations, (void)count; /* all is done at its start */
}

static int readable(void* network, int32_t rank, uint64_t address, uint64_t bytes, uint64_t* begin,
                    uint64_t* end) {
    (void)network;
    *begin = 0;
    *end = sizeof segment[0];
    return is_there(rank, address, bytes);
}

int main(void) {
    const nearfetch_transport network = {.size = sizeof network,
                                         .start_get = start_get,
                                         .start_put = start_put,
                                         .wait_some = look,
                                         .try_some = look,
                                         .readable = readable};
    nearfetch_cache* cache;
    nearfetch_task task = NEARFETCH_TASK_INIT;
    uint64_t sum = 0, messages = 0, outside = 0;
    if (nearfetch_cache_create(NULL, &network, &cache) != NEARFETCH_OK) {
        fprintf(stderr, "%s\n", nearfetch_last_error());
        return 1;
    }
    for (uint64_t i = 0; i < elements; ++i)
        nearfetch_put(cache, &task, 1, 8 * i, 8, &i);
    nearfetch_release(cache);
    for (uint64_t i = 0; i < elements; ++i) {
        uint64_t value = 0;
        nearfetch_get(cache, &task, 1, 8 * i, 8, &value);
        sum += value + segment[1][i];
    }
    nearfetch_statistic(cache, "put_messages", &messages);
    outside = (uint64_t)nearfetch_get(cache, &task, 1, 8 * elements, 8, &sum);
    printf("sum %" PRIu64 " puts %" PRIu64 " outside %" PRIu64 " version %s\n", sum, messages, outside,
           nearfetch_version());
    return nearfetch_cache_destroy(cache, 0) == NEARFETCH_OK ? 0 : 1;
}
