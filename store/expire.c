#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "store/internal.h"

/*
 * Expiry walks over all records, drops those that have outlived the ttl, and then compares records and sets:
 *
 *      for each campaign    owned = Σ mix(bucket, member) over the members that its record owns
 *                           seen  = the same over those that are in the sets
 *
 * Where the sums agree all is well: 24 bytes a campaign, and no record is read twice. Otherwise the record is
 * read again and its members are looked at one by one. Full sets, which lack members on purpose, look the
 * same as a crash; then nothing is found to do.
 */
#define BUCKETS_AT_ONCE 256

struct account {
    uint32_t number;
    uint64_t owned, seen;
};

struct expiry {
    struct store *store;
    struct arena *arena;
    GArray *accounts; /* of struct account, by number once the walk is over */
    GArray *doubtful; /* numbers of campaigns to look at one by one */
    uint64_t dropped, damaged, healed;
    bool tables; /* Manku's are in use */
    int64_t now;
};

static uint64_t trace(const struct backend_member *m)
{
    return hash_mix(hash_mix(m->bucket + 1) ^ m->member);
}

/* --- the records -------------------------------------------------------------------------------- */

static void keep_account(struct expiry *expiry, uint32_t number, const struct backend_member *members,
                         unsigned n)
{
    struct account account = { .number = number };
    for (unsigned i = 0; i < n; i++)
        account.owned += trace(&members[i]);
    g_array_append_val(expiry->accounts, account);
}

static bool look_through_page(struct expiry *expiry, const struct backend_record *records, unsigned n,
                              struct campaign *campaign, GError **error)
{
    struct store *store = expiry->store;
    struct backend_change *drops = arena_alloc(expiry->arena, n * sizeof *drops + 1);
    unsigned n_drops = 0;
    for (unsigned i = 0; i < n; i++) {
        struct backend_member *members;
        uint32_t number = records[i].number;
        if (!campaign_decode(records[i].bytes, records[i].size, store->lexicon_id, campaign)) {
            log_warning("%s: the record of campaign %016" PRIx64 " is damaged: forget it", store->name,
                        campaign_id(store->lexicon_id, number));
            expiry->damaged++;
            continue;
        }
        expiry->tables |= campaign->tables;
        unsigned n_members = store_members_of(store, expiry->arena, number, campaign, &members);
        if (!store_outlived(store, campaign->info.last, expiry->now))
            keep_account(expiry, number, members, n_members);
        else
            drops[n_drops++] = (struct backend_change) {
                .number = number, .revision = campaign->revision, .remove = members, .n_remove = n_members
            };
    }
    if (n_drops > 0 && !store->backend->ops->commit(store->backend, drops, n_drops, store->patience, error))
        return false;
    /* One that changed meanwhile was reported or hit again: it lives. */
    for (unsigned i = 0; i < n_drops; i++)
        expiry->dropped += drops[i].done;
    return true;
}

