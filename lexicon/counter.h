/*
 * Counts in how many documents each term is, in bounded memory. When its table is full, the counts so far
 * are written as a sorted run (a .df file of its own) and the table starts empty; df_merge_files() adds the
 * runs. A counter belongs to one thread.
 */
#ifndef LEXICON_COUNTER_H
#define LEXICON_COUNTER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/term.h"

struct counter;

/* Where runs go, and what is written before their terms. Lives longer than the counter. */
struct counter_place {
    const char *folder, *collection;
    char *const *sources;
};

/* The number tells the runs of several counters apart. */
struct counter *counter_new(const struct counter_place *place, unsigned number, uint64_t memory);

/* One document: distinct terms, hashed with any one key. False when a run could not be written. */
bool counter_add(struct counter *counter, struct terms terms, GError **error);

/* Writes what is in the table; nothing when it is empty. */
bool counter_spill(struct counter *counter, GError **error);

/* The runs written so far: paths that the caller takes over, and removes. */
GPtrArray *counter_take_runs(struct counter *counter);

void counter_free(struct counter **counter);

#endif
