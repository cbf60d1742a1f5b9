/*
 * Manku's tables (WWW 2007): a second proposer, for texts whose sketches are within 3 bits of each other in 64.
 *
 * The 64 bits are cut into blocks. Sketches that differ in at most 3 bits agree in all but 3 blocks, so in each
 * table some choice of blocks leads, and one look at those that agree in all its leading bits finds them:
 *
 *      tables   blocks                               leading bits   good for
 *      4        16 16 16 16, one leads               16             2^19 sketches
 *      10       13 13 13 13 12, two lead             25 – 26        2^28
 *      16       16 16 16 16, one leads, then         28             2^31
 *               one of 12 12 12 12 in the rest
 *      20       11 11 11 11 10 10, three lead        31 – 33        2^34
 *
 * The number of tables follows from the number of sketches 2^d by the paper's formula
 *
 *      X(f, k, d) = 1 if d ≤ τ, else the least over r > k of C(r, k) · X(fk/r, k, d − (r − k) f/r)
 *
 * with τ = 3: about 8 sketches agree by chance in a table. The lexicon knows for how many campaigns it was made;
 * so all who share it use the same tables. They are kept in sets like those of the lexicons.
 */
#ifndef STORE_MANKU_H
#define STORE_MANKU_H

#include <stdint.h>

#define MANKU_BITS       64
#define MANKU_DISTANCE   3
#define MANKU_MAX_TABLES 20

/* The paper's formula; τ is the logarithm of the hits by chance that a probe may have. */
unsigned manku_formula(double bits, unsigned distance, double d, double tau);

/* 4, 10, 16 or 20 tables for 2^d sketches. */
unsigned manku_tables(unsigned d);

/* The leading bits of each table of a design. */
void manku_masks(unsigned n_tables, uint64_t out[MANKU_MAX_TABLES]);

/* One hash for each table of the design, equal where the leading bits are, and never 0. */
void manku_hashes(uint64_t sketch, unsigned n_tables, uint64_t out[MANKU_MAX_TABLES]);

#endif
