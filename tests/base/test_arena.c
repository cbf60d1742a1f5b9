#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"

static void note(void *object)
{
    char **log = object;
    *(*log)++ = 'x';
}

static char order[4];
static size_t released;

static void release_a(void *object)
{
    (void)object;
    order[released++] = 'a';
}

static void release_b(void *object)
{
    (void)object;
    order[released++] = 'b';
}

static void cleanups_run_last_first(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    released = 0;
    arena_defer(arena, release_a, NULL);
    arena_defer(arena, release_b, NULL);
    arena_free(&arena);
    assert_null(arena);
    assert_memory_equal(order, "ba", 2);
}

static void reset_runs_cleanups_once(void **state)
{
    (void)state;
    char log[4] = "", *end = log;
    struct arena *arena = arena_new();
    arena_defer(arena, note, &end);
    arena_reset(arena);
    arena_free(&arena);
    assert_string_equal(log, "x");
}

static void memory_is_aligned_and_survives_growth(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    unsigned char *blocks[200];
    for (size_t i = 0; i < 200; i++) {
        blocks[i] = arena_alloc(arena, i * 37 + 1);
        assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        memset(blocks[i], (int)i, i * 37 + 1);
    }
    for (size_t i = 0; i < 200; i++)
        for (size_t j = 0; j < i * 37 + 1; j++)
            assert_int_equal(blocks[i][j], i);
    arena_free(&arena);
}

static void calloc_is_zero_after_reset(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    memset(arena_alloc(arena, 1000), 0xff, 1000);
    arena_reset(arena);
    assert_int_equal(arena_used(arena), 0);
    const unsigned char *zeros = arena_calloc(arena, 10, 100);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(zeros[i], 0);
    arena_free(&arena);
}

static void strndup_ends_with_nul(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_string_equal(arena_strndup(arena, "refrain", 3), "ref");
    assert_string_equal(arena_strndup(arena, NULL, 0), "");
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cleanups_run_last_first),
        cmocka_unit_test(reset_runs_cleanups_once),
        cmocka_unit_test(memory_is_aligned_and_survives_growth),
        cmocka_unit_test(calloc_is_zero_after_reset),
        cmocka_unit_test(strndup_ends_with_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
