/*
 * Names of keys in Redis, and the commands of one request.
 *
 *      rf:lexicons            hash   lexicon id ─▶ campaigns; who has the wrong lexicon can be told so
 *      rf:<lexid>:<bucket>    set    packed members (backend.h), an intset: 8 bytes each
 *      rf:<lexid>:t<bucket>   set    the same, of Manku's tables
 *      rf:<lexid>:r<part>     hash   low bits of the campaign number ─▶ record (campaign.h)
 *      rf:<lexid>:n<day>      string counters of a day (backend.h), 32 bits each; ends after 7 days
 *      rf:<lexid>:l<key>      string Cluster: who makes a new campaign with this smallest key; 5 s at most
 *
 * <lexid> has 16 hex digits, <bucket> bucket_bits, and <part> the high bits of the number: 2^(bucket_bits −
 * 6) hashes. So all keys are known by name: lists and expiry need neither SCAN nor an index, a campaign costs
 * no key of its own, and in a Cluster everything is spread over the slots.
 *
 * What a campaign costs in Redis 7.0 with one variant of 20 lexicon hashes and 3 odd words, in bytes, 100,000 of
 * them in 2^18 sets of 8 members each; measured by INFO memory, everything included:
 *
 *      22 members, 8 each                                   176
 *      their share of 262,144 sets (key, object, entry)     289
 *      record, 240, as the allocator rounds it              256
 *      its field and entry in the hash                       56
 *                                                           ───
 *                                                           777     (639 with 2^17 sets of 17)
 */
#ifndef STORE_REDIS_KEYS_H
#define STORE_REDIS_KEYS_H

#include <glib.h>
#include <stdint.h>

#include "base/arena.h"
#include "store/link.h"

#define REDIS_LEXICONS "rf:lexicons"

struct redis_names {
    char prefix[24]; /* "rf:<lexid>:" */
    size_t n_prefix;
    unsigned part_bits; /* the high bits of a number that choose its hash */
};

void redis_names_init(struct redis_names *names, uint64_t lexicon, unsigned bucket_bits);

/* All in the arena, NUL-ended. */
const char *redis_set_key(const struct redis_names *names, struct arena *arena, uint32_t bucket);
const char *redis_part_key(const struct redis_names *names, struct arena *arena, uint32_t part);
const char *redis_day_key(const struct redis_names *names, struct arena *arena, uint32_t day);
const char *redis_record_key(const struct redis_names *names, struct arena *arena, uint32_t number);
const char *redis_record_field(const struct redis_names *names, struct arena *arena, uint32_t number);
/* The reverse. False when it is no such field. */
bool redis_record_number(const struct redis_names *names, uint32_t part, const char *field,
                         uint32_t *number_out);

/* Commands are put together word by word; everything lives in the arena until the request is over. */
struct redis_batch {
    struct arena *arena;
    struct link_command *commands;
    unsigned n, room;
    const char **words; /* of the command under way */
    size_t *lengths;
    unsigned n_words, words_room;
};

void redis_batch_init(struct redis_batch *batch, struct arena *arena);

void redis_word(struct redis_batch *batch, const char *text);
void redis_bytes(struct redis_batch *batch, const void *bytes, size_t n);
void redis_number(struct redis_batch *batch, uint64_t number);
/* Ends the command; `key` routes it. */
void redis_end(struct redis_batch *batch, const char *key);

/*
 * Begins a command that runs a script, by the name that servers remember it under, or with its text where they
 * do not know it: NOSCRIPT says so, and then nothing was done.
 */
struct redis_script {
    const char *text;
    char name[41]; /* SHA1 of the text, hex */
};
void redis_script_init(struct redis_script *script, const char *text);
void redis_script_begin(struct redis_batch *batch, const struct redis_script *script, bool with_text);

/* A whole command of words, NULL-ended; the second is its key. */
void redis_command(struct redis_batch *batch, ...) G_GNUC_NULL_TERMINATED;

#endif
