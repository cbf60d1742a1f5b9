#include "base/pool.h"

#include <glib.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/*
 * Items wait in a ring of `window` places, in input order. A worker takes the first place that is ready;
 * the calling thread gives the oldest place to done() as soon as it is finished, and refills it.
 *
 *      tail (oldest, next for done)      claim (next for a worker)       head (next to fill)
 *      [ FINISHED | WORKING | FINISHED | READY | READY | empty ...                        ]
 */
enum state { READY, WORKING, FINISHED };

struct place {
    void *item;
    enum state state;
};

struct pool {
    const struct pool_plan *plan;
    pthread_mutex_t lock;
    pthread_cond_t ready, finished;
    struct place *places;
    unsigned window;
    guint64 head, claim, tail; /* counts, never wrapped: place = count % window */
    bool closed;
};

/* Threads as ThreadSanitizer knows them: GLib's own locks are futexes that it does not see. */
static pthread_t *start(unsigned n, void *(*run)(void *data), void *data)
{
    pthread_t *threads = g_new(pthread_t, n);
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, run, data) != 0)
            g_error("cannot start a thread: raise the limit of processes, or give a smaller --jobs");
    return threads;
}

static void finish(pthread_t *threads, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    g_free(threads);
}

static struct place *place_at(struct pool *pool, guint64 count)
{
    return &pool->places[count % pool->window];
}

static void *run_worker(void *data)
{
    struct pool *pool = data;
    const struct pool_plan *plan = pool->plan;
    void *worker = plan->worker_new ? plan->worker_new(plan->user) : NULL;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->claim == pool->head && !pool->closed)
            pthread_cond_wait(&pool->ready, &pool->lock);
        if (pool->claim == pool->head)
            break;
        struct place *place = place_at(pool, pool->claim++);
        place->state = WORKING;
        pthread_mutex_unlock(&pool->lock);
        plan->work(place->item, worker, plan->user);
        pthread_mutex_lock(&pool->lock);
        place->state = FINISHED;
        if (place == place_at(pool, pool->tail))
            pthread_cond_signal(&pool->finished);
    }
    pthread_mutex_unlock(&pool->lock);
    if (plan->worker_free)
        plan->worker_free(worker);
    return NULL;
}

static void put(struct pool *pool, void *item)
{
    pthread_mutex_lock(&pool->lock);
    *place_at(pool, pool->head++) = (struct place) { .item = item, .state = READY };
    pthread_cond_signal(&pool->ready);
    pthread_mutex_unlock(&pool->lock);
}

/* The oldest item once it is finished; NULL when the ring is empty, or when it is not and `wait` is false. */
static void *take(struct pool *pool, bool wait)
{
    void *item = NULL;
    pthread_mutex_lock(&pool->lock);
    if (pool->tail < pool->head) {
        struct place *oldest = place_at(pool, pool->tail);
        while (wait && oldest->state != FINISHED)
            pthread_cond_wait(&pool->finished, &pool->lock);
        if (oldest->state == FINISHED) {
            item = oldest->item;
            pool->tail++;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return item;
}

/* Only the calling thread moves head and tail. */
static bool is_full(const struct pool *pool)
{
    const struct pool_plan *plan = pool->plan;
    return pool->head - pool->tail == pool->window || (plan->full && plan->full(plan->user));
}

static void feed(struct pool *pool)
{
    const struct pool_plan *plan = pool->plan;
    bool more = true;
    for (;;) {
        void *item;
        while ((item = take(pool, !more || is_full(pool))))
            more &= plan->done(item, plan->user);
        if (!more)
            return; /* take() waited until the ring was empty */
        void *next = plan->next(plan->user);
        if (next)
            put(pool, next);
        else
            more = false;
    }
}

void pool_run(const struct pool_plan *plan)
{
    unsigned n = plan->threads ? plan->threads : pool_cores();
    struct pool pool = { .plan = plan, .window = plan->window ? plan->window : n * 64 };
    pool.places = g_new0(struct place, pool.window);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.ready, NULL);
    pthread_cond_init(&pool.finished, NULL);

    pthread_t *threads = start(n, run_worker, &pool);
    feed(&pool);
    pthread_mutex_lock(&pool.lock);
    pool.closed = true;
    pthread_cond_broadcast(&pool.ready);
    pthread_mutex_unlock(&pool.lock);
    finish(threads, n);

    g_free(pool.places);
    pthread_mutex_destroy(&pool.lock);
    pthread_cond_destroy(&pool.ready);
    pthread_cond_destroy(&pool.finished);
}

struct each {
    atomic_size_t next;
    size_t n;
    void (*work)(size_t i, void *user);
    void *user;
};

static void *run_each(void *data)
{
    struct each *each = data;
    for (size_t i; (i = atomic_fetch_add(&each->next, 1)) < each->n;)
        each->work(i, each->user);
    return NULL;
}

void pool_each(unsigned threads, size_t n, void (*work)(size_t i, void *user), void *user)
{
    struct each each = { .n = n, .work = work, .user = user };
    unsigned helpers = (threads ? threads : pool_cores()) - 1;
    pthread_t *helping = start(helpers, run_each, &each);
    run_each(&each);
    finish(helping, helpers);
}

unsigned pool_cores(void)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return g_get_num_processors();
    return (unsigned)MAX(CPU_COUNT(&cpus), 1);
}
