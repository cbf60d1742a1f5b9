#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/error.h"
#include "store/breaker.h"

#define MS(n) ((int64_t)(n)*1000)

/* One request at a time of the test's own clock. */
static bool ask(struct breaker *breaker, int64_t now, enum breaker_result result, enum breaker_change *change)
{
    bool trial;
    if (!breaker_enter(breaker, now, &trial, NULL))
        return false;
    enum breaker_change c = breaker_leave(breaker, trial, result, "it is down", now);
    if (change)
        *change = c;
    return true;
}

static void opened(struct breaker *breaker)
{
    enum breaker_change change;
    for (int i = 0; i < 3; i++)
        assert_true(ask(breaker, 0, BREAKER_BAD, &change));
    assert_int_equal(change, BREAKER_OPENED);
}

static void it_opens_after_failures_in_a_row_only(void **state)
{
    (void)state;
    struct breaker *breaker = breaker_new(3, 1000, 10000);
    enum breaker_change change;
    for (int i = 0; i < 10; i++) {
        ask(breaker, 0, BREAKER_BAD, &change);
        ask(breaker, 0, BREAKER_BAD, &change);
        assert_int_equal(change, BREAKER_SAME);
        ask(breaker, 0, BREAKER_GOOD, &change);
        assert_int_equal(change, BREAKER_SAME);
    }
    assert_false(breaker_is_open(breaker, NULL));
    opened(breaker);
    uint64_t times;
    assert_true(breaker_is_open(breaker, &times));
    assert_int_equal(times, 1);
    breaker_free(&breaker);
    assert_null(breaker);
}

static void open_it_refuses_at_once_and_says_why(void **state)
{
    (void)state;
    struct breaker *breaker = breaker_new(3, 1000, 10000);
    opened(breaker);
    GError *error = NULL;
    bool trial;
    assert_false(breaker_enter(breaker, MS(400), &trial, &error));
    assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE));
    assert_non_null(strstr(error->message, "it is down"));
    assert_non_null(strstr(error->message, "0.6 s"));
    g_error_free(error);
    breaker_free(&breaker);
}

static void one_at_a_time_may_try_after_the_pause(void **state)
{
    (void)state;
    struct breaker *breaker = breaker_new(3, 1000, 10000);
    opened(breaker);
    bool trial, second;
    assert_false(breaker_enter(breaker, MS(999), &trial, NULL));
    assert_true(breaker_enter(breaker, MS(1000), &trial, NULL));
    assert_true(trial);
    assert_false(breaker_enter(breaker, MS(5000), &second, NULL));
    assert_int_equal(breaker_leave(breaker, trial, BREAKER_GOOD, NULL, MS(5000)), BREAKER_CLOSED);
    assert_true(ask(breaker, MS(5000), BREAKER_GOOD, NULL));
    breaker_free(&breaker);
}

static void the_pause_doubles_up_to_its_limit_and_starts_again_small(void **state)
{
    (void)state;
    struct breaker *breaker = breaker_new(3, 1000, 10000);
    static const int pauses[] = { 1000, 2000, 4000, 8000, 10000, 10000 };
    int64_t now = 0;
    opened(breaker);
    for (size_t i = 0; i < G_N_ELEMENTS(pauses); i++) {
        assert_false(ask(breaker, now + MS(pauses[i]) - 1, BREAKER_BAD, NULL));
        now += MS(pauses[i]);
        assert_true(ask(breaker, now, BREAKER_BAD, NULL));
    }
    enum breaker_change change;
    assert_true(ask(breaker, now + MS(10000), BREAKER_GOOD, &change));
    assert_int_equal(change, BREAKER_CLOSED);
    now += MS(10000);
    for (int i = 0; i < 3; i++)
        ask(breaker, now, BREAKER_BAD, NULL);
    assert_true(ask(breaker, now + MS(1000), BREAKER_GOOD, NULL));
    breaker_free(&breaker);
}

static void stragglers_that_fail_while_it_is_open_change_nothing(void **state)
{
    (void)state;
    struct breaker *breaker = breaker_new(3, 1000, 10000);
    bool straggler, trial, other;
    assert_true(breaker_enter(breaker, 0, &straggler, NULL));
    opened(breaker);
    assert_true(breaker_enter(breaker, MS(1000), &trial, NULL));
    assert_int_equal(breaker_leave(breaker, straggler, BREAKER_BAD, "late", MS(1000)), BREAKER_SAME);
    assert_false(breaker_enter(breaker, MS(1500), &other, NULL)); /* the trial is still under way */
    breaker_leave(breaker, trial, BREAKER_BAD, "again", MS(1500));
    assert_false(breaker_enter(breaker, MS(3499), &other, NULL));
    assert_true(breaker_enter(breaker, MS(3500), &other, NULL));
    breaker_free(&breaker);
}

static void a_trial_that_did_not_ask_lets_the_next_one_try(void **state)
{
    (void)state;
    struct breaker *breaker = breaker_new(3, 1000, 10000);
    opened(breaker);
    assert_true(ask(breaker, MS(1000), BREAKER_NEUTRAL, NULL));
    assert_true(breaker_is_open(breaker, NULL));
    assert_true(ask(breaker, MS(1000), BREAKER_GOOD, NULL));
    breaker_free(&breaker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_opens_after_failures_in_a_row_only),
        cmocka_unit_test(open_it_refuses_at_once_and_says_why),
        cmocka_unit_test(one_at_a_time_may_try_after_the_pause),
        cmocka_unit_test(the_pause_doubles_up_to_its_limit_and_starts_again_small),
        cmocka_unit_test(stragglers_that_fail_while_it_is_open_change_nothing),
        cmocka_unit_test(a_trial_that_did_not_ask_lets_the_next_one_try),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
