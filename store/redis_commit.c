#include "store/redis_store.h"

#include <string.h>

#include "store/campaign.h"
#include "store/deadline.h"

/*
 * KEYS: the hash of the record; on one server also rf:lexicons, the sets to check, to take from, to add to.
 * ARGV: field; revision (4 bytes; '' there is none, '*' any, '-' leave the record alone); record ('' delete);
 *       lexicon; numbers of sets to check, to take from, to add to; then a size or member for each.
 * Returns 0 when somebody else was faster; else 1, 2 for a new record, 3 for a deleted one. A key of the
 * wrong type in place of a set counts as an empty set that takes nothing. The count may fail when memory is
 * full: expiry sets it right.
 */
static const char change_script[] =
    "local field, revision, record = ARGV[1], ARGV[2], ARGV[3]\n"
    "local check, take, add = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])\n"
    "local function set(...)\n"
    "  local reply = redis.pcall(...)\n"
    "  if type(reply) ~= 'table' then return reply end\n"
    "  if string.find(reply.err, 'WRONGTYPE', 1, true) then return 0 end\n"
    "  return error(reply)\n"
    "end\n"
    "if revision ~= '-' then\n"
    "  local now = redis.call('HGET', KEYS[1], field)\n"
    "  if revision ~= '*' and (now and string.sub(now, 5, 8) or '') ~= revision then return 0 end\n"
    "end\n"
    "local k, a = 2, 7\n"
    "for i = 1, check do\n"
    "  if set('SCARD', KEYS[k + i]) ~= tonumber(ARGV[a + i]) then return 0 end\n"
    "end\n"
    "k, a = k + check, a + check\n"
    "local result = 1\n"
    "if revision ~= '-' then\n"
    "  if record == '' then\n"
    "    if redis.call('HDEL', KEYS[1], field) == 1 then result = 3 end\n"
    "  elseif redis.call('HSET', KEYS[1], field, record) == 1 then result = 2 end\n"
    "end\n"
    "for i = 1, take do set('SREM', KEYS[k + i], ARGV[a + i]) end\n"
    "k, a = k + take, a + take\n"
    "for i = 1, add do set('SADD', KEYS[k + i], ARGV[a + i]) end\n"
    "if KEYS[2] and result > 1 then\n"
    "  local count = redis.pcall('HINCRBY', KEYS[2], ARGV[4], result == 2 and 1 or -1)\n"
    "  if count == 0 then redis.call('HDEL', KEYS[2], ARGV[4]) end\n"
    "end\n"
    "return result\n";

static const char count_script[] =
    "if redis.call('HINCRBY', KEYS[1], ARGV[1], ARGV[2]) <= 0 then redis.call('HDEL', KEYS[1], ARGV[1]) end\n"
    "return 1\n";

static struct redis_backend *self_of(struct backend *backend)
{
    return (struct redis_backend *)backend;
}

static int64_t time_left(struct deadline deadline)
{
    return MAX(deadline_left(deadline), 1);
}

static void put_revision(struct redis_batch *batch, const struct backend_change *change)
{
    uint8_t *bytes = arena_alloc(batch->arena, 4);
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(change->revision >> 8 * i);
    if (change->members_only)
        redis_word(batch, "-");
    else if (change->force)
        redis_word(batch, "*");
    else
        redis_bytes(batch, bytes, change->revision ? 4 : 0);
}

static void put_set_keys(struct redis_backend *self, struct redis_batch *batch,
                         const struct backend_change *change)
{
    for (unsigned i = 0; i < change->n_guards; i++)
        redis_word(batch, redis_set_key(&self->names, batch->arena, change->guards[i].bucket));
    for (unsigned i = 0; i < change->n_remove; i++)
        redis_word(batch, redis_set_key(&self->names, batch->arena, change->remove[i].bucket));
    for (unsigned i = 0; i < change->n_add; i++)
        redis_word(batch, redis_set_key(&self->names, batch->arena, change->add[i].bucket));
}

static void put_values(struct redis_batch *batch, const struct backend_change *change)
{
    for (unsigned i = 0; i < change->n_guards; i++)
        redis_number(batch, change->guards[i].size);
    for (unsigned i = 0; i < change->n_remove; i++)
        redis_number(batch, change->remove[i].member);
    for (unsigned i = 0; i < change->n_add; i++)
        redis_number(batch, change->add[i].member);
}

void redis_commit_init(struct redis_backend *self)
{
    redis_script_init(&self->change, change_script);
}

