#include <string.h>

#include "store/internal.h"

/*
 * What another site knows about a campaign is taken over as the word of one reporter, the source, and by
 * setting counters, not adding to them: importing the same file again changes nothing.
 *
 * A trusted source decides the state. The word of any other makes a candidate at most, until somebody here
 * (or the quorum) confirms it; and it can neither allow nor revoke anything.
 */
struct import {
    struct store *store;
    struct arena *arena;
    const struct store_campaign *theirs;
    const struct signature_set *variants;
    unsigned n_variants;
    const char *source;
    bool trusted;
    enum store_outcome outcome;
};

/*
 * The sources that it comes from, as bits: the one that is named; or, where our own campaign comes back,
 * those that it had, whose variants are no longer known apart.
 */
static unsigned add_sources(const struct import *import, struct store_campaign *ours)
{
    const struct store_campaign *theirs = import->theirs;
    if (*import->source)
        return 1u << campaign_source(ours, import->source);
    unsigned from = 1u << campaign_source(ours, theirs->source);
    for (unsigned i = 0; i < theirs->n_also; i++)
        from |= 1u << campaign_source(ours, theirs->also[i]);
    return from;
}

/* Takes over variants that are new here; returns how many. True in *changed_out when others have a new
 * source. */
static unsigned add_variants(const struct import *import, struct campaign *ours, unsigned from,
                             bool *changed_out)
{
    unsigned added = 0, before = ours->info.variants;
    for (unsigned i = 0; i < import->n_variants; i++) {
        bool known = import->variants[i].n == 0;
        for (unsigned j = 0; j < ours->info.variants && import->variants[i].n > 0; j++) {
            if (!store_is_near(&import->variants[i], &ours->variant[j]))
                continue;
            known = true;
            *changed_out |= j < before && (from & ~ours->from[j]);
            ours->from[j] |= (uint8_t)from;
        }
        if (!known && ours->info.variants < STORE_VARIANTS) {
            ours->from[ours->info.variants] = (uint8_t)from;
            ours->variant[ours->info.variants++] = import->variants[i];
            added++;
        }
    }
    return added;
}

/* Sets, and never lowers, what one reporter has said. True when that changed something. */
static bool set_reports(struct store_campaign *info, unsigned source, const char *name, uint32_t reports)
{
    char cut[STORE_NAME_MAX];
    campaign_name(cut, name);
    for (unsigned i = 0; i < info->n_reporter; i++) {
        struct store_reporter *known = &info->reporter[i];
        if (known->source != source || strcmp(known->name, cut) != 0)
            continue;
        if (known->reports >= reports)
            return false;
        info->reports += reports - known->reports;
        known->reports = reports;
        return true;
    }
    if (info->n_reporter == STORE_REPORTERS)
        return false;
    memcpy(info->reporter[info->n_reporter].name, cut, sizeof cut);
    info->reporter[info->n_reporter].source = source;
    info->reporter[info->n_reporter++].reports = reports;
    info->reporters = MAX(info->reporters, campaign_distinct_reporters(info));
    info->reports += reports;
    return true;
}

/* The number here of the source that a reporter there has. */
static unsigned source_of(const struct store_campaign *theirs, const struct store_reporter *reporter,
                          struct store_campaign *ours)
{
    if (reporter->source > theirs->n_also)
        return STORE_SOURCES;
    return campaign_source(ours, reporter->source ? theirs->also[reporter->source - 1] : theirs->source);
}

/* Without a source it is our own export that comes back: its reporters are ours. */
static bool add_reports(const struct import *import, struct store_campaign *ours)
{
    const struct store_campaign *theirs = import->theirs;
    bool changed = false;
    if (*import->source)
        return set_reports(ours, campaign_source(ours, import->source), import->source,
                           (uint32_t)CLAMP(theirs->reports, 1, UINT32_MAX));
    for (unsigned i = 0; i < MIN(theirs->n_reporter, STORE_REPORTERS); i++)
        changed |= set_reports(ours, source_of(theirs, &theirs->reporter[i], ours), theirs->reporter[i].name,
                               theirs->reporter[i].reports);
    if (ours->reports < theirs->reports) {
        ours->reports = theirs->reports;
        changed = true;
    }
    return changed;
}

