#include "signature/simhash.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/vector.h"

#define WORDS 8

void simhash_weighted(const uint64_t *features, const double *weights, size_t n, unsigned width,
                      uint64_t *out)
{
    size_t words = (width + 63) / 64;
    memset(out, 0, words * sizeof *out);
    for (unsigned bit = 0; bit < width; bit++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            bool set = features[i * words + bit / 64] >> (bit % 64) & 1;
            sum += set ? weights[i] : -weights[i];
        }
        if (sum > 0)
            out[bit / 64] |= UINT64_C(1) << (bit % 64);
    }
}

/*
 * The fast sketch counts vertically. A plane holds one binary digit of 512 counters:
 *
 *      plane 0   1 0 1 1 …   the ones of every counter
 *      plane 1   0 1 1 0 …   the twos
 *
 * Adding features one by one would ripple a carry through the planes each time. Instead each plane lets
 * one vector of its weight wait; the second to arrive is added together with it by one full adder, whose
 * carry goes on to the next plane. Plane p so works once in 2^(p+1) features, about one adder a feature
 * over all planes, and which planes work depends on the number of features alone: no branch on data.
 */
#define PLANES 32

struct vector {
    uint64_t w[WORDS];
};

struct counters {
    struct vector plane[PLANES];
    struct vector waiting[PLANES];
    uint32_t occupied; /* bit p: waiting[p] holds one */
    unsigned used;     /* planes that were ever added to */
};

static struct vector full_add(struct vector *sum, const struct vector *a, const struct vector *b)
{
    struct vector carry;
    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t half = sum->w[i] ^ a->w[i];
        carry.w[i] = (sum->w[i] & a->w[i]) | (half & b->w[i]);
        sum->w[i] = half ^ b->w[i];
    }
    return carry;
}

static void count(struct counters *counters, struct vector vector)
{
    unsigned p = 0;
    while (counters->occupied >> p & 1) {
        vector = full_add(&counters->plane[p], &counters->waiting[p], &vector);
        counters->occupied &= ~(UINT32_C(1) << p);
        p++;
    }
    counters->waiting[p] = vector;
    counters->occupied |= UINT32_C(1) << p;
    if (counters->used <= p)
        counters->used = p + 1;
}

/* Adds what still waits, so that the planes alone are the counters. */
static void settle(struct counters *counters)
{
    static const struct vector zero = { { 0 } };
    struct vector carry = zero;
    for (unsigned p = 0; p <= counters->used; p++) {
        const struct vector *waiting = counters->occupied >> p & 1 ? &counters->waiting[p] : &zero;
        carry = full_add(&counters->plane[p], waiting, &carry);
    }
}

/* Bit by bit: is the counter above the limit? Compares from the highest digit down. */
static void above(const struct counters *counters, uint64_t limit, uint64_t out[WORDS])
{
    uint64_t equal[WORDS];
    memset(out, 0, WORDS * sizeof *out);
    memset(equal, 0xff, sizeof equal);
    for (unsigned p = counters->used + 1; p-- > 0;) {
        uint64_t digit = limit >> p & 1 ? ~UINT64_C(0) : 0;
        for (unsigned i = 0; i < WORDS; i++) {
            out[i] |= equal[i] & counters->plane[p].w[i] & ~digit;
            equal[i] &= ~(counters->plane[p].w[i] ^ digit);
        }
    }
}

struct keys {
    uint64_t k[WORDS];
};

static struct keys feature_keys(uint64_t key)
{
    struct keys keys;
    for (unsigned i = 0; i < WORDS; i++)
        keys.k[i] = hash_mix(key + i);
    return keys;
}

static struct vector feature(uint64_t hash, const struct keys *keys)
{
    struct vector v;
    for (unsigned i = 0; i < WORDS; i++)
        v.w[i] = hash_mix(hash ^ keys->k[i]);
    return v;
}

void simhash_feature(uint64_t hash, uint64_t key, uint64_t out[WORDS])
{
    struct keys keys = feature_keys(key);
    struct vector v = feature(hash, &keys);
    memcpy(out, v.w, sizeof v.w);
}

VECTOR_CLONES void simhash_sketch(const uint64_t *hashes, size_t n, uint64_t key, uint64_t out[WORDS])
{
    struct keys keys = feature_keys(key);
    struct counters counters;
    memset(&counters.plane, 0, sizeof counters.plane);
    counters.occupied = 0;
    counters.used = 0;
    for (size_t i = 0; i < n; i++)
        count(&counters, feature(hashes[i], &keys));
    settle(&counters);
    /* More ones than zeros: 2 × count > n. */
    above(&counters, n / 2, out);
}
