#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "store/internal.h"

const struct store_options store_default_options = {
    .url = "lmdb:" LOCALSTATEDIR "/lib/refrain/store",
    .timeout = 200,
    .ttl = INT64_C(90) * 24 * 3600 * 1000,
    .quorum = 1,
    .clean_share = 0.01,
    .clean_days = 3,
};

/* What is not on the mail's path may take its time; but no call hangs. */
#define PATIENCE 5000

static const char *const state_names[STORE_STATES] = { "active", "candidate", "allowed", "revoked" };

const char *store_state_name(enum store_state state)
{
    return state < STORE_STATES ? state_names[state] : "unknown";
}

uint64_t store_campaign_id(const struct lexicon *lexicon, uint32_t number)
{
    return campaign_id(lexicon_id(lexicon), number);
}

uint32_t store_campaign_number(const struct lexicon *lexicon, uint64_t campaign)
{
    uint32_t number;
    return campaign_number(lexicon_id(lexicon), campaign, &number) ? number : 0;
}

int64_t store_now(void)
{
    return g_get_real_time() / G_USEC_PER_SEC;
}

bool store_outlived(const struct store *store, int64_t last, int64_t now)
{
    return store->ttl > 0 && last + store->ttl < now;
}

bool store_may_write(const struct store *store, GError **error)
{
    if (!store->read_only)
        return true;
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_REFUSED,
                "%s is open for reading only: write through a store that is not", store->name);
    return false;
}

void store_stand_back(unsigned attempt)
{
    g_usleep((gulong)g_random_int_range(100, 1000 << MIN(attempt, 6)));
}

/* --- opening and closing ------------------------------------------------------------------------ */

static struct url *open_url(const struct store_options *options, const char *text, GError **error)
{
    const struct url_access access = {
        .password_file = options->password_file,
        .tls = { options->tls_ca, options->tls_cert, options->tls_key, options->tls_name },
    };
    return url_parse(text, &access, error);
}

/* Who set up TLS means to use it: a missing letter must not send mail's signatures and passwords in the
 * clear. */
static bool tls_is_used(const struct store_options *options, const struct url *url,
                        const struct url *read_url, GError **error)
{
    bool wanted = options->tls_ca || options->tls_cert || options->tls_key || options->tls_name;
    bool network = url->kind != URL_LMDB && url->kind != URL_UNIX;
    if (!wanted || !network || url->tls || (read_url && read_url->tls))
        return true;
    g_set_error(
        error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG,
        "%s is in the clear, but keys of TLS are set: write rediss instead of redis, or take out the tls- "
        "keys",
        url->name);
    return false;
}

/* A store that nobody has made yet is an empty one. */
static struct backend *open_embedded(const struct url *url, const struct backend_plan *plan, GError **error)
{
    g_autoptr(GError) failure = NULL;
    struct backend *backend = lmdb_backend_open(url, plan, &failure);
    if (!backend && plan->must_exist && g_error_matches(failure, REFRAIN_ERROR, REFRAIN_ERROR_MISSING))
        return absent_backend_open(url->path);
    if (failure)
        g_propagate_error(error, g_steal_pointer(&failure));
    return backend;
}

static struct backend *open_backend(const struct store_options *options, const struct lexicon *lexicon,
                                    const struct url *url, GError **error)
{
    g_autoptr(GError) failure = NULL;
    struct url *read_url = NULL;
    if (options->read_url && *options->read_url) {
        read_url = open_url(options, options->read_url, &failure);
        if (!read_url) {
            g_propagate_prefixed_error(error, g_steal_pointer(&failure), "read-url: ");
            return NULL;
        }
    }
    struct backend_plan plan = {
        .lexicon = lexicon_id(lexicon),
        .bucket_bits = lexicon_plan_of(lexicon)->bucket_bits,
        .read_only = options->read_only,
        .must_exist = options->must_exist || options->read_only,
        .wait_replicas = options->wait_replicas,
        .read_url = read_url,
    };
    struct backend *backend = NULL;
    if (tls_is_used(options, url, read_url, error))
        backend =
            url->kind == URL_LMDB ? open_embedded(url, &plan, error) : redis_backend_open(url, &plan, error);
    url_free(&read_url);
    return backend;
}

struct store *store_open(const struct store_options *options, struct lexicon *lexicon, GError **error)
{
    const char *text = options->url ? options->url : store_default_options.url;
    struct url *url = open_url(options, text, error);
    if (!url)
        return NULL;
    struct backend *backend = open_backend(options, lexicon, url, error);
    struct store *store = NULL;
    if (backend) {
        store = g_new0(struct store, 1);
        store->backend = backend;
        store->lexicon = lexicon_ref(lexicon);
        store->lexicon_id = lexicon_id(lexicon);
        store->bucket_bits = lexicon_plan_of(lexicon)->bucket_bits;
        store->name = g_strdup(url->name);
        store->timeout = options->timeout > 0 ? options->timeout : store_default_options.timeout;
        store->patience = MAX(store->timeout, PATIENCE);
        store->ttl = (options->ttl + 999) / 1000;
        store->quorum = MAX(options->quorum, 1);
        store->trusted = g_strdupv((char **)options->trusted);
        store->clean_share = options->clean_share;
        store->clean_days = MAX(options->clean_days, 1);
        store->read_only = options->read_only;
        store->simhash_tables = options->simhash_tables;
        store->hits = options->read_only ? NULL : hits_start(store);
        store->clean = options->read_only ? NULL : clean_start(store);
    }
    url_free(&url);
    return store;
}

void store_close(struct store **store)
{
    struct store *gone = *store;
    *store = NULL;
    if (!gone)
        return;
    hits_stop(&gone->hits);
    clean_stop(&gone->clean);
    gone->backend->ops->close(gone->backend);
    lexicon_unref(gone->lexicon);
    g_strfreev(gone->trusted);
    g_free(gone->name);
    g_free(gone);
}

