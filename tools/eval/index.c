#include "tools/eval/index.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

#define SET_CAP  256 /* members of one set, as in the store */
#define VERIFIED 32  /* candidates of one view that are verified, as in the store */

/*
 * signature key -> the prototypes that have it, as chains through one array of members:
 *
 *      heads   key -> { first member, length }
 *      members { prototype, next member }
 */
struct head {
    uint64_t key; /* 0: empty */
    uint32_t first, length;
};

struct member {
    uint32_t prototype, next;
};

/* One view of one prototype. */
struct entry {
    const struct signature *signature;
    const struct eval_mail *mail;
};

struct eval_index {
    struct head *heads;
    size_t n_heads, used; /* n_heads is a power of two */
    GArray *members, *entries;
};

struct eval_index *eval_index_new(void)
{
    struct eval_index *index = g_new0(struct eval_index, 1);
    index->n_heads = 1024;
    index->heads = g_new0(struct head, index->n_heads);
    index->members = g_array_new(FALSE, FALSE, sizeof(struct member));
    index->entries = g_array_new(FALSE, FALSE, sizeof(struct entry));
    return index;
}

void eval_index_free(struct eval_index **index)
{
    if (!*index)
        return;
    g_free((*index)->heads);
    g_array_free((*index)->members, TRUE);
    g_array_free((*index)->entries, TRUE);
    g_free(*index);
    *index = NULL;
}

static uint64_t key_of(const struct signature *signature, unsigned i)
{
    uint64_t key = hash_mix(signature->lex[i] + (uint64_t)signature->view * 64 + i);
    return key ? key : 1;
}

static struct head *slot_of(const struct eval_index *index, uint64_t key)
{
    size_t at = key & (index->n_heads - 1);
    while (index->heads[at].key != 0 && index->heads[at].key != key)
        at = (at + 1) & (index->n_heads - 1);
    return &index->heads[at];
}

static void grow(struct eval_index *index)
{
    struct head *old = index->heads;
    size_t n = index->n_heads;
    index->n_heads *= 2;
    index->heads = g_new0(struct head, index->n_heads);
    for (size_t i = 0; i < n; i++)
        if (old[i].key)
            *slot_of(index, old[i].key) = old[i];
    g_free(old);
}

static void add_member(struct eval_index *index, uint64_t key, uint32_t entry)
{
    struct head *head = slot_of(index, key);
    if (head->key == 0) {
        if (++index->used * 2 > index->n_heads) {
            grow(index);
            head = slot_of(index, key);
        }
        *head = (struct head) { .key = key, .first = UINT32_MAX };
    }
    if (head->length == SET_CAP)
        return;
    struct member member = { .prototype = entry, .next = head->first };
    head->first = index->members->len;
    head->length++;
    g_array_append_val(index->members, member);
}

void eval_index_add(struct eval_index *index, const struct eval_mail *prototype)
{
    for (unsigned v = 0; v < prototype->n_views; v++) {
        struct entry entry = { .signature = &prototype->views[v], .mail = prototype };
        uint32_t at = index->entries->len;
        g_array_append_val(index->entries, entry);
        for (unsigned i = 0; i < entry.signature->n_lex; i++)
            if (entry.signature->lex[i])
                add_member(index, key_of(entry.signature, i), at);
    }
}

/* A prototype that shares lexicon hashes with the message. */
struct candidate {
    uint32_t entry, shared;
};

static int by_entry(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static int by_shared(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->shared != y->shared)
        return x->shared > y->shared ? -1 : 1;
    return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* Every proposal, most shared lexicons first. */
static GArray *propose(const struct eval_index *index, const struct signature *signature)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (unsigned i = 0; i < signature->n_lex; i++) {
        if (!signature->lex[i])
            continue;
        const struct head *head = slot_of(index, key_of(signature, i));
        uint32_t at = head->key ? head->first : UINT32_MAX;
        while (at != UINT32_MAX) {
            const struct member *member = &g_array_index(index->members, struct member, at);
            g_array_append_val(found, member->prototype);
            at = member->next;
        }
    }
    g_array_sort(found, by_entry);
    GArray *candidates = g_array_new(FALSE, FALSE, sizeof(struct candidate));
    for (unsigned i = 0, n; i < found->len; i += n) {
        struct candidate candidate = { .entry = g_array_index(found, uint32_t, i) };
        for (n = 0; i + n < found->len && g_array_index(found, uint32_t, i + n) == candidate.entry; n++)
            candidate.shared++;
        g_array_append_val(candidates, candidate);
    }
    g_array_free(found, TRUE);
    g_array_sort(candidates, by_shared);
    return candidates;
}

/* The setting of tag-similarity up to which this pair is accepted: see the accept rule. */
static double strength(const struct signature *a, const struct signature *b, double similarity)
{
    double ratio = (double)MIN(a->terms, b->terms) / MAX(a->terms, b->terms);
    return MIN(similarity, sqrt(ratio));
}

/* At the lowest thresholds everything alike is accepted: what is left is the rule of the view. */
static enum signature_level highest_level(const struct signature *a, const struct signature *b)
{
    struct signature x = *a, y = *b;
    memcpy(y.sketch, x.sketch, sizeof y.sketch);
    y.terms = x.terms = MIN(x.terms, y.terms);
    return signature_compare(&x, &y, &(struct signature_rule) { 0 }).level;
}

static void verify(const struct entry *entry, const struct signature *signature, struct eval_answer *answer)
{
    struct signature_likeness likeness =
        signature_compare(signature, entry->signature, &signature_default_rule);
    double found = strength(signature, entry->signature, likeness.similarity);
    if (!answer->prototype || found > MAX(answer->tag, answer->reject)) {
        answer->prototype = entry->mail;
        answer->likeness = likeness;
        answer->view = signature->view;
    }
    if (signature->view != MESSAGE_FULL)
        answer->tag = MAX(answer->tag, found);
    if (found > answer->reject && highest_level(signature, entry->signature) == SIGNATURE_REJECT)
        answer->reject = found;
}

struct eval_answer eval_index_find(const struct eval_index *index, const struct eval_mail *mail)
{
    struct eval_answer answer = { 0 };
    for (unsigned v = 0; v < mail->n_views; v++) {
        GArray *candidates = propose(index, &mail->views[v]);
        answer.proposed += candidates->len;
        for (unsigned i = 0; i < MIN(candidates->len, VERIFIED); i++) {
            uint32_t entry = g_array_index(candidates, struct candidate, i).entry;
            verify(&g_array_index(index->entries, struct entry, entry), &mail->views[v], &answer);
        }
        g_array_free(candidates, TRUE);
    }
    return answer;
}

/* As users see them: two decimals. */
static bool reaches(double strength, double threshold)
{
    return strength > 0 && round(strength * 100) >= round(threshold * 100);
}

bool eval_rejected(const struct eval_answer *answer, const struct signature_rule *rule)
{
    return reaches(answer->reject, rule->reject);
}

bool eval_tagged(const struct eval_answer *answer, const struct signature_rule *rule)
{
    return reaches(answer->tag, rule->tag) || eval_rejected(answer, rule);
}
