/*
 * store/ keeps campaigns and answers: which campaign does this signature resemble?
 *
 * One contract for every backend, chosen by the URL: LMDB (embedded), Redis, Redis behind Sentinel, Redis
 * Cluster. A store handle may be used by any number of threads; it keeps a bounded pool of connections.
 * Every call that talks to a server ends within the deadline (`timeout`). After repeated failures a
 * breaker answers at once with REFRAIN_ERROR_UNAVAILABLE and tries the server again now and then.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "lexicon/lexicon.h"
#include "signature/signature.h"

#define STORE_NAME_MAX  64 /* label, source and reporter, with the NUL; longer ones are cut at a character */
#define STORE_DAYS      14 /* daily counters of hits */
#define STORE_VARIANTS  16 /* kept per campaign */
#define STORE_REPORTERS 16 /* kept per campaign */
#define STORE_SOURCES   7  /* told apart per campaign */

#define STORE_CLEAN_DAYS 7   /* of clean mail that are remembered, with today */
#define STORE_CLEAN_MIN  500 /* clean messages in these days, below which they say nothing */

struct store;

struct store_options {
    const char *url;
    const char *password_file; /* NULL: none, or in the URL */
    const char *tls_ca, *tls_cert, *tls_key, *tls_name; /* for rediss: URLs; NULL: the system's CAs, none, host */
    const char *read_url;      /* NULL: read where you write */
    int64_t timeout;           /* milliseconds for one look-up */
    int64_t ttl;               /* milliseconds after the last report or hit */
    unsigned quorum;           /* reporters that make a candidate active; 0 and 1: the first does */
    const char *const *trusted; /* sources and reporters that need no quorum; NULL-ended or NULL */
    double clean_share;        /* of a day's clean mail: reports of what is as common are refused; 0: none is */
    unsigned clean_days;       /* if it was as common on so many of the last STORE_CLEAN_DAYS */
    unsigned wait_replicas;    /* WAIT for as many before a report is acknowledged */
    bool simhash_tables;       /* Manku's tables as a second proposer */
    bool read_only;            /* refuse writes; LMDB is opened read-only */
    bool must_exist;           /* make no LMDB store where there is none, as with read_only: it is empty */
};

extern const struct store_options store_default_options;

/* What the configuration says; strings are the configuration's. */
struct config;
struct store_options store_configured(const struct config *config);

/*
 * Opens a store for one lexicon. Keys of other lexicons are never seen. The lexicon is referenced. A
 * server that is down is not an error here: the first call says so.
 */
struct store *store_open(const struct store_options *options, struct lexicon *lexicon, GError **error);

/* Writes what the background still holds (hits, clean mail), closes, sets NULL. */
void store_close(struct store **store);

/* False: an embedded store that nobody has made yet, opened with must_exist. */
bool store_is_there(const struct store *store);

/* "redis://host:6379/0", without the password: for people. */
const char *store_name(const struct store *store);

enum store_state { STORE_ACTIVE, STORE_CANDIDATE, STORE_ALLOWED, STORE_REVOKED, STORE_STATES };
const char *store_state_name(enum store_state state);

/* Who reports through two sources is there twice, and counts as one. */
struct store_reporter {
    char name[STORE_NAME_MAX];
    uint32_t reports;
    unsigned source; /* 0: the campaign's first; STORE_SOURCES: one of those that are not told apart */
};

/* What is known of a campaign. A value. */
struct store_campaign {
    uint64_t id; /* printed as 16 lower-case hex digits */
    enum store_state state;
    char label[STORE_NAME_MAX], source[STORE_NAME_MAX]; /* the first source */
    char also[STORE_SOURCES - 1][STORE_NAME_MAX];       /* further ones */
    unsigned n_also;
    int64_t first, last;        /* seconds since 1970; last report or hit */
    uint64_t reports, hits;
    uint32_t reporters;         /* distinct ones */
    uint32_t variants;
    uint32_t days[STORE_DAYS];  /* hits a day, today first */
    struct store_reporter reporter[STORE_REPORTERS];
    unsigned n_reporter;
};

/*
 * A campaign keeps its number when the lexicon changes, and its id follows from both. 0: the id is not of this
 * lexicon.
 */
uint64_t store_campaign_id(const struct lexicon *lexicon, uint32_t number);
uint32_t store_campaign_number(const struct lexicon *lexicon, uint64_t campaign);

/* Did this source report it too? */
bool store_campaign_has_source(const struct store_campaign *campaign, const char *source);

/* --- on the mail's path ------------------------------------------------------------------------- */

struct store_match {
    enum signature_level level;  /* SIGNATURE_STRANGER: nothing resembles it */
    bool allowed;                /* an allowed prototype vetoed: level is STRANGER, campaign names it */
    uint64_t campaign;           /* 0: no candidate at all */
    enum store_state state;
    enum message_view view;
    struct signature_likeness likeness; /* with the best candidate, even below the thresholds */
    unsigned of;                 /* lexicon hashes that were looked up in that view */
    unsigned proposed;           /* candidates that shared a lexicon hash or an odd word */
    unsigned verified;           /* sketches fetched: at most 32 a view */
    unsigned round_trips;
};

