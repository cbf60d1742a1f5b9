#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "store/backend.h"
#include "store/redis_keys.h"

static struct redis_names names;
static struct arena *arena;

static int start(void **state)
{
    (void)state;
    arena = arena_new();
    redis_names_init(&names, UINT64_C(0x0123456789abcdef), 24);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

/* A set is named by hex digits alone: whatever begins with one could be a set. */
static void no_other_key_can_have_the_name_of_a_set(void **state)
{
    (void)state;
    const char *others[] = {
        redis_day_key(&names, arena, 0x5124),
        redis_part_key(&names, arena, 0xabc),
        redis_set_key(&names, arena, BACKEND_TABLES | 0xabc),
    };
    assert_string_equal(redis_set_key(&names, arena, 0xc5124), "rf:0123456789abcdef:c5124");
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        assert_memory_equal(others[i], names.prefix, names.n_prefix);
        assert_false(g_ascii_isxdigit(others[i][names.n_prefix]));
    }
}

static void other_kinds_differ_from_each_other(void **state)
{
    (void)state;
    const char *day = redis_day_key(&names, arena, 7), *part = redis_part_key(&names, arena, 7),
               *table = redis_set_key(&names, arena, BACKEND_TABLES | 7);
    assert_string_not_equal(day, part);
    assert_string_not_equal(part, table);
    assert_string_not_equal(table, day);
}

static void a_record_is_found_by_its_key_and_field(void **state)
{
    (void)state;
    static const uint32_t numbers[] = { 1, 0x3fff, 0x4000, 0xdeadbeef, UINT32_MAX };
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        const char *key = redis_record_key(&names, arena, numbers[i]);
        uint32_t part = (uint32_t)g_ascii_strtoull(key + names.n_prefix + 1, NULL, 16), number;
        assert_true(
            redis_record_number(&names, part, redis_record_field(&names, arena, numbers[i]), &number));
        assert_int_equal(number, numbers[i]);
    }
    uint32_t number;
    assert_false(redis_record_number(&names, 0, "", &number));
    assert_false(redis_record_number(&names, 0, "xyz", &number));
    assert_false(redis_record_number(&names, 0, "ffffffff", &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_other_key_can_have_the_name_of_a_set),
        cmocka_unit_test(other_kinds_differ_from_each_other),
        cmocka_unit_test(a_record_is_found_by_its_key_and_field),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
