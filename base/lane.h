/*
 * A thread that works off what it is given, one after the other, beside the one that gives.
 *
 *      lane_put() ──▶ [ one waits ] ──▶ work(), on a thread of its own
 *
 * All functions are called from one thread.
 */
#ifndef BASE_LANE_H
#define BASE_LANE_H

#include <stdbool.h>

struct lane;

struct lane *lane_new(void (*work)(void *item, void *user), void *user);

/* Hands an item over; waits while another one waits. */
void lane_put(struct lane *lane, void *item);

/* Returns when all items were worked off; sets NULL. NULL is fine. */
void lane_end(struct lane **lane);

#endif
