/*
 * A lexicon: which terms count, and K secret random orders (or subsets) of them.
 *
 * One file, mapped read-only, shared by everybody who shares a store. Immutable and reference-counted;
 * any thread. It holds no words: a term is found by its keyed 64-bit hash, so a stolen store or a guessed
 * file name says nothing, and a look-up is one probe without a look at the string.
 *
 *   header   magic, version, tokeniser, scheme, K, r, p, nidf range, common share, buckets, documents,
 *            number of terms, slots, checksum
 *   keys     K × 64 bits, derived from a secret seed: the order of lexicon k is by hash_mix(term ^ key[k])
 *   slots    2^n × { hash, document frequency, class }, linear probing, at most half full
 *
 * All integers are little-endian. The id is the hash of the content. layout.h has the exact bytes.
 */
#ifndef LEXICON_LEXICON_H
#define LEXICON_LEXICON_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "lexicon/df.h"

#define LEXICON_MAX_K    64
#define LEXICON_MAX_KEEP 8

/* Documents that a common word is in: a share of a few says nothing, as one of ten is 10 %. */
#define LEXICON_COMMON_AT_LEAST 5

enum lexicon_scheme {
    LEXICON_ADAPTIVE, /* K keyed orders; the first r terms of a document, common words last */
    LEXICON_DROPOUT,  /* Kołcz 2004: the primary lexicon, and K copies each missing a share p of it */
};

/* What `refrain-lexicon make` chooses; recorded in the file. */
struct lexicon_plan {
    enum lexicon_scheme scheme;
    unsigned k;             /* 1 … LEXICON_MAX_K; with dropout also 0: the primary lexicon alone */
    unsigned keep;          /* adaptive: r, 1 … LEXICON_MAX_KEEP */
    double drop;            /* dropout: p */
    double nidf_low, nidf_high; /* dropout: the primary range */
    bool secondary;         /* dropout: take terms above the range where too few are in it */
    unsigned min_signature; /* dropout: the fewest terms that make a signature; the secondary fills up to it */
    double common;          /* share of documents above which a word is common */
    uint32_t min_count;     /* terms in fewer documents are not known */
    unsigned bucket_bits;   /* store: signatures are kept in 2^bits sets */
};

extern const struct lexicon_plan lexicon_default_plan; /* adaptive, K = 20, r = 2 */

/* Does the plan make sense? Otherwise a sentence says what is allowed. */
bool lexicon_plan_check(const struct lexicon_plan *plan, GError **error);

/* Class bits of a known term. */
enum lexicon_class {
    LEXICON_COMMON = 1 << 0,    /* in more than the common share of some collection */
    LEXICON_PRIMARY = 1 << 1,   /* nidf inside the range */
    LEXICON_SECONDARY = 1 << 2, /* nidf above the range */
};

struct lexicon_entry {
    uint32_t df;      /* documents with the term, over all collections */
    uint32_t classes; /* enum lexicon_class */
};

struct lexicon;

/* Maps and checks a file. A truncated, foreign, corrupt or wrong-version file is an error that says so. */
struct lexicon *lexicon_open(const char *path, GError **error);

struct lexicon *lexicon_ref(struct lexicon *lexicon);
void lexicon_unref(struct lexicon *lexicon);

/*
 * Derives a lexicon from frequencies and a secret seed, and writes it. The same frequencies, plan and seed
 * give the same bytes on any machine. LEXICON_SEED bytes.
 */
#define LEXICON_SEED 32
bool lexicon_make(const struct df *df, const struct lexicon_plan *plan, const uint8_t seed[LEXICON_SEED],
                  const char *path, GError **error);

uint64_t lexicon_id(const struct lexicon *lexicon);
const struct lexicon_plan *lexicon_plan_of(const struct lexicon *lexicon);
uint64_t lexicon_documents(const struct lexicon *lexicon);
uint64_t lexicon_terms(const struct lexicon *lexicon);

uint64_t lexicon_collections(const struct lexicon *lexicon);

/* The key of term hashes: give it to message_read(). */
uint64_t lexicon_key(const struct lexicon *lexicon);

/* The hash of a term as it is written in a .df file: "http:host" is a link's host, all else a word. */
uint64_t lexicon_hash(uint64_t key, const char *text, size_t n);

/* The keys of the K orders or subsets, and one for the sketch. */
const uint64_t *lexicon_order_keys(const struct lexicon *lexicon);
uint64_t lexicon_sketch_key(const struct lexicon *lexicon);

/* False: the lexicon does not know the term. One probe, no allocation. */
bool lexicon_find(const struct lexicon *lexicon, uint64_t term_hash, struct lexicon_entry *entry_out);

/* For statistics: slot i of the table, df = 0 where it is empty. False behind the last one. */
bool lexicon_slot(const struct lexicon *lexicon, uint64_t i, struct lexicon_entry *entry_out);

/* idf scaled to [0, 1]: 0 in every document, 1 in one (Kołcz). */
double lexicon_nidf(const struct lexicon *lexicon, uint32_t df);

/* dropout: is this primary or secondary term in copy k (0 … K−1)? */
bool lexicon_in_copy(const struct lexicon *lexicon, unsigned k, uint64_t term_hash);

#endif
