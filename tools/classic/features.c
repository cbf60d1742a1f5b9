#include "tools/classic/features.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "signature/simhash.h"

/* Kołcz 2004, for mail. */
#define NIDF_LOW  0.2
#define NIDF_HIGH 0.3
#define DROP      0.33
#define FEWEST    5 /* terms of a signature */

#define MINIMA 84
#define GROUPS 6

struct weighed {
    uint64_t hash;
    uint32_t df;
};

static int by_idf(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;
    if (x->df != y->df)
        return x->df > y->df ? -1 : 1;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Splits the known terms into those in the range and, by increasing idf, those above it. */
static void split(const struct lexicon *lexicon, const struct eval_mail *mail, struct weighed *primary,
                  uint32_t *n_primary, struct weighed *secondary, uint32_t *n_secondary)
{
    *n_primary = *n_secondary = 0;
    for (uint32_t i = 0; i < mail->n_terms; i++) {
        struct lexicon_entry entry;
        if (!lexicon_find(lexicon, mail->terms[i], &entry))
            continue;
        double nidf = lexicon_nidf(lexicon, entry.df);
        struct weighed term = { mail->terms[i], entry.df };
        if (nidf > NIDF_HIGH)
            secondary[(*n_secondary)++] = term;
        else if (nidf >= NIDF_LOW)
            primary[(*n_primary)++] = term;
    }
    qsort(secondary, *n_secondary, sizeof *secondary, by_idf);
}

static bool dropped(uint64_t hash, unsigned copy)
{
    return copy > 0 && (double)(hash_mix(hash + copy * UINT64_C(0x9e3779b97f4a7c15)) >> 11) < DROP * 0x1p53;
}

static uint64_t hash_of_set(const struct weighed *primary, uint32_t n_primary,
                            const struct weighed *secondary, uint32_t n_secondary, unsigned copy)
{
    uint64_t sum = copy;
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_primary; i++)
        if (!dropped(primary[i].hash, copy)) {
            sum += hash_mix(primary[i].hash);
            n++;
        }
    for (uint32_t i = 0; i < n_secondary && n < FEWEST; i++)
        if (!dropped(secondary[i].hash, copy)) {
            sum += hash_mix(secondary[i].hash);
            n++;
        }
    return n < FEWEST ? 0 : hash_mix(sum) | 1;
}

unsigned classic_imatch(const struct lexicon *lexicon, const struct eval_mail *mail, unsigned k,
                        bool secondary, uint64_t *keys_out)
{
    struct weighed *primary = g_new(struct weighed, mail->n_terms),
                   *more = g_new(struct weighed, mail->n_terms);
    uint32_t n_primary, n_more;
    split(lexicon, mail, primary, &n_primary, more, &n_more);
    for (unsigned copy = 0; copy <= k; copy++)
        keys_out[copy] = hash_of_set(primary, n_primary, more, secondary ? n_more : 0, copy);
    g_free(primary);
    g_free(more);
    return k + 1;
}

unsigned classic_minima(const struct eval_mail *mail, uint64_t *keys_out)
{
    if (mail->n_terms < 3)
        return 0;
    for (unsigned m = 0; m < MINIMA; m++)
        keys_out[m] = UINT64_MAX;
    for (uint32_t i = 0; i + 2 < mail->n_terms; i++) {
        uint64_t shingle = hash_mix(hash_mix(mail->terms[i]) + mail->terms[i + 1]);
        shingle = hash_mix(shingle) + mail->terms[i + 2];
        for (unsigned m = 0; m < MINIMA; m++)
            keys_out[m] = MIN(keys_out[m], hash_mix(shingle ^ hash_mix(m + 1)));
    }
    return MINIMA;
}

unsigned classic_supershingles(const struct eval_mail *mail, uint64_t *keys_out)
{
    uint64_t minima[MINIMA];
    if (classic_minima(mail, minima) == 0)
        return 0;
    for (unsigned g = 0; g < GROUPS; g++)
        keys_out[g] = hash_bytes(minima + g * (MINIMA / GROUPS), MINIMA / GROUPS * sizeof *minima, g);
    return GROUPS;
}

uint64_t classic_simhash(const struct lexicon *lexicon, const struct eval_mail *mail)
{
    uint64_t *features = g_new(uint64_t, mail->n_terms), out;
    double *weights = g_new(double, mail->n_terms);
    for (uint32_t i = 0; i < mail->n_terms; i++) {
        struct lexicon_entry entry = { .df = 1 };
        lexicon_find(lexicon, mail->terms[i], &entry);
        features[i] = hash_mix(mail->terms[i]);
        weights[i] = lexicon_nidf(lexicon, MAX(entry.df, 1));
    }
    simhash_weighted(features, weights, mail->n_terms, 64, &out);
    g_free(features);
    g_free(weights);
    return out;
}