bool store_is_there(const struct store *store)
{
    return !backend_is_absent(store->backend);
}

const char *store_name(const struct store *store)
{
    return store->name;
}

void store_hit(struct store *store, uint64_t campaign)
{
    uint32_t number;
    if (store->hits && campaign_number(store->lexicon_id, campaign, &number))
        hits_add(store->hits, number);
}

void store_health(const struct store *store, struct store_health *out)
{
    memset(out, 0, sizeof *out);
    store->backend->ops->health(store->backend, out);
    out->lookups = atomic_load(&store->lookups);
    out->errors = atomic_load(&store->errors);
}

bool store_ping(struct store *store, GError **error)
{
    return store->backend->ops->ping(store->backend, !store->read_only, store->patience, error);
}

/* --- reading campaigns -------------------------------------------------------------------------- */

static void set_missing(const struct store *store, uint64_t id, GError **error)
{
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_MISSING,
                "no campaign %016" PRIx64 " in %s: refrain list shows those there are", id, store->name);
}

struct campaign *store_fetch(struct store *store, struct arena *arena, uint64_t id, uint32_t *number_out,
                             GError **error)
{
    struct backend_record record = { 0 };
    if (!campaign_number(store->lexicon_id, id, &record.number)) {
        set_missing(store, id, error);
        return NULL;
    }
    *number_out = record.number;
    if (!store->backend->ops->records(store->backend, arena, BACKEND_READ_LAST, &record, 1, store->patience,
                                      error))
        return NULL;
    if (!record.bytes) {
        set_missing(store, id, error);
        return NULL;
    }
    struct campaign *campaign = ARENA_NEW(arena, struct campaign);
    if (!campaign_decode(record.bytes, record.size, store->lexicon_id, campaign)) {
        g_set_error(
            error, REFRAIN_ERROR, REFRAIN_ERROR_REFUSED,
            "the record of campaign %016" PRIx64 " is damaged: forget the campaign and report it again", id);
        return NULL;
    }
    campaign->info.id = id;
    return campaign;
}

bool store_show(struct store *store, uint64_t campaign, struct store_campaign *out, GError **error)
{
    struct arena *arena = arena_new();
    uint32_t number;
    struct campaign *found = store_fetch(store, arena, campaign, &number, error);
    if (found) {
        campaign_roll(found, store_now());
        *out = found->info;
    }
    arena_free(&arena);
    return found != NULL;
}

bool store_variants(struct store *store, uint64_t campaign, struct signature_set **sets_out, unsigned *n_out,
                    GError **error)
{
    struct arena *arena = arena_new();
    uint32_t number;
    struct campaign *found = store_fetch(store, arena, campaign, &number, error);
    if (found) {
        *n_out = found->info.variants;
        *sets_out = g_memdup2(found->variant, *n_out * sizeof *found->variant);
    }
    arena_free(&arena);
    return found != NULL;
}

/* Calls visit() for each campaign that has not outlived its ttl, with its counters as of now. */
typedef bool (*visit_decoded)(struct campaign *campaign, void *user);

static bool each(struct store *store, visit_decoded visit, void *user, GError **error)
{
    struct arena *arena = arena_new();
    struct campaign *campaign = g_new0(struct campaign, 1);
    uint64_t position = 0;
    int64_t now = store_now();
    unsigned damaged = 0;
    bool ok = true, go_on = true;
    while (ok && go_on && position != BACKEND_WALK_END) {
        struct backend_record *records;
        unsigned n = 0;
        arena_reset(arena);
        ok =
            store->backend->ops->walk(store->backend, arena, &position, &records, &n, store->patience, error);
        for (unsigned i = 0; ok && go_on && i < n; i++) {
            if (!campaign_decode(records[i].bytes, records[i].size, store->lexicon_id, campaign)) {
                damaged++;
                continue;
            }
            campaign->info.id = campaign_id(store->lexicon_id, records[i].number);
            campaign_roll(campaign, now);
            if (!store_outlived(store, campaign->info.last, now))
                go_on = visit(campaign, user);
        }
    }
    if (damaged)
        log_warning("%s: %u records are damaged and not shown", store->name, damaged);
    g_free(campaign);
    arena_free(&arena);
    return ok;
}

struct visitor {
    store_visit visit;
    void *user;
};

static bool visit_info(struct campaign *campaign, void *user)
{
    struct visitor *visitor = user;
    return visitor->visit(&campaign->info, visitor->user);
}

bool store_each(struct store *store, store_visit visit, void *user, GError **error)
{
    struct visitor visitor = { visit, user };
    return each(store, visit_info, &visitor, error);
}

static bool add_up(struct campaign *campaign, void *user)
{
    struct store_stats *stats = user;
    const struct store_campaign *info = &campaign->info;
    stats->campaigns++;
    stats->by_state[info->state]++;
    stats->variants += info->variants;
    stats->reports += info->reports;
    stats->hits += info->hits;
    stats->hits_today += info->days[0];
    stats->reports_today += campaign->reported[0];
    for (unsigned i = 0; i < 7; i++) {
        stats->hits_week += info->days[i];
        stats->reports_week += campaign->reported[i];
    }
    return true;
}

bool store_stats(struct store *store, struct store_stats *out, GError **error)
{
    uint32_t clean[STORE_CLEAN_DAYS];
    memset(out, 0, sizeof *out);
    if (!store->backend->ops->stats(store->backend, out, store->patience, error) ||
        !clean_totals(store, clean, error))
        return false;
    for (unsigned i = 0; i < STORE_CLEAN_DAYS; i++)
        out->clean_week += clean[i];
    return each(store, add_up, out, error);
}
