/*
 * What a backend must be able to do, and no more: read sets, read records, commit a change to one campaign,
 * walk over the records. Reports, look-ups, expiry and the rest are written once on top of it.
 *
 *      store.c   open, show, list, stats
 *      clean.c   how common a text is in clean mail
 *      lookup.c  propose and verify                       ┌── lmdb.c         embedded
 *      report.c  report, allow, import        ──▶ backend ┤
 *      forget.c  forget, expire, heal                     └── redis_store.c  Redis, Sentinel, Cluster
 *      hits.c    hits in the background
 *
 * What is stored, for each lexicon apart:
 *
 *   sets      bucket (bucket_bits wide) ─▶ sorted members of 63 bits
 *
 *                 x = mix(lexicon hash or odd word, view)      bucket = the high bits of x
 *
 *                  62           32 31            0
 *                 ┌───────────────┬───────────────┐
 *                 │ low 31 bits   │ campaign      │   = a member; positive, so that Redis keeps the set as
 *                 │ of x (tag)    │ number        │     an intset: 8 bytes a member
 *                 └───────────────┴───────────────┘
 *
 *   records   campaign number ─▶ all that is known of the campaign (campaign.h)
 *
 *   counters  day ─▶ BACKEND_COUNTERS numbers (clean.c), for BACKEND_COUNT_DAYS days
 *
 * The record is the truth: it knows its members by name (the lexicon hashes and odd words of its variants),
 * and a member that no record owns is harmless, because a look-up verifies sketches. So a change that is cut
 * off half-way never matches wrongly, and expiry heals it.
 *
 * An arena given to a function owns what the function returns. `timeout` is in milliseconds, for the call.
 */
#ifndef STORE_BACKEND_H
#define STORE_BACKEND_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "store/store.h"
#include "store/url.h"

/* Buckets of Manku's tables have this bit; those of the lexicons do not. */
#define BACKEND_TABLES UINT32_C(0x80000000)

#define BACKEND_COUNTERS   8192 /* of a day, 4 bytes each */
#define BACKEND_COUNT_DAYS 7    /* that are kept, with today */

struct backend_count {
    uint32_t counter; /* below BACKEND_COUNTERS */
    uint32_t n;
};

struct backend_member {
    uint32_t bucket;
    uint64_t member;
};

struct backend_set {
    const uint64_t *members; /* in any order */
    unsigned n;
};

struct backend_record {
    uint32_t number;
    const uint8_t *bytes; /* NULL: there is none */
    size_t size;
};

/* A set that must still have this size, or the change is not made: somebody else wrote to it. */
struct backend_guard {
    uint32_t bucket;
    uint32_t size;
};

/* A change of one campaign. Where the backend can, all of it happens or nothing. */
struct backend_change {
    uint32_t number;
    uint32_t revision;     /* that the stored record must have; 0: there must be no record */
    bool force;            /* whatever is stored there: for damaged records */
    bool members_only;     /* leave the record alone */
    const uint8_t *record; /* NULL: delete it */
    size_t size;
    const struct backend_member *add, *remove;
    unsigned n_add, n_remove;
    const struct backend_guard *guards;
    unsigned n_guards;
    bool read_back; /* read the record again after it was written */
    bool done;      /* out: false when somebody else was faster */
    bool kept;      /* out: it was there when it was read again */
};

/* Who is about to write must see the last write; a look-up may ask a replica. */
enum backend_read { BACKEND_READ_ANY, BACKEND_READ_LAST };

#define BACKEND_WALK_END UINT64_MAX

struct backend;

struct backend_ops {
    void (*close)(struct backend *backend);

    /*
     * out[n], in the order of the buckets. A set that does not exist is empty. With BACKEND_READ_ANY a set
     * may have members of the other buckets in it: tags tell them apart. One round trip.
     */
    bool (*sets)(struct backend *backend, struct arena *arena, enum backend_read read,
                 const uint32_t *buckets, unsigned n, struct backend_set *out, int64_t timeout,
                 GError **error);

    /* records[n], their numbers filled in. One round trip. */
    bool (*records)(struct backend *backend, struct arena *arena, enum backend_read read,
                    struct backend_record *records, unsigned n, int64_t timeout, GError **error);

    /* Makes n changes, each for itself; `done` of each says whether. */
    bool (*commit)(struct backend *backend, struct backend_change *changes, unsigned n, int64_t timeout,
                   GError **error);

    /*
     * What the calling thread commits between these is durable together, at the end; it sees it at once,
     * others then. NULL where a commit waits for nothing that could be shared.
     */
    bool (*batch_begin)(struct backend *backend, GError **error);
    bool (*batch_end)(struct backend *backend, GError **error);

    /* Where changes are not atomic: the lock of this name, until it is given back or some seconds have passed. */
    bool (*lock)(struct backend *backend, uint64_t name, uint64_t token, int64_t timeout, bool *got_out,
                 GError **error);
    void (*unlock)(struct backend *backend, uint64_t name, uint64_t token, int64_t timeout);

    /* Some records, from *position (0 at first) on, which becomes BACKEND_WALK_END after the last. */
    bool (*walk)(struct backend *backend, struct arena *arena, uint64_t *position,
                 struct backend_record **records_out, unsigned *n_out, int64_t timeout, GError **error);

    /* Adds to counters of a day (since 1970). Days that are no longer kept go. */
    bool (*count)(struct backend *backend, uint32_t day, const struct backend_count *counts, unsigned n,
                  int64_t timeout, GError **error);

    /* Counters of the days that are kept, `today` first: out[BACKEND_COUNT_DAYS][n]. */
    bool (*counts)(struct backend *backend, uint32_t today, const uint32_t *counters, unsigned n, uint32_t *out,
                   int64_t timeout, GError **error);

    /* Drops days that are no longer kept. NULL: they go by themselves. */
    bool (*drop_counts)(struct backend *backend, uint32_t today, GError **error);

    /* After a walk: so many records there are. */
    bool (*recount)(struct backend *backend, uint64_t campaigns, int64_t timeout, GError **error);

    /* Fills other_lexicons, memory, latency_ms and server. */
    bool (*stats)(struct backend *backend, struct store_stats *out, int64_t timeout, GError **error);

    bool (*ping)(struct backend *backend, bool write, int64_t timeout, GError **error);

    void (*health)(struct backend *backend, struct store_health *out);
};

struct backend {
    const struct backend_ops *ops;
    /*
     * Guards and the whole of a change are atomic. Where they are not (a Cluster), who makes a new campaign
     * takes a lock.
     */
    bool atomic;
};

/* The backend's own copy of what it needs to know. */
struct backend_plan {
    uint64_t lexicon;
    unsigned bucket_bits;
    bool read_only, must_exist;
    unsigned wait_replicas;
    const struct url *read_url; /* NULL: read where you write */
};

struct backend *lmdb_backend_open(const struct url *url, const struct backend_plan *plan, GError **error);
/* Where there is no embedded store: an empty one, to look at. */
struct backend *absent_backend_open(const char *path);
bool backend_is_absent(const struct backend *backend);
struct backend *redis_backend_open(const struct url *url, const struct backend_plan *plan, GError **error);

#endif
