/*
 * A point in time that a whole request must not pass, whatever the number of steps it takes. A value.
 */
#ifndef STORE_DEADLINE_H
#define STORE_DEADLINE_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct deadline {
    int64_t end;    /* microseconds of the monotonic clock */
    int64_t budget; /* the milliseconds it began with, for sentences */
};

static inline struct deadline deadline_in(int64_t milliseconds)
{
    return (struct deadline) { g_get_monotonic_time() + milliseconds * 1000, milliseconds };
}

/* Milliseconds left, rounded up, so that poll() does not spin through the last one; 0: it is over. */
static inline int deadline_left(struct deadline deadline)
{
    int64_t left = deadline.end - g_get_monotonic_time();
    return left <= 0 ? 0 : (int)MIN((left + 999) / 1000, G_MAXINT);
}

/* An equal share of what is left, for the first of n tries. */
static inline struct deadline deadline_share(struct deadline deadline, unsigned n)
{
    int64_t now = g_get_monotonic_time();
    deadline.end = now + MAX(deadline.end - now, 0) / MAX(n, 1);
    return deadline;
}

/* A condition variable on the same clock, and the wait on it: false when the time is over. */
void deadline_cond_init(pthread_cond_t *cond);
bool deadline_wait(struct deadline deadline, pthread_cond_t *cond, pthread_mutex_t *mutex);

/* Sleeps, but not past the deadline. False when it is over. */
bool deadline_pause(struct deadline deadline, int milliseconds);

#endif
