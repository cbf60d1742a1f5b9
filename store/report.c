#include <string.h>

#include "store/internal.h"

/*
 * A report is optimistic: search, decide, commit with what was seen as the condition (the revision of the
 * record that is changed; for a new campaign, the sizes of the sets that had none). When somebody else was
 * faster, all of it happens again. In a Cluster, where no condition covers many sets, who is about to make a
 * new campaign takes a lock named after the message's smallest key, and searches again: the same text is
 * never stored twice, and a near-duplicate reported in the same moment only if it has another smallest key.
 */
struct placement {
    bool allowed_only; /* allow: only allowed prototypes count as the same */
    int best;          /* record that it joins, -1: none */
    bool duplicate;
    bool active;  /* what it joins acts already */
    int refusing; /* record of an allowed prototype that it resembles, -1: none */
};

static bool counts(const struct fit *fit, bool allowed_only)
{
    return allowed_only ? fit->state == STORE_ALLOWED
                        : fit->state == STORE_ACTIVE || fit->state == STORE_CANDIDATE;
}

static bool beats(const struct fit *a, bool a_duplicate, const struct fit *b, bool b_duplicate)
{
    if (a_duplicate != b_duplicate)
        return a_duplicate;
    if (a->likeness.level != b->likeness.level)
        return a->likeness.level > b->likeness.level;
    return a->likeness.similarity > b->likeness.similarity;
}

/* Which of the records does the message belong to? */
static void place(const struct store *store, const struct search *search, const struct signature_rule *rule,
                  struct placement *out)
{
    struct fit best = { 0 };
    int64_t now = store_now();
    unsigned all = (1u << search->signatures->n) - 1;
    out->best = out->refusing = -1;
    out->duplicate = false;
    for (unsigned i = 0; i < search->n_records; i++) {
        struct fit fit;
        if (!search_fit(store, search->signatures, rule, &search->records[i], &fit) ||
            store_outlived(store, fit.last, now))
            continue;
        bool duplicate = fit.near == all, match = fit.likeness.level != SIGNATURE_STRANGER;
        if (fit.state == STORE_ALLOWED && (match || duplicate))
            out->refusing = (int)i;
        /* A campaign with no room for another variant is no place for one: better a new campaign. */
        if (!counts(&fit, out->allowed_only) || !(duplicate || (match && fit.variants < STORE_VARIANTS)))
            continue;
        if (out->best < 0 || beats(&fit, duplicate, &best, out->duplicate)) {
            out->best = (int)i;
            out->duplicate = duplicate;
            out->active = fit.state == STORE_ACTIVE;
            best = fit;
        }
    }
}

/* --- members ------------------------------------------------------------------------------------ */

static bool is_among(const struct backend_member *members, unsigned n, struct backend_member wanted)
{
    for (unsigned i = 0; i < n; i++)
        if (members[i].member == wanted.member && members[i].bucket == wanted.bucket)
            return true;
    return false;
}

unsigned store_members(const struct store *store, struct arena *arena, uint32_t number, bool tables,
                       const struct signature_set *variants, unsigned n_variants, struct backend_member **out)
{
    struct members_key keys[MEMBERS_KEYS_MAX];
    unsigned most = 0, n = 0;
    for (unsigned i = 0; i < n_variants; i++)
        for (unsigned j = 0; j < variants[i].n; j++)
            most += variants[i].v[j].n_lex + SIGNATURE_ODD_KEYS + (tables ? MANKU_MAX_TABLES : 0);
    *out = arena_alloc(arena, most * sizeof **out + 1);
    for (unsigned i = 0; i < n_variants; i++)
        for (unsigned j = 0; j < variants[i].n; j++) {
            unsigned n_keys = members_keys(&variants[i].v[j], store->bucket_bits, keys);
            n_keys += members_odd_keys(&variants[i].v[j], store->bucket_bits, keys + n_keys);
            if (tables)
                n_keys += members_table_keys(&variants[i].v[j], store->bucket_bits, keys + n_keys);
            for (unsigned k = 0; k < n_keys; k++) {
                struct backend_member one = { keys[k].bucket, members_pack(keys[k].tag, number) };
                if (!is_among(*out, n, one))
                    (*out)[n++] = one;
            }
        }
    return n;
}

