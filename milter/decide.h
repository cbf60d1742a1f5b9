/*
 * What becomes of a message: a pure function of what was found out, the policy, and the envelope.
 *
 *      facts ──┐
 *      policy ─┴─▶ decide() ─▶ decision ─▶ apply
 *
 * Nothing here knows libmilter or the store's connection; a table test covers every row.
 */
#ifndef MILTER_DECIDE_H
#define MILTER_DECIDE_H

#include <stdbool.h>

#include "base/config.h"
#include "store/store.h"

/* How far the message got. */
enum outcome {
    OUTCOME_SKIPPED,     /* exempt, and exempt mail is not looked at */
    OUTCOME_UNSCANNABLE, /* too few terms */
    OUTCOME_FAILED,      /* the store did not answer in time */
    OUTCOME_LOOKED_UP,   /* the match says the rest */
    OUTCOMES,
};

struct facts {
    enum outcome outcome;
    struct store_match match; /* OUTCOME_LOOKED_UP */
    const char *exempt;       /* why it is exempt; NULL: it is not */
    bool trap;                /* one of the recipients is a trap */
};

enum verdict {
    VERDICT_CLEAN,
    VERDICT_MATCH,
    VERDICT_ALLOWED, /* resembles something allowed: as good as clean */
    VERDICT_SKIPPED,
    VERDICT_UNSCANNABLE,
    VERDICT_UNAVAILABLE,
    VERDICT_TRAP,
    VERDICTS,
};

/* "clean", "match", …: for the log and the metrics. */
const char *verdict_name(enum verdict verdict);
const char *action_name(enum config_action action);

#define ACTIONS (CONFIG_ACTION_DISCARD + 1)

/* The value of our X-Refrain header. */
enum mark { MARK_NONE, MARK_MATCH, MARK_CLEAN, MARK_UNAVAILABLE };

struct decision {
    enum verdict verdict;
    enum config_action action; /* what is done */
    enum config_action would;  /* what would be done without dry-run; else the same */
    enum mark mark;
};

struct decision decide(const struct facts *facts, const struct config *policy);

#endif
