/*
 * One writer of a file at a time, among all threads and processes, waited for within a deadline.
 *
 * LMDB's own lock has none: behind a writer that is frozen everybody would wait for ever. So writers take
 * turns here before they go there, and find LMDB's lock free. The turn is a record lock on the file, which
 * the kernel takes back when its process dies, and a flag among the threads of a process, who share that
 * lock.
 */
#ifndef STORE_TURN_H
#define STORE_TURN_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "store/deadline.h"

struct turn;

/* The file must be open for writing, and no other descriptor of it be closed while somebody has the turn. */
struct turn *turn_new(int fd);
void turn_free(struct turn *turn);

/* 0, ETIMEDOUT, or another errno. */
int turn_take(struct turn *turn, struct deadline deadline);
void turn_give(struct turn *turn);

/* The process that has it: our own for a thread of ours; 0: nobody, or it cannot be told. */
pid_t turn_holder(struct turn *turn);

#endif