unsigned store_members_of(const struct store *store, struct arena *arena, uint32_t number,
                          const struct campaign *campaign, struct backend_member **out)
{
    return store_members(store, arena, number, campaign->tables, campaign->variant, campaign->info.variants,
                         out);
}

bool store_has_room(const struct backend_set *set, uint64_t member)
{
    unsigned same = 0;
    for (unsigned i = 0; i < set->n; i++) {
        if (set->members[i] == member)
            return false;
        same += members_tag(set->members[i]) == members_tag(member);
    }
    return same < MEMBERS_OF_ONE_HASH && set->n < MEMBERS_OF_ONE_SET;
}

/*
 * Of the campaign's members, those that the sets that were read lack and have room for: the new variant's,
 * and what a crash may have left out.
 */
static unsigned missing_members(const struct store *store, struct arena *arena, const struct search *search,
                                uint32_t number, const struct campaign *campaign, struct backend_member **out)
{
    struct backend_member *owned;
    unsigned n = store_members_of(store, arena, number, campaign, &owned), kept = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < search->n_keys; j++)
            if (search->keys[j].bucket == owned[i].bucket &&
                search->keys[j].tag == members_tag(owned[i].member)) {
                if (store_has_room(&search->sets[j], owned[i].member))
                    owned[kept++] = owned[i];
                break;
            }
    *out = owned;
    return kept;
}

/* --- one report --------------------------------------------------------------------------------- */

bool store_is_trusted(const struct store *store, const char *name)
{
    return name && *name && store->trusted && g_strv_contains((const char *const *)store->trusted, name);
}

static uint32_t random_number(const struct store *store)
{
    uint32_t number;
    do
        number = g_random_int();
    while (number == 0 || campaign_id(store->lexicon_id, number) == 0);
    return number;
}

static void next_revision(struct campaign *campaign)
{
    campaign->revision++;
    if (campaign->revision == 0)
        campaign->revision = 1;
}

struct job {
    struct store *store;
    struct arena *arena;
    const struct signature_set *signatures;
    const struct signature_rule *rule;
    const struct store_report *report;
    bool allow;
    bool locked, asked;
    uint64_t lock, token;
    /* what became of it */
    enum store_outcome outcome;
    uint32_t number;
};

static bool was_kept(const struct job *job, const struct backend_change *change, GError **error)
{
    if (!change->kept)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                    "%s did not keep what was written: look at the server's memory limit and eviction policy",
                    job->store->name);
    return change->kept;
}

static void count_report(struct job *job, struct campaign *campaign, unsigned source, int64_t now)
{
    const struct store_report *report = job->report;
    struct store_campaign *info = &campaign->info;
    int64_t when = report->when > 0 ? MIN(report->when, now) : now;
    campaign_count_report(campaign, source, report->reporter ? report->reporter : report->source, when, now);
    if (!*info->label)
        campaign_name(info->label, report->label);
    bool trusted =
        store_is_trusted(job->store, report->source) || store_is_trusted(job->store, report->reporter);
    if (info->state == STORE_CANDIDATE && (trusted || info->reporters >= job->store->quorum))
        info->state = STORE_ACTIVE;
}

bool store_is_near(const struct signature_set *message, const struct signature_set *variant)
{
    for (unsigned i = 0; i < message->n; i++) {
        bool near = false;
        for (unsigned j = 0; j < variant->n; j++)
            near |= message->v[i].view == variant->v[j].view &&
                    signature_compare(&message->v[i], &variant->v[j], &signature_default_rule).distance <=
                        STORE_NEAR;
        if (!near)
            return false;
    }
    return true;
}

/* The variants that the message is like have this source too: one of them, or all between them. */
static void mark_variants(struct campaign *campaign, const struct signature_set *message, unsigned source)
{
    uint8_t bit = (uint8_t)(1u << source), all = bit;
    bool marked = false;
    for (unsigned i = 0; i < campaign->info.variants; i++)
        all &= campaign->from[i];
    if (all)
        return;
    for (unsigned i = 0; i < campaign->info.variants; i++)
        if (store_is_near(message, &campaign->variant[i])) {
            campaign->from[i] |= bit;
            marked = true;
        }
    for (unsigned i = 0; i < campaign->info.variants && !marked; i++)
        campaign->from[i] |= bit;
}

