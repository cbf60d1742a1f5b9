#include "milter/snapshot.h"

#include <string.h>

#include "base/error.h"

/* A store outlives the snapshot that opened it when the next one has the same. */
struct shared_store {
    gatomicrefcount references;
    struct store *store;
};

struct holder {
    struct snapshot snapshot; /* first: a snapshot is its holder */
    gatomicrefcount references;
    struct shared_store *shared;
};

static void shared_store_unref(struct shared_store *shared)
{
    if (shared && g_atomic_ref_count_dec(&shared->references)) {
        store_close(&shared->store);
        g_free(shared);
    }
}

/* --- the parts -------------------------------------------------------------------------------------- */

/* The error of a list, with the place of its key before it. */
static void *located(void *list, const char *path, const char *section, const char *name, GError **error)
{
    if (!list && error && *error) {
        g_autofree char *where = config_where(path, section, name);
        g_prefix_error(error, "%s: %s: ", where, name);
    }
    return list;
}

static bool parse_lists(struct snapshot *s, const char *path, GError **error)
{
    const struct config *c = s->config;
    s->networks = located(network_list_new(c->exempt.networks, error), path, "exempt", "networks", error);
    if (!s->networks)
        return false;
    s->senders = located(address_list_new(c->exempt.senders, error), path, "exempt", "senders", error);
    if (!s->senders)
        return false;
    s->recipients =
        located(address_list_new(c->exempt.recipients, error), path, "exempt", "recipients", error);
    if (!s->recipients)
        return false;
    s->dkim_domains =
        located(domain_list_new(c->exempt.dkim_domains, error), path, "exempt", "dkim-domains", error);
    if (!s->dkim_domains)
        return false;
    s->traps = located(address_list_new(c->trap.recipients, error), path, "trap", "recipients", error);
    return s->traps != NULL;
}

static void copy_settings(struct snapshot *s)
{
    const struct config *c = s->config;
    s->limits = (struct message_limits) {
        .bytes = c->limits.message_bytes,
        .header_bytes = c->limits.header_bytes,
        .parts = c->limits.parts,
        .depth = c->limits.depth,
        .text_bytes = c->limits.text_bytes,
        .terms = c->limits.terms,
    };
    s->rule = (struct signature_rule) {
        .tag = c->match.tag_similarity,
        .reject = c->match.reject_similarity,
        .min_shared = c->match.min_shared,
    };
}

/* Files whose content may have changed while their names did not: a new password, renewed certificates. */
static bool has_files(const struct config *c)
{
    return *c->store.password_file || *c->store.tls_ca || *c->store.tls_cert || *c->store.tls_key;
}

static bool same_store(const struct snapshot *a, const struct snapshot *b)
{
    const struct config *x = a->config, *y = b->config;
    return !has_files(x) && !has_files(y) && lexicon_id(a->lexicon) == lexicon_id(b->lexicon) &&
           g_str_equal(x->store.url, y->store.url) && g_str_equal(x->store.read_url, y->store.read_url) &&
           g_str_equal(x->store.tls_name, y->store.tls_name) && x->store.timeout == y->store.timeout &&
           x->store.ttl == y->store.ttl && x->store.wait_replicas == y->store.wait_replicas &&
           x->store.simhash_tables == y->store.simhash_tables && x->report.quorum == y->report.quorum &&
           x->report.clean_share == y->report.clean_share && x->report.clean_days == y->report.clean_days &&
           g_strv_equal((const char *const *)x->report.trusted, (const char *const *)y->report.trusted);
}

static bool take_store(struct holder *next, struct snapshot *previous, GError **error)
{
    struct snapshot *s = &next->snapshot;
    if (previous && same_store(s, previous)) {
        next->shared = ((struct holder *)previous)->shared;
        g_atomic_ref_count_inc(&next->shared->references);
    } else {
        const struct store_options options = store_configured(s->config);
        struct store *store = store_open(&options, s->lexicon, error);
        if (!store)
            return false;
        next->shared = g_new0(struct shared_store, 1);
        g_atomic_ref_count_init(&next->shared->references);
        next->shared->store = store;
    }
    s->store = next->shared->store;
    return true;
}

/* --- the whole -------------------------------------------------------------------------------------- */

static void replace(char **field, const char *value)
{
    if (value) {
        g_free(*field);
        *field = g_strdup(value);
    }
}

static struct config *read_config(const struct snapshot_source *source, GError **error)
{
    struct config *config = config_load(source->path, error);
    if (config) {
        replace(&config->store.url, source->store);
        replace(&config->lexicon.file, source->lexicon);
    }
    return config;
}

struct snapshot *snapshot_draft(const struct snapshot_source *source, GError **error)
{
    struct holder *holder = g_new0(struct holder, 1);
    struct snapshot *s = &holder->snapshot;
    g_atomic_ref_count_init(&holder->references);
    s->config = read_config(source, error);
    if (!s->config || !parse_lists(s, source->path, error)) {
        snapshot_unref(s);
        return NULL;
    }
    copy_settings(s);
    return s;
}

struct snapshot *snapshot_load(const struct snapshot_source *source, struct snapshot *previous,
                               GError **error)
{
    struct snapshot *s = snapshot_draft(source, error);
    if (!s)
        return NULL;
    s->lexicon = lexicon_open(s->config->lexicon.file, error);
    if (!s->lexicon || !take_store((struct holder *)s, previous, error)) {
        snapshot_unref(s);
        return NULL;
    }
    return s;
}

struct snapshot *snapshot_ref(struct snapshot *snapshot)
{
    g_atomic_ref_count_inc(&((struct holder *)snapshot)->references);
    return snapshot;
}

void snapshot_unref(struct snapshot *s)
{
    struct holder *holder = (struct holder *)s;
    if (!s || !g_atomic_ref_count_dec(&holder->references))
        return;
    shared_store_unref(holder->shared);
    if (s->lexicon)
        lexicon_unref(s->lexicon);
    network_list_free(s->networks);
    address_list_free(s->senders);
    address_list_free(s->recipients);
    address_list_free(s->dkim_domains);
    address_list_free(s->traps);
    config_unref(s->config);
    g_free(holder);
}

/* --- the slot --------------------------------------------------------------------------------------- */

struct snapshot_slot {
    GMutex mutex;
    struct snapshot *current;
};

struct snapshot_slot *snapshot_slot_new(struct snapshot *first)
{
    struct snapshot_slot *slot = g_new0(struct snapshot_slot, 1);
    g_mutex_init(&slot->mutex);
    slot->current = snapshot_ref(first);
    return slot;
}

struct snapshot *snapshot_slot_get(struct snapshot_slot *slot)
{
    g_mutex_lock(&slot->mutex);
    struct snapshot *snapshot = slot->current ? snapshot_ref(slot->current) : NULL;
    g_mutex_unlock(&slot->mutex);
    return snapshot;
}

/* Takes over the reference. */
static void replace_current(struct snapshot_slot *slot, struct snapshot *next)
{
    g_mutex_lock(&slot->mutex);
    struct snapshot *last = slot->current;
    slot->current = next;
    g_mutex_unlock(&slot->mutex);
    snapshot_unref(last);
}

void snapshot_slot_put(struct snapshot_slot *slot, struct snapshot *next)
{
    replace_current(slot, snapshot_ref(next));
}

void snapshot_slot_empty(struct snapshot_slot *slot)
{
    replace_current(slot, NULL);
}
