/*
 * The record of a campaign: one string of bytes in every backend.
 *
 *      0        1       2       4          8        12       16
 *      ┌────────┬───────┬───────┬──────────┬────────┬────────┬──
 *      │ format │ state │ day   │ revision │ first  │ last   │ …      fixed, little-endian
 *      └────────┴───────┴───────┴──────────┴────────┴────────┴──
 *      (the highest bits of the state: the campaign has members in Manku's tables too; several sources reported it)
 *      reports, hits, reporters                   varints
 *      days with hits (16 bits), a varint each    today is bit 0, `day` says which day that was
 *      days with reports (8 bits), a varint each
 *      label, source                              a length byte and the bytes
 *      [further sources                           a count byte; each: name]
 *      reporters known                            a count byte; each: varint reports, name, [its source]
 *      variants                                   a count byte; each: [a bit for each source that reported it,]
 *                                                 a count byte of views, and for each
 *          ┌──────┬───────┬───────┬──────────────┬───────────────────────┬─────────────────┐
 *          │ view │ n_lex │ terms │ sketch       │ n_lex lexicon hashes  │ n_odd odd words │
 *          │ 1    │ 1     │ 2     │ 64           │ 6 each                │ 3 each          │
 *          └──────┴───────┴───────┴──────────────┴───────────────────────┴─────────────────┘
 *      (the high half of the view is n_odd)
 *
 * A campaign of one variant in the body view with K = 20 takes about 220 bytes, the odd words and the names. The
 * lexicon hashes are kept so that the campaign's members can be taken out of their sets by name. Hashes of more than
 * 48 bits take 8 bytes each (n_lex has its highest bit set when they are short); the part view has no sketch.
 * What is in brackets is there only where several sources reported the campaign: one source costs its name.
 * The revision changes with every write: a writer names the one that it has read.
 */
#ifndef STORE_CAMPAIGN_H
#define STORE_CAMPAIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "store/store.h"

#define CAMPAIGN_FORMAT      1
#define CAMPAIGN_REPORT_DAYS 7
#define CAMPAIGN_REVISION_AT 4 /* where the revision is: backends compare it without decoding */

/* A record, decoded. */
struct campaign {
    struct store_campaign info; /* id is not stored: it follows from the number */
    uint32_t revision;
    bool tables; /* has members in Manku's tables too */
    uint32_t day;                            /* since 1970: the day of info.days[0] and reported[0] */
    uint32_t reported[CAMPAIGN_REPORT_DAYS]; /* reports a day */
    struct signature_set variant[STORE_VARIANTS];
    uint8_t from[STORE_VARIANTS]; /* bit i: source i reported this variant */
};

/*
 * The id that people see and the number that the store uses are one: a bijection that depends on the
 * lexicon. campaign_number() is false for an id that is not of this lexicon. No campaign has the number 0.
 */
uint64_t campaign_id(uint64_t lexicon, uint32_t number);
bool campaign_number(uint64_t lexicon, uint64_t id, uint32_t *number_out);

/* The bytes, in the arena. */
const uint8_t *campaign_encode(struct arena *arena, const struct campaign *campaign, size_t *size_out);

/* False when the bytes are not a record. */
bool campaign_decode(const uint8_t *bytes, size_t size, uint64_t lexicon, struct campaign *out);

/* The revision of a record of whatever format; 0 when it is too short to have one. */
uint32_t campaign_revision(const uint8_t *bytes, size_t size);

/*
 * Reads one signature after the other, without decoding the rest: for look-ups. False from
 * campaign_reader_init() when the bytes are not a record, from campaign_reader_next() at the end.
 */
struct campaign_reader {
    enum store_state state;
    int64_t last;
    const uint8_t *at, *end;
    uint64_t lexicon;
    unsigned variants, views; /* still to come */
    bool many_sources;
    bool damaged;
};
bool campaign_reader_init(struct campaign_reader *reader, const uint8_t *bytes, size_t size, uint64_t lexicon);
bool campaign_reader_next(struct campaign_reader *reader, struct signature *out);

/* Moves the daily counters so that the first one is `now`'s. */
void campaign_roll(struct campaign *campaign, int64_t now);

/*
 * The number of a source (NULL: none was named), which is new perhaps. Those for which there is no room, and
 * reports without one, are STORE_SOURCES.
 */
unsigned campaign_source(struct store_campaign *info, const char *name);

/* Takes out all that only this source gave. No variants are left: nobody else gave any. */
void campaign_drop_source(struct campaign *campaign, const char *name);

/* One more report; `reporter` may be NULL. Each reporter counts once; STORE_REPORTERS are kept apart. */
void campaign_count_report(struct campaign *campaign, unsigned source, const char *reporter, int64_t when,
                           int64_t now);

/* Counts the names among the reporters. */
uint32_t campaign_distinct_reporters(const struct store_campaign *info);

void campaign_count_hits(struct campaign *campaign, uint32_t hits, int64_t now);

/* Copies a name, cut at a character, control characters replaced. NULL gives "". */
void campaign_name(char out[STORE_NAME_MAX], const char *name);

#endif
