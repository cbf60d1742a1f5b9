#include "store/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* The kernel tells nobody in time that a lock is free, so it is asked: soon at first, then at this interval.
 */
#define PAUSE_MAX 5 /* milliseconds */

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

static int ask_kernel(const struct turn *turn, int command, short type, pid_t *holder_out)
{
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };
    int code = fcntl(turn->fd, command, &lock) == 0 ? 0 : errno;
    if (holder_out)
        *holder_out = code == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
    return code;
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

int turn_take(struct turn *turn, struct deadline deadline)
{
    if (!take_among_threads(turn, deadline))
        return ETIMEDOUT;
    int code;
    for (int pause = 1;; pause = MIN(pause * 2, PAUSE_MAX)) {
        code = ask_kernel(turn, F_SETLK, F_WRLCK, NULL);
        if (code != EAGAIN && code != EACCES)
            break;
        code = ETIMEDOUT;
        if (!deadline_pause(deadline, pause))
            break;
    }
    if (code)
        give_among_threads(turn);
    return code;
}

void turn_give(struct turn *turn)
{
    ask_kernel(turn, F_SETLK, F_UNLCK, NULL);
    give_among_threads(turn);
}

pid_t turn_holder(struct turn *turn)
{
    pid_t holder = 0;
    pthread_mutex_lock(&turn->mutex);
    bool ours = turn->taken;
    pthread_mutex_unlock(&turn->mutex);
    ask_kernel(turn, F_GETLK, F_WRLCK, &holder);
    return holder > 0 ? holder : ours ? getpid() : 0;
}
