/*
 * A circuit breaker: a store that is down is not hammered, and mail does not wait for it.
 *
 *      closed ──N failures in a row──▶ open ──pause over, one caller──▶ half-open
 *        ▲                              ▲                                  │
 *        └───────── success ────────────┼──────────────────────────────────┤
 *                                       └── failure: the pause doubles ────┘
 *
 * Time is handed in (microseconds of the monotonic clock). Any thread.
 */
#ifndef STORE_BREAKER_H
#define STORE_BREAKER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct breaker;

enum breaker_result {
    BREAKER_GOOD,    /* the server answered, whatever it said */
    BREAKER_BAD,     /* it did not */
    BREAKER_NEUTRAL, /* it was not asked */
};

enum breaker_change { BREAKER_SAME, BREAKER_OPENED, BREAKER_CLOSED };

/* Pauses in milliseconds. */
struct breaker *breaker_new(unsigned failures, int64_t pause, int64_t pause_max);
void breaker_free(struct breaker **breaker);

/*
 * May the server be asked now? True obliges to call breaker_leave() with the same `trial`, which says that
 * this caller is the one who tries it out. False fills a REFRAIN_ERROR_UNAVAILABLE that names the last
 * failure and the time of the next try.
 */
bool breaker_enter(struct breaker *breaker, int64_t now, bool *trial_out, GError **error);

/* `why` is kept when it was bad. Each change is told to exactly one caller. */
enum breaker_change breaker_leave(struct breaker *breaker, bool trial, enum breaker_result result,
                                  const char *why, int64_t now);

bool breaker_is_open(struct breaker *breaker, uint64_t *times_opened_out);

#endif
