/*
 * The members that a signature has in the sets: backend.h draws them.
 */
#ifndef STORE_MEMBERS_H
#define STORE_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/backend.h"
#include "store/manku.h"

/* Of one signature. */
#define MEMBERS_KEYS_MAX (SIGNATURE_MAX_LEX + SIGNATURE_ODD_KEYS + MANKU_MAX_TABLES)

/* A signature shared by so many campaigns says nothing: no more are added. */
#define MEMBERS_OF_ONE_HASH 256
/* Of a whole bucket: where Redis (set-max-intset-entries) would leave the compact form. */
#define MEMBERS_OF_ONE_SET 512

/* Where to look for one lexicon hash or odd word: in this set, the members with this tag. */
struct members_key {
    uint32_t bucket;
    uint32_t tag;
};

/* A hash that is 0 has no key: false. */
bool members_key_of(uint64_t hash, unsigned view, unsigned bucket_bits, struct members_key *out);

/* The keys of all lexicon hashes of a signature; returns how many. */
unsigned members_keys(const struct signature *signature, unsigned bucket_bits,
                      struct members_key out[SIGNATURE_MAX_LEX]);

/* Those of the odd words that propose. */
unsigned members_odd_keys(const struct signature *signature, unsigned bucket_bits,
                          struct members_key out[SIGNATURE_ODD_KEYS]);

/* Those in Manku's tables; their buckets have BACKEND_TABLES set. The part view has no sketch, and none. */
unsigned members_table_keys(const struct signature *signature, unsigned bucket_bits,
                            struct members_key out[MANKU_MAX_TABLES]);

static inline uint64_t members_pack(uint32_t tag, uint32_t number)
{
    return (uint64_t)tag << 32 | number;
}

static inline uint32_t members_tag(uint64_t member)
{
    return (uint32_t)(member >> 32);
}

static inline uint32_t members_number(uint64_t member)
{
    return (uint32_t)member;
}

#endif
