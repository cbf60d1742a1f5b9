#include "signature/select.h"

#include <glib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vector.h"

/*
 * Below this many known terms, or this share of them, the lexicon does not know the language. So many are
 * enough whatever their share: the rest may be gibberish in any quantity.
 */
#define MIN_KNOWN       5
#define MIN_KNOWN_SHARE 4 /* one in four */
#define ENOUGH_KNOWN    20

/*
 * Words that are unknown among words that are known are names and coinages. Where more than one in so many is
 * unknown, they may be the everyday words of a language next to one that the lexicon knows.
 */
#define ODD_SHARE 2

#define MAX_KEEP 8

static void make_room(struct selection *s, uint32_t n)
{
    s->heap = NULL;
    if (n <= G_N_ELEMENTS(s->room.hash)) {
        s->hash = s->room.hash;
        s->entry = s->room.entry;
        s->index = s->room.index;
        return;
    }
    s->heap = g_malloc_n(n, sizeof *s->hash + sizeof *s->entry + sizeof *s->index);
    s->hash = s->heap;
    s->entry = (struct lexicon_entry *)(s->hash + n);
    s->index = (uint32_t *)(s->entry + n);
}

void select_free(struct selection *selection)
{
    g_free(selection->heap);
    selection->heap = NULL;
}

/* Windows and digests are not words: no lexicon has them, and all of them count. */
static bool is_lexical(const struct term *term)
{
    return term->kind == TERM_WORD || term->kind == TERM_HOST;
}

/* Keeps the smallest ranks, in order: of two messages with a word in common, both are likely to keep it. */
static void keep_odd(struct selection *s, uint64_t rank)
{
    unsigned at = s->n_odd;
    if (at == SIGNATURE_ODD && rank >= s->odd[at - 1])
        return;
    if (at == SIGNATURE_ODD)
        at--;
    else
        s->n_odd++;
    for (; at > 0 && s->odd[at - 1] > rank; at--)
        s->odd[at] = s->odd[at - 1];
    s->odd[at] = rank;
}

/* Drops the words that the lexicon does not know: hash-busters, typos, names. Link hosts stay. */
static void drop_unknown(struct selection *s, struct terms terms, const bool *known, uint64_t key)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (!known[i] && terms.v[i].kind == TERM_WORD) {
            keep_odd(s, select_odd_rank(s->hash[i], key));
            continue;
        }
        s->hash[kept] = s->hash[i];
        s->entry[kept] = s->entry[i];
        s->index[kept++] = s->index[i];
    }
    s->n = kept;
    if ((terms.n - kept) * ODD_SHARE > terms.n)
        s->n_odd = 0;
}

static bool is_foreign(uint32_t known, uint32_t all)
{
    return known < ENOUGH_KNOWN && (known < MIN_KNOWN || known * MIN_KNOWN_SHARE < all);
}

void select_terms(const struct lexicon *lexicon, struct terms terms, bool foreign, struct selection *out)
{
    make_room(out, terms.n);
    out->n = terms.n;
    out->n_odd = 0;
    bool room[512], *known = terms.n <= G_N_ELEMENTS(room) ? room : g_new(bool, terms.n);
    uint32_t n_known = 0;
    for (uint32_t i = 0; i < terms.n; i++) {
        out->hash[i] = terms.v[i].hash;
        out->index[i] = i;
        known[i] = is_lexical(&terms.v[i]) && lexicon_find(lexicon, terms.v[i].hash, &out->entry[i]);
        if (!known[i])
            out->entry[i] = (struct lexicon_entry) { 0 };
        n_known += known[i];
    }
    out->foreign = foreign || is_foreign(n_known, terms.n);
    if (!out->foreign)
        drop_unknown(out, terms, known, lexicon_sketch_key(lexicon));
    if (known != room)
        g_free(known);
}

/* --- adaptive: the first r terms in keyed order k, common words behind all others ------------------ */

/* The highest bit of a rank. */
static uint64_t common_of(const struct selection *s, uint32_t i)
{
    uint64_t common = s->entry[i].classes & LEXICON_COMMON;
    return common << 63;
}

static uint64_t rank_of(const struct selection *s, uint32_t i, uint64_t key)
{
    return hash_mix(s->hash[i] ^ key) >> 1 | common_of(s, i);
}

/* 48 bits are plenty, and three quarters of the room in the store. 0 means: none. */
static uint64_t shorten(uint64_t hash)
{
    hash &= ~UINT64_C(0xffff);
    return hash ? hash : UINT64_C(0x10000);
}