/* The change as a script; in a Cluster only that of the record. */
static void put_change(struct redis_backend *self, struct redis_batch *batch,
                       const struct backend_change *change, bool with_text)
{
    const char *key = redis_record_key(&self->names, batch->arena, change->number);
    struct backend_change all = *change;
    if (self->cluster)
        all.n_guards = all.n_remove = all.n_add = 0;
    redis_script_begin(batch, &self->change, with_text);
    redis_number(batch, self->cluster ? 1 : 2u + all.n_guards + all.n_remove + all.n_add);
    redis_word(batch, key);
    if (!self->cluster)
        redis_word(batch, REDIS_LEXICONS);
    put_set_keys(self, batch, &all);
    redis_word(batch, redis_record_field(&self->names, batch->arena, change->number));
    put_revision(batch, change);
    redis_bytes(batch, change->record, change->record ? change->size : 0);
    redis_word(batch, self->lexicon);
    redis_number(batch, all.n_guards);
    redis_number(batch, all.n_remove);
    redis_number(batch, all.n_add);
    put_values(batch, &all);
    redis_end(batch, key);
}

static void put_members(struct redis_backend *self, struct redis_batch *batch, const char *command,
                        const struct backend_member *members, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const char *key = redis_set_key(&self->names, batch->arena, members[i].bucket);
        redis_word(batch, command);
        redis_word(batch, key);
        redis_number(batch, members[i].member);
        redis_end(batch, key);
    }
}

static void put_count(struct redis_backend *self, struct redis_batch *batch, int64_t by)
{
    char *text = arena_alloc(batch->arena, 24);
    g_snprintf(text, 24, "%" G_GINT64_FORMAT, by);
    redis_word(batch, "EVAL");
    redis_word(batch, count_script);
    redis_word(batch, "1");
    redis_word(batch, REDIS_LEXICONS);
    redis_word(batch, self->lexicon);
    redis_word(batch, text);
    redis_end(batch, REDIS_LEXICONS);
}

/* Runs a batch of SADD, SREM and counts, if there is anything in it. */
static bool run_members(struct redis_backend *self, struct redis_batch *batch, int64_t timeout,
                        GError **error)
{
    redisReply **replies;
    if (batch->n == 0)
        return true;
    if (!redis_run_write(self, batch, timeout, &replies, error))
        return false;
    for (unsigned i = 0; i < batch->n; i++) {
        if (!redis_is_mistake(self, replies[i], batch->commands[i].key) && !link_check(&replies[i], 1, error))
            return false;
    }
    return true;
}

/* Behind the change in the same pipeline: is the record there? */
static void put_read_back(struct redis_backend *self, struct redis_batch *batch,
                          const struct backend_change *change)
{
    if (change->read_back)
        redis_command(batch, "HGET", redis_record_key(&self->names, batch->arena, change->number),
                      redis_record_field(&self->names, batch->arena, change->number), NULL);
}

#define NOT_KNOWN (-1) /* the result of a script that the server does not remember */

/* What came of one change. False: an error. */
static bool take_result(redisReply *reply, redisReply *record, bool with_text, struct backend_change *change,
                        long long *result_out, GError **error)
{
    if (!with_text && reply->type == REDIS_REPLY_ERROR && g_str_has_prefix(reply->str, "NOSCRIPT"))
        return true;
    if (!link_check(&reply, 1, error) || (record && !link_check(&record, 1, error)))
        return false;
    *result_out = reply->integer;
    change->done = reply->integer != 0;
    change->kept = record && record->type == REDIS_REPLY_STRING && record->str[0] == CAMPAIGN_FORMAT;
    return true;
}

/* Runs the scripts of those changes whose result is not known yet. */
static bool run_scripts(struct redis_backend *self, struct arena *arena, struct backend_change *changes,
                        unsigned n, bool with_text, struct deadline deadline, long long *results,
                        GError **error)
{
    struct redis_batch batch;
    redisReply **replies;
    redis_batch_init(&batch, arena);
    for (unsigned i = 0; i < n; i++)
        if (results[i] == NOT_KNOWN) {
            put_change(self, &batch, &changes[i], with_text);
            put_read_back(self, &batch, &changes[i]);
        }
    bool ok = redis_run_write(self, &batch, time_left(deadline), &replies, error);
    for (unsigned i = 0, next = 0; ok && i < n; i++)
        if (results[i] == NOT_KNOWN) {
            redisReply *reply = replies[next++], *record = changes[i].read_back ? replies[next++] : NULL;
            ok = take_result(reply, record, with_text, &changes[i], &results[i], error);
        }
    return ok;
}

/*
 * Runs the scripts of all changes, *results_out: what they returned. Servers forget scripts when they
 * restart, and after a failover another one is asked: those that do not know it are told the text.
 */
