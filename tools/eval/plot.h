/*
 * The curves of an evaluation as one SVG file: caught against ham hits over the settings, and survival
 * under mutation.
 */
#ifndef TOOLS_EVAL_PLOT_H
#define TOOLS_EVAL_PLOT_H

#include "tools/eval/mutate.h"
#include "tools/eval/protocols.h"

struct eval_plot {
    const struct eval_result *sampled, *all;
    const struct eval_score *survival; /* one a mutation, or NULL */
    const struct signature_rule *rule;
};

bool eval_plot_write(const struct eval_plot *plot, const char *path, GError **error);

#endif
