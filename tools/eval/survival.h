/*
 * Mutation: distinct spam is reported, then mutated copies of it are checked.
 */
#ifndef TOOLS_EVAL_SURVIVAL_H
#define TOOLS_EVAL_SURVIVAL_H

#include "tools/eval/mutate.h"
#include "tools/eval/protocols.h"

/* A mail that is mutated, and an innocent text that serves as foreign matter. */
struct eval_sample {
    char *text, *foreign;
};

/*
 * At most n distinct spam of 20 or more terms with their visible texts, each with the text of some ham:
 * a second pass over the same paths, which keeps only what was drawn.
 */
bool eval_samples_read(struct context *context, const struct eval_settings *settings, char *const *spam_paths,
                       const struct eval_collection *spam, char *const *ham_paths,
                       const struct eval_collection *ham, size_t n, GArray **samples_out);
void eval_samples_free(GArray **samples);

/* One score per mutation, in the order of eval_mutations; prototypes are the texts unmutated. */
void eval_survival(struct context *context, const struct eval_settings *settings, const GArray *samples,
                   struct eval_score *scores_out);

#endif
