#include "store/redis_store.h"

/*
 * The counters of a day are one string of 32-bit numbers, in a key that ends by itself: hosts that share the
 * server add up. A script, so that no key is ever left without its end.
 *
 * KEYS: the day. ARGV: when it ends, seconds since 1970; then the words of BITFIELD.
 */
static const char count_script[] = "redis.call('BITFIELD', KEYS[1], 'OVERFLOW', 'SAT', unpack(ARGV, 2))\n"
                                   "return redis.call('EXPIREAT', KEYS[1], ARGV[1])\n";

#define DAY     86400
#define AT_ONCE 512 /* counters in one script: Lua's stack has an end, and others want to be served */

static struct redis_backend *self_of(struct backend *backend)
{
    return (struct redis_backend *)backend;
}

static const char *place_of(struct arena *arena, uint32_t counter)
{
    char *place = arena_alloc(arena, 12);
    g_snprintf(place, 12, "#%u", counter);
    return place;
}

static void put_counts(struct redis_batch *batch, const char *key, uint32_t day,
                       const struct backend_count *counts, unsigned n)
{
    redis_word(batch, "EVAL");
    redis_bytes(batch, count_script, sizeof count_script - 1);
    redis_word(batch, "1");
    redis_word(batch, key);
    redis_number(batch, (uint64_t)(day + BACKEND_COUNT_DAYS) * DAY);
    for (unsigned i = 0; i < n; i++) {
        redis_word(batch, "INCRBY");
        redis_word(batch, "u32");
        redis_word(batch, place_of(batch->arena, counts[i].counter));
        redis_number(batch, counts[i].n);
    }
    redis_end(batch, key);
}

bool redis_count(struct backend *backend, uint32_t day, const struct backend_count *counts, unsigned n,
                 int64_t timeout, GError **error)
{
    struct redis_backend *self = self_of(backend);
    struct arena *arena = arena_new();
    const char *key = redis_day_key(&self->names, arena, day);
    struct redis_batch batch;
    redisReply **replies;
    redis_batch_init(&batch, arena);
    for (unsigned i = 0; i < n; i += AT_ONCE)
        put_counts(&batch, key, day, counts + i, MIN(n - i, AT_ONCE));
    bool ok = redis_run_write(self, &batch, timeout, &replies, error) && link_check(replies, batch.n, error);
    arena_free(&arena);
    return ok;
}

bool redis_counts(struct backend *backend, uint32_t today, const uint32_t *counters, unsigned n,
                  uint32_t *out, int64_t timeout, GError **error)
{
    struct redis_backend *self = self_of(backend);
    struct arena *arena = arena_new();
    struct redis_batch batch;
    redisReply **replies;
    redis_batch_init(&batch, arena);
    for (unsigned day = 0; day < BACKEND_COUNT_DAYS; day++) {
        const char *key = redis_day_key(&self->names, arena, today - day);
        redis_word(&batch, "BITFIELD");
        redis_word(&batch, key);
        for (unsigned i = 0; i < n; i++) {
            redis_word(&batch, "GET");
            redis_word(&batch, "u32");
            redis_word(&batch, place_of(arena, counters[i]));
        }
        redis_end(&batch, key);
    }
    bool ok = redis_run_read(self, &batch, BACKEND_READ_LAST, timeout, &replies, error);
    for (unsigned day = 0; ok && day < BACKEND_COUNT_DAYS; day++) {
        bool there = replies[day]->type == REDIS_REPLY_ARRAY && replies[day]->elements == n;
        if (!there && !redis_is_mistake(self, replies[day], batch.commands[day].key))
            ok = link_check(&replies[day], 1, error);
        for (unsigned i = 0; i < n; i++)
            out[day * n + i] = there ? (uint32_t)replies[day]->element[i]->integer : 0;
    }
    arena_free(&arena);
    return ok;
}