static int by_number(const void *a, const void *b)
{
    const struct account *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static bool look_through_records(struct expiry *expiry, GError **error)
{
    struct store *store = expiry->store;
    struct campaign *campaign = g_new0(struct campaign, 1);
    bool ok = true;
    for (uint64_t position = 0; ok && position != BACKEND_WALK_END;) {
        struct backend_record *records;
        unsigned n;
        arena_reset(expiry->arena);
        ok = store->backend->ops->walk(store->backend, expiry->arena, &position, &records, &n,
                                       store->patience, error) &&
             look_through_page(expiry, records, n, campaign, error);
    }
    g_free(campaign);
    g_array_sort(expiry->accounts, by_number);
    return ok;
}

/* --- the sets ----------------------------------------------------------------------------------- */

static struct account *account_of(struct expiry *expiry, uint32_t number)
{
    struct account wanted = { .number = number };
    if (expiry->accounts->len == 0)
        return NULL;
    return bsearch(&wanted, expiry->accounts->data, expiry->accounts->len, sizeof wanted, by_number);
}

static bool owns(const struct backend_member *owned, unsigned n, const struct backend_member *member)
{
    for (unsigned i = 0; i < n; i++)
        if (owned[i].bucket == member->bucket && owned[i].member == member->member)
            return true;
    return false;
}

/* Takes out members whose record does not own them; the record is written before its members, so that one
   which is missing after its member was seen is really gone. */
static bool remove_orphans(struct expiry *expiry, const struct backend_member *suspects, unsigned n,
                           GError **error)
{
    struct store *store = expiry->store;
    struct backend_record *records = arena_alloc(expiry->arena, n * sizeof *records + 1);
    struct backend_member *orphans = arena_alloc(expiry->arena, n * sizeof *orphans + 1);
    struct campaign *campaign = ARENA_NEW(expiry->arena, struct campaign);
    struct backend_change change = { .members_only = true, .remove = orphans };
    for (unsigned i = 0; i < n; i++)
        records[i] = (struct backend_record) { .number = members_number(suspects[i].member) };
    if (!store->backend->ops->records(store->backend, expiry->arena, BACKEND_READ_LAST, records, n,
                                      store->patience, error))
        return false;
    for (unsigned i = 0; i < n; i++) {
        struct backend_member *owned = NULL;
        unsigned n_owned = 0;
        if (records[i].bytes &&
            campaign_decode(records[i].bytes, records[i].size, store->lexicon_id, campaign))
            n_owned = store_members_of(store, expiry->arena, records[i].number, campaign, &owned);
        else if (records[i].bytes)
            continue; /* damaged: whose they are is not known */
        if (!owns(owned, n_owned, &suspects[i]))
            orphans[change.n_remove++] = suspects[i];
    }
    expiry->healed += change.n_remove;
    return change.n_remove == 0 ||
           store->backend->ops->commit(store->backend, &change, 1, store->patience, error);
}

/* Which members to doubt: in the first pass those of no known record, in the second those of the doubtful. */
typedef bool (*doubt)(struct expiry *expiry, const struct backend_member *member);

static bool is_of_nobody(struct expiry *expiry, const struct backend_member *member)
{
    struct account *account = account_of(expiry, members_number(member->member));
    if (account)
        account->seen += trace(member);
    return !account;
}

static int by_value(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* They were noted in the order of their numbers. */
static bool is_of_doubtful(struct expiry *expiry, const struct backend_member *member)
{
    uint32_t number = members_number(member->member);
    return bsearch(&number, expiry->doubtful->data, expiry->doubtful->len, sizeof number, by_value) != NULL;
}

static bool fetch(struct expiry *expiry, const uint32_t *buckets, unsigned n, struct backend_set *sets,
                  GError **error)
{
    struct store *store = expiry->store;
    arena_reset(expiry->arena);
    return store->backend->ops->sets(store->backend, expiry->arena, BACKEND_READ_LAST, buckets, n, sets,
                                     store->patience, error);
}

static bool remove_all(struct expiry *expiry, const struct backend_member *suspects, unsigned n,
                       GError **error)
{
    bool ok = true;
    for (unsigned i = 0; ok && i < n; i += BUCKETS_AT_ONCE)
        ok = remove_orphans(expiry, suspects + i, MIN(n - i, BUCKETS_AT_ONCE), error);
    return ok;
}

/* A set that somebody else made a giant is seen in parts: what is nobody's goes, until it is all to be seen.
 */
static bool thin_out(struct expiry *expiry, uint32_t bucket, GError **error)
{
    uint64_t before;
    bool giant = true;
    do {
        struct backend_set set;
        unsigned n = 0;
        before = expiry->healed;
        if (!fetch(expiry, &bucket, 1, &set, error))
            return false;
        giant = set.n > MEMBERS_OF_ONE_SET;
        struct backend_member *suspects = arena_alloc(expiry->arena, set.n * sizeof *suspects + 1);
        for (unsigned i = 0; i < set.n; i++)
            if (!account_of(expiry, members_number(set.members[i])))
                suspects[n++] = (struct backend_member) { bucket, set.members[i] };
        if (!remove_all(expiry, suspects, n, error))
            return false;
    } while (giant && expiry->healed > before);
    return true;
}

/* The members of some sets that are in doubt; NULL with the error. */
static struct backend_member *find_suspects(struct expiry *expiry, const uint32_t *buckets, unsigned n,
                                            doubt is_doubtful, unsigned *n_out, GError **error)
{
    struct backend_set sets[BUCKETS_AT_ONCE];
    bool giants = false;
    unsigned total = 0;
    if (!fetch(expiry, buckets, n, sets, error))
        return NULL;
    for (unsigned i = 0; i < n; i++)
        if (sets[i].n > MEMBERS_OF_ONE_SET) {
            giants = true;
            if (!thin_out(expiry, buckets[i], error))
                return NULL;
        }
    if (giants && !fetch(expiry, buckets, n, sets, error))
        return NULL;
    for (unsigned i = 0; i < n; i++)
        total += sets[i].n;
    struct backend_member *suspects = arena_alloc(expiry->arena, (total + 1) * sizeof *suspects);
    *n_out = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < sets[i].n; j++) {
            suspects[*n_out] = (struct backend_member) { buckets[i], sets[i].members[j] };
            *n_out += is_doubtful(expiry, &suspects[*n_out]);
        }
    return suspects;
}

static bool look_through_some(struct expiry *expiry, uint32_t base, doubt is_doubtful, GError **error)
{
    uint64_t end = base + (UINT64_C(1) << expiry->store->bucket_bits);
    for (uint64_t first = base; first < end; first += BUCKETS_AT_ONCE) {
        uint32_t buckets[BUCKETS_AT_ONCE];
        unsigned n = (unsigned)MIN(BUCKETS_AT_ONCE, end - first), n_suspects;
        for (unsigned i = 0; i < n; i++)
            buckets[i] = (uint32_t)(first + i);
        struct backend_member *suspects = find_suspects(expiry, buckets, n, is_doubtful, &n_suspects, error);
        if (!suspects || !remove_all(expiry, suspects, n_suspects, error))
            return false;
    }
    return true;
}

static bool look_through_sets(struct expiry *expiry, doubt is_doubtful, GError **error)
{
    return look_through_some(expiry, 0, is_doubtful, error) &&
           (!expiry->tables || look_through_some(expiry, BACKEND_TABLES, is_doubtful, error));
}

/* --- campaigns whose sums differ ---------------------------------------------------------------- */

/* Adds what is missing; notes the campaign when the sets hold members of it that it does not own. */
static bool complete(struct expiry *expiry, const struct account *account, GError **error)
{
    struct store *store = expiry->store;
    struct backend_record record = { .number = account->number };
    struct campaign *campaign = ARENA_NEW(expiry->arena, struct campaign);
    struct backend_member *owned;
    uint64_t present = 0;
    if (!store->backend->ops->records(store->backend, expiry->arena, BACKEND_READ_LAST, &record, 1,
                                      store->patience, error))
        return false;
    if (!record.bytes || !campaign_decode(record.bytes, record.size, store->lexicon_id, campaign))
        return true;
    unsigned n = store_members_of(store, expiry->arena, account->number, campaign, &owned);
    uint32_t *buckets = arena_alloc(expiry->arena, n * sizeof *buckets + 1);
    struct backend_set *sets = arena_alloc(expiry->arena, n * sizeof *sets + 1);
    for (unsigned i = 0; i < n; i++)
        buckets[i] = owned[i].bucket;
    if (n > 0 && !store->backend->ops->sets(store->backend, expiry->arena, BACKEND_READ_LAST, buckets, n,
                                            sets, store->patience, error))
        return false;
    struct backend_change change = { .members_only = true, .add = owned };
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < sets[i].n; j++)
            if (sets[i].members[j] == owned[i].member)
                present += trace(&owned[i]);
        if (store_has_room(&sets[i], owned[i].member))
            owned[change.n_add++] = owned[i];
    }
    if (present != account->seen)
        g_array_append_val(expiry->doubtful, account->number);
    expiry->healed += change.n_add;
    return change.n_add == 0 ||
           store->backend->ops->commit(store->backend, &change, 1, store->patience, error);
}

