/*
 * Hash helpers on XXH3. Every value is the same on every machine: no byte order, no locale, no pointer
 * goes into it.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The keyed hash of some bytes: XXH3 with the key as its seed. */
uint64_t hash_bytes(const void *bytes, size_t n, uint64_t key);

/*
 * A 64-bit finaliser (a bijection with full avalanche): turns one hash into as many independent ones as
 * there are keys, without a second look at the bytes: hash_mix(hash ^ key).
 */
static inline uint64_t hash_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    return x;
}

#endif
