/*
 * GLib's locks are made of futexes, which ThreadSanitizer does not see: it takes all that they protect for
 * races. Preloaded, this makes them of pthreads, which it does see. Only for builds with it; see tsan.sh.
 */
#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static void *lazily(gpointer *place, void *(*make)(void))
{
    void *there = atomic_load((_Atomic gpointer *)place);
    if (there)
        return there;
    void *made = make();
    if (atomic_compare_exchange_strong((_Atomic gpointer *)place, &there, made))
        return made;
    free(made);
    return there;
}

static void *make_mutex(void)
{
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    pthread_mutex_init(mutex, NULL);
    return mutex;
}

static void *make_condition(void)
{
    pthread_condattr_t clock;
    pthread_cond_t *condition = malloc(sizeof *condition);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &clock);
    return condition;
}

static pthread_mutex_t *mutex_of(GMutex *mutex)
{
    return lazily(&mutex->p, make_mutex);
}

static pthread_cond_t *condition_of(GCond *cond)
{
    return lazily(&cond->p, make_condition);
}

void g_mutex_init(GMutex *mutex)
{
    mutex->p = NULL;
}

void g_mutex_clear(GMutex *mutex)
{
    free(mutex->p);
    mutex->p = NULL;
}

void g_mutex_lock(GMutex *mutex)
{
    pthread_mutex_lock(mutex_of(mutex));
}

gboolean g_mutex_trylock(GMutex *mutex)
{
    return pthread_mutex_trylock(mutex_of(mutex)) == 0;
}

void g_mutex_unlock(GMutex *mutex)
{
    pthread_mutex_unlock(mutex_of(mutex));
}

void g_cond_init(GCond *cond)
{
    cond->p = NULL;
}

void g_cond_clear(GCond *cond)
{
    free(cond->p);
    cond->p = NULL;
}

void g_cond_wait(GCond *cond, GMutex *mutex)
{
    pthread_cond_wait(condition_of(cond), mutex_of(mutex));
}

gboolean g_cond_wait_until(GCond *cond, GMutex *mutex, gint64 end_time)
{
    struct timespec end = { .tv_sec = end_time / G_USEC_PER_SEC,
                            .tv_nsec = end_time % G_USEC_PER_SEC * 1000 };
    return pthread_cond_timedwait(condition_of(cond), mutex_of(mutex), &end) == 0;
}

void g_cond_signal(GCond *cond)
{
    pthread_cond_signal(condition_of(cond));
}

void g_cond_broadcast(GCond *cond)
{
    pthread_cond_broadcast(condition_of(cond));
}
