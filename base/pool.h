/*
 * Work on all cores, results in the order of the input.
 *
 *      next() ──▶ [ bounded queue ] ──▶ work() on n threads ──▶ [ reorder ] ──▶ done()
 *
 * next() and done() run on the calling thread, one at a time, so that they may read files, print and
 * keep state without a lock; work() runs on many threads and touches only its item and its own worker
 * state. At most `window` items are alive at once, or fewer where they are large and full() says so: memory is
 * bounded whatever the input.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct pool_plan {
    unsigned threads;                  /* 0: one per core */
    unsigned window;                   /* 0: 64 per thread */
    bool (*full)(void *user);          /* no more for now: wait for the oldest; may be NULL */
    void *(*next)(void *user);         /* the next item, or NULL at the end */
    void *(*worker_new)(void *user);   /* state of one thread; may be NULL */
    void (*worker_free)(void *worker); /* may be NULL */
    void (*work)(void *item, void *worker, void *user);
    bool (*done)(void *item, void *user); /* owns the item; false stops reading further items */
    void *user;
};

/* Returns when every item that next() gave has gone through done(). */
void pool_run(const struct pool_plan *plan);

/* Calls work(i) for i from 0 to n − 1, in any order, on many threads (0: one per core). */
void pool_each(unsigned threads, size_t n, void (*work)(size_t i, void *user), void *user);

/* The number of cores that this process may use. */
unsigned pool_cores(void);

#endif
