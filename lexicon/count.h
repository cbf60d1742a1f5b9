/*
 * The whole of `refrain-lexicon count`: sources -> terms on all cores -> counters -> sorted runs -> one file.
 */
#ifndef LEXICON_COUNT_H
#define LEXICON_COUNT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "lexicon/df-stream.h"
#include "message/source.h"

struct count_plan {
    char *const *paths;
    enum message_source_form form;
    unsigned group; /* lines: so many are one document */
    const char *collection;
    const char *out;
    const char *folder; /* where runs go */
    uint64_t memory;    /* bytes, for all threads together */
    uint32_t min_count;
    unsigned threads; /* 0: one per core */
    bool quiet;
    bool (*stopped)(void);
};

struct count_result {
    struct df_total total;
    uint64_t empty; /* documents without a single term: they are not counted */
    unsigned runs;
};

/* A file that cannot be read, or no document at all, is an error; nothing is left behind then. */
bool count_run(const struct count_plan *plan, struct count_result *result_out, GError **error);

#endif
