/*
 * Mutations: what spammers do to a text between two runs of a campaign.
 *
 * A text is its words between white space, with the ends of lines; URLs stay what they are. A mutated copy is
 * a plain-text mail that goes through the whole of message/ and signature/ again.
 */
#ifndef TOOLS_EVAL_MUTATE_H
#define TOOLS_EVAL_MUTATE_H

#include <glib.h>

struct eval_mutation {
    const char *name;
    /* Appends the mutated text; `foreign` is an innocent text to take words from. */
    void (*apply)(GPtrArray *words, const GPtrArray *foreign, double amount, GRand *rand, GString *out);
    double amount;
    double bar; /* share that must be recognised at tag; 0: none */
};

extern const struct eval_mutation eval_mutations[];
extern const unsigned eval_n_mutations;

/* The words of a text, each a string, and "\n" where a line ends; free with g_ptr_array_unref(). */
GPtrArray *eval_words(const char *text, gsize n);

/* A mail with this text. */
GString *eval_mutated_mail(const struct eval_mutation *mutation, const char *text, const char *foreign,
                           guint32 seed);

#endif
