#include <glib.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/term.h"
#include "lexicon/layout.h"
#include "lexicon/lexicon.h"
#include "lexicon/outfile.h"
#include "message/message.h"

/* An nidf on the edge of the range falls on the same side on every machine, whatever its log(). */
#define EDGE 1e-9

static bool refuse(GError **error, const char *sentence)
{
    g_set_error_literal(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE, sentence);
    return false;
}

bool lexicon_plan_check(const struct lexicon_plan *p, GError **error)
{
    /* Written so that NaN is refused too. */
    if (p->scheme != LEXICON_ADAPTIVE && p->scheme != LEXICON_DROPOUT)
        return refuse(error, "no such scheme: choose adaptive or dropout");
    if (p->k > LEXICON_MAX_K || (p->scheme == LEXICON_ADAPTIVE && p->k < 1))
        return refuse(error,
                      "this number of lexicons is not possible: choose 1 to 64 (with dropout 0 to 64)");
    if (p->keep < 1 || p->keep > LEXICON_MAX_KEEP)
        return refuse(error, "this number of terms to keep is not possible: choose 1 to 8");
    if (!(p->drop >= 0 && p->drop < 1))
        return refuse(error,
                      "this share to drop is not possible: choose 0 to less than 1, for instance 0.33");
    if (!(p->nidf_low >= 0 && p->nidf_low < p->nidf_high && p->nidf_high <= 1))
        return refuse(error,
                      "this nidf range is not possible: choose 0 <= LOW < HIGH <= 1, for instance 0.2:0.3");
    if (!(p->common > 0 && p->common <= 1))
        return refuse(error, "this share of common words is not possible: choose more than 0 and at most 1, "
                             "for instance 0.02");
    if (p->min_signature < 1 || p->min_signature > 1000)
        return refuse(error, "this smallest signature is not possible: choose 1 to 1000 terms");
    if (p->min_count < 1)
        return refuse(error, "this smallest count is not possible: choose 1 or more");
    if (p->bucket_bits < 1 || p->bucket_bits > 31)
        return refuse(error, "this number of sets is not possible: choose 1 to 31 bits");
    return true;
}

uint64_t lexicon_hash(uint64_t key, const char *text, size_t n)
{
    bool host = n > 5 && memcmp(text, "http:", 5) == 0;
    return hash_bytes(text, n, key ^ (uint64_t)(host ? TERM_HOST : TERM_WORD));
}

/*
 * Every key is HMAC-SHA-256 of its name under the seed: none follows from another, nor from the
 * frequencies, and the seed itself is not in the file.
 */
static uint64_t derive_key(const uint8_t seed[LEXICON_SEED], const char *name, unsigned number)
{
    char *label = g_strdup_printf("refrain %s %u", name, number);
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, seed, LEXICON_SEED);
    g_hmac_update(hmac, (const guchar *)label, -1);
    unsigned char digest[32];
    gsize n = sizeof digest;
    g_hmac_get_digest(hmac, digest, &n);
    g_hmac_unref(hmac);
    g_free(label);
    return layout_get64(digest);
}

struct found {
    uint64_t hash;
    uint64_t df;
    bool common;
};

static int by_hash(const void *a, const void *b)
{
    uint64_t x = ((const struct found *)a)->hash, y = ((const struct found *)b)->hash;
    return (x > y) - (x < y);
}

static size_t count_lines(const struct df *df)
{
    size_t n = 0;
    for (size_t i = 0; i < df_collections(df); i++)
        n += df_collection(df, i)->n_terms;
    return n;
}

static uint64_t count_documents(const struct df *df)
{
    uint64_t n = 0;
    for (size_t i = 0; i < df_collections(df); i++)
        n += df_collection(df, i)->documents;
    return n;
}

static void collect(const struct df *df, const struct lexicon_plan *plan, uint64_t key, struct found *out)
{
    for (size_t i = 0; i < df_collections(df); i++) {
        const struct df_collection *c = df_collection(df, i);
        double limit = plan->common * (double)c->documents;
        for (size_t j = 0; j < c->n_terms; j++) {
            const struct df_term *t = &c->terms[j];
            *out++ = (struct found) {
                .hash = lexicon_hash(key, t->text, strlen(t->text)),
                .df = t->count,
                .common = t->count > limit && t->count >= LEXICON_COMMON_AT_LEAST,
            };
        }
    }
}

/* Adds up a term's collections and leaves out what is too rare. Returns how many are left. */
static size_t fold(struct found *v, size_t n, uint32_t min_count)
{
    qsort(v, n, sizeof *v, by_hash);
    size_t kept = 0;
    for (size_t i = 0, next; i < n; i = next) {
        struct found sum = v[i];
        for (next = i + 1; next < n && v[next].hash == sum.hash; next++) {
            sum.df += v[next].df;
            sum.common |= v[next].common;
        }
        sum.df = MIN(sum.df, UINT32_MAX);
        if (sum.df >= min_count)
            v[kept++] = sum;
    }
    return kept;
}

