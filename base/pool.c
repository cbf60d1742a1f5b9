#include "base/pool.h"

#include <glib.h>
#include <sched.h>

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
    GMutex lock;
    GCond ready, finished;
    struct place *places;
    unsigned window;
    guint64 head, claim, tail; /* counts, never wrapped: place = count % window */
    bool closed;
};

static struct place *place_at(struct pool *pool, guint64 count)
{
    return &pool->places[count % pool->window];
}

static void *run_worker(void *data)
{
    struct pool *pool = data;
    const struct pool_plan *plan = pool->plan;
    void *worker = plan->worker_new ? plan->worker_new(plan->user) : NULL;

    g_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->claim == pool->head && !pool->closed)
            g_cond_wait(&pool->ready, &pool->lock);
        if (pool->claim == pool->head)
            break;
        struct place *place = place_at(pool, pool->claim++);
        place->state = WORKING;
        g_mutex_unlock(&pool->lock);
        plan->work(place->item, worker, plan->user);
        g_mutex_lock(&pool->lock);
        place->state = FINISHED;
        if (place == place_at(pool, pool->tail))
            g_cond_signal(&pool->finished);
    }
    g_mutex_unlock(&pool->lock);
    if (plan->worker_free)
        plan->worker_free(worker);
    return NULL;
}

static void put(struct pool *pool, void *item)
{
    g_mutex_lock(&pool->lock);
    *place_at(pool, pool->head++) = (struct place) { .item = item, .state = READY };
    g_cond_signal(&pool->ready);
    g_mutex_unlock(&pool->lock);
}

/* The oldest item once it is finished; NULL when the ring is empty, or when it is not and `wait` is false. */
static void *take(struct pool *pool, bool wait)
{
    void *item = NULL;
    g_mutex_lock(&pool->lock);
    if (pool->tail < pool->head) {
        struct place *oldest = place_at(pool, pool->tail);
        while (wait && oldest->state != FINISHED)
            g_cond_wait(&pool->finished, &pool->lock);
        if (oldest->state == FINISHED) {
            item = oldest->item;
            pool->tail++;
        }
    }
    g_mutex_unlock(&pool->lock);
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
    g_mutex_init(&pool.lock);
    g_cond_init(&pool.ready);
    g_cond_init(&pool.finished);

    GThread **threads = g_new(GThread *, n);
    for (unsigned i = 0; i < n; i++)
        threads[i] = g_thread_new("worker", run_worker, &pool);
    feed(&pool);
    g_mutex_lock(&pool.lock);
    pool.closed = true;
    g_cond_broadcast(&pool.ready);
    g_mutex_unlock(&pool.lock);
    for (unsigned i = 0; i < n; i++)
        g_thread_join(threads[i]);

    g_free(threads);
    g_free(pool.places);
    g_mutex_clear(&pool.lock);
    g_cond_clear(&pool.ready);
    g_cond_clear(&pool.finished);
}

struct each {
    gsize next, n;
    void (*work)(size_t i, void *user);
    void *user;
};

static void *run_each(void *data)
{
    struct each *each = data;
    for (gsize i; (i = (gsize)g_atomic_pointer_add(&each->next, 1)) < each->n;)
        each->work(i, each->user);
    return NULL;
}

void pool_each(unsigned threads, size_t n, void (*work)(size_t i, void *user), void *user)
{
    struct each each = { .n = n, .work = work, .user = user };
    unsigned helpers = (threads ? threads : pool_cores()) - 1;
    GThread **thread = g_new(GThread *, helpers);
    for (unsigned i = 0; i < helpers; i++)
        thread[i] = g_thread_new("worker", run_each, &each);
    run_each(&each);
    for (unsigned i = 0; i < helpers; i++)
        g_thread_join(thread[i]);
    g_free(thread);
}

unsigned pool_cores(void)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return g_get_num_processors();
    return (unsigned)MAX(CPU_COUNT(&cpus), 1);
}