/* The best verified campaign over all views. Candidates (below the quorum) and revoked ones never match. */
bool store_lookup(struct store *store, const struct signature_set *signatures, const struct signature_rule *rule,
                  struct store_match *out, GError **error);

/* Counts a hit, in the background: returns at once and never fails. */
void store_hit(struct store *store, uint64_t campaign);

/* Counts a message that resembled nothing, once however many got it; as store_hit(). Numbers, never text. */
void store_clean(struct store *store, const struct signature_set *signatures);

/* --- administration ----------------------------------------------------------------------------- */

enum store_outcome {
    STORE_NEW,       /* a new campaign, active */
    STORE_MERGED,    /* joined a campaign as a new variant */
    STORE_DUPLICATE, /* only counted: within 64 bits of a stored variant */
    STORE_PENDING,   /* stored or counted, but the campaign still is a candidate */
    STORE_REFUSED,   /* like something allowed, which the campaign names; or, with 0, like much clean mail */
};

struct store_report {
    const char *label, *source, *reporter; /* NULL: none */
    int64_t when;                          /* seconds since 1970; 0: now */
    bool force;                            /* however much clean mail is like it */
};

/* Stores a reported message, atomically, and reads it back. */
bool store_report(struct store *store, const struct signature_set *signatures, const struct signature_rule *rule,
                  const struct store_report *report, enum store_outcome *outcome_out, uint64_t *campaign_out,
                  GError **error);

/* How common a text is in the clean mail of the last STORE_CLEAN_DAYS, by clean_share and clean_days. */
struct store_commonness {
    uint64_t clean;  /* messages that were counted */
    unsigned days;   /* on which it was common */
    double share;    /* of the clean mail of these days that looks like it */
    bool too_common; /* reports of it are refused */
};
bool store_commonness(struct store *store, const struct signature_set *signatures, struct store_commonness *out,
                      GError **error);

/*
 * Loading many: what the calling thread reports and imports between these is made durable at once, at the
 * end, and counts as stored only if that succeeds. Where it fails (a full store), what still fits can be stored
 * one by one. Other writers of an embedded store wait meanwhile: keep it short (some hundred reports), and wait
 * for nothing else in it.
 */
bool store_batch_begin(struct store *store, GError **error);
bool store_batch_end(struct store *store, GError **error);

/* Near-duplicates of this are never acted on. */
bool store_allow(struct store *store, const struct signature_set *signatures, const struct store_report *report,
                 uint64_t *campaign_out, GError **error);

/* Takes a campaign back wholly: no key of it is left. REFRAIN_ERROR_MISSING when there is none. */
bool store_forget(struct store *store, uint64_t campaign, GError **error);

/*
 * Takes back the one variant that a message made (the whole campaign with its last one); `removed_out` is
 * the campaign, 0 when no variant is within 64 bits.
 */
bool store_forget_variant(struct store *store, const struct signature_set *signatures, uint64_t *removed_out,
                          GError **error);

/*
 * Takes back what one source gave to a campaign: its reports, its reporters, and the variants that no other source
 * reported; the whole campaign with the last one. What is left must satisfy quorum or trust anew, or is a candidate.
 * `left_out`: the campaign as it is then, with no variants when it is gone. A dry run changes nothing.
 */
bool store_forget_source(struct store *store, uint64_t campaign, const char *source, bool dry_run,
                         struct store_campaign *left_out, GError **error);

bool store_show(struct store *store, uint64_t campaign, struct store_campaign *out, GError **error);

/* The signatures of its variants, for explain and export; free with g_free(). */
bool store_variants(struct store *store, uint64_t campaign, struct signature_set **sets_out, unsigned *n_out,
                    GError **error);

/*
 * Walks over all campaigns of this lexicon, a page at a time, in no order, while others write: each that
 * is there all the while is seen at least once. visit() returns false to stop.
 */
typedef bool (*store_visit)(const struct store_campaign *campaign, void *user);
bool store_each(struct store *store, store_visit visit, void *user, GError **error);

struct store_stats {
    uint64_t campaigns, by_state[STORE_STATES];
    uint64_t variants, reports, hits;
    uint64_t hits_today, hits_week, reports_today, reports_week;
    uint64_t clean_week;      /* clean messages that were counted */
    uint64_t other_lexicons;  /* campaigns under other lexicons: ours may be the wrong one */
    uint64_t memory;          /* bytes that the store uses; 0: not known */
    double latency_ms;        /* one round trip, just measured */
    char server[64];          /* "Redis 7.0.15 (primary)", "LMDB 0.9.24" */
};
bool store_stats(struct store *store, struct store_stats *out, GError **error);

/* Drops what has outlived its ttl and heals what a crash left behind. */
bool store_expire(struct store *store, uint64_t *dropped_out, GError **error);

/* Can it be reached and written to? */
bool store_ping(struct store *store, GError **error);

/* Adds a campaign as another site exported it: idempotent; `source` and its trust decide its state. */
bool store_import(struct store *store, const struct store_campaign *campaign, const struct signature_set *variants,
                  unsigned n_variants, const char *source, bool trusted, enum store_outcome *outcome_out,
                  GError **error);

/* Health, for metrics. */
struct store_health {
    uint64_t lookups, errors, timeouts;
    bool breaker_open;
    unsigned connections;
};
void store_health(const struct store *store, struct store_health *out);

#endif
