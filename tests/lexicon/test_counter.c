#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glib/gstdio.h>
#include <string.h>

#include "base/hash.h"
#include "lexicon/counter.h"
#include "lexicon/df-stream.h"
#include "lexicon/df.h"

static char *no_sources[] = { NULL };

struct setting {
    struct counter_place place;
    char *out;
};

static int set_up(void **state)
{
    struct setting *s = g_new0(struct setting, 1);
    s->place = (struct counter_place) { .folder = g_dir_make_tmp("test-counter-XXXXXX", NULL),
                                        .collection = "c",
                                        .sources = no_sources };
    s->out = g_build_filename(s->place.folder, "out.df", NULL);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct setting *s = *state;
    g_unlink(s->out);
    assert_int_equal(g_rmdir(s->place.folder), 0); /* nothing else is left */
    g_free((char *)s->place.folder);
    g_free(s->out);
    g_free(s);
    return 0;
}

/* Ends the count: the sum of all runs, which are removed. Returns how many there were. */
static unsigned finish(struct setting *s, struct counter *counter)
{
    assert_true(counter_spill(counter, NULL));
    GPtrArray *runs = counter_take_runs(counter);
    unsigned n = runs->len;
    assert_true(df_merge_files((char *const *)runs->pdata, n, s->out, 1, s->place.folder, NULL, NULL, NULL));
    for (unsigned i = 0; i < n; i++)
        g_unlink(runs->pdata[i]);
    g_ptr_array_free(runs, TRUE);
    counter_free(&counter);
    return n;
}

static void terms_with_equal_hashes_are_counted_apart(void **state)
{
    struct setting *s = *state;
    struct counter *counter = counter_new(&s->place, 0, 1 << 20);
    const struct term v[] = {
        { .hash = 7, .text = "same", .length = 4 },
        { .hash = 7, .text = "other", .length = 5 },
        { .hash = 7, .text = "others", .length = 6 },
    };
    assert_true(counter_add(counter, (struct terms) { v, 3 }, NULL));
    assert_true(counter_add(counter, (struct terms) { v, 2 }, NULL));
    assert_true(counter_add(counter, (struct terms) { v, 1 }, NULL));
    assert_int_equal(finish(s, counter), 1);
    struct df *df = df_read(s->out, NULL);
    const struct df_collection *c = df_collection(df, 0);
    assert_int_equal(c->documents, 3);
    assert_int_equal(c->n_terms, 3);
    assert_string_equal(c->terms[0].text, "other");
    assert_int_equal(c->terms[0].count, 2);
    assert_int_equal(c->terms[1].count, 1);
    assert_int_equal(c->terms[2].count, 3);
    df_free(&df);
}

enum { DOCUMENTS = 200, WORDS = 30000 };

/* Document d has words by a rule that the test can count again: w where (w × d) mod 977 < 20. */
static bool has(unsigned d, unsigned w)
{
    return (w * (uint64_t)d) % 977 < 20;
}

static unsigned count_by_rule(struct setting *s, uint64_t memory)
{
    struct counter *counter = counter_new(&s->place, 3, memory);
    struct term *v = g_new(struct term, WORDS);
    char(*text)[16] = g_malloc(WORDS * sizeof *text);
    for (unsigned d = 1; d <= DOCUMENTS; d++) {
        uint32_t n = 0;
        for (unsigned w = 0; w < WORDS; w++) {
            if (!has(d, w))
                continue;
            int length = g_snprintf(text[n], sizeof *text, "w%u", w);
            v[n] = (struct term) { .hash = hash_bytes(text[n], (size_t)length, 0),
                                   .text = text[n],
                                   .length = (uint32_t)length };
            n++;
        }
        assert_true(counter_add(counter, (struct terms) { v, n }, NULL));
    }
    g_free(v);
    g_free(text);
    return finish(s, counter);
}

static void little_memory_gives_the_same_file_from_many_runs(void **state)
{
    struct setting *s = *state;
    char *much, *little;
    assert_int_equal(count_by_rule(s, UINT64_C(1) << 30), 1);
    assert_true(g_file_get_contents(s->out, &much, NULL, NULL));
    assert_true(count_by_rule(s, 64 << 10) > 70); /* more than one pass can merge */
    assert_true(g_file_get_contents(s->out, &little, NULL, NULL));
    assert_string_equal(much, little);
    g_free(much);
    g_free(little);
    struct df *df = df_read(s->out, NULL);
    const struct df_collection *c = df_collection(df, 0);
    for (size_t i = 0; i < c->n_terms; i += 101) {
        unsigned w = (unsigned)g_ascii_strtoull(c->terms[i].text + 1, NULL, 10), expected = 0;
        for (unsigned d = 1; d <= DOCUMENTS; d++)
            expected += has(d, w);
        assert_int_equal(c->terms[i].count, expected);
    }
    df_free(&df);
}

static void a_folder_that_is_gone_is_an_error(void **state)
{
    struct setting *s = *state;
    struct counter_place nowhere = s->place;
    nowhere.folder = "/nonexistent/folder";
    struct counter *counter = counter_new(&nowhere, 0, 1 << 20);
    const struct term term = { .hash = 1, .text = "word", .length = 4 };
    assert_true(counter_add(counter, (struct terms) { &term, 1 }, NULL));
    GError *error = NULL;
    assert_false(counter_spill(counter, &error));
    assert_non_null(error);
    g_error_free(error);
    counter_free(&counter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(terms_with_equal_hashes_are_counted_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(little_memory_gives_the_same_file_from_many_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_is_gone_is_an_error, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
