#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "lexicon/df-stream.h"
#include "lexicon/df.h"

#define HEAD "# refrain document frequencies 1\n# tokeniser 1\n"

struct place {
    char *folder;
};

static int make_folder(void **state)
{
    struct place *place = g_new0(struct place, 1);
    place->folder = g_dir_make_tmp("test-df-XXXXXX", NULL);
    *state = place;
    return place->folder ? 0 : -1;
}

static void empty_folder(const char *folder)
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(dir))) {
        char *path = g_build_filename(folder, name, NULL);
        g_unlink(path);
        g_free(path);
    }
    g_dir_close(dir);
}

static int remove_folder(void **state)
{
    struct place *place = *state;
    empty_folder(place->folder);
    g_rmdir(place->folder);
    g_free(place->folder);
    g_free(place);
    return 0;
}

static char *path_in(void **state, const char *name)
{
    struct place *place = *state;
    return g_build_filename(place->folder, name, NULL);
}

static char *put(void **state, const char *name, const char *text)
{
    char *path = path_in(state, name);
    assert_true(g_file_set_contents(path, text, -1, NULL));
    return path;
}

static void assert_content(const char *path, const char *expected)
{
    char *text;
    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    assert_string_equal(text, expected);
    g_free(text);
}

static unsigned files_in(void **state)
{
    struct place *place = *state;
    GDir *dir = g_dir_open(place->folder, 0, NULL);
    unsigned n = 0;
    while (g_dir_read_name(dir))
        n++;
    g_dir_close(dir);
    return n;
}

static void a_file_is_read_and_written_again_byte_for_byte(void **state)
{
    char *original;
    assert_true(g_file_get_contents(TESTDIR "/lexicon/tiny.df", &original, NULL, NULL));
    struct df *df = df_read(TESTDIR "/lexicon/tiny.df", NULL);
    assert_non_null(df);
    assert_int_equal(df_collections(df), 2);
    const struct df_collection *german = df_collection(df, 1);
    assert_string_equal(german->name, "german");
    assert_int_equal(german->documents, 200);
    assert_string_equal(german->sources[0], "briefe");
    assert_null(german->sources[1]);
    assert_string_equal(german->terms[german->n_terms - 1].text, "über");
    assert_int_equal(german->terms[german->n_terms - 1].count, 33);
    char *path = path_in(state, "copy.df");
    assert_true(df_write(df, path, 1, NULL));
    assert_content(path, original);
    df_free(&df);
    assert_null(df);
    g_free(path);
    g_free(original);
}

static void a_small_count_is_left_out_on_request(void **state)
{
    char *in = put(state, "in.df", HEAD "# collection a\n# documents 9\nmany\t5\nsome\t3\nnone\t1\n");
    struct df *df = df_read(in, NULL);
    assert_null(df); /* not sorted */
    g_free(in);
    in = put(state, "in.df", HEAD "# collection a\n# documents 9\nmany\t5\nnone\t1\nsome\t3\n");
    df = df_read(in, NULL);
    assert_non_null(df);
    char *out = path_in(state, "out.df");
    assert_true(df_write(df, out, 3, NULL));
    assert_content(out, HEAD "# collection a\n# documents 9\nmany\t5\nsome\t3\n");
    df_free(&df);
    g_free(in);
    g_free(out);
}

static const char english[] =
    HEAD "# collection english\n# documents 10\n# sources posts\nbank\t3\nmoney\t2\n";
static const char more[] = HEAD "# collection english\n# documents 5\n# sources letters\nbank\t1\nzebra\t5\n"
                                "# collection german\n# documents 4\nbank\t4\n";
static const char sum[] = HEAD "# collection english\n# documents 15\n# sources letters posts\n"
                               "bank\t4\nmoney\t2\nzebra\t5\n"
                               "# collection german\n# documents 4\nbank\t4\n";

static void merging_adds_equal_collections_and_keeps_others_apart(void **state)
{
    char *a = put(state, "a.df", english), *b = put(state, "b.df", more), *out = path_in(state, "out.df");
    for (int turn = 0; turn < 2; turn++) {
        struct df *first = df_read(turn ? b : a, NULL), *second = df_read(turn ? a : b, NULL);
        assert_true(df_merge(first, second, NULL));
        assert_true(df_write(first, out, 1, NULL));
        assert_content(out, sum);
        df_free(&first);
        df_free(&second);
    }
    g_free(a);
    g_free(b);
    g_free(out);
}

