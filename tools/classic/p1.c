#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "tools/classic/features.h"

#define NEIGHBOUR 0.9 /* binary cosine that makes two messages near-duplicates */
#define QUERIES   10  /* one in ten */
#define MIN_TERMS 5

/* A message as the paper sees it: its sorted terms, and its keys. */
struct document {
    uint32_t n;
    uint64_t *terms;
    uint64_t keys[CLASSIC_MAX_K + 1];
};

struct p1 {
    const struct document *documents;
    size_t n;
    unsigned n_keys;
    const size_t *queries;
    double *recall; /* per query; −1: no neighbour */
};

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static uint32_t in_common(const struct document *a, const struct document *b)
{
    uint32_t common = 0;
    for (uint32_t i = 0, j = 0; i < a->n && j < b->n;) {
        if (a->terms[i] == b->terms[j]) {
            common++;
            i++;
            j++;
        } else if (a->terms[i] < b->terms[j]) {
            i++;
        } else {
            j++;
        }
    }
    return common;
}

static bool neighbours(const struct document *a, const struct document *b)
{
    double lengths = sqrt((double)a->n * b->n);
    return MIN(a->n, b->n) >= NEIGHBOUR * lengths && in_common(a, b) >= NEIGHBOUR * lengths;
}

static bool found(const struct document *a, const struct document *b, unsigned n_keys)
{
    for (unsigned i = 0; i < n_keys; i++)
        if (a->keys[i] && a->keys[i] == b->keys[i])
            return true;
    return false;
}

static void recall_of_query(size_t q, void *user)
{
    struct p1 *p1 = user;
    const struct document *query = &p1->documents[p1->queries[q]];
    size_t there = 0, seen = 0;
    for (size_t j = 0; j < p1->n; j++) {
        const struct document *other = &p1->documents[j];
        if (other == query || !neighbours(query, other))
            continue;
        there++;
        seen += found(query, other, p1->n_keys);
    }
    p1->recall[q] = there ? (double)seen / (double)there : -1;
}

static GArray *distinct_documents(const struct lexicon *lexicon, const struct eval_collection *mails,
                                  unsigned k, bool secondary)
{
    GArray *documents = g_array_new(FALSE, TRUE, sizeof(struct document));
    GHashTable *sets = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (size_t i = 0; i < mails->n; i++) {
        const struct eval_mail *mail = &mails->v[i];
        if (mail->n_terms < MIN_TERMS || !g_hash_table_add(sets, (gpointer)&mail->set))
            continue;
        struct document document = { .n = mail->n_terms };
        document.terms = g_memdup2(mail->terms, mail->n_terms * sizeof *mail->terms);
        qsort(document.terms, document.n, sizeof *document.terms, by_value);
        classic_imatch(lexicon, mail, k, secondary, document.keys);
        g_array_append_val(documents, document);
    }
    g_hash_table_destroy(sets);
    return documents;
}

static double average(const double *recall, size_t n, size_t *queries_out)
{
    double sum = 0;
    *queries_out = 0;
    for (size_t q = 0; q < n; q++)
        if (recall[q] >= 0) {
            sum += recall[q];
            (*queries_out)++;
        }
    return *queries_out ? sum / (double)*queries_out : 0;
}

double classic_p1(const struct lexicon *lexicon, const struct eval_collection *mails, unsigned k,
                  bool secondary, uint32_t seed, unsigned threads, size_t *queries_out)
{
    GArray *documents = distinct_documents(lexicon, mails, k, secondary);
    GArray *queries = g_array_new(FALSE, FALSE, sizeof(size_t));
    GRand *rand = g_rand_new_with_seed(seed);
    for (size_t i = 0; i < documents->len; i++)
        if (g_rand_int_range(rand, 0, QUERIES) == 0)
            g_array_append_val(queries, i);
    struct p1 p1 = { .documents = (const struct document *)(void *)documents->data,
                     .n = documents->len,
                     .n_keys = k + 1,
                     .queries = (const size_t *)(void *)queries->data,
                     .recall = g_new(double, queries->len) };
    pool_each(threads, queries->len, recall_of_query, &p1);
    double recall = average(p1.recall, queries->len, queries_out);
    for (guint i = 0; i < documents->len; i++)
        g_free(g_array_index(documents, struct document, i).terms);
    g_free(p1.recall);
    g_rand_free(rand);
    g_array_free(queries, TRUE);
    g_array_free(documents, TRUE);
    return recall;
}
