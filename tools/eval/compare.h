/*
 * The classical methods under the same protocols: P2 and P2-all, on the same messages and samples.
 */
#ifndef TOOLS_EVAL_COMPARE_H
#define TOOLS_EVAL_COMPARE_H

#include "tools/classic/classic.h"
#include "tools/eval/protocols.h"

struct eval_comparison {
    size_t caught, of; /* P2 */
    size_t nontrivial, nontrivial_of;
    size_t ham, ham_all, ham_of; /* hit in P2, and with all spam reported */
};

struct eval_comparison eval_compare(const struct eval_settings *settings, const struct classic_method *method,
                                    const struct lexicon *lexicon, const struct eval_collection *spam,
                                    const struct eval_collection *ham, double share);

#endif
