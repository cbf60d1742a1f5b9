#include "store/manku.h"

#include <glib.h>
#include <math.h>

#include "base/hash.h"

#define TAU 3.0

/* --- how many ----------------------------------------------------------------------------------- */

static double binomial(unsigned n, unsigned k)
{
    double result = 1;
    for (unsigned i = 1; i <= k; i++)
        result = result * (n - k + i) / i;
    return result;
}

unsigned manku_formula(double bits, unsigned distance, double d, double tau)
{
    if (d <= tau)
        return 1;
    double least = INFINITY;
    /* With 2k blocks or more, the leading ones would be most of the bits: far more tables for nothing. */
    for (unsigned r = distance + 1; r <= 2 * distance; r++) {
        double rest = bits * distance / r;
        if (rest < bits)
            least = MIN(least, binomial(r, distance) * manku_formula(rest, distance, d - (bits - rest), tau));
    }
    return (unsigned)least;
}

unsigned manku_tables(unsigned d)
{
    unsigned n = manku_formula(MANKU_BITS, MANKU_DISTANCE, d, TAU);
    return CLAMP(n, 4, MANKU_MAX_TABLES);
}

/* --- which bits --------------------------------------------------------------------------------- */

/* Cuts the set bits of `from`, highest first, into n blocks, the first ones a bit longer where it must be. */
static void cut(uint64_t from, unsigned n, uint64_t *blocks)
{
    unsigned left = (unsigned)__builtin_popcountll(from);
    for (unsigned i = 0; i < n; i++) {
        unsigned width = (left + (n - i) - 1) / (n - i);
        blocks[i] = 0;
        for (left -= width; width > 0; width--) {
            uint64_t highest = UINT64_C(1) << (63 - __builtin_clzll(from));
            blocks[i] |= highest;
            from &= ~highest;
        }
    }
}

/* All ways to let `lead` of n blocks lead. */
static void choose(const uint64_t *blocks, unsigned n, unsigned lead, uint64_t *out)
{
    for (unsigned set = 0; set < 1u << n; set++) {
        uint64_t mask = 0;
        if ((unsigned)__builtin_popcount(set) != lead)
            continue;
        for (unsigned i = 0; i < n; i++)
            if (set >> i & 1)
                mask |= blocks[i];
        *out++ = mask;
    }
}

void manku_masks(unsigned n_tables, uint64_t out[MANKU_MAX_TABLES])
{
    uint64_t blocks[6], rest[4];
    switch (n_tables) {
    case 4:
        cut(UINT64_MAX, 4, out);
        break;
    case 10:
        cut(UINT64_MAX, 5, blocks);
        choose(blocks, 5, 2, out);
        break;
    case 16:
        cut(UINT64_MAX, 4, blocks);
        for (unsigned i = 0; i < 4; i++) {
            cut(~blocks[i], 4, rest);
            for (unsigned j = 0; j < 4; j++)
                *out++ = blocks[i] | rest[j];
        }
        break;
    default:
        cut(UINT64_MAX, 6, blocks);
        choose(blocks, 6, 3, out);
        break;
    }
}

void manku_hashes(uint64_t sketch, unsigned n_tables, uint64_t out[MANKU_MAX_TABLES])
{
    uint64_t masks[MANKU_MAX_TABLES];
    manku_masks(n_tables, masks);
    for (unsigned i = 0; i < n_tables; i++)
        out[i] = hash_mix((sketch & masks[i]) ^ hash_mix(i + 1)) | 1;
}
