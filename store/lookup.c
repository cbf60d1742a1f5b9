#include <stdlib.h>
#include <string.h>

#include "store/internal.h"

/* --- propose ------------------------------------------------------------------------------------ */

static void collect_keys(const struct store *store, struct arena *arena, struct search *search)
{
    const struct signature_set *signatures = search->signatures;
    search->keys = arena_alloc(arena, MESSAGE_VIEWS * MEMBERS_KEYS_MAX * sizeof *search->keys);
    for (unsigned i = 0; i < signatures->n; i++) {
        struct members_key *keys = search->keys + search->n_keys;
        unsigned n = search->of[i] = members_keys(&signatures->v[i], store->bucket_bits, keys);
        n += members_odd_keys(&signatures->v[i], store->bucket_bits, keys + n);
        if (store->simhash_tables)
            n += members_table_keys(&signatures->v[i], store->bucket_bits, keys + n);
        search->keys_of[i] = n;
        search->n_keys += n;
    }
}

struct vote {
    uint32_t number;
    uint32_t votes;
};

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int by_votes(const void *a, const void *b)
{
    const struct vote *x = a, *y = b;
    return x->votes != y->votes ? (x->votes < y->votes) - (x->votes > y->votes) : by_number(a, b);
}

/* The campaigns that the sets of one view name, those that most lexicons agree on first. */
static struct vote *count_votes(struct arena *arena, const struct search *search, unsigned first, unsigned n,
                                unsigned *n_out)
{
    unsigned total = 0, found = 0;
    for (unsigned i = first; i < first + n; i++)
        total += search->sets[i].n;
    uint32_t *numbers = arena_alloc(arena, total * sizeof *numbers + 1);
    for (unsigned i = first; i < first + n; i++)
        for (unsigned j = 0; j < search->sets[i].n; j++)
            if (members_tag(search->sets[i].members[j]) == search->keys[i].tag)
                numbers[found++] = members_number(search->sets[i].members[j]);
    *n_out = 0;
    if (found == 0)
        return NULL;
    qsort(numbers, found, sizeof *numbers, by_number);
    struct vote *votes = arena_alloc(arena, found * sizeof *votes);
    for (unsigned i = 0; i < found; i++) {
        if (i == 0 || numbers[i] != numbers[i - 1])
            votes[(*n_out)++] = (struct vote) { .number = numbers[i] };
        votes[*n_out - 1].votes++;
    }
    qsort(votes, *n_out, sizeof *votes, by_votes);
    return votes;
}

static bool is_listed(const struct backend_record *records, unsigned n, uint32_t number)
{
    for (unsigned i = 0; i < n; i++)
        if (records[i].number == number)
            return true;
    return false;
}

static void choose_records(struct arena *arena, struct search *search)
{
    unsigned first = 0;
    search->records = arena_alloc(arena, MESSAGE_VIEWS * STORE_VERIFY_MAX * sizeof *search->records);
    for (unsigned view = 0; view < search->signatures->n; view++) {
        unsigned n;
        const struct vote *votes = count_votes(arena, search, first, search->keys_of[view], &n);
        unsigned before = search->n_records;
        for (unsigned i = 0; i < MIN(n, STORE_VERIFY_MAX); i++)
            if (!is_listed(search->records, search->n_records, votes[i].number))
                search->records[search->n_records++] = (struct backend_record) { .number = votes[i].number };
        search->proposed += n > STORE_VERIFY_MAX ? n : search->n_records - before;
        first += search->keys_of[view];
    }
}

/*
 * Fetches the set of every key, each set once: the body and the full view of a message have half of their
 * hashes in common.
 */
static bool fetch_sets(struct store *store, struct arena *arena, enum backend_read read, int64_t timeout,
                       struct search *search, GError **error)
{
    uint32_t buckets[MESSAGE_VIEWS * MEMBERS_KEYS_MAX], place[MESSAGE_VIEWS * MEMBERS_KEYS_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < search->n_keys; i++) {
        unsigned at = 0;
        while (at < n && buckets[at] != search->keys[i].bucket)
            at++;
        buckets[at] = search->keys[i].bucket;
        place[i] = at;
        n = MAX(n, at + 1);
    }
    struct backend_set *fetched = arena_alloc(arena, n * sizeof *fetched);
    if (!store->backend->ops->sets(store->backend, arena, read, buckets, n, fetched, timeout, error))
        return false;
    search->sets = arena_alloc(arena, search->n_keys * sizeof *search->sets);
    for (unsigned i = 0; i < search->n_keys; i++)
        search->sets[i] = fetched[place[i]];
    return true;
}

bool search_run(struct store *store, struct arena *arena, const struct signature_set *signatures,
                enum backend_read read, int64_t timeout, struct search *out, GError **error)
{
    const struct backend_ops *ops = store->backend->ops;
    int64_t deadline = g_get_monotonic_time() + timeout * 1000;
    *out = (struct search) { .signatures = signatures };
    collect_keys(store, arena, out);
    if (out->n_keys == 0)
        return true;
    if (!fetch_sets(store, arena, read, timeout, out, error))
        return false;
    out->round_trips = 1;
    choose_records(arena, out);
    if (out->n_records == 0)
        return true;
    out->round_trips = 2;
    int64_t left = (deadline - g_get_monotonic_time()) / 1000;
    return ops->records(store->backend, arena, read, out->records, out->n_records, MAX(left, 1), error);
}

