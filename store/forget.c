#include <stdlib.h>
#include <string.h>

#include "store/internal.h"

static bool too_busy(const struct store *store, GError **error)
{
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                "%s: too many others write the same campaign: try again", store->name);
    return false;
}

/* --- forget ------------------------------------------------------------------------------------- */

/* A record that cannot be read still can be deleted; expiry finds its members. */
static bool forget_damaged(struct store *store, uint32_t number, GError **error)
{
    struct backend_change change = { .number = number, .force = true };
    return store->backend->ops->commit(store->backend, &change, 1, store->patience, error);
}

bool store_forget(struct store *store, uint64_t campaign, GError **error)
{
    struct arena *arena = arena_new();
    bool ok = store_may_write(store, error), done = false;
    for (unsigned i = 0; ok && !done && i < STORE_ATTEMPTS; i++) {
        struct backend_change change = { 0 };
        GError *failure = NULL;
        if (i > 0)
            store_stand_back(i);
        arena_reset(arena);
        struct campaign *found = store_fetch(store, arena, campaign, &change.number, &failure);
        if (!found && g_error_matches(failure, REFRAIN_ERROR, REFRAIN_ERROR_REFUSED) && change.number) {
            g_clear_error(&failure);
            ok = done = forget_damaged(store, change.number, error);
            break;
        }
        ok = found != NULL;
        if (!ok) {
            g_propagate_error(error, failure);
            break;
        }
        struct backend_member *members;
        change.n_remove = store_members_of(store, arena, change.number, found, &members);
        change.remove = members;
        change.revision = found->revision;
        ok = store->backend->ops->commit(store->backend, &change, 1, store->patience, error);
        done = change.done;
    }
    arena_free(&arena);
    return ok && (done || too_busy(store, error));
}

/* --- forget one variant ------------------------------------------------------------------------- */

/* The variant that all views of the message are within STORE_NEAR bits of; -1: none. */
static int nearest_variant(const struct campaign *campaign, const struct signature_set *signatures,
                           unsigned *distance_out)
{
    int best = -1;
    *distance_out = UINT_MAX;
    for (unsigned i = 0; i < campaign->info.variants; i++) {
        unsigned sum = 0, near = 0;
        const struct signature_set *variant = &campaign->variant[i];
        for (unsigned j = 0; j < variant->n; j++)
            for (unsigned k = 0; k < signatures->n; k++) {
                if (variant->v[j].view != signatures->v[k].view)
                    continue;
                struct signature_likeness likeness =
                    signature_compare(&variant->v[j], &signatures->v[k], &signature_default_rule);
                near += likeness.distance <= STORE_NEAR;
                sum += likeness.distance;
            }
        if (near > 0 && near >= MIN(variant->n, signatures->n) && sum < *distance_out) {
            *distance_out = sum;
            best = (int)i;
        }
    }
    return best;
}

/* The campaign and variant that is nearest to the message. */
static bool find_variant(struct store *store, struct arena *arena, const struct signature_set *signatures,
                         struct campaign **campaign_out, uint32_t *number_out, unsigned *variant_out,
                         GError **error)
{
    struct search search;
    unsigned best = UINT_MAX;
    *campaign_out = NULL;
    if (!search_run(store, arena, signatures, BACKEND_READ_LAST, store->patience, &search, error))
        return false;
    for (unsigned i = 0; i < search.n_records; i++) {
        struct campaign *campaign = ARENA_NEW(arena, struct campaign);
        unsigned distance;
        if (!search.records[i].bytes ||
            !campaign_decode(search.records[i].bytes, search.records[i].size, store->lexicon_id, campaign))
            continue;
        int variant = nearest_variant(campaign, signatures, &distance);
        if (variant < 0 || distance >= best)
            continue;
        best = distance;
        *campaign_out = campaign;
        *number_out = search.records[i].number;
        *variant_out = (unsigned)variant;
    }
    return true;
}

static bool is_owned(const struct backend_member *owned, unsigned n, const struct backend_member *member)
{
    for (unsigned i = 0; i < n; i++)
        if (owned[i].bucket == member->bucket && owned[i].member == member->member)
            return true;
    return false;
}

