#include "tools/eval/compare.h"

#include "base/pool.h"

struct matching {
    const struct classic_index *index;
    const struct eval_collection *mails;
    bool *matched;
};

static void match(size_t i, void *user)
{
    struct matching *matching = user;
    matching->matched[i] = classic_index_match(matching->index, &matching->mails->v[i]);
}

static bool *match_all(const struct classic_index *index, const struct eval_collection *mails,
                       unsigned threads)
{
    struct matching matching = { index, mails, g_new0(bool, mails->n) };
    pool_each(threads, mails->n, match, &matching);
    return matching.matched;
}

static size_t count(const bool *matched, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += matched[i];
    return sum;
}

static void score_spam(struct eval_comparison *out, const struct eval_collection *spam, const bool *reported,
                       const bool *matched)
{
    GHashTable *sets = eval_reported_sets(spam, reported);
    for (size_t i = 0; i < spam->n; i++) {
        if (reported[i])
            continue;
        bool trivial = g_hash_table_contains(sets, &spam->v[i].set);
        out->of++;
        out->caught += matched[i];
        out->nontrivial_of += !trivial;
        out->nontrivial += !trivial && matched[i];
    }
    g_hash_table_destroy(sets);
}

struct eval_comparison eval_compare(const struct eval_settings *settings, const struct classic_method *method,
                                    const struct lexicon *lexicon, const struct eval_collection *spam,
                                    const struct eval_collection *ham, double share)
{
    struct eval_comparison out = { .ham_of = ham->n };
    struct classic_index *index = classic_index_new(method, lexicon);
    bool *reported = eval_draw(spam->n, share, settings->seed);
    for (size_t i = 0; i < spam->n; i++)
        if (reported[i])
            classic_index_add(index, &spam->v[i]);
    bool *spam_matched = match_all(index, spam, settings->threads), *ham_matched;
    score_spam(&out, spam, reported, spam_matched);
    ham_matched = match_all(index, ham, settings->threads);
    out.ham = count(ham_matched, ham->n);
    g_free(ham_matched);
    for (size_t i = 0; i < spam->n; i++)
        if (!reported[i])
            classic_index_add(index, &spam->v[i]);
    ham_matched = match_all(index, ham, settings->threads);
    out.ham_all = count(ham_matched, ham->n);
    g_free(ham_matched);
    g_free(spam_matched);
    g_free(reported);
    classic_index_free(&index);
    return out;
}
