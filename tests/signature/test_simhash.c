#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <glib.h>

#include "signature/simhash.h"

/* Bits are written first to last; bit 0 is the first. */
static uint64_t bits(const char *text)
{
    uint64_t value = 0;
    for (unsigned i = 0; text[i]; i++)
        value |= (uint64_t)(text[i] == '1') << i;
    return value;
}

static void weighted_gives_the_example_of_seshasai(void **state)
{
    (void)state;
    /* medicare, plan, democrats, health, negotiate */
    const uint64_t features[] = { bits("1001"), bits("1110"), bits("0010"), bits("0101"), bits("1101") };
    const double weights[] = { 0.09, 0.01, 0.06, 0.05, 0.04 };
    uint64_t out;
    simhash_weighted(features, weights, 5, 4, &out);
    assert_int_equal(out, bits("1001"));
}

static void weighted_takes_a_tie_for_zero(void **state)
{
    (void)state;
    const uint64_t features[] = { bits("10"), bits("01") };
    uint64_t out;
    simhash_weighted(features, (double[]) { 1, 1 }, 2, 2, &out);
    assert_int_equal(out, 0);
}

static void weighted_works_across_words(void **state)
{
    (void)state;
    const uint64_t features[] = { 1, 0, 2, /**/ 1, 4, 0, /**/ 0, 4, 2 };
    uint64_t out[3];
    simhash_weighted(features, (double[]) { 1, 1, 1 }, 3, 192, out);
    assert_int_equal(out[0], 1);
    assert_int_equal(out[1], 4);
    assert_int_equal(out[2], 2);
}

static void fast_equals_the_reference_on_random_documents(void **state)
{
    (void)state;
    GRand *rand = g_rand_new_with_seed(7);
    for (size_t n = 1; n < 700; n += 1 + n / 9) {
        uint64_t *hashes = g_new(uint64_t, n), *features = g_new(uint64_t, n * 8), fast[8], slow[8];
        double *weights = g_new(double, n);
        uint64_t key = g_rand_int(rand);
        for (size_t i = 0; i < n; i++) {
            hashes[i] = (uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand);
            simhash_feature(hashes[i], key, features + i * 8);
            weights[i] = 1;
        }
        simhash_sketch(hashes, n, key, fast);
        simhash_weighted(features, weights, n, 512, slow);
        assert_memory_equal(fast, slow, sizeof fast);
        g_free(hashes);
        g_free(features);
        g_free(weights);
    }
    g_rand_free(rand);
}

static void fast_counts_past_sixteen_bits(void **state)
{
    (void)state;
    /* 70,001 equal features: every counter is 0 or 70,001. */
    size_t n = 70001;
    uint64_t *hashes = g_new(uint64_t, n), out[8], feature[8];
    for (size_t i = 0; i < n; i++)
        hashes[i] = 42;
    simhash_sketch(hashes, n, 1, out);
    simhash_feature(42, 1, feature);
    assert_memory_equal(out, feature, sizeof out);
    g_free(hashes);
}

static void features_are_balanced_and_differ_by_key(void **state)
{
    (void)state;
    uint64_t a[8], b[8];
    unsigned ones = 0, differ = 0;
    for (uint64_t hash = 1; hash <= 200; hash++) {
        simhash_feature(hash, 1, a);
        simhash_feature(hash, 2, b);
        for (unsigned i = 0; i < 8; i++) {
            ones += (unsigned)__builtin_popcountll(a[i]);
            differ += (unsigned)__builtin_popcountll(a[i] ^ b[i]);
        }
    }
    /* 102,400 fair coins: 5 standard deviations are 800. */
    assert_in_range(ones, 51200 - 800, 51200 + 800);
    assert_in_range(differ, 51200 - 800, 51200 + 800);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weighted_gives_the_example_of_seshasai),
        cmocka_unit_test(weighted_takes_a_tie_for_zero),
        cmocka_unit_test(weighted_works_across_words),
        cmocka_unit_test(fast_equals_the_reference_on_random_documents),
        cmocka_unit_test(fast_counts_past_sixteen_bits),
        cmocka_unit_test(features_are_balanced_and_differ_by_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
