#include "tools/eval/protocols.h"

#include <math.h>

#include "base/pool.h"

static void count(struct eval_score *score, const struct eval_answer *answer,
                  const struct signature_rule *rule)
{
    score->n++;
    score->tagged += eval_tagged(answer, rule);
    score->rejected += eval_rejected(answer, rule);
}

static void count_steps(size_t at[EVAL_STEPS], const struct eval_answer *answer,
                        const struct signature_rule *rule)
{
    for (unsigned step = 0; step < EVAL_STEPS; step++) {
        struct signature_rule moved = { .tag = step / 100.0, .reject = MAX(step / 100.0, rule->reject) };
        at[step] += eval_tagged(answer, &moved);
    }
}

bool *eval_draw(size_t n, double share, uint32_t seed)
{
    bool *drawn = g_new0(bool, n);
    size_t *order = g_new(size_t, n), wanted = (size_t)round((double)n * share);
    GRand *rand = g_rand_new_with_seed(seed);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = 0; i < wanted; i++) {
        size_t j = i + (size_t)(g_rand_double(rand) * (double)(n - i));
        size_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
        drawn[order[i]] = true;
    }
    g_rand_free(rand);
    g_free(order);
    return drawn;
}

GHashTable *eval_reported_sets(const struct eval_collection *spam, const bool *reported)
{
    GHashTable *sets = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (size_t i = 0; i < spam->n; i++)
        if (reported[i])
            g_hash_table_add(sets, &spam->v[i].set);
    return sets;
}

struct lookups {
    const struct eval_index *index;
    const struct eval_collection *mails;
    struct eval_answer *answers;
};

static void look_up(size_t i, void *user)
{
    struct lookups *lookups = user;
    lookups->answers[i] = eval_index_find(lookups->index, &lookups->mails->v[i]);
}

static struct eval_answer *look_up_all(const struct eval_index *index, const struct eval_collection *mails,
                                       unsigned threads)
{
    struct lookups lookups = { index, mails, g_new0(struct eval_answer, mails->n) };
    pool_each(threads, mails->n, look_up, &lookups);
    return lookups.answers;
}

static void score_spam(struct eval_result *result, const struct eval_settings *settings,
                       const struct eval_collection *spam, const bool *reported,
                       const struct eval_index *index)
{
    GHashTable *sets = eval_reported_sets(spam, reported);
    struct eval_answer *answers = look_up_all(index, spam, settings->threads);
    for (size_t i = 0; i < spam->n; i++) {
        if (reported[i])
            continue;
        count(&result->caught, &answers[i], &settings->rule);
        if (!g_hash_table_contains(sets, &spam->v[i].set))
            count(&result->nontrivial, &answers[i], &settings->rule);
        count_steps(result->caught_at, &answers[i], &settings->rule);
    }
    g_free(answers);
    g_hash_table_destroy(sets);
}

static void score_ham(struct eval_result *result, const struct eval_settings *settings,
                      const struct eval_collection *ham, const struct eval_index *index)
{
    struct eval_answer *answers = look_up_all(index, ham, settings->threads);
    size_t proposed = 0;
    for (size_t i = 0; i < ham->n; i++) {
        count(&result->ham, &answers[i], &settings->rule);
        count_steps(result->ham_at, &answers[i], &settings->rule);
        proposed += answers[i].proposed;
        if (eval_tagged(&answers[i], &settings->rule)) {
            struct eval_hit hit = { .mail = &ham->v[i], .answer = answers[i] };
            g_array_append_val(result->ham_hits, hit);
        }
    }
    result->proposed = ham->n ? (double)proposed / (double)ham->n : 0;
    g_free(answers);
}

struct eval_result eval_reported(const struct eval_settings *settings, const struct eval_collection *spam,
                                 const struct eval_collection *ham, double share)
{
    struct eval_result result = { .ham_hits = g_array_new(FALSE, FALSE, sizeof(struct eval_hit)) };
    struct eval_index *index = eval_index_new();
    bool *reported = eval_draw(spam->n, share, settings->seed);
    for (size_t i = 0; i < spam->n; i++)
        if (reported[i])
            eval_index_add(index, &spam->v[i]);
    if (share < 1)
        score_spam(&result, settings, spam, reported, index);
    score_ham(&result, settings, ham, index);
    eval_index_free(&index);
    g_free(reported);
    return result;
}

struct eval_score eval_stream(const struct eval_settings *settings, const struct eval_collection *spam,
                              double probability)
{
    struct eval_score score = { 0 };
    struct eval_index *index = eval_index_new();
    GRand *rand = g_rand_new_with_seed(settings->seed);
    for (size_t i = 0; i < spam->n; i++) {
        struct eval_answer answer = eval_index_find(index, &spam->v[i]);
        count(&score, &answer, &settings->rule);
        if (g_rand_double(rand) < probability)
            eval_index_add(index, &spam->v[i]);
    }
    g_rand_free(rand);
    eval_index_free(&index);
    return score;
}

void eval_result_clear(struct eval_result *result)
{
    g_array_free(result->ham_hits, TRUE);
}