static uint32_t classes_of(const struct found *term, const struct lexicon_plan *plan, uint64_t documents)
{
    uint32_t classes = term->common ? LEXICON_COMMON : 0;
    double nidf = 1 - log((double)term->df) / log((double)MAX(documents, 2u));
    if (nidf > plan->nidf_high + EDGE)
        classes |= LEXICON_SECONDARY;
    else if (nidf >= plan->nidf_low - EDGE)
        classes |= LEXICON_PRIMARY;
    return classes;
}

static unsigned slot_bits_for(size_t terms)
{
    unsigned bits = 1;
    while ((UINT64_C(1) << bits) < 2 * (uint64_t)terms)
        bits++;
    return bits;
}

static void put_header(unsigned char *m, const struct lexicon_plan *p, const uint8_t seed[LEXICON_SEED])
{
    memcpy(m, LAYOUT_MAGIC, 8);
    layout_put32(m + LAYOUT_AT_FORMAT, LAYOUT_FORMAT);
    layout_put32(m + LAYOUT_AT_TOKENISER, MESSAGE_TOKENISER);
    layout_put32(m + LAYOUT_AT_SCHEME, (uint32_t)p->scheme);
    layout_put32(m + LAYOUT_AT_K, p->k);
    layout_put32(m + LAYOUT_AT_KEEP, p->keep);
    layout_put32(m + LAYOUT_AT_SECONDARY, p->secondary);
    layout_put32(m + LAYOUT_AT_MIN_SIGNATURE, p->min_signature);
    layout_put32(m + LAYOUT_AT_MIN_COUNT, p->min_count);
    layout_put32(m + LAYOUT_AT_BUCKET_BITS, p->bucket_bits);
    layout_put_double(m + LAYOUT_AT_DROP, p->drop);
    layout_put_double(m + LAYOUT_AT_NIDF_LOW, p->nidf_low);
    layout_put_double(m + LAYOUT_AT_NIDF_HIGH, p->nidf_high);
    layout_put_double(m + LAYOUT_AT_COMMON, p->common);
    layout_put64(m + LAYOUT_AT_TERM_KEY, derive_key(seed, "term", 0));
    layout_put64(m + LAYOUT_AT_SKETCH_KEY, derive_key(seed, "sketch", 0));
    for (unsigned k = 0; k < p->k; k++)
        layout_put64(m + LAYOUT_AT_ORDER_KEYS + 8 * k, derive_key(seed, "order", k));
}

static void put_slot(unsigned char *slots, uint64_t mask, const struct found *term, uint32_t classes)
{
    uint64_t i = term->hash & mask;
    while (layout_get32(slots + i * LAYOUT_SLOT + 8) != 0)
        i = (i + 1) & mask;
    layout_put64(slots + i * LAYOUT_SLOT, term->hash);
    layout_put32(slots + i * LAYOUT_SLOT + 8, (uint32_t)term->df);
    layout_put32(slots + i * LAYOUT_SLOT + 12, classes);
}

static void put_table(unsigned char *m, const struct df *df, const struct lexicon_plan *plan,
                      const struct found *terms, size_t n, unsigned bits)
{
    uint64_t documents = count_documents(df);
    layout_put32(m + LAYOUT_AT_SLOT_BITS, bits);
    layout_put64(m + LAYOUT_AT_DOCUMENTS, documents);
    layout_put64(m + LAYOUT_AT_TERMS, n);
    layout_put64(m + LAYOUT_AT_COLLECTIONS, df_collections(df));
    for (size_t i = 0; i < n; i++)
        put_slot(m + LAYOUT_AT_SLOTS, (UINT64_C(1) << bits) - 1, &terms[i],
                 classes_of(&terms[i], plan, documents));
}

static bool write_file(const unsigned char *bytes, size_t n, const char *path, GError **error)
{
    /* Secret from spammers, but for the daemon's group to read. */
    struct outfile *file = outfile_open(path, 0640, true, error);
    if (!file)
        return false;
    fwrite(bytes, 1, n, outfile_stream(file));
    return outfile_commit(&file, error);
}

bool lexicon_make(const struct df *df, const struct lexicon_plan *plan, const uint8_t seed[LEXICON_SEED],
                  const char *path, GError **error)
{
    if (!lexicon_plan_check(plan, error))
        return false;
    size_t n = count_lines(df);
    struct found *terms = g_new(struct found, MAX(n, 1u));
    collect(df, plan, derive_key(seed, "term", 0), terms);
    n = fold(terms, n, plan->min_count);
    if (n == 0) {
        g_free(terms);
        return refuse(error, "no term is frequent enough: count more documents, or lower --min-count");
    }
    unsigned bits = slot_bits_for(n);
    size_t size = LAYOUT_AT_SLOTS + ((size_t)LAYOUT_SLOT << bits);
    unsigned char *bytes = g_malloc0(size);
    put_header(bytes, plan, seed);
    put_table(bytes, df, plan, terms, n, bits);
    layout_put64(bytes + LAYOUT_AT_CHECKSUM, layout_checksum(bytes, size));
    bool good = write_file(bytes, size, path, error);
    g_free(bytes);
    g_free(terms);
    return good;
}
