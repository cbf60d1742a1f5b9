#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glib.h>

#include "base/units.h"

static void times_need_a_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {
        { "200ms", 200 }, { "5s", 5000 }, { "10m", 600000 }, { "2h", 7200000 }, { "30d", 2592000000 }
    };
    static const char *const bad[] = {
        "", "5", "s", "-5s", "5 s", "5S", "5sec", "99999999999999999d", "1.5s"
    };
    int64_t ms;
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        assert_true(units_parse_time(good[i].text, &ms));
        assert_int_equal(ms, good[i].ms);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        assert_false(units_parse_time(bad[i], &ms));
}

static void sizes_may_go_without(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = { { "0", 0 }, { "512", 512 }, { "64K", 65536 }, { "10m", 10485760 }, { "2G", 2147483648 } };
    static const char *const bad[] = { "", "K", "-1", "1T", "1KB", "99999999999G", "99999999999999999999" };
    uint64_t bytes;
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        assert_true(units_parse_size(good[i].text, &bytes));
        assert_int_equal(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        assert_false(units_parse_size(bad[i], &bytes));
}

static void ages_and_sizes_are_short(void **state)
{
    (void)state;
    char text[UNITS_MAX];
    assert_string_equal(units_format_age(-3, text), "0s");
    assert_string_equal(units_format_age(59, text), "59s");
    assert_string_equal(units_format_age(3600 * 5 + 59, text), "5h");
    assert_string_equal(units_format_age(86400 * 3, text), "3d");
    assert_string_equal(units_format_size(512, text), "512 B");
    assert_string_equal(units_format_size(1229, text), "1.2 KB");
    assert_string_equal(units_format_size(34u << 20, text), "34 MB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_need_a_unit),
        cmocka_unit_test(sizes_may_go_without),
        cmocka_unit_test(ages_and_sizes_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
