/*
 * The milter proper: libmilter's callbacks collect, and the end of a message runs
 *
 *      extract ─▶ sign ─▶ look up ─▶ decide ─▶ apply
 */
#ifndef MILTER_FILTER_H
#define MILTER_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "milter/metrics.h"
#include "milter/session.h"
#include "milter/snapshot.h"

/* What all sessions share. libmilter hands no pointer of ours to its callbacks, so there is one. */
struct filter {
    struct snapshot_slot *slot;
    struct metrics *metrics;
    unsigned max_connections;
    atomic_int under_way;   /* mails between MAIL FROM and their verdict: what a shutdown waits for */
    atomic_bool store_down; /* said in the log once, until it is back */
    atomic_bool crowded;    /* above max-connections: said once, until it is over */
};

/* Registers the callbacks with libmilter. The filter must live as long as the process. */
bool filter_register(struct filter *filter);

#endif
