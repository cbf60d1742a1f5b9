/*
 * The literature's methods, honestly built, as a yardstick for `refrain eval --compare`. All of them work
 * on the same terms as Refrain, in the same run.
 *
 *   plain I-Match       Chowdhury 2002: one hash of the terms with nidf in a range
 *   K lexicons          Kołcz 2004: that hash and K more over copies of the lexicon that miss a third each
 *   … with secondary    the terms above the range fill up where too few are in it
 *   simhash             Charikar 2002, Manku 2007: 64 bits weighted by idf, at most 3 different
 *   min-hash            Broder 1997: 84 minima over word trigrams, half of them equal
 *   super-shingles      the same minima in 6 groups of 14, one or two groups equal
 *   exact cosine        binary cosine over all pairs, at least 0.6
 */
#ifndef TOOLS_CLASSIC_CLASSIC_H
#define TOOLS_CLASSIC_CLASSIC_H

#include "tools/eval/collection.h"

struct classic_method;
extern const struct classic_method *const classic_methods[];
extern const unsigned classic_n_methods;

const char *classic_name(const struct classic_method *method);

/* Prototypes under one method. Adding is for one thread, matching for many. */
struct classic_index;

struct classic_index *classic_index_new(const struct classic_method *method, const struct lexicon *lexicon);
void classic_index_add(struct classic_index *index, const struct eval_mail *prototype);
bool classic_index_match(const struct classic_index *index, const struct eval_mail *mail);
void classic_index_free(struct classic_index **index);

/* --- P1, the paper's protocol ------------------------------------------------------------------- */

/*
 * Recall of Kołcz's scheme with K copies, against binary cosine ≥ 0.9, averaged over the queries (a
 * random tenth) that have such a neighbour; messages with equal terms count once. `queries_out` is the
 * number of queries averaged over.
 */
double classic_p1(const struct lexicon *lexicon, const struct eval_collection *mails, unsigned k,
                  bool secondary, uint32_t seed, unsigned threads, size_t *queries_out);

#endif