/* Where it belongs, and the campaign there. A record whose signatures alone can be read is no place. */
static void find_place(const struct job *job, struct search *search, struct placement *placement,
                       struct campaign *campaign)
{
    for (;;) {
        place(job->store, search, job->rule, placement);
        if (placement->best < 0)
            return;
        struct backend_record *record = &search->records[placement->best];
        if (campaign_decode(record->bytes, record->size, job->store->lexicon_id, campaign))
            return;
        memset(campaign, 0, sizeof *campaign);
        record->bytes = NULL;
    }
}

/* The campaign as it will be, from what it was. */
static void update_campaign(struct job *job, const struct search *search, const struct placement *placement,
                            struct campaign *campaign)
{
    if (placement->best >= 0) {
        job->number = search->records[placement->best].number;
        job->outcome = placement->duplicate ? STORE_DUPLICATE : STORE_MERGED;
    } else {
        campaign->info.state = job->allow ? STORE_ALLOWED : STORE_CANDIDATE;
        campaign->revision = g_random_int();
        job->number = random_number(job->store);
        job->outcome = STORE_NEW;
    }
    campaign->tables |= job->store->simhash_tables;
    unsigned source = campaign_source(&campaign->info, job->report->source);
    if (placement->duplicate) {
        mark_variants(campaign, job->signatures, source);
    } else {
        campaign->from[campaign->info.variants] = (uint8_t)(1u << source);
        campaign->variant[campaign->info.variants++] = *job->signatures;
    }
    count_report(job, campaign, source, store_now());
    if (campaign->info.state == STORE_CANDIDATE)
        job->outcome = STORE_PENDING;
}

/* Who made a campaign meanwhile changed the size of its sets. One that is full takes no member of anybody. */
static const struct backend_guard *guard_sets(struct arena *arena, const struct search *search,
                                              unsigned *n_out)
{
    struct backend_guard *guards = arena_alloc(arena, search->n_keys * sizeof *guards + 1);
    *n_out = 0;
    for (unsigned i = 0; i < search->n_keys; i++)
        if (search->sets[i].n < MEMBERS_OF_ONE_SET)
            guards[(*n_out)++] = (struct backend_guard) { search->keys[i].bucket, search->sets[i].n };
    return guards;
}

static bool is_out_of_reach(const struct job *job, const struct backend_change *change, GError **error)
{
    if (change->n_add > 0 || change->revision != 0)
        return false;
    g_set_error(
        error, REFRAIN_ERROR, REFRAIN_ERROR_REFUSED,
        "every set of this message in %s is full: make a lexicon with more buckets or a larger --keep",
        job->store->name);
    return true;
}

/* True when the lock is needed and not held yet: whatever comes of it, the next attempt searches again. */
static bool takes_lock(struct job *job, const struct search *search, GError **error)
{
    struct backend *backend = job->store->backend;
    if (backend->atomic || job->locked)
        return false;
    job->lock = UINT64_MAX;
    for (unsigned i = 0; i < search->n_keys; i++)
        job->lock = MIN(job->lock, (uint64_t)search->keys[i].bucket << 32 | search->keys[i].tag);
    job->token = (uint64_t)g_random_int() << 32 | g_random_int();
    backend->ops->lock(backend, job->lock, job->token, job->store->patience, &job->locked, error);
    return true;
}

static void release_lock(struct job *job)
{
    struct backend *backend = job->store->backend;
    if (job->locked)
        backend->ops->unlock(backend, job->lock, job->token, job->store->patience);
    job->locked = false;
}

/* What is only counted changes nothing for anybody's mail; anything else may hurt. Asked once a report. */
static bool is_too_common(struct job *job, const struct placement *placement, bool *too_common_out,
                          GError **error)
{
    struct store_commonness commonness = { 0 };
    bool harmless = job->allow || job->report->force || (placement->duplicate && placement->active);
    bool ok = harmless || job->asked || store_commonness(job->store, job->signatures, &commonness, error);
    job->asked |= !harmless;
    *too_common_out = commonness.too_common;
    return ok;
}

static bool is_refused(struct job *job, const struct search *search, const struct placement *placement,
                       bool *refused_out, GError **error)
{
    bool is_allowed = !job->allow && placement->refusing >= 0;
    job->outcome = STORE_REFUSED;
    job->number = is_allowed ? search->records[placement->refusing].number : 0;
    *refused_out = is_allowed;
    return is_allowed || is_too_common(job, placement, refused_out, error);
}