static void merging_files_gives_the_same_as_merging_in_memory(void **state)
{
    char *a = put(state, "a.df", english), *b = put(state, "b.df", more), *out = path_in(state, "out.df");
    char *forth[] = { a, b }, *back[] = { b, a };
    assert_true(df_merge_files(forth, 2, out, 1, ".", NULL, NULL, NULL));
    assert_content(out, sum);
    assert_true(df_merge_files(back, 2, out, 1, ".", NULL, NULL, NULL));
    assert_content(out, sum);
    g_free(a);
    g_free(b);
    g_free(out);
}

static void many_files_are_merged_in_passes_that_leave_nothing_behind(void **state)
{
    struct place *place = *state;
    enum { FILES = 300 };
    char *paths[FILES];
    for (unsigned i = 0; i < FILES; i++) {
        char name[16], text[200];
        g_snprintf(name, sizeof name, "part%u.df", i);
        g_snprintf(text, sizeof text, HEAD "# collection c\n# documents 2\nboth\t2\nword%u\t1\n", i % 3);
        paths[i] = put(state, name, text);
    }
    char *out = path_in(state, "out.df");
    assert_true(df_merge_files(paths, FILES, out, 1, place->folder, NULL, NULL, NULL));
    assert_content(out,
                   HEAD "# collection c\n# documents 600\nboth\t600\nword0\t100\nword1\t100\nword2\t100\n");
    for (unsigned i = 0; i < FILES; i++) {
        g_unlink(paths[i]);
        g_free(paths[i]);
    }
    g_unlink(out);
    g_free(out);
    assert_int_equal(files_in(state), 0);
}

static bool always(void)
{
    return true;
}

static void a_stopped_merge_leaves_no_file(void **state)
{
    char *a = put(state, "a.df", english), *out = path_in(state, "out.df");
    GError *error = NULL;
    assert_false(df_merge_files(&a, 1, out, 1, ".", always, NULL, &error));
    assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_INTERRUPTED));
    assert_int_equal(files_in(state), 1);
    g_error_free(error);
    g_free(a);
    g_free(out);
}

static void sources_are_joined_in_any_order_and_never_grow_without_bound(void **state)
{
    (void)state;
    char *a[101] = { NULL }, *b[101] = { NULL };
    for (int i = 0; i < 100; i++) {
        a[i] = g_strdup_printf("/mail/%03d", 2 * i);
        b[i] = g_strdup_printf("%03d", i);
    }
    char **left = df_sources_of_paths(a), **right = df_sources_of_paths(b);
    char **one = df_sources_union(left, right), **other = df_sources_union(right, left);
    assert_int_equal(g_strv_length(one), DF_MAX_SOURCES + 1);
    assert_string_equal(one[1], "001");
    assert_string_equal(one[DF_MAX_SOURCES], "...");
    assert_true(g_strv_equal((const char *const *)one, (const char *const *)other));
    for (int i = 0; i < 100; i++) {
        g_free(a[i]);
        g_free(b[i]);
    }
    g_strfreev(left);
    g_strfreev(right);
    g_strfreev(one);
    g_strfreev(other);
}

/* Each is refused with a sentence that has these words. */
static const struct {
    const char *text, *words;
} bad_files[] = {
    { "", "not a frequency file" },
    { "hello\n", "not a frequency file" },
    { "# refrain document frequencies 2\n", "format 2" },
    { "# refrain document frequencies 1\n", "tokeniser" },
    { "# refrain document frequencies 1\n# tokeniser 99\n", "tokeniser 99" },
    { HEAD, "no documents" },
    { HEAD "word\t1\n", "collection" },
    { HEAD "# documents 3\nword\t1\n", "collection" },
    { HEAD "# collection a b\n# documents 3\n", "one word" },
    { HEAD "# collection a\nword\t1\n", "documents" },
    { HEAD "# collection a\n# documents 0\n", "documents" },
    { HEAD "# collection a\n# documents -4\n", "documents" },
    { HEAD "# collection a\n# documents many\n", "documents" },
    { HEAD "# collection a\n# documents 5\n# collection a\n# documents 3\n", "order" },
    { HEAD "# collection b\n# documents 5\n# collection a\n# documents 3\n", "order" },
    { HEAD "# collection a\n# documents 5\nword 1\n", "no tab" },
    { HEAD "# collection a\n# documents 5\nwo\trd\t1\n", "cannot hold a tab" },
    { HEAD "# collection a\n# documents 5\nword\t0\n", "not a count" },
    { HEAD "# collection a\n# documents 5\nword\t-1\n", "not a count" },
    { HEAD "# collection a\n# documents 5\nword\t1x\n", "not a count" },
    { HEAD "# collection a\n# documents 9999999999\nword\t5000000000\n", "not a count" },
    { HEAD "# collection a\n# documents 5\nword\t6\n", "of 5 documents" },
    { HEAD "# collection a\n# documents 5\n\t1\n", "not a term" },
    { HEAD "# collection a\n# documents 5\nwo rd\t1\n", "not a term" },
    { HEAD "# collection a\n# documents 5\nw\xffrd\t1\n", "not a term" },
    { HEAD "# collection a\n# documents 5\nword\t1\nword\t1\n", "twice" },
    { HEAD "# collection a\n# documents 5\nword\t1\nverb\t1\n", "not sorted" },
    { HEAD "# collection a\n# documents 5\nword\t1", "cut off" },
};

