/*
 * What each method keeps of a message. Inside tools/classic/ only.
 */
#ifndef TOOLS_CLASSIC_FEATURES_H
#define TOOLS_CLASSIC_FEATURES_H

#include "tools/classic/classic.h"

#define CLASSIC_MAX_KEYS 84
#define CLASSIC_MAX_K    10

/*
 * I-Match: hash 0 is over the whole lexicon, hash 1 + k over copy k. A key is 0 where too few terms are
 * left. Returns the number of keys, k + 1.
 */
unsigned classic_imatch(const struct lexicon *lexicon, const struct eval_mail *mail, unsigned k,
                        bool secondary, uint64_t *keys_out);

/* 84 minima over word trigrams; 0 keys when there is no trigram. */
unsigned classic_minima(const struct eval_mail *mail, uint64_t *keys_out);

/* 6 groups of 14 minima. */
unsigned classic_supershingles(const struct eval_mail *mail, uint64_t *keys_out);

/* 64 bits, weighted by idf; terms that the lexicon does not know weigh most. */
uint64_t classic_simhash(const struct lexicon *lexicon, const struct eval_mail *mail);

#endif
