#include "base/lane.h"

#include <glib.h>
#include <pthread.h>

struct lane {
    void (*work)(void *item, void *user);
    void *user;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void *waiting; /* NULL: nothing does */
    bool over;
};

static void *run(void *data)
{
    struct lane *lane = data;
    pthread_mutex_lock(&lane->mutex);
    for (;;) {
        while (!lane->waiting && !lane->over)
            pthread_cond_wait(&lane->changed, &lane->mutex);
        void *item = lane->waiting;
        if (!item)
            break;
        lane->waiting = NULL;
        pthread_cond_signal(&lane->changed);
        pthread_mutex_unlock(&lane->mutex);
        lane->work(item, lane->user);
        pthread_mutex_lock(&lane->mutex);
    }
    pthread_mutex_unlock(&lane->mutex);
    return NULL;
}

struct lane *lane_new(void (*work)(void *item, void *user), void *user)
{
    struct lane *lane = g_new0(struct lane, 1);
    lane->work = work;
    lane->user = user;
    pthread_mutex_init(&lane->mutex, NULL);
    pthread_cond_init(&lane->changed, NULL);
    if (pthread_create(&lane->thread, NULL, run, lane) != 0)
        g_error("cannot start a thread: raise the limit of processes");
    return lane;
}

void lane_put(struct lane *lane, void *item)
{
    pthread_mutex_lock(&lane->mutex);
    while (lane->waiting)
        pthread_cond_wait(&lane->changed, &lane->mutex);
    lane->waiting = item;
    pthread_cond_signal(&lane->changed);
    pthread_mutex_unlock(&lane->mutex);
}

void lane_end(struct lane **lane)
{
    struct lane *gone = *lane;
    *lane = NULL;
    if (!gone)
        return;
    pthread_mutex_lock(&gone->mutex);
    gone->over = true;
    pthread_cond_signal(&gone->changed);
    pthread_mutex_unlock(&gone->mutex);
    pthread_join(gone->thread, NULL);
    pthread_mutex_destroy(&gone->mutex);
    pthread_cond_destroy(&gone->changed);
    g_free(gone);
}