static bool set_state(const struct import *import, struct store_campaign *ours, bool is_new)
{
    enum store_state before = ours->state;
    unsigned needed = MAX(import->store->quorum, 2);
    if (is_new)
        ours->state = import->trusted ? import->theirs->state : STORE_CANDIDATE;
    else if (import->trusted && import->theirs->state == STORE_REVOKED)
        ours->state = STORE_REVOKED;
    else if (import->trusted && import->theirs->state == STORE_ACTIVE && ours->state == STORE_CANDIDATE)
        ours->state = STORE_ACTIVE;
    if (ours->state == STORE_CANDIDATE && ours->reporters >= needed)
        ours->state = STORE_ACTIVE;
    return ours->state != before;
}

static bool add_facts(const struct import *import, struct store_campaign *ours)
{
    const struct store_campaign before = *ours, *theirs = import->theirs;
    int64_t now = store_now(), last = theirs->last > 0 ? MIN(theirs->last, now) : now;
    int64_t first = theirs->first > 0 ? MIN(theirs->first, last) : last;
    ours->first = ours->first ? MIN(ours->first, first) : first;
    ours->last = MAX(ours->last, last);
    ours->hits = MAX(ours->hits, theirs->hits);
    if (!*ours->label)
        campaign_name(ours->label, theirs->label);
    return before.first != ours->first || before.last != ours->last || before.hits != ours->hits ||
           strcmp(before.label, ours->label) != 0;
}

static bool belongs(const struct import *import, const struct signature_set *variant,
                    const struct backend_record *record, struct fit *fit)
{
    bool allowed = import->theirs->state == STORE_ALLOWED;
    return search_fit(import->store, variant, &signature_default_rule, record, fit) &&
           fit->likeness.level != SIGNATURE_STRANGER && (fit->state == STORE_ALLOWED) == allowed;
}

/* An id is only a hint: what it names here must resemble what they mean. */
static bool find_by_id(struct import *import, struct backend_record *record, GError **error)
{
    struct store *store = import->store;
    struct fit fit;
    if (!campaign_number(store->lexicon_id, import->theirs->id, &record->number))
        return true;
    if (!store->backend->ops->records(store->backend, import->arena, BACKEND_READ_LAST, record, 1,
                                      store->patience, error))
        return false;
    for (unsigned i = 0; i < import->n_variants; i++)
        if (belongs(import, &import->variants[i], record, &fit))
            return true;
    record->bytes = NULL;
    return true;
}

static bool find_by_variant(struct import *import, const struct signature_set *variant,
                            struct backend_record *record, GError **error)
{
    struct search search;
    struct fit fit;
    double best = -1;
    if (!search_run(import->store, import->arena, variant, BACKEND_READ_LAST, import->store->patience,
                    &search, error))
        return false;
    for (unsigned i = 0; i < search.n_records; i++)
        if (belongs(import, variant, &search.records[i], &fit) && fit.likeness.similarity > best) {
            best = fit.likeness.similarity;
            *record = search.records[i];
        }
    return true;
}

/* The campaign here that one of the variants belongs to: the one of the same id before any other. */
static bool find_ours(struct import *import, struct campaign *ours, uint32_t *number_out, GError **error)
{
    struct backend_record record = { 0 };
    *number_out = 0;
    if (!find_by_id(import, &record, error))
        return false;
    for (unsigned i = 0; i < import->n_variants && !record.bytes; i++)
        if (!find_by_variant(import, &import->variants[i], &record, error))
            return false;
    if (record.bytes && campaign_decode(record.bytes, record.size, import->store->lexicon_id, ours))
        *number_out = record.number;
    return true;
}

/* Those of the campaign's members that are missing in the sets, as far as there is room. */
static bool missing_members(struct import *import, uint32_t number, const struct campaign *campaign,
                            struct backend_member **out, unsigned *n_out, GError **error)
{
    struct store *store = import->store;
    unsigned n = store_members_of(store, import->arena, number, campaign, out);
    uint32_t *buckets = arena_alloc(import->arena, n * sizeof *buckets + 1);
    struct backend_set *sets = arena_alloc(import->arena, n * sizeof *sets + 1);
    for (unsigned i = 0; i < n; i++)
        buckets[i] = (*out)[i].bucket;
    *n_out = 0;
    if (n > 0 && !store->backend->ops->sets(store->backend, import->arena, BACKEND_READ_LAST, buckets, n,
                                            sets, store->patience, error))
        return false;
    for (unsigned i = 0; i < n; i++)
        if (store_has_room(&sets[i], (*out)[i].member))
            (*out)[(*n_out)++] = (*out)[i];
    return true;
}