static bool run_changes(struct redis_backend *self, struct arena *arena, struct backend_change *changes,
                        unsigned n, struct deadline deadline, long long *results_out, GError **error)
{
    for (unsigned i = 0; i < n; i++)
        results_out[i] = NOT_KNOWN;
    bool ok = run_scripts(self, arena, changes, n, false, deadline, results_out, error), again = false;
    for (unsigned i = 0; i < n; i++)
        again |= results_out[i] == NOT_KNOWN;
    return ok && (!again || run_scripts(self, arena, changes, n, true, deadline, results_out, error));
}

/* The part of a change that the script leaves out in a Cluster. */
static bool run_rest(struct redis_backend *self, struct arena *arena, const struct backend_change *changes,
                     unsigned n, const long long *results, struct deadline deadline, GError **error)
{
    struct redis_batch batch;
    int64_t by = 0;
    redis_batch_init(&batch, arena);
    for (unsigned i = 0; i < n; i++) {
        bool first = results == NULL, deletes = !changes[i].record && !changes[i].members_only;
        if (first && deletes)
            put_members(self, &batch, "SREM", changes[i].remove, changes[i].n_remove);
        if (first || !changes[i].done)
            continue;
        by += results[i] == 2 ? 1 : results[i] == 3 ? -1 : 0;
        put_members(self, &batch, "SADD", changes[i].add, changes[i].n_add);
        if (!deletes)
            put_members(self, &batch, "SREM", changes[i].remove, changes[i].n_remove);
    }
    if (by != 0)
        put_count(self, &batch, by);
    return run_members(self, &batch, time_left(deadline), error);
}

bool redis_commit(struct backend *backend, struct backend_change *changes, unsigned n, int64_t timeout,
                  GError **error)
{
    struct redis_backend *self = self_of(backend);
    struct arena *arena = arena_new();
    struct deadline deadline = deadline_in(timeout);
    long long *results = ARENA_ARRAY(arena, long long, n);
    bool ok = (!self->cluster || run_rest(self, arena, changes, n, NULL, deadline, error)) &&
              run_changes(self, arena, changes, n, deadline, results, error) &&
              (!self->cluster || run_rest(self, arena, changes, n, results, deadline, error));
    arena_free(&arena);
    return ok;
}

/* --- the lock of a Cluster ---------------------------------------------------------------------- */

#define LOCK_LIFE "5000" /* milliseconds; whoever held it longer died */

static const char unlock_script[] =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end\n"
    "return 0\n";

static void print_lock(struct redis_backend *self, uint64_t name, uint64_t token, char key[64],
                       char value[20])
{
    g_snprintf(key, 64, "%sl%" G_GINT64_MODIFIER "x", self->names.prefix, name);
    g_snprintf(value, 20, "%" G_GINT64_MODIFIER "x", token);
}

bool redis_lock(struct backend *backend, uint64_t name, uint64_t token, int64_t timeout, bool *got_out,
                GError **error)
{
    struct redis_backend *self = self_of(backend);
    struct arena *arena = arena_new();
    struct redis_batch batch;
    redisReply **replies;
    char key[64], value[20];
    print_lock(self, name, token, key, value);
    redis_batch_init(&batch, arena);
    redis_command(&batch, "SET", key, value, "NX", "PX", LOCK_LIFE, NULL);
    bool ok = redis_run_write(self, &batch, timeout, &replies, error) && link_check(replies, 1, error);
    *got_out = ok && replies[0]->type == REDIS_REPLY_STATUS;
    arena_free(&arena);
    return ok;
}

/* One that cannot be given back ends by itself. */
void redis_unlock(struct backend *backend, uint64_t name, uint64_t token, int64_t timeout)
{
    struct redis_backend *self = self_of(backend);
    struct arena *arena = arena_new();
    struct redis_batch batch;
    redisReply **replies;
    char key[64], value[20];
    print_lock(self, name, token, key, value);
    redis_batch_init(&batch, arena);
    redis_word(&batch, "EVAL");
    redis_word(&batch, unlock_script);
    redis_word(&batch, "1");
    redis_word(&batch, key);
    redis_word(&batch, value);
    redis_end(&batch, key);
    redis_run_write(self, &batch, timeout, &replies, NULL);
    arena_free(&arena);
}

bool redis_recount(struct backend *backend, uint64_t campaigns, int64_t timeout, GError **error)
{
    struct redis_backend *self = self_of(backend);
    struct arena *arena = arena_new();
    struct redis_batch batch;
    char count[24];
    g_snprintf(count, sizeof count, "%" G_GUINT64_FORMAT, campaigns);
    redis_batch_init(&batch, arena);
    if (campaigns)
        redis_command(&batch, "HSET", REDIS_LEXICONS, self->lexicon, count, NULL);
    else
        redis_command(&batch, "HDEL", REDIS_LEXICONS, self->lexicon, NULL);
    bool ok = run_members(self, &batch, timeout, error);
    arena_free(&arena);
    return ok;
}