static uint64_t hash_ranks(const uint64_t *ranks, unsigned n, uint64_t key)
{
    uint64_t hash = key;
    for (unsigned i = 0; i < n; i++)
        hash = hash_mix(hash ^ ranks[i]);
    return shorten(hash);
}

/* The two smallest ranks that were seen. */
struct two {
    uint64_t first, second;
};

static void two_add(struct two *two, uint64_t rank)
{
    uint64_t larger = MAX(two->first, rank);
    two->first = MIN(two->first, rank);
    two->second = MIN(two->second, larger);
}

#define LANES 8

/* r = 2 is the default and the mail's path: minima without a branch, each lane for itself. */
static VECTOR_CLONES void adaptive_two(const uint64_t *hash, const uint64_t *common, uint32_t n, uint64_t key,
                                       uint64_t ranks_out[2])
{
    uint64_t first[LANES], second[LANES];
    uint32_t done = n - n % LANES;
    memset(first, 0xff, sizeof first);
    memset(second, 0xff, sizeof second);
    for (uint32_t i = 0; i < done; i += LANES)
        for (uint32_t j = 0; j < LANES; j++) {
            uint64_t rank = hash_mix(hash[i + j] ^ key) >> 1 | common[i + j];
            uint64_t larger = MAX(first[j], rank);
            first[j] = MIN(first[j], rank);
            second[j] = MIN(second[j], larger);
        }
    struct two two = { UINT64_MAX, UINT64_MAX };
    for (uint32_t i = done; i < n; i++)
        two_add(&two, hash_mix(hash[i] ^ key) >> 1 | common[i]);
    for (uint32_t j = 0; j < LANES; j++) {
        two_add(&two, first[j]);
        two_add(&two, second[j]);
    }
    ranks_out[0] = two.first;
    ranks_out[1] = two.second;
}

static void adaptive_pairs(const struct selection *s, const uint64_t *keys, unsigned k, uint64_t *lex_out)
{
    uint64_t room[512], *common = s->n <= G_N_ELEMENTS(room) ? room : g_new(uint64_t, s->n);
    for (uint32_t i = 0; i < s->n; i++)
        common[i] = common_of(s, i);
    for (unsigned i = 0; i < k; i++) {
        uint64_t ranks[2];
        adaptive_two(s->hash, common, s->n, keys[i], ranks);
        lex_out[i] = hash_ranks(ranks, 2, keys[i]);
    }
    if (common != room)
        g_free(common);
}

/* The places of the r smallest ranks, smallest first, by insertion. */
static void smallest_ranks(const struct selection *s, uint64_t key, unsigned r, uint64_t *ranks,
                           uint32_t *places)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        uint64_t rank = rank_of(s, i, key);
        if (n == r && rank >= ranks[r - 1])
            continue;
        unsigned at = n < r ? n++ : r - 1;
        for (; at > 0 && ranks[at - 1] > rank; at--) {
            ranks[at] = ranks[at - 1];
            places[at] = places[at - 1];
        }
        ranks[at] = rank;
        places[at] = i;
    }
}

static uint64_t adaptive_any(const struct selection *s, uint64_t key, unsigned r)
{
    uint64_t ranks[MAX_KEEP];
    uint32_t places[MAX_KEEP];
    smallest_ranks(s, key, r, ranks, places);
    return hash_ranks(ranks, r, key);
}

static unsigned adaptive_hashes(const struct lexicon *lexicon, const struct selection *s, uint64_t *lex_out)
{
    const struct lexicon_plan *plan = lexicon_plan_of(lexicon);
    const uint64_t *keys = lexicon_order_keys(lexicon);
    unsigned r = MIN(plan->keep, MAX_KEEP);
    if (s->n >= r && r == 2) {
        adaptive_pairs(s, keys, plan->k, lex_out);
        return plan->k;
    }
    for (unsigned k = 0; k < plan->k; k++)
        lex_out[k] = s->n < r ? 0 : adaptive_any(s, keys[k], r);
    return plan->k;
}

/* --- dropout: Kołcz 2004. Hash 0 is over the whole primary lexicon, hash k + 1 over copy k ----------- */

static bool in_lexicon(const struct lexicon *lexicon, unsigned i, uint64_t hash)
{
    return i == 0 || lexicon_in_copy(lexicon, i - 1, hash);
}

