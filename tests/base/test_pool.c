#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glib.h>

#include "base/lane.h"
#include "base/pool.h"

/* Items are numbers; work squares them, slower for some, so that they finish out of order. */
struct run {
    guint64 given, taken, stop_after;
    gint alive, most_alive;
};

struct item {
    guint64 number, square;
};

static void *next(void *user)
{
    struct run *run = user;
    if (run->given == 5000)
        return NULL;
    struct item *item = g_new0(struct item, 1);
    item->number = run->given++;
    run->alive++;
    run->most_alive = MAX(run->most_alive, run->alive);
    return item;
}

static void square(void *data, void *worker, void *user)
{
    (void)worker;
    (void)user;
    struct item *item = data;
    guint64 spin = item->number % 7 * 300;
    for (guint64 i = 0; i < spin; i++)
        item->square += i & 1;
    item->square = item->number * item->number;
}

static bool done(void *data, void *user)
{
    struct item *item = data;
    struct run *run = user;
    assert_int_equal(item->number, run->taken);
    assert_int_equal(item->square, item->number * item->number);
    run->taken++;
    run->alive--;
    g_free(item);
    return !run->stop_after || run->taken < run->stop_after;
}

static void results_come_in_input_order_within_the_window(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 8; threads *= 2) {
        struct run run = { 0 };
        pool_run(&(struct pool_plan) {
            .threads = threads, .window = 16, .next = next, .work = square, .done = done, .user = &run });
        assert_int_equal(run.taken, 5000);
        assert_true(run.most_alive <= 16);
    }
}

static void a_stop_drains_what_was_given(void **state)
{
    (void)state;
    struct run run = { .stop_after = 100 };
    pool_run(&(struct pool_plan) {
        .threads = 4, .window = 32, .next = next, .work = square, .done = done, .user = &run });
    assert_int_equal(run.taken, run.given);
    assert_true(run.given < 200);
}

static bool three_are_alive(void *user)
{
    return ((struct run *)user)->alive >= 3;
}

static void no_more_are_given_while_it_is_full(void **state)
{
    (void)state;
    struct run run = { 0 };
    pool_run(&(struct pool_plan) { .threads = 4,
                                   .window = 32,
                                   .next = next,
                                   .full = three_are_alive,
                                   .work = square,
                                   .done = done,
                                   .user = &run });
    assert_int_equal(run.taken, 5000);
    assert_int_equal(run.most_alive, 3);
}

static void *worker_new(void *user)
{
    g_atomic_int_inc((gint *)user);
    return user;
}

static void worker_free(void *worker)
{
    g_atomic_int_add((gint *)worker, -1);
}

static void *none(void *user)
{
    (void)user;
    return NULL;
}

static void worker_states_are_freed(void **state)
{
    (void)state;
    gint workers = 0;
    pool_run(&(struct pool_plan) { .threads = 3,
                                   .next = none,
                                   .worker_new = worker_new,
                                   .worker_free = worker_free,
                                   .work = square,
                                   .done = done,
                                   .user = &workers });
    assert_int_equal(workers, 0);
}

static void mark(size_t i, void *user)
{
    g_atomic_int_inc((gint *)user + i);
}

static void each_number_is_worked_on_once(void **state)
{
    (void)state;
    for (unsigned threads = 0; threads <= 4; threads++) {
        gint marks[1000] = { 0 };
        pool_each(threads, 1000, mark, marks);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(marks[i], 1);
    }
}

static void append(void *item, void *user)
{
    g_array_append_val((GArray *)user, item);
}

static void a_lane_works_off_all_in_order(void **state)
{
    (void)state;
    GArray *seen = g_array_new(FALSE, FALSE, sizeof(void *));
    struct lane *lane = lane_new(append, seen);
    for (gsize i = 1; i <= 1000; i++)
        lane_put(lane, GSIZE_TO_POINTER(i));
    lane_end(&lane);
    assert_null(lane);
    assert_int_equal(seen->len, 1000);
    for (guint i = 0; i < seen->len; i++)
        assert_int_equal(GPOINTER_TO_SIZE(g_array_index(seen, void *, i)), i + 1);
    g_array_free(seen, TRUE);
    lane_end(&lane);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_come_in_input_order_within_the_window),
        cmocka_unit_test(a_stop_drains_what_was_given),
        cmocka_unit_test(no_more_are_given_while_it_is_full),
        cmocka_unit_test(worker_states_are_freed),
        cmocka_unit_test(each_number_is_worked_on_once),
        cmocka_unit_test(a_lane_works_off_all_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
