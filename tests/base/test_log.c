/* The log: levels, targets, and no line that a sender could forge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/* What log_write() calls put on stderr between capture_start() and capture_end(). */
static int saved_stderr = -1;
static FILE *captured;

static void capture_start(void)
{
    fflush(stderr);
    captured = tmpfile();
    assert_non_null(captured);
    saved_stderr = dup(STDERR_FILENO);
    dup2(fileno(captured), STDERR_FILENO);
}

static char *capture_end(void)
{
    static char text[4096];
    fflush(stderr);
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    rewind(captured);
    text[fread(text, 1, sizeof text - 1, captured)] = '\0';
    fclose(captured);
    return text;
}

static void a_line_has_the_program_before_it(void **state)
{
    (void)state;
    capture_start();
    log_open("refrain-test", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
    log_info("4WcX: %s took=%.2fms", "clean", 0.41);
    assert_string_equal(capture_end(), "refrain-test: 4WcX: clean took=0.41ms\n");
}

static void a_level_shows_itself_and_those_before_it(void **state)
{
    (void)state;
    capture_start();
    log_open("t", LOG_TARGET_STDERR, LOG_LEVEL_WARNING);
    log_error("e");
    log_warning("w");
    log_info("i");
    log_debug("d");
    assert_false(log_shows(LOG_LEVEL_INFO));
    assert_string_equal(capture_end(), "t: e\nt: w\n");
}

static void control_characters_never_reach_a_line(void **state)
{
    (void)state;
    capture_start();
    log_open("t", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
    log_info("a\r\nt: forged \x1b[31m\x7f\xc2\x9bz é");
    assert_string_equal(capture_end(), "t: a??t: forged ?[31m???z é\n");
}

static void clean_works_in_place(void **state)
{
    (void)state;
    char text[] = "x\ny";
    assert_ptr_equal(log_clean(text), text);
    assert_string_equal(text, "x?y");
}

static void auto_is_stderr_unless_systemd_connected_it(void **state)
{
    (void)state;
    g_setenv("JOURNAL_STREAM", "1:1", TRUE);
    capture_start();
    log_open("t", LOG_TARGET_AUTO, LOG_LEVEL_INFO);
    log_info("here");
    assert_string_equal(capture_end(), "t: here\n");
}

static void without_a_journal_lines_are_not_lost(void **state)
{
    (void)state;
    if (access("/run/systemd/journal/socket", F_OK) == 0)
        skip();
    capture_start();
    log_open("t", LOG_TARGET_JOURNAL, LOG_LEVEL_INFO);
    log_info("kept");
    assert_string_equal(capture_end(), "t: kept\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_the_program_before_it),
        cmocka_unit_test(a_level_shows_itself_and_those_before_it),
        cmocka_unit_test(control_characters_never_reach_a_line),
        cmocka_unit_test(clean_works_in_place),
        cmocka_unit_test(auto_is_stderr_unless_systemd_connected_it),
        cmocka_unit_test(without_a_journal_lines_are_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
