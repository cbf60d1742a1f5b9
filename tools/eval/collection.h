/*
 * The collections that `refrain eval` works on: every message read once, kept as signatures and term
 * hashes. Text is kept only of the few messages that are to be mutated.
 */
#ifndef TOOLS_EVAL_COLLECTION_H
#define TOOLS_EVAL_COLLECTION_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/context.h"

struct eval_mail {
    char *path;
    unsigned n_views; /* 0: unscannable */
    struct signature *views;
    uint32_t n_terms; /* of the body view, in the order in which they were first seen */
    uint64_t *terms;
    uint64_t set; /* order-free hash of them: equal sets are trivial duplicates */
};

struct eval_collection {
    struct eval_mail *v;
    size_t n;
};

/* Reads all messages at the paths. False with no error: interrupted, or something was unreadable (said). */
bool eval_collection_read(struct context *context, char *const *paths, struct eval_collection *out);

/* Makes an eval_mail of a message that was read; for mutated copies too. */
void eval_mail_fill(struct eval_mail *out, const struct signature_set *signatures,
                    const struct message *message);
void eval_mail_clear(struct eval_mail *mail);

void eval_collection_clear(struct eval_collection *collection);

#endif
