/* JSON: what is written is valid whatever the text, and what is read is checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/json.h"
#include "tools/output.h"

static void hostile_text_is_escaped_and_repaired(void **state)
{
    (void)state;
    struct json *json = json_new();
    json_open(json, NULL, '{');
    json_string(json, "path", "a\"b\\c\n\t\x01\x7f\xff.eml");
    json_string(json, "none", NULL);
    json_close(json, '}');
    assert_string_equal(json_text(json),
                        "{\"path\":\"a\\\"b\\\\c\\n\\t\\u0001\\u007f\xef\xbf\xbd.eml\",\"none\":null}");
    json_free(&json);
}

static void commas_and_numbers_are_right(void **state)
{
    (void)state;
    struct json *json = json_new();
    json_open(json, NULL, '{');
    json_open(json, "list", '[');
    json_uint(json, NULL, UINT64_MAX);
    json_int(json, NULL, -5);
    json_real(json, NULL, 0.5, 2);
    json_hex(json, NULL, 255);
    json_hex(json, NULL, 0);
    json_close(json, ']');
    json_open(json, "empty", '[');
    json_close(json, ']');
    json_bool(json, "yes", true);
    json_time(json, "when", 1);
    json_close(json, '}');
    assert_string_equal(json_text(json),
                        "{\"list\":[18446744073709551615,-5,0.50,\"00000000000000ff\",null],\"empty\":[],"
                        "\"yes\":true,\"when\":\"1970-01-01T00:00:01Z\"}");
    json_free(&json);
}

static void values_are_read(void **state)
{
    (void)state;
    static const char text[] =
        " {\"a\": \"x\\u00e9\\ud83d\\ude00\\n\", \"b\": [1, 2.5e1, true], \"c\": {}, \"n\": 7} ";
    struct arena *arena = arena_new();
    const struct json_value *object = json_read(arena, text, strlen(text), NULL);
    assert_non_null(object);
    assert_string_equal(json_member_text(object, "a"), "x\xc3\xa9\xf0\x9f\x98\x80\n");
    assert_int_equal(json_member_uint(object, "n", 0), 7);
    assert_int_equal(json_member_uint(object, "a", 42), 42);
    assert_null(json_member_text(object, "absent"));
    const struct json_value *list = json_member(object, "b");
    assert_int_equal(list->type, JSON_ARRAY);
    assert_true(list->first->next->number == 25);
    arena_free(&arena);
}

static void what_is_not_json_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{",
        "{\"a\"}",
        "{\"a\":}",
        "[1,]",
        "\"open",
        "\"\\x\"",
        "\"\\ud83d\"",
        "\"\\udc00\"",
        "\"\\u0000\"",
        "01x",
        "-",
        "nul",
        "{} {}",
        "\"\x01\"",
        "\"\xff\"",
        "{\"a\":1 \"b\":2}",
        "[1 2]",
        "[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        struct arena *arena = arena_new();
        GError *error = NULL;
        if (json_read(arena, texts[i], strlen(texts[i]), &error))
            fail_msg("taken for JSON: %s", texts[i]);
        assert_non_null(error);
        g_error_free(error);
        arena_free(&arena);
    }
}

static void text_for_a_terminal_has_no_control_characters(void **state)
{
    (void)state;
    char *safe = output_safe("a\tb\n\x1b[31m\\\xc2\x9b");
    assert_string_equal(safe, "a\\tb\\n\\x1b[31m\\\\\\x9b");
    g_free(safe);
}

static void counts_have_separators(void **state)
{
    (void)state;
    assert_string_equal(output_count(0), "0");
    assert_string_equal(output_count(999), "999");
    assert_string_equal(output_count(1000), "1,000");
    assert_string_equal(output_count(1234567), "1,234,567");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_text_is_escaped_and_repaired),
        cmocka_unit_test(commas_and_numbers_are_right),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(text_for_a_terminal_has_no_control_characters),
        cmocka_unit_test(counts_have_separators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
