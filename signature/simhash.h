/*
 * Simhash (Charikar): bit i of the sketch is the sign of the sum, over all features, of ± the feature's
 * weight, + where bit i of the feature's hash is set.
 */
#ifndef SIGNATURE_SIMHASH_H
#define SIGNATURE_SIMHASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * The plain one, the reference: n features of `width` bits each (words of 64, bit 0 first), any weights.
 * A sum of exactly zero gives 0.
 */
void simhash_weighted(const uint64_t *features, const double *weights, size_t n, unsigned width,
                      uint64_t *out);

/*
 * The fast one: equal weights, 512 bits, the features derived from 64-bit term hashes and a key
 * (simhash_feature). Counts vertically in bit-sliced counters.
 */
void simhash_sketch(const uint64_t *hashes, size_t n, uint64_t key, uint64_t out[8]);

/* The 512 bits of one term. */
void simhash_feature(uint64_t hash, uint64_t key, uint64_t out[8]);

#endif