/* --- verify ------------------------------------------------------------------------------------- */

/* Close enough for Manku: then no lexicon hash need agree. */
static bool is_within_tables(const struct signature_set *a, const struct signature_set *b)
{
    for (unsigned i = 0; i < a->n; i++)
        for (unsigned j = 0; j < b->n; j++)
            if (a->v[i].view == b->v[j].view && a->v[i].view != MESSAGE_PART &&
                __builtin_popcountll(a->v[i].sketch[0] ^ b->v[j].sketch[0]) <= MANKU_DISTANCE)
                return true;
    return false;
}

/* One variant of a campaign with the message. */
static void fit_variant(const struct store *store, const struct signature_set *signatures,
                        const struct signature_set *variant, const struct signature_rule *rule,
                        struct fit *out)
{
    struct signature_pair pair;
    struct signature_rule by_sketch = *rule;
    by_sketch.min_shared = 0;
    if (store->simhash_tables && is_within_tables(signatures, variant))
        rule = &by_sketch;
    struct signature_likeness likeness = signature_compare_sets(signatures, variant, rule, &pair);
    if (pair.message && signature_closer(&likeness, &out->likeness)) {
        out->likeness = likeness;
        out->index = (unsigned)(pair.message - signatures->v);
        out->view = pair.view;
    }
    for (unsigned i = 0; i < signatures->n; i++)
        for (unsigned j = 0; j < variant->n; j++)
            if (signature_compare(&signatures->v[i], &variant->v[j], rule).distance <= STORE_NEAR)
                out->near |= 1u << i;
}

bool search_fit(const struct store *store, const struct signature_set *signatures,
                const struct signature_rule *rule, const struct backend_record *record, struct fit *out)
{
    struct campaign_reader reader;
    struct signature_set variant = { .n = 0 };
    *out = (struct fit) { .likeness = { .distance = SIGNATURE_BITS } };
    if (!record->bytes || !campaign_reader_init(&reader, record->bytes, record->size, store->lexicon_id))
        return false;
    out->state = reader.state;
    out->last = reader.last;
    out->variants = reader.variants;
    while (variant.n < MESSAGE_VIEWS && campaign_reader_next(&reader, &variant.v[variant.n])) {
        variant.n++;
        if (reader.views > 0)
            continue;
        fit_variant(store, signatures, &variant, rule, out);
        variant.n = 0;
    }
    return !reader.damaged && variant.n == 0;
}

static void take(const struct store *store, const struct search *search, const struct fit *fit,
                 uint32_t number, struct store_match *out)
{
    out->campaign = campaign_id(store->lexicon_id, number);
    out->state = fit->state;
    out->likeness = fit->likeness;
    out->level = fit->likeness.level;
    out->view = fit->view;
    out->of = search->of[fit->index];
}

/* Below the quorum, or taken back: shown as the best candidate perhaps, but never a match. */
static bool may_match(enum store_state state)
{
    return state == STORE_ACTIVE || state == STORE_ALLOWED;
}

static void verify(const struct store *store, const struct search *search, const struct signature_rule *rule,
                   struct store_match *out)
{
    int64_t now = store_now();
    for (unsigned i = 0; i < search->n_records; i++) {
        const struct backend_record *record = &search->records[i];
        struct fit fit;
        if (!search_fit(store, search->signatures, rule, record, &fit) || fit.state == STORE_REVOKED ||
            store_outlived(store, fit.last, now))
            continue;
        if (!may_match(fit.state))
            fit.likeness.level = SIGNATURE_STRANGER;
        bool veto = fit.state == STORE_ALLOWED && fit.likeness.level != SIGNATURE_STRANGER;
        if (veto ? !out->allowed || signature_closer(&fit.likeness, &out->likeness)
                 : !out->allowed && (!out->campaign || signature_closer(&fit.likeness, &out->likeness)))
            take(store, search, &fit, record->number, out);
        out->allowed |= veto;
    }
    if (out->allowed)
        out->level = SIGNATURE_STRANGER;
}

bool store_lookup(struct store *store, const struct signature_set *signatures,
                  const struct signature_rule *rule, struct store_match *out, GError **error)
{
    struct arena *arena = arena_new();
    struct search search;
    GError *failure = NULL;
    memset(out, 0, sizeof *out);
    atomic_fetch_add(&store->lookups, 1);
    bool ok = search_run(store, arena, signatures, BACKEND_READ_ANY, store->timeout, &search, &failure);
    if (ok) {
        out->proposed = search.proposed;
        out->verified = search.n_records;
        out->round_trips = search.round_trips;
        verify(store, &search, rule, out);
    } else {
        atomic_fetch_add(&store->errors, 1);
        g_propagate_error(error, failure);
    }
    arena_free(&arena);
    return ok;
}
