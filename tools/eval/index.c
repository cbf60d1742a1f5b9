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

struct eval_index {
    struct head *heads;
    size_t n_heads, used; /* n_heads is a power of two */
    GArray *members;
    GPtrArray *prototypes; /* struct signature_set */
    GPtrArray *mails;      /* struct eval_mail, whose they are */
};

struct eval_index *eval_index_new(void)
{
    struct eval_index *index = g_new0(struct eval_index, 1);
    index->n_heads = 1024;
    index->heads = g_new0(struct head, index->n_heads);
    index->members = g_array_new(FALSE, FALSE, sizeof(struct member));
    index->prototypes = g_ptr_array_new_with_free_func(g_free);
    index->mails = g_ptr_array_new();
    return index;
}

void eval_index_free(struct eval_index **index)
{
    if (!*index)
        return;
    g_free((*index)->heads);
    g_array_free((*index)->members, TRUE);
    g_ptr_array_free((*index)->prototypes, TRUE);
    g_ptr_array_free((*index)->mails, TRUE);
    g_free(*index);
    *index = NULL;
}

#define KEYS_MAX (SIGNATURE_MAX_LEX + SIGNATURE_ODD_KEYS)

/* Everything of a signature that proposes; returns how many keys. */
static unsigned keys_of(const struct signature *signature, uint64_t out[KEYS_MAX])
{
    unsigned n = 0, family = signature_family(signature->view);
    for (unsigned i = 0; i < signature->n_lex; i++)
        if (signature->lex[i])
            out[n++] = MAX(hash_mix(signature->lex[i] + (uint64_t)family * SIGNATURE_MAX_LEX + i), 1);
    for (unsigned i = 0; i < MIN(signature_n_odd(signature), SIGNATURE_ODD_KEYS); i++)
        out[n++] = MAX(hash_mix(signature->odd[i]), 1);
    return n;
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

static void add_member(struct eval_index *index, uint64_t key, uint32_t prototype)
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
    struct member member = { .prototype = prototype, .next = head->first };
    head->first = index->members->len;
    head->length++;
    g_array_append_val(index->members, member);
}

static struct signature_set *set_of(const struct eval_mail *mail)
{
    struct signature_set *set = g_new(struct signature_set, 1);
    set->n = mail->n_views;
    if (set->n)
        memcpy(set->v, mail->views, set->n * sizeof *mail->views);
    return set;
}

void eval_index_add(struct eval_index *index, const struct eval_mail *prototype)
{
    uint32_t number = index->mails->len;
    uint64_t keys[KEYS_MAX];
    for (unsigned v = 0; v < prototype->n_views; v++)
        for (unsigned n = keys_of(&prototype->views[v], keys); n-- > 0;)
            add_member(index, keys[n], number);
    g_ptr_array_add(index->prototypes, set_of(prototype));
    g_ptr_array_add(index->mails, (gpointer)prototype);
}

/* A prototype that shares lexicon hashes with the message. */
struct candidate {
    uint32_t prototype, shared;
};

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static int by_shared(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->shared != y->shared)
        return x->shared > y->shared ? -1 : 1;
    return x->prototype < y->prototype ? -1 : x->prototype > y->prototype;
}

/* Every proposal, most shared lexicons first. */
static GArray *propose(const struct eval_index *index, const struct signature *signature)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    uint64_t keys[KEYS_MAX];
    for (unsigned n = keys_of(signature, keys); n-- > 0;) {
        const struct head *head = slot_of(index, keys[n]);
        uint32_t at = head->key ? head->first : UINT32_MAX;
        while (at != UINT32_MAX) {
            const struct member *member = &g_array_index(index->members, struct member, at);
            g_array_append_val(found, member->prototype);
            at = member->next;
        }
    }
    g_array_sort(found, by_number);
    GArray *candidates = g_array_new(FALSE, FALSE, sizeof(struct candidate));
    for (unsigned i = 0, n; i < found->len; i += n) {
        struct candidate candidate = { .prototype = g_array_index(found, uint32_t, i) };
        for (n = 0; i + n < found->len && g_array_index(found, uint32_t, i + n) == candidate.prototype; n++)
            candidate.shared++;
        g_array_append_val(candidates, candidate);
    }
    g_array_free(found, TRUE);
    g_array_sort(candidates, by_shared);
    return candidates;
}

/* The setting up to which this pair is accepted: see the accept rule. */
static double strength(const struct signature_pair *pair, double similarity)
{
    double fewer = MIN(pair->message->terms, pair->prototype->terms);
    double more = MAX(pair->message->terms, pair->prototype->terms);
    return MIN(similarity, sqrt(fewer / more));
}

static void verify(const struct eval_index *index, uint32_t number, const struct signature_set *message,
                   struct eval_answer *answer)
{
    /* Thresholds that everything reaches and nothing does: what is left is which view may do what. */
    static const struct signature_rule only_tag = { .tag = 0, .reject = 2 },
                                       only_reject = { .tag = 2, .reject = 0 };
    const struct signature_set *prototype = index->prototypes->pdata[number];
    struct signature_pair tag, reject;
    struct signature_likeness tagged = signature_compare_sets(message, prototype, &only_tag, &tag);
    struct signature_likeness rejected = signature_compare_sets(message, prototype, &only_reject, &reject);
    double tag_strength = tagged.level ? strength(&tag, tagged.similarity) : 0;
    double reject_strength = rejected.level ? strength(&reject, rejected.similarity) : 0;
    if (!answer->prototype || MAX(tag_strength, reject_strength) > MAX(answer->tag, answer->reject)) {
        answer->prototype = index->mails->pdata[number];
        answer->likeness = tag_strength >= reject_strength ? tagged : rejected;
        answer->view = tag_strength >= reject_strength ? tag.view : reject.view;
    }
    answer->tag = MAX(answer->tag, tag_strength);
    answer->reject = MAX(answer->reject, reject_strength);
}

struct eval_answer eval_index_find(const struct eval_index *index, const struct eval_mail *mail)
{
    struct eval_answer answer = { 0 };
    g_autofree struct signature_set *message = set_of(mail);
    for (unsigned v = 0; v < mail->n_views; v++) {
        GArray *candidates = propose(index, &mail->views[v]);
        answer.proposed += candidates->len;
        for (unsigned i = 0; i < MIN(candidates->len, VERIFIED); i++)
            verify(index, g_array_index(candidates, struct candidate, i).prototype, message, &answer);
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
