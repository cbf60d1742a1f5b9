/*
 * The bytes of a .lex file. All integers are little-endian; doubles are the bits of IEEE 754.
 *
 *      0  magic "REFRAINL"        8  format          12  tokeniser
 *     16  scheme                 20  k               24  keep            28  secondary (0, 1)
 *     32  min_signature          36  min_count       40  bucket_bits     44  slot_bits
 *     48  documents              56  terms           64  drop            72  nidf_low
 *     80  nidf_high              88  common          96  term key       104  sketch key
 *    112  collections           120  checksum of all other bytes: the id
 *    128  order keys: 64 × u64, zero from k on
 *    640  slots: 2^slot_bits × { u64 hash, u32 df, u32 classes }; df = 0 where it is empty
 *
 * A term is at slot hash mod 2^slot_bits or in the next free one behind; the table is at most half full.
 * Slots are 16 bytes at a multiple of 16: a look-up touches one cache line, rarely two.
 */
#ifndef LEXICON_LAYOUT_H
#define LEXICON_LAYOUT_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <xxhash.h>

#include "lexicon/lexicon.h"

#define LAYOUT_MAGIC  "REFRAINL"
#define LAYOUT_FORMAT 1u

enum layout {
    LAYOUT_AT_MAGIC = 0,
    LAYOUT_AT_FORMAT = 8,
    LAYOUT_AT_TOKENISER = 12,
    LAYOUT_AT_SCHEME = 16,
    LAYOUT_AT_K = 20,
    LAYOUT_AT_KEEP = 24,
    LAYOUT_AT_SECONDARY = 28,
    LAYOUT_AT_MIN_SIGNATURE = 32,
    LAYOUT_AT_MIN_COUNT = 36,
    LAYOUT_AT_BUCKET_BITS = 40,
    LAYOUT_AT_SLOT_BITS = 44,
    LAYOUT_AT_DOCUMENTS = 48,
    LAYOUT_AT_TERMS = 56,
    LAYOUT_AT_DROP = 64,
    LAYOUT_AT_NIDF_LOW = 72,
    LAYOUT_AT_NIDF_HIGH = 80,
    LAYOUT_AT_COMMON = 88,
    LAYOUT_AT_TERM_KEY = 96,
    LAYOUT_AT_SKETCH_KEY = 104,
    LAYOUT_AT_COLLECTIONS = 112,
    LAYOUT_AT_CHECKSUM = 120,
    LAYOUT_AT_ORDER_KEYS = 128,
    LAYOUT_AT_SLOTS = LAYOUT_AT_ORDER_KEYS + 8 * LEXICON_MAX_K,
    LAYOUT_SLOT = 16,
    LAYOUT_MAX_SLOT_BITS = 40,
};

static inline uint32_t layout_get32(const unsigned char *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return le32toh(v);
}

static inline uint64_t layout_get64(const unsigned char *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return le64toh(v);
}

static inline double layout_get_double(const unsigned char *at)
{
    uint64_t bits = layout_get64(at);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline void layout_put32(unsigned char *at, uint32_t v)
{
    v = htole32(v);
    memcpy(at, &v, sizeof v);
}

static inline void layout_put64(unsigned char *at, uint64_t v)
{
    v = htole64(v);
    memcpy(at, &v, sizeof v);
}

static inline void layout_put_double(unsigned char *at, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    layout_put64(at, bits);
}

/* The hash of everything but the checksum itself. */
static inline uint64_t layout_checksum(const unsigned char *bytes, size_t n)
{
    uint64_t before = XXH3_64bits(bytes, LAYOUT_AT_CHECKSUM);
    return XXH3_64bits_withSeed(bytes + LAYOUT_AT_CHECKSUM + 8, n - LAYOUT_AT_CHECKSUM - 8, before);
}

#endif
