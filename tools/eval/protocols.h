/*
 * The protocols of doc/accuracy.md: how well would the filter do on these collections?
 */
#ifndef TOOLS_EVAL_PROTOCOLS_H
#define TOOLS_EVAL_PROTOCOLS_H

#include "tools/eval/index.h"

/* Of so many messages, so many were recognised at each threshold. */
struct eval_score {
    size_t n, tagged, rejected;
};

#define EVAL_STEPS 101 /* similarity settings 0.00 … 1.00 */

struct eval_hit {
    const struct eval_mail *mail;
    struct eval_answer answer;
};

struct eval_result {
    struct eval_score caught;     /* of all spam that was not reported */
    struct eval_score nontrivial; /* the same without those whose terms equal a prototype's */
    struct eval_score ham;
    double proposed;                                  /* candidates per ham message, on average */
    size_t caught_at[EVAL_STEPS], ham_at[EVAL_STEPS]; /* tagged, by setting */
    GArray *ham_hits;                                 /* struct eval_hit */
};

struct eval_settings {
    struct signature_rule rule;
    uint32_t seed;
    unsigned threads;
};

/* P2: a random share of the spam is reported, everything else is checked. 1.0 is the safety test P2-all. */
struct eval_result eval_reported(const struct eval_settings *settings, const struct eval_collection *spam,
                                 const struct eval_collection *ham, double share);

/* Stream: each spam message is checked as it arrives, and reported with a probability after it passed. */
struct eval_score eval_stream(const struct eval_settings *settings, const struct eval_collection *spam,
                              double probability);

/* True for a random share of n places, the same for the same seed. Free with g_free(). */
bool *eval_draw(size_t n, double share, uint32_t seed);

/* The term sets of what was reported: whose set is among them is a trivial copy. */
GHashTable *eval_reported_sets(const struct eval_collection *spam, const bool *reported);

void eval_result_clear(struct eval_result *result);

#endif
