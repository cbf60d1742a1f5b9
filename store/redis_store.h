/*
 * The backend on Redis; redis_keys.h draws the keys.
 *
 * On one server a change is one script: conditions, record, members and count, all or nothing. In a Cluster
 * the keys are on many servers and the order makes it safe: a record is written before its members and taken
 * out after them, so that a change that was cut off leaves a campaign that is found by fewer hashes, or
 * members that name no record, and never a wrong match. Both heal (expire.c).
 */
#ifndef STORE_REDIS_STORE_H
#define STORE_REDIS_STORE_H

#include <stdatomic.h>

#include "store/backend.h"
#include "store/link.h"
#include "store/redis_keys.h"

struct redis_backend {
    struct backend base;
    struct link *link, *read_link; /* NULL: read where you write */
    struct redis_names names;
    struct redis_script change; /* the script of redis_commit.c */
    char lexicon[20];
    bool cluster;
    unsigned wait_replicas;
    bool unions;       /* no link is to a Cluster: one command may name many keys */
    atomic_uint crowd; /* members a set in recent look-ups, in 256ths */
    atomic_int_fast64_t mistake_said;
};

/* --- redis_store.c: requests -------------------------------------------------------------------- */

/* Replies belong to the batch's arena. */
bool redis_run_read(struct redis_backend *self, struct redis_batch *batch, enum backend_read read, int64_t timeout,
                    redisReply ***replies_out, GError **error);
bool redis_run_write(struct redis_backend *self, struct redis_batch *batch, int64_t timeout,
                     redisReply ***replies_out, GError **error);

/* The error of a key of the wrong type: said in the log once a minute; the store goes on without the key. */
bool redis_is_mistake(struct redis_backend *self, const redisReply *reply, const char *key);

/* --- redis_commit.c: writing -------------------------------------------------------------------- */

void redis_commit_init(struct redis_backend *self);
bool redis_commit(struct backend *backend, struct backend_change *changes, unsigned n, int64_t timeout,
                  GError **error);
bool redis_lock(struct backend *backend, uint64_t name, uint64_t token, int64_t timeout, bool *got_out,
                GError **error);
void redis_unlock(struct backend *backend, uint64_t name, uint64_t token, int64_t timeout);
bool redis_recount(struct backend *backend, uint64_t campaigns, int64_t timeout, GError **error);

/* --- redis_counts.c: counters by the day --------------------------------------------------------- */

bool redis_count(struct backend *backend, uint32_t day, const struct backend_count *counts, unsigned n,
                 int64_t timeout, GError **error);
bool redis_counts(struct backend *backend, uint32_t today, const uint32_t *counters, unsigned n, uint32_t *out,
                  int64_t timeout, GError **error);

/* --- redis_stats.c: about the store ------------------------------------------------------------- */

bool redis_stats(struct backend *backend, struct store_stats *out, int64_t timeout, GError **error);
bool redis_ping(struct backend *backend, bool write, int64_t timeout, GError **error);

#endif