/* Increasing idf = decreasing frequency; the hash settles ties, so that word order never matters. */
static int by_idf(const void *a, const void *b, void *user)
{
    const struct selection *s = user;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (s->entry[i].df != s->entry[j].df)
        return s->entry[i].df > s->entry[j].df ? -1 : 1;
    return s->hash[i] < s->hash[j] ? -1 : s->hash[i] > s->hash[j];
}

/* The places of secondary terms in the order in which they are taken; the caller frees. */
static uint32_t *secondary_order(const struct selection *s, uint32_t *n_out)
{
    uint32_t *places = g_new(uint32_t, s->n), n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->entry[i].classes & LEXICON_SECONDARY)
            places[n++] = i;
    g_qsort_with_data(places, (gint)n, sizeof *places, by_idf, (void *)s);
    *n_out = n;
    return places;
}

/* The terms of hash i; false when there are too few of them even with the secondary lexicon. */
static bool dropout_terms(const struct lexicon *lexicon, const struct selection *s, unsigned i,
                          const uint32_t *secondary, uint32_t n_secondary, uint32_t *places_out,
                          uint32_t *n_out)
{
    const struct lexicon_plan *plan = lexicon_plan_of(lexicon);
    uint32_t n = 0;
    for (uint32_t t = 0; t < s->n; t++)
        if (s->entry[t].classes & LEXICON_PRIMARY && in_lexicon(lexicon, i, s->hash[t]))
            places_out[n++] = t;
    for (uint32_t t = 0; plan->secondary && t < n_secondary && n < plan->min_signature; t++)
        if (in_lexicon(lexicon, i, s->hash[secondary[t]]))
            places_out[n++] = secondary[t];
    *n_out = n;
    return n > 0 && n >= plan->min_signature;
}

/* Two copies that kept the same terms are still two lexicons: the copy's number goes in. */
static uint64_t hash_set(const struct selection *s, const uint32_t *places, uint32_t n, unsigned copy)
{
    uint64_t sum = copy;
    for (uint32_t i = 0; i < n; i++)
        sum += hash_mix(s->hash[places[i]]);
    return shorten(hash_mix(sum));
}

static unsigned dropout_hashes(const struct lexicon *lexicon, const struct selection *s, uint64_t *lex_out)
{
    unsigned n_lex = lexicon_plan_of(lexicon)->k + 1;
    uint32_t n_secondary, n, *secondary = secondary_order(s, &n_secondary), *places = g_new(uint32_t, s->n);
    for (unsigned i = 0; i < n_lex; i++) {
        bool enough = dropout_terms(lexicon, s, i, secondary, n_secondary, places, &n);
        lex_out[i] = enough ? hash_set(s, places, n, i) : 0;
    }
    g_free(places);
    g_free(secondary);
    return n_lex;
}

unsigned select_hashes(const struct lexicon *lexicon, const struct selection *selection, uint64_t *lex_out)
{
    return lexicon_plan_of(lexicon)->scheme == LEXICON_DROPOUT ? dropout_hashes(lexicon, selection, lex_out)
                                                               : adaptive_hashes(lexicon, selection, lex_out);
}

static uint32_t dropout_signers(const struct lexicon *lexicon, const struct selection *s, unsigned i,
                                uint32_t *places_out, uint32_t max)
{
    uint32_t n_secondary, n, *secondary = secondary_order(s, &n_secondary), *places = g_new(uint32_t, s->n);
    bool enough = dropout_terms(lexicon, s, i, secondary, n_secondary, places, &n);
    n = enough ? MIN(n, max) : 0;
    memcpy(places_out, places, n * sizeof *places);
    g_free(places);
    g_free(secondary);
    return n;
}

uint32_t select_signers(const struct lexicon *lexicon, const struct selection *selection, unsigned i,
                        uint32_t *places_out, uint32_t max)
{
    const struct lexicon_plan *plan = lexicon_plan_of(lexicon);
    if (plan->scheme == LEXICON_DROPOUT)
        return dropout_signers(lexicon, selection, i, places_out, max);
    unsigned r = MIN(plan->keep, MAX_KEEP);
    if (selection->n < r)
        return 0;
    uint64_t ranks[MAX_KEEP];
    uint32_t places[MAX_KEEP];
    smallest_ranks(selection, lexicon_order_keys(lexicon)[i], r, ranks, places);
    memcpy(places_out, places, MIN(r, max) * sizeof *places);
    return MIN(r, max);
}
