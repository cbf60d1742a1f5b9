/*
 * An embedded store that nobody has made yet: empty, and not made by looking at it. A folder that came into
 * being when root listed campaigns would be root's, and of no use to the daemon.
 */
#include "base/error.h"
#include "store/backend.h"

struct absent_backend {
    struct backend base;
    char *path;
};

static void absent_close(struct backend *backend)
{
    g_free(((struct absent_backend *)backend)->path);
    g_free(backend);
}

static bool say(struct backend *backend, GError **error)
{
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_MISSING,
                "lmdb:%s: there is no store: check the path, or report something first",
                ((struct absent_backend *)backend)->path);
    return false;
}

static bool absent_sets(struct backend *backend, struct arena *arena, enum backend_read read,
                        const uint32_t *buckets, unsigned n, struct backend_set *out, int64_t timeout,
                        GError **error)
{
    (void)backend, (void)arena, (void)read, (void)buckets, (void)timeout, (void)error;
    for (unsigned i = 0; i < n; i++)
        out[i] = (struct backend_set) { 0 };
    return true;
}

static bool absent_records(struct backend *backend, struct arena *arena, enum backend_read read,
                           struct backend_record *records, unsigned n, int64_t timeout, GError **error)
{
    (void)backend, (void)arena, (void)read, (void)timeout, (void)error;
    for (unsigned i = 0; i < n; i++)
        records[i].bytes = NULL;
    return true;
}

static bool absent_commit(struct backend *backend, struct backend_change *changes, unsigned n,
                          int64_t timeout, GError **error)
{
    (void)changes, (void)timeout;
    return n == 0 || say(backend, error);
}

static bool absent_walk(struct backend *backend, struct arena *arena, uint64_t *position,
                        struct backend_record **records_out, unsigned *n_out, int64_t timeout, GError **error)
{
    (void)backend, (void)arena, (void)timeout, (void)error;
    *position = BACKEND_WALK_END;
    *records_out = NULL;
    *n_out = 0;
    return true;
}

static bool absent_recount(struct backend *backend, uint64_t campaigns, int64_t timeout, GError **error)
{
    (void)timeout;
    return campaigns == 0 || say(backend, error);
}

static bool absent_drop_counts(struct backend *backend, uint32_t today, GError **error)
{
    (void)backend, (void)today, (void)error;
    return true;
}

static bool absent_stats(struct backend *backend, struct store_stats *out, int64_t timeout, GError **error)
{
    (void)backend, (void)timeout, (void)error;
    g_strlcpy(out->server, "LMDB, not made yet", sizeof out->server);
    return true;
}

static bool absent_ping(struct backend *backend, bool write, int64_t timeout, GError **error)
{
    (void)write, (void)timeout;
    return say(backend, error);
}

static bool absent_count(struct backend *backend, uint32_t day, const struct backend_count *counts,
                         unsigned n, int64_t timeout, GError **error)
{
    (void)day, (void)counts, (void)timeout;
    return n == 0 || say(backend, error);
}

static bool absent_counts(struct backend *backend, uint32_t today, const uint32_t *counters, unsigned n,
                          uint32_t *out, int64_t timeout, GError **error)
{
    (void)backend, (void)today, (void)counters, (void)timeout, (void)error;
    for (unsigned i = 0; i < n * BACKEND_COUNT_DAYS; i++)
        out[i] = 0;
    return true;
}

static void absent_health(struct backend *backend, struct store_health *out)
{
    (void)backend;
    out->connections = 0;
}

static const struct backend_ops ops = {
    .close = absent_close,
    .sets = absent_sets,
    .records = absent_records,
    .commit = absent_commit,
    .walk = absent_walk,
    .recount = absent_recount,
    .stats = absent_stats,
    .ping = absent_ping,
    .count = absent_count,
    .counts = absent_counts,
    .drop_counts = absent_drop_counts,
    .health = absent_health,
};

struct backend *absent_backend_open(const char *path)
{
    struct absent_backend *self = g_new0(struct absent_backend, 1);
    self->base = (struct backend) { .ops = &ops, .atomic = true };
    self->path = g_strdup(path);
    return &self->base;
}

bool backend_is_absent(const struct backend *backend)
{
    return backend->ops == &ops;
}
