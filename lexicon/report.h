/*
 * What people are told about a lexicon.
 */
#ifndef LEXICON_REPORT_H
#define LEXICON_REPORT_H

#include "lexicon/lexicon.h"

/* Counted over all terms of a lexicon. Means are per document of the collections it was made from. */
struct report_numbers {
    uint64_t common, primary, secondary;          /* terms */
    double mean_known, mean_common, mean_primary; /* terms in a document */
};
struct report_numbers report_count(const struct lexicon *lexicon);

/* The table of `info`: what the lexicon is. */
void report_facts(const struct lexicon *lexicon, const char *path);

/* What `make` says: the facts, and how the choice suits this many campaigns. */
void report_choice(const struct lexicon *lexicon, const char *path, uint64_t campaigns);

#endif