/* A campaign that loses something: `gone` are its members before. It goes wholly when no variant is left. */
static struct backend_change reduce(const struct store *store, struct arena *arena, uint32_t number,
                                    struct campaign *campaign, struct backend_member *gone, unsigned n_gone)
{
    struct backend_change change = { .number = number, .revision = campaign->revision, .remove = gone };
    struct backend_member *kept;
    unsigned n_kept = store_members_of(store, arena, number, campaign, &kept);
    for (unsigned i = 0; i < n_gone; i++)
        if (!is_owned(kept, n_kept, &gone[i]))
            gone[change.n_remove++] = gone[i];
    if (campaign->info.variants > 0) {
        campaign->revision = campaign->revision == UINT32_MAX ? 1 : campaign->revision + 1;
        change.record = campaign_encode(arena, campaign, &change.size);
    }
    return change;
}

static struct backend_change without_variant(const struct store *store, struct arena *arena, uint32_t number,
                                             struct campaign *campaign, unsigned variant)
{
    struct backend_member *gone;
    unsigned n = store_members(store, arena, number, campaign->tables, &campaign->variant[variant], 1, &gone);
    unsigned behind = --campaign->info.variants - variant;
    memmove(&campaign->variant[variant], &campaign->variant[variant + 1],
            behind * sizeof campaign->variant[0]);
    memmove(&campaign->from[variant], &campaign->from[variant + 1], behind);
    return reduce(store, arena, number, campaign, gone, n);
}

bool store_forget_variant(struct store *store, const struct signature_set *signatures, uint64_t *removed_out,
                          GError **error)
{
    struct arena *arena = arena_new();
    bool ok = store_may_write(store, error), done = false;
    *removed_out = 0;
    for (unsigned i = 0; ok && !done && i < STORE_ATTEMPTS; i++) {
        struct campaign *campaign;
        uint32_t number;
        unsigned variant;
        if (i > 0)
            store_stand_back(i);
        arena_reset(arena);
        ok = find_variant(store, arena, signatures, &campaign, &number, &variant, error);
        if (!ok || !campaign) {
            done = ok;
            break;
        }
        struct backend_change change = without_variant(store, arena, number, campaign, variant);
        ok = store->backend->ops->commit(store->backend, &change, 1, store->patience, error);
        done = change.done;
        if (done)
            *removed_out = campaign_id(store->lexicon_id, number);
    }
    arena_free(&arena);
    return ok && (done || too_busy(store, error));
}

/* --- forget a source ---------------------------------------------------------------------------- */

/* Would those who are left have made it active? */
static bool is_confirmed(const struct store *store, const struct store_campaign *info)
{
    bool trusted = store_is_trusted(store, info->source);
    for (unsigned i = 0; i < info->n_also; i++)
        trusted |= store_is_trusted(store, info->also[i]);
    for (unsigned i = 0; i < info->n_reporter; i++)
        trusted |= store_is_trusted(store, info->reporter[i].name);
    return trusted || info->reporters >= store->quorum;
}

static struct backend_change without_source(const struct store *store, struct arena *arena, uint32_t number,
                                            struct campaign *campaign, const char *source)
{
    struct backend_member *gone;
    unsigned n = store_members_of(store, arena, number, campaign, &gone);
    campaign_drop_source(campaign, source);
    if (campaign->info.state == STORE_ACTIVE && !is_confirmed(store, &campaign->info))
        campaign->info.state = STORE_CANDIDATE;
    return reduce(store, arena, number, campaign, gone, n);
}

bool store_forget_source(struct store *store, uint64_t campaign, const char *source, bool dry_run,
                         struct store_campaign *left_out, GError **error)
{
    struct arena *arena = arena_new();
    bool ok = dry_run || store_may_write(store, error), done = false;
    for (unsigned i = 0; ok && !done && i < STORE_ATTEMPTS; i++) {
        uint32_t number;
        if (i > 0)
            store_stand_back(i);
        arena_reset(arena);
        struct campaign *found = store_fetch(store, arena, campaign, &number, error);
        ok = found != NULL;
        if (!ok)
            break;
        struct backend_change change = without_source(store, arena, number, found, source);
        *left_out = found->info;
        ok = dry_run || store->backend->ops->commit(store->backend, &change, 1, store->patience, error);
        done = dry_run || change.done;
    }
    arena_free(&arena);
    return ok && (done || too_busy(store, error));
}
