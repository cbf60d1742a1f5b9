/* Headers and replies as they leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "milter/header.h"

static struct arena *arena;

static int start(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int stop(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

static const struct store_match match = { .campaign = 0x4f0c, .likeness = { .similarity = 0.866 } };

static void a_match_is_marked_and_folded_with_lf_and_space(void **state)
{
    (void)state;
    struct decision d = { VERDICT_MATCH, CONFIG_ACTION_TAG, CONFIG_ACTION_TAG, MARK_MATCH };
    assert_string_equal(header_mark(arena, &d, &match, false),
                        "match; campaign=0000000000004f0c; similarity=0.87; action=tag");
    d.action = CONFIG_ACTION_QUARANTINE;
    assert_string_equal(header_mark(arena, &d, &match, true),
                        " match; campaign=0000000000004f0c; similarity=0.87;\n action=quarantine");
}

static void other_marks(void **state)
{
    (void)state;
    struct decision d = { VERDICT_CLEAN, CONFIG_ACTION_NONE, CONFIG_ACTION_NONE, MARK_CLEAN };
    assert_string_equal(header_mark(arena, &d, &match, true), " clean");
    d.mark = MARK_UNAVAILABLE;
    assert_string_equal(header_mark(arena, &d, &match, false), "unavailable");
    d.mark = MARK_NONE;
    assert_null(header_mark(arena, &d, &match, false));
}

static void folding_keeps_every_byte_and_no_blank_line(void **state)
{
    (void)state;
    g_autofree char *word = g_strnfill(90, 'w');
    g_autofree char *value = g_strdup_printf("%s %s  %s b ", word, word, word);
    const char *folded = header_fold(arena, "X", value);
    g_autoptr(GString) unfolded = g_string_new(folded);
    g_string_replace(unfolded, "\n", "", 0);
    assert_string_equal(unfolded->str, value);
    assert_null(strstr(folded, "\n\n"));
    for (const char *lf = strchr(folded, '\n'); lf; lf = strchr(lf + 1, '\n'))
        assert_true(lf[1] == ' ');
    assert_null(strchr(header_fold(arena, "X", ""), '\n'));
}

static void names_that_only_we_write(void **state)
{
    (void)state;
    assert_true(header_is_ours("X-Refrain"));
    assert_true(header_is_ours("x-refrain-campaign"));
    assert_false(header_is_ours("X-Refr"));
    assert_false(header_is_ours("Subject"));
}

static void a_subject_gets_its_prefix_once(void **state)
{
    (void)state;
    assert_string_equal(header_subject(arena, "[SPAM]", "Buy now", false), "[SPAM] Buy now");
    assert_string_equal(header_subject(arena, "[SPAM]", " Buy\n now", true), " [SPAM] Buy\n now");
    assert_string_equal(header_subject(arena, "[SPAM]", "", false), "[SPAM]");
    assert_null(header_subject(arena, "[SPAM]", " [SPAM] Buy now", true));
}

static void a_reply_names_the_campaign_and_doubles_percent_signs(void **state)
{
    (void)state;
    assert_string_equal(header_reply_text(arena, "100% sure ({campaign}) %s {camp", 0xab),
                        "100%% sure (00000000000000ab) %%s {camp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_match_is_marked_and_folded_with_lf_and_space),
        cmocka_unit_test(other_marks),
        cmocka_unit_test(folding_keeps_every_byte_and_no_blank_line),
        cmocka_unit_test(names_that_only_we_write),
        cmocka_unit_test(a_subject_gets_its_prefix_once),
        cmocka_unit_test(a_reply_names_the_campaign_and_doubles_percent_signs),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