static bool complete_all(struct expiry *expiry, GError **error)
{
    for (guint i = 0; i < expiry->accounts->len; i++) {
        const struct account *account = &g_array_index(expiry->accounts, struct account, i);
        if (account->owned == account->seen)
            continue;
        arena_reset(expiry->arena);
        if (!complete(expiry, account, error))
            return false;
    }
    return true;
}

bool store_expire(struct store *store, uint64_t *dropped_out, GError **error)
{
    struct expiry expiry = {
        .store = store,
        .arena = arena_new(),
        .accounts = g_array_new(FALSE, FALSE, sizeof(struct account)),
        .doubtful = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
        .now = store_now(),
        .tables = store->simhash_tables,
    };
    bool ok = store_may_write(store, error) && look_through_records(&expiry, error) &&
              look_through_sets(&expiry, is_of_nobody, error) && complete_all(&expiry, error) &&
              (expiry.doubtful->len == 0 || look_through_sets(&expiry, is_of_doubtful, error)) &&
              (!store->backend->ops->drop_counts ||
               store->backend->ops->drop_counts(store->backend, (uint32_t)(expiry.now / 86400), error)) &&
              store->backend->ops->recount(store->backend, expiry.accounts->len + expiry.damaged,
                                           store->patience, error);
    if (expiry.healed)
        log_info("%s: %" PRIu64 " members of sets were healed", store->name, expiry.healed);
    if (dropped_out)
        *dropped_out = expiry.dropped;
    g_array_unref(expiry.accounts);
    g_array_unref(expiry.doubtful);
    arena_free(&expiry.arena);
    return ok;
}
