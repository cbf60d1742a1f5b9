/*
 * Which terms of a view count, and in which class. Inside signature/ only.
 */
#ifndef SIGNATURE_SELECT_H
#define SIGNATURE_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/term.h"
#include "lexicon/lexicon.h"
#include "signature/signature.h"

/* Parallel arrays of the terms that count, in the order of the document. */
struct selection {
    bool foreign;                /* the lexicon does not know the language: all terms count */
    uint64_t odd[SIGNATURE_ODD]; /* ranks of words that were left out, the smallest ones first */
    unsigned n_odd;
    uint32_t n;
    uint64_t *hash;
    struct lexicon_entry *entry; /* all zero for a term that the lexicon does not know */
    uint32_t *index;             /* where the term stands in the document */
    void *heap;                  /* NULL: everything is in `room` */
    struct {
        uint64_t hash[512];
        struct lexicon_entry entry[512];
        uint32_t index[512];
    } room; /* a usual mail needs no malloc */
};

/* Odd words are kept by rank, the smallest first; `key` is the lexicon's for sketches. */
static inline uint64_t select_odd_rank(uint64_t hash, uint64_t key)
{
    return hash_mix(hash ^ key);
}

/* `foreign`: it is known already that the lexicon does not know the language. */
void select_terms(const struct lexicon *lexicon, struct terms terms, bool foreign, struct selection *out);
void select_free(struct selection *selection);

/*
 * The terms that make lexicon hash i: their places in the selection, at most `max` of them, ordered by
 * rank (adaptive) or by the document (dropout). 0: too few for a signature.
 */
uint32_t select_signers(const struct lexicon *lexicon, const struct selection *selection, unsigned i,
                        uint32_t *places_out, uint32_t max);

/* All lexicon hashes of a selection; returns how many there are. */
unsigned select_hashes(const struct lexicon *lexicon, const struct selection *selection, uint64_t *lex_out);

#endif
