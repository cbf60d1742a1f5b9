#include "store/breaker.h"

#include <pthread.h>

#include "base/error.h"

struct breaker {
    pthread_mutex_t lock;
    unsigned limit, failures;
    int64_t pause, pause_first, pause_max; /* microseconds */
    int64_t next_try;
    bool open, trial;
    uint64_t times_opened;
    char *why;
};

struct breaker *breaker_new(unsigned failures, int64_t pause, int64_t pause_max)
{
    struct breaker *breaker = g_new0(struct breaker, 1);
    pthread_mutex_init(&breaker->lock, NULL);
    breaker->limit = MAX(failures, 1);
    breaker->pause = breaker->pause_first = pause * 1000;
    breaker->pause_max = pause_max * 1000;
    return breaker;
}

void breaker_free(struct breaker **breaker)
{
    if (!*breaker)
        return;
    pthread_mutex_destroy(&(*breaker)->lock);
    g_free((*breaker)->why);
    g_free(*breaker);
    *breaker = NULL;
}

bool breaker_enter(struct breaker *breaker, int64_t now, bool *trial_out, GError **error)
{
    pthread_mutex_lock(&breaker->lock);
    bool allowed = !breaker->open || (!breaker->trial && now >= breaker->next_try);
    *trial_out = allowed && breaker->open;
    breaker->trial |= *trial_out;
    if (!allowed)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                    "%s (not asked again after %u failures in a row; next try in %.1f s)",
                    breaker->why ? breaker->why : "the store does not answer", breaker->failures,
                    (double)MAX(breaker->next_try - now, 0) / G_USEC_PER_SEC);
    pthread_mutex_unlock(&breaker->lock);
    return allowed;
}

static enum breaker_change note_failure(struct breaker *breaker, bool trial, const char *why, int64_t now)
{
    enum breaker_change change = BREAKER_SAME;
    g_free(breaker->why);
    breaker->why = g_strdup(why);
    breaker->failures++;
    if (breaker->open) {
        /* Those that were under way when it opened fail too, and say nothing new: only the trial counts. */
        if (trial) {
            breaker->pause = MIN(breaker->pause * 2, breaker->pause_max);
            breaker->next_try = now + breaker->pause;
        }
    } else if (breaker->failures >= breaker->limit) {
        breaker->open = true;
        breaker->times_opened++;
        breaker->pause = breaker->pause_first;
        breaker->next_try = now + breaker->pause;
        change = BREAKER_OPENED;
    }
    return change;
}

enum breaker_change breaker_leave(struct breaker *breaker, bool trial, enum breaker_result result,
                                  const char *why, int64_t now)
{
    enum breaker_change change = BREAKER_SAME;
    pthread_mutex_lock(&breaker->lock);
    if (result == BREAKER_GOOD) {
        change = breaker->open ? BREAKER_CLOSED : BREAKER_SAME;
        breaker->open = breaker->trial = false;
        breaker->failures = 0;
    } else {
        if (result == BREAKER_BAD)
            change = note_failure(breaker, trial, why, now);
        breaker->trial &= !trial;
    }
    pthread_mutex_unlock(&breaker->lock);
    return change;
}

bool breaker_is_open(struct breaker *breaker, uint64_t *times_opened_out)
{
    pthread_mutex_lock(&breaker->lock);
    bool open = breaker->open;
    if (times_opened_out)
        *times_opened_out = breaker->times_opened;
    pthread_mutex_unlock(&breaker->lock);
    return open;
}
