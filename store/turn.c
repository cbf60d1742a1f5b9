#include "store/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* The kernel tells nobody in time that a lock is free, so it is asked: soon at first, then at this interval.
 */
#define PAUSE_MAX 5 /* milliseconds */

/*
 * Two bytes of the file are locked. Who wants the turn locks NEXT first and lets go of it once he has the
 * turn: so who writes without a pause queues behind those who wait, and never takes the turn away from them
 * while they sleep.
 */
enum place { TURN, NEXT, PLACES };

struct turn {
    int fd;
    pthread_mutex_t mutex;
    pthread_cond_t given;
    bool taken; /* by a thread of this process */
};

struct turn *turn_new(int fd)
{
    struct turn *turn = g_new0(struct turn, 1);
    turn->fd = fd;
    pthread_mutex_init(&turn->mutex, NULL);
    deadline_cond_init(&turn->given);
    return turn;
}

void turn_free(struct turn *turn)
{
    pthread_cond_destroy(&turn->given);
    pthread_mutex_destroy(&turn->mutex);
    g_free(turn);
}

static int ask_kernel(const struct turn *turn, short type, enum place place)
{
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = place, .l_len = 1 };
    return fcntl(turn->fd, F_SETLK, &lock) == 0 ? 0 : errno;
}

static bool take_among_threads(struct turn *turn, struct deadline deadline)
{
    pthread_mutex_lock(&turn->mutex);
    while (turn->taken && deadline_wait(deadline, &turn->given, &turn->mutex))
        ;
    bool mine = !turn->taken;
    turn->taken = true;
    pthread_mutex_unlock(&turn->mutex);
    return mine;
}

static void give_among_threads(struct turn *turn)
{
    pthread_mutex_lock(&turn->mutex);
    turn->taken = false;
    pthread_cond_signal(&turn->given);
    pthread_mutex_unlock(&turn->mutex);
}

static int take_place(const struct turn *turn, enum place place, struct deadline deadline)
{
    for (int pause = 1;; pause = MIN(pause * 2, PAUSE_MAX)) {
        int code = ask_kernel(turn, F_WRLCK, place);
        if (code != EAGAIN && code != EACCES)
            return code;
        if (!deadline_pause(deadline, pause))
            return ETIMEDOUT;
    }
}

int turn_take(struct turn *turn, struct deadline deadline)
{
    if (!take_among_threads(turn, deadline))
        return ETIMEDOUT;
    int code = take_place(turn, NEXT, deadline);
    if (code == 0) {
        code = take_place(turn, TURN, deadline);
        ask_kernel(turn, F_UNLCK, NEXT);
    }
    if (code)
        give_among_threads(turn);
    return code;
}

void turn_give(struct turn *turn)
{
    ask_kernel(turn, F_UNLCK, TURN);
    give_among_threads(turn);
}

pid_t turn_holder(struct turn *turn)
{
    pthread_mutex_lock(&turn->mutex);
    bool ours = turn->taken;
    pthread_mutex_unlock(&turn->mutex);
    for (enum place place = 0; place < PLACES; place++) {
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = place, .l_len = 1 };
        if (fcntl(turn->fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0)
            return lock.l_pid;
    }
    return ours ? getpid() : 0;
}
