#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "store/manku.h"

static const unsigned designs[] = { 4, 10, 16, 20 };
#define DESIGNS (sizeof designs / sizeof designs[0])

static void the_formula_gives_the_designs_of_the_paper(void **state)
{
    (void)state;
    /* 2^34 sketches; τ = d − the leading bits. */
    static const struct {
        double leading;
        unsigned tables;
    } table[] = { { 16, 4 }, { 25, 10 }, { 28, 16 }, { 31, 20 } };
    for (unsigned i = 0; i < DESIGNS; i++)
        assert_int_equal(manku_formula(64, 3, 34, 34 - table[i].leading), table[i].tables);
}

static void more_campaigns_need_more_tables(void **state)
{
    (void)state;
    static const struct {
        unsigned d, tables;
    } table[] = { { 1, 4 }, { 10, 4 }, { 17, 4 }, { 19, 4 }, { 20, 10 }, { 28, 10 }, { 29, 16 }, { 31, 16 } };
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_int_equal(manku_tables(table[i].d), table[i].tables);
}

static void tables_lead_with_as_many_bits_as_they_should(void **state)
{
    (void)state;
    static const int least[] = { 16, 25, 28, 31 }, most[] = { 16, 26, 28, 33 };
    for (unsigned i = 0; i < DESIGNS; i++) {
        uint64_t masks[MANKU_MAX_TABLES];
        manku_masks(designs[i], masks);
        for (unsigned j = 0; j < designs[i]; j++) {
            int bits = __builtin_popcountll(masks[j]);
            assert_true(bits >= least[i] && bits <= most[i]);
            for (unsigned k = 0; k < j; k++)
                assert_true(masks[j] != masks[k]);
        }
    }
}

static bool share_a_table(uint64_t a, uint64_t b, unsigned n)
{
    uint64_t x[MANKU_MAX_TABLES], y[MANKU_MAX_TABLES];
    manku_hashes(a, n, x);
    manku_hashes(b, n, y);
    for (unsigned i = 0; i < n; i++)
        if (x[i] == y[i])
            return true;
    return false;
}

static void three_bits_never_hide_from_all_tables(void **state)
{
    (void)state;
    uint64_t sketch = hash_mix(1);
    for (unsigned i = 0; i < DESIGNS; i++)
        for (unsigned a = 0; a < 64; a++)
            for (unsigned b = a; b < 64; b++)
                for (unsigned c = b; c < 64; c++) {
                    uint64_t flipped = UINT64_C(1) << a | UINT64_C(1) << b | UINT64_C(1) << c;
                    if (!share_a_table(sketch, sketch ^ flipped, designs[i]))
                        fail_msg("%u tables, bits %u %u %u", designs[i], a, b, c);
                }
}

static void strangers_share_no_table(void **state)
{
    (void)state;
    unsigned shared = 0;
    for (uint64_t i = 0; i < 20000; i++)
        shared += share_a_table(hash_mix(2 * i + 1), hash_mix(2 * i + 2), 10);
    assert_int_equal(shared, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_formula_gives_the_designs_of_the_paper),
        cmocka_unit_test(more_campaigns_need_more_tables),
        cmocka_unit_test(tables_lead_with_as_many_bits_as_they_should),
        cmocka_unit_test(three_bits_never_hide_from_all_tables),
        cmocka_unit_test(strangers_share_no_table),
    };
    return cmocka_run_group_tests_name("Manku's tables", tests, NULL, NULL);
}