static void a_bad_file_is_refused_with_a_sentence(void **state)
{
    for (size_t i = 0; i < G_N_ELEMENTS(bad_files); i++) {
        char *path = put(state, "bad.df", bad_files[i].text);
        GError *error = NULL;
        struct df *df = df_read(path, &error);
        if (df)
            fail_msg("accepted: %s", bad_files[i].text);
        assert_non_null(error);
        if (!strstr(error->message, bad_files[i].words) || strchr(error->message, '\n'))
            fail_msg("\"%s\" does not say \"%s\"", error->message, bad_files[i].words);
        g_error_free(error);
        g_free(path);
    }
}

static void a_missing_file_and_a_line_without_end_are_errors(void **state)
{
    GError *error = NULL;
    assert_null(df_read("/nonexistent/x.df", &error));
    assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT));
    g_clear_error(&error);
    GString *text = g_string_new(HEAD "# collection a\n# documents 5\n");
    for (int i = 0; i < 100000; i++)
        g_string_append(text, "word");
    char *path = put(state, "long.df", text->str);
    assert_null(df_read(path, &error));
    assert_non_null(strstr(error->message, "a line of more than"));
    g_clear_error(&error);
    g_string_free(text, TRUE);
    g_free(path);
}

static void a_compressed_file_is_read(void **state)
{
    char *plain = put(state, "words.df", sum);
    static const char *const packers[][2] = { { "gzip -k", ".gz" }, { "xz -k", ".xz" } };
    for (size_t i = 0; i < G_N_ELEMENTS(packers); i++) {
        char *command = g_strdup_printf("%s '%s'", packers[i][0], plain);
        assert_int_equal(system(command), 0);
        char *packed = g_strconcat(plain, packers[i][1], NULL), *out = path_in(state, "out.df");
        struct df *df = df_read(packed, NULL);
        assert_non_null(df);
        assert_true(df_write(df, out, 1, NULL));
        assert_content(out, sum);
        df_free(&df);
        g_free(command);
        g_free(packed);
        g_free(out);
    }
    char *fake = put(state, "fake.df.gz", sum);
    struct df *df = df_read(fake, NULL); /* plain text under a packed name: read as it is */
    assert_non_null(df);
    df_free(&df);
    g_free(fake);
    g_free(plain);
}

static void what_cannot_be_written_leaves_the_old_file(void **state)
{
    struct place *place = *state;
    char *path = put(state, "old.df", english);
    struct df *df = df_read(path, NULL);
    GError *error = NULL;
    assert_false(df_write(df, place->folder, 1, &error)); /* a folder is not a file */
    g_clear_error(&error);
    char *nowhere = path_in(state, "none/x.df");
    assert_false(df_write(df, nowhere, 1, &error));
    assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_OUTPUT));
    g_clear_error(&error);
    assert_content(path, english);
    assert_int_equal(files_in(state), 1);
    df_free(&df);
    g_free(nowhere);
    g_free(path);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_file_is_read_and_written_again_byte_for_byte),
        IN_FOLDER(a_small_count_is_left_out_on_request),
        IN_FOLDER(merging_adds_equal_collections_and_keeps_others_apart),
        IN_FOLDER(merging_files_gives_the_same_as_merging_in_memory),
        IN_FOLDER(many_files_are_merged_in_passes_that_leave_nothing_behind),
        IN_FOLDER(a_stopped_merge_leaves_no_file),
        cmocka_unit_test(sources_are_joined_in_any_order_and_never_grow_without_bound),
        IN_FOLDER(a_bad_file_is_refused_with_a_sentence),
        IN_FOLDER(a_missing_file_and_a_line_without_end_are_errors),
        IN_FOLDER(a_compressed_file_is_read),
        IN_FOLDER(what_cannot_be_written_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