static bool commit(struct job *job, const struct search *search, const struct placement *placement,
                   struct campaign *campaign, bool *done_out, GError **error)
{
    struct store *store = job->store;
    bool joins = placement->best >= 0;
    struct backend_change change = {
        .number = job->number,
        .read_back = true,
        .revision = joins ? campaign->revision : 0,
    };
    struct backend_member *add;
    if (!joins)
        change.guards = guard_sets(job->arena, search, &change.n_guards);
    next_revision(campaign);
    change.record = campaign_encode(job->arena, campaign, &change.size);
    change.n_add = missing_members(store, job->arena, search, job->number, campaign, &add);
    change.add = add;
    if (is_out_of_reach(job, &change, error) ||
        !store->backend->ops->commit(store->backend, &change, 1, store->patience, error))
        return false;
    *done_out = change.done;
    return !change.done || was_kept(job, &change, error);
}

/* One attempt. *done_out is false when somebody else was faster. */
static bool attempt(struct job *job, bool *done_out, GError **error)
{
    struct store *store = job->store;
    struct search search;
    struct placement placement = { .allowed_only = job->allow };
    struct campaign *campaign = ARENA_NEW(job->arena, struct campaign);
    bool refused;
    *done_out = true;
    if (!search_run(store, job->arena, job->signatures, BACKEND_READ_LAST, store->patience, &search, error))
        return false;
    find_place(job, &search, &placement, campaign);
    if (!is_refused(job, &search, &placement, &refused, error))
        return false;
    if (refused)
        return true;
    GError *failure = NULL;
    if (placement.best < 0 && takes_lock(job, &search, &failure)) {
        *done_out = false;
        if (failure)
            g_propagate_error(error, failure);
        return !failure;
    }
    update_campaign(job, &search, &placement, campaign);
    return commit(job, &search, &placement, campaign, done_out, error);
}

static bool is_storable(const struct store *store, const struct signature_set *signatures, GError **error)
{
    if (signatures->n == 0) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT,
                    "the message has too few words to be recognised: nothing was stored");
        return false;
    }
    for (unsigned i = 0; i < signatures->n; i++)
        if (signatures->v[i].lexicon != store->lexicon_id) {
            g_set_error(
                error, REFRAIN_ERROR, REFRAIN_ERROR_LEXICON,
                "the signature was made with another lexicon than the store's: sign the message again");
            return false;
        }
    return true;
}

static bool run(struct job *job, uint64_t *campaign_out, GError **error)
{
    bool ok = store_may_write(job->store, error) && is_storable(job->store, job->signatures, error);
    bool done = false;
    job->arena = arena_new();
    for (unsigned i = 0; ok && !done && i < STORE_ATTEMPTS; i++) {
        if (i > 0 && !job->locked)
            store_stand_back(i);
        arena_reset(job->arena);
        ok = attempt(job, &done, error);
    }
    release_lock(job);
    arena_free(&job->arena);
    if (ok && !done)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                    "%s: too many others write the same campaign: try again", job->store->name);
    if (ok && done && campaign_out)
        *campaign_out = job->number ? campaign_id(job->store->lexicon_id, job->number) : 0;
    return ok && done;
}

bool store_report(struct store *store, const struct signature_set *signatures,
                  const struct signature_rule *rule, const struct store_report *report,
                  enum store_outcome *outcome_out, uint64_t *campaign_out, GError **error)
{
    struct job job = { .store = store, .signatures = signatures, .rule = rule, .report = report };
    bool ok = run(&job, campaign_out, error);
    if (ok && outcome_out)
        *outcome_out = job.outcome;
    return ok;
}

bool store_allow(struct store *store, const struct signature_set *signatures,
                 const struct store_report *report, uint64_t *campaign_out, GError **error)
{
    struct job job = {
        .store = store,
        .signatures = signatures,
        .rule = &signature_default_rule,
        .report = report,
        .allow = true,
    };
    return run(&job, campaign_out, error);
}

bool store_batch_begin(struct store *store, GError **error)
{
    const struct backend_ops *ops = store->backend->ops;
    return store_may_write(store, error) && (!ops->batch_begin || ops->batch_begin(store->backend, error));
}

bool store_batch_end(struct store *store, GError **error)
{
    const struct backend_ops *ops = store->backend->ops;
    return !ops->batch_end || ops->batch_end(store->backend, error);
}
