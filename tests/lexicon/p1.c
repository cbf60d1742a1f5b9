/*
 * The experiment of Kołcz, Chowdhury and Alspector (KDD 2004, section 6.4) with a lexicon of ours:
 *
 *      p1 LEXICON PATH...
 *
 * Messages whose term sets are equal count once. A random tenth of them are queries; the recall of a query
 * is the share of its neighbours (binary cosine of the term sets at least 0.9) that have a lexicon hash in
 * common with it; averaged over the queries that have a neighbour. Ten draws, and their spread, are printed.
 * Not a test: it needs a corpus. p1.sh runs it for K = 0, 2, 5, 10.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "lexicon/lexicon.h"
#include "message/message.h"
#include "message/source.h"
#include "signature/signature.h"

#define NEIGHBOUR 0.9
#define DRAWS     10

struct document {
    uint64_t *terms; /* sorted hashes */
    uint32_t n;
    uint64_t set_hash;
    struct signature signature;
    double recall; /* NAN: no neighbour */
};

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool read_document(const struct lexicon *lexicon, GBytes *data, struct document *out)
{
    struct arena *arena = arena_new();
    size_t n;
    const void *bytes = g_bytes_get_data(data, &n);
    struct message *message = message_read(arena, bytes, n, lexicon_key(lexicon), &message_default_limits);
    struct terms terms = message->view[MESSAGE_BODY];
    bool signable = signature_make(lexicon, MESSAGE_BODY, terms, &out->signature);
    if (signable) {
        out->n = terms.n;
        out->terms = g_new(uint64_t, terms.n);
        for (uint32_t i = 0; i < terms.n; i++)
            out->terms[i] = terms.v[i].hash;
        qsort(out->terms, out->n, sizeof *out->terms, by_value);
        out->set_hash = hash_bytes(out->terms, out->n * sizeof *out->terms, 1);
    }
    arena_free(&arena);
    return signable;
}

static GArray *read_all(const struct lexicon *lexicon, char **paths)
{
    GArray *documents = g_array_new(FALSE, TRUE, sizeof(struct document));
    GHashTable *seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    struct message_source *source =
        message_source_new(paths, MESSAGE_SOURCE_MAIL, message_default_limits.bytes);
    struct message_source_item *item;
    for (; (item = message_source_next(source)); message_source_item_free(item)) {
        struct document d = { 0 };
        if (!item->data || !read_document(lexicon, item->data, &d))
            continue;
        if (g_hash_table_add(seen, g_memdup2(&d.set_hash, sizeof d.set_hash)))
            g_array_append_val(documents, d);
        else
            g_free(d.terms);
    }
    message_source_free(&source);
    g_hash_table_destroy(seen);
    return documents;
}

static double cosine(const struct document *a, const struct document *b)
{
    uint32_t i = 0, j = 0, both = 0;
    while (i < a->n && j < b->n) {
        uint64_t x = a->terms[i], y = b->terms[j];
        both += x == y;
        i += x <= y;
        j += y <= x;
    }
    return both / sqrt((double)a->n * b->n);
}

static double recall_of(const GArray *documents, guint query)
{
    const struct document *q = &g_array_index(documents, struct document, query);
    unsigned neighbours = 0, found = 0;
    for (guint i = 0; i < documents->len; i++) {
        const struct document *d = &g_array_index(documents, struct document, i);
        double ratio = (double)MIN(q->n, d->n) / MAX(q->n, d->n); /* the cosine is at most its root */
        if (i == query || ratio < NEIGHBOUR * NEIGHBOUR || cosine(q, d) < NEIGHBOUR)
            continue;
        neighbours++;
        found += signature_shared(&q->signature, &d->signature) > 0;
    }
    return neighbours ? (double)found / neighbours : NAN;
}

static double draw(const GArray *documents, GRand *random, unsigned *queries)
{
    double sum = 0;
    unsigned n = 0;
    for (guint i = 0; i < documents->len; i++) {
        double recall = g_array_index(documents, struct document, i).recall;
        if (g_rand_double(random) >= 0.1 || isnan(recall))
            continue;
        sum += recall;
        n++;
    }
    *queries += n;
    return n ? sum / n : 0;
}

int main(int argc, char **argv)
{
    GError *error = NULL;
    message_init();
    struct lexicon *lexicon = argc > 2 ? lexicon_open(argv[1], &error) : NULL;
    if (!lexicon) {
        fprintf(stderr, "p1: %s\n", error ? error->message : "usage: p1 LEXICON PATH...");
        return 2;
    }
    GArray *documents = read_all(lexicon, argv + 2);
    for (guint i = 0; i < documents->len; i++)
        g_array_index(documents, struct document, i).recall = recall_of(documents, i);
    GRand *random = g_rand_new_with_seed(2004);
    double sum = 0, squares = 0;
    unsigned queries = 0;
    for (int i = 0; i < DRAWS; i++) {
        double recall = draw(documents, random, &queries);
        sum += recall;
        squares += recall * recall;
    }
    double mean = sum / DRAWS;
    printf("K = %2u  recall %.3f ± %.3f  (%u distinct messages, %.0f queries with neighbours a draw)\n",
           lexicon_plan_of(lexicon)->k, mean, sqrt(MAX(squares / DRAWS - mean * mean, 0)), documents->len,
           (double)queries / DRAWS);
    return 0;
}