static uint32_t new_number(const struct import *import, unsigned attempt)
{
    uint32_t number;
    if (attempt > 0 || !campaign_number(import->store->lexicon_id, import->theirs->id, &number))
        while ((number = g_random_int()) == 0)
            ;
    return number;
}

static bool attempt(struct import *import, unsigned nth, bool *done_out, GError **error)
{
    struct store *store = import->store;
    struct campaign *ours = ARENA_NEW(import->arena, struct campaign);
    struct backend_change change = { 0 };
    if (!find_ours(import, ours, &change.number, error))
        return false;
    bool is_new = change.number == 0;
    if (is_new) {
        memset(ours, 0, sizeof *ours);
        ours->revision = g_random_int();
        change.number = new_number(import, nth);
    } else {
        change.revision = ours->revision;
    }
    ours->tables |= store->simhash_tables;
    unsigned sources_before = ours->info.n_also;
    bool changed = !*ours->info.source;
    unsigned from = add_sources(import, &ours->info), added = add_variants(import, ours, from, &changed);
    changed |= ours->info.n_also != sources_before;
    changed |= add_reports(import, &ours->info);
    changed |= add_facts(import, &ours->info);
    changed |= set_state(import, &ours->info, is_new);
    import->outcome = is_new ? STORE_NEW : added ? STORE_MERGED : STORE_DUPLICATE;
    if (ours->info.state == STORE_CANDIDATE)
        import->outcome = STORE_PENDING;
    struct backend_member *add;
    if (!missing_members(import, change.number, ours, &add, &change.n_add, error))
        return false;
    change.add = add;
    *done_out = !is_new && !added && !changed && change.n_add == 0;
    if (*done_out)
        return true;
    ours->revision = ours->revision == UINT32_MAX ? 1 : ours->revision + 1;
    change.record = campaign_encode(import->arena, ours, &change.size);
    bool ok = store->backend->ops->commit(store->backend, &change, 1, store->patience, error);
    *done_out = change.done;
    return ok;
}

static bool is_importable(const struct import *import, GError **error)
{
    for (unsigned i = 0; i < import->n_variants; i++)
        for (unsigned j = 0; j < import->variants[i].n; j++)
            if (import->variants[i].v[j].lexicon != import->store->lexicon_id) {
                g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_LEXICON,
                            "the campaign was exported with another lexicon: both sites must share one");
                return false;
            }
    if (import->n_variants > 0 && import->variants[0].n > 0)
        return true;
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "the campaign has no signature");
    return false;
}

bool store_import(struct store *store, const struct store_campaign *campaign,
                  const struct signature_set *variants, unsigned n_variants, const char *source, bool trusted,
                  enum store_outcome *outcome_out, GError **error)
{
    struct import import = {
        .store = store,
        .theirs = campaign,
        .variants = variants,
        .n_variants = MIN(n_variants, STORE_VARIANTS),
        .source = source ? source : "",
        .trusted = trusted ||
                   (source && store->trusted && g_strv_contains((const char *const *)store->trusted, source)),
    };
    bool ok = store_may_write(store, error) && is_importable(&import, error), done = false;
    if (ok && !import.trusted && (campaign->state == STORE_ALLOWED || campaign->state == STORE_REVOKED)) {
        import.outcome = STORE_REFUSED;
        done = true;
    }
    import.arena = arena_new();
    for (unsigned i = 0; ok && !done && i < STORE_ATTEMPTS; i++) {
        if (i > 0)
            store_stand_back(i);
        arena_reset(import.arena);
        ok = attempt(&import, i, &done, error);
    }
    arena_free(&import.arena);
    if (ok && !done)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                    "%s: too many others write the same campaign: try again", store->name);
    if (ok && done && outcome_out)
        *outcome_out = import.outcome;
    return ok && done;
}
