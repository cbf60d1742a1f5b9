#include "store/deadline.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

void deadline_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool deadline_wait(struct deadline deadline, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    struct timespec until = { .tv_sec = (time_t)(deadline.end / G_USEC_PER_SEC),
                              .tv_nsec = (long)(deadline.end % G_USEC_PER_SEC) * 1000 };
    return pthread_cond_timedwait(cond, mutex, &until) != ETIMEDOUT;
}

bool deadline_pause(struct deadline deadline, int milliseconds)
{
    poll(NULL, 0, MIN(milliseconds, deadline_left(deadline)));
    return deadline_left(deadline) > 0;
}
