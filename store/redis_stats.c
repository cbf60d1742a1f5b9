#include "store/redis_store.h"

#include <string.h>

static struct redis_backend *self_of(struct backend *backend)
{
    return (struct redis_backend *)backend;
}

/* "used_memory:123\r\n" -> "123". NULL, which no Redis answers, says nothing. */
static char *info_value(const char *info, const char *name)
{
    g_autofree char *start = g_strconcat("\n", name, ":", NULL);
    const char *at = info ? strstr(info, start) : NULL;
    if (!at)
        return g_strdup("");
    at += strlen(start);
    return g_strndup(at, strcspn(at, "\r\n"));
}

static bool ask_servers(struct redis_backend *self, struct arena *arena, struct store_stats *out,
                        int64_t timeout, GError **error)
{
    g_auto(GStrv) servers = link_servers(self->link, timeout, error);
    g_autofree char *version = NULL, *role = NULL;
    unsigned n = servers ? g_strv_length(servers) : 0;
    struct redis_batch batch;
    redisReply **replies;
    if (!servers)
        return false;
    redis_batch_init(&batch, arena);
    for (unsigned i = 0; i < n; i++) {
        redis_word(&batch, "INFO");
        redis_end(&batch, NULL);
        batch.commands[i].server = servers[i];
    }
    bool ok = redis_run_read(self, &batch, BACKEND_READ_LAST, timeout, &replies, error) &&
              link_check(replies, n, error);
    for (unsigned i = 0; ok && i < n; i++) {
        g_autofree char *memory = info_value(replies[i]->str, "used_memory");
        out->memory += g_ascii_strtoull(memory, NULL, 10);
        g_free(version);
        g_free(role);
        version = info_value(replies[i]->str, "redis_version");
        role = info_value(replies[i]->str, "role");
    }
    if (ok && self->cluster)
        g_snprintf(out->server, sizeof out->server, "Redis %s (cluster, %u primaries)", version, n);
    else if (ok)
        g_snprintf(out->server, sizeof out->server, "Redis %s (%s)", version,
                   strcmp(role, "master") == 0 ? "primary" : "replica");
    return ok;
}

bool redis_stats(struct backend *backend, struct store_stats *out, int64_t timeout, GError **error)
{
    struct redis_backend *self = self_of(backend);
    struct arena *arena = arena_new();
    struct redis_batch batch;
    redisReply **replies;
    bool ok = ask_servers(self, arena, out, timeout, error);
    redis_batch_init(&batch, arena);
    redis_command(&batch, "HGETALL", REDIS_LEXICONS, NULL);
    int64_t before = g_get_monotonic_time();
    ok = ok && redis_run_read(self, &batch, BACKEND_READ_LAST, timeout, &replies, error) &&
         link_check(replies, 1, error);
    out->latency_ms = (double)(g_get_monotonic_time() - before) / 1000;
    for (size_t i = 0; ok && i + 1 < replies[0]->elements; i += 2)
        if (strcmp(replies[0]->element[i]->str, self->lexicon) != 0)
            out->other_lexicons += g_ascii_strtoull(replies[0]->element[i + 1]->str, NULL, 10);
    arena_free(&arena);
    return ok;
}

bool redis_ping(struct backend *backend, bool write, int64_t timeout, GError **error)
{
    struct redis_backend *self = self_of(backend);
    struct arena *arena = arena_new();
    struct redis_batch batch;
    redisReply **replies;
    g_autofree char *key = g_strconcat(self->names.prefix, "ping", NULL);
    redis_batch_init(&batch, arena);
    if (write)
        redis_command(&batch, "SET", key, "1", "PX", "1", NULL);
    else
        redis_command(&batch, "EXISTS", key, NULL);
    bool ok = redis_run_write(self, &batch, timeout, &replies, error) && link_check(replies, 1, error);
    arena_free(&arena);
    return ok;
}
