/*
 * What the files of store/ share: the handle, and the search that look-ups and reports have in common.
 */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <stdatomic.h>

#include "base/error.h"
#include "store/backend.h"
#include "store/campaign.h"
#include "store/members.h"

#define STORE_VERIFY_MAX 32 /* candidates of one view whose sketches are fetched */
#define STORE_NEAR       64 /* bits: a report this close to a variant only counts */
#define STORE_ATTEMPTS   32 /* of a change that others get in the way of */

struct hits;
struct clean;

struct store {
    struct backend *backend;
    struct lexicon *lexicon;
    uint64_t lexicon_id;
    unsigned bucket_bits;
    char *name;
    int64_t timeout; /* milliseconds, of a look-up */
    int64_t patience; /* milliseconds, of one step of everything else */
    int64_t ttl;     /* seconds; 0: for ever */
    unsigned quorum;
    char **trusted;
    double clean_share;
    unsigned clean_days;
    bool read_only;
    bool simhash_tables;
    struct hits *hits;
    struct clean *clean;
    atomic_uint_fast64_t lookups, errors, timeouts;
};

int64_t store_now(void);
bool store_outlived(const struct store *store, int64_t last, int64_t now);
bool store_may_write(const struct store *store, GError **error);

/* A short random pause before another attempt: who collided once should not do it again. */
void store_stand_back(unsigned attempt);

/* Fetches and decodes one campaign, fresh; REFRAIN_ERROR_MISSING, or REFUSED when it is damaged. */
struct campaign *store_fetch(struct store *store, struct arena *arena, uint64_t id, uint32_t *number_out,
                             GError **error);

/* --- lookup.c ----------------------------------------------------------------------------------- */

/* What the sets propose for the signatures of one message, with the records of those to verify. */
struct search {
    const struct signature_set *signatures;
    struct members_key *keys; /* of all views, one after the other */
    struct backend_set *sets; /* of each key */
    unsigned n_keys;
    unsigned keys_of[MESSAGE_VIEWS]; /* of each signature, with those of odd words and Manku's tables */
    unsigned of[MESSAGE_VIEWS];      /* lexicon hashes of each signature */
    struct backend_record *records;
    unsigned n_records;
    unsigned proposed, round_trips;
};

bool search_run(struct store *store, struct arena *arena, const struct signature_set *signatures,
                enum backend_read read, int64_t timeout, struct search *out, GError **error);

/* How one record compares with the signatures of a message. */
struct fit {
    enum store_state state;
    int64_t last;
    struct signature_likeness likeness; /* of the closest variant */
    unsigned index;                     /* of the message's signature in that pair */
    enum message_view view;             /* that they were compared in */
    unsigned near;                      /* bit i: signature i is within STORE_NEAR of a stored one */
    unsigned variants;
};
/* False: not a record. */
bool search_fit(const struct store *store, const struct signature_set *signatures,
                const struct signature_rule *rule, const struct backend_record *record, struct fit *out);

/* --- report.c, forget.c ------------------------------------------------------------------------- */

/* Members that belong to variants of a campaign, without repeats; returns how many. In the arena. */
unsigned store_members(const struct store *store, struct arena *arena, uint32_t number, bool tables,
                       const struct signature_set *variants, unsigned n_variants, struct backend_member **out);
unsigned store_members_of(const struct store *store, struct arena *arena, uint32_t number,
                          const struct campaign *campaign, struct backend_member **out);

/* Are all views of a message within STORE_NEAR of those of a variant? */
bool store_is_near(const struct signature_set *message, const struct signature_set *variant);

/* Is this source, or this reporter, one that needs no quorum? */
bool store_is_trusted(const struct store *store, const char *name);

/* May a member with this tag still be added? False when it is there already, too. */
bool store_has_room(const struct backend_set *set, uint64_t member);

/* --- hits.c ------------------------------------------------------------------------------------- */

struct hits *hits_start(struct store *store);
void hits_add(struct hits *hits, uint32_t number);
/* Writes what is still held. */
void hits_stop(struct hits **hits);

/* --- clean.c ------------------------------------------------------------------------------------ */

struct clean *clean_start(struct store *store);
/* Writes what is still held. */
void clean_stop(struct clean **clean);

/* Clean messages of each of the days that are kept, today first. */
bool clean_totals(struct store *store, uint32_t out[STORE_CLEAN_DAYS], GError **error);

#endif
