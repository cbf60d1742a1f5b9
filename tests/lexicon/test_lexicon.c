#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/term.h"
#include "lexicon/layout.h"
#include "lexicon/lexicon.h"

static const uint8_t seed_one[LEXICON_SEED] = "a seed of thirty-two bytes, one";
static const uint8_t seed_two[LEXICON_SEED] = "a seed of thirty-two bytes, two";

struct place {
    char *folder, *path;
    struct df *df;
};

static int set_up(void **state)
{
    struct place *p = g_new0(struct place, 1);
    p->folder = g_dir_make_tmp("test-lexicon-XXXXXX", NULL);
    p->path = g_build_filename(p->folder, "test.lex", NULL);
    p->df = df_read(TESTDIR "/lexicon/tiny.df", NULL);
    *state = p;
    return p->folder && p->df ? 0 : -1;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    g_unlink(p->path);
    g_rmdir(p->folder);
    df_free(&p->df);
    g_free(p->path);
    g_free(p->folder);
    g_free(p);
    return 0;
}

static struct lexicon *make_and_open(struct place *p, const struct lexicon_plan *plan, const uint8_t *seed)
{
    GError *error = NULL;
    if (!lexicon_make(p->df, plan, seed, p->path, &error))
        fail_msg("%s", error->message);
    struct lexicon *l = lexicon_open(p->path, &error);
    if (!l)
        fail_msg("%s", error->message);
    return l;
}

static bool find(const struct lexicon *l, const char *text, struct lexicon_entry *entry)
{
    return lexicon_find(l, lexicon_hash(lexicon_key(l), text, strlen(text)), entry);
}

static char *bytes_of(struct place *p, gsize *n)
{
    char *bytes;
    assert_true(g_file_get_contents(p->path, &bytes, n, NULL));
    return bytes;
}

static void every_term_is_found_with_its_frequency(void **state)
{
    struct lexicon *l = make_and_open(*state, &lexicon_default_plan, seed_one);
    struct lexicon_entry e;
    assert_int_equal(lexicon_documents(l), 1200);
    assert_int_equal(lexicon_collections(l), 2);
    assert_int_equal(lexicon_terms(l), 33);
    assert_true(find(l, "bank", &e));
    assert_int_equal(e.df, 38);       /* in both collections */
    assert_true(find(l, "once", &e)); /* once in each of two: often enough */
    assert_true(find(l, "über", &e));
    assert_true(find(l, "http:example.com", &e));
    assert_false(find(l, "example.com", &e));
    assert_false(find(l, "unheard", &e));
    lexicon_unref(l);
}

static void a_link_host_and_a_word_of_the_same_letters_differ(void **state)
{
    (void)state;
    assert_true(lexicon_hash(7, "http:a.example", 14) == hash_bytes("http:a.example", 14, 7 ^ TERM_HOST));
    assert_true(lexicon_hash(7, "word", 4) == hash_bytes("word", 4, 7 ^ TERM_WORD));
}

static void a_word_common_in_one_collection_is_common(void **state)
{
    struct lexicon *l = make_and_open(*state, &lexicon_default_plan, seed_one);
    struct lexicon_entry e;
    assert_true(find(l, "your", &e) && (e.classes & LEXICON_COMMON));
    assert_true(find(l, "bitte", &e) && (e.classes & LEXICON_COMMON));    /* 21 of 1200, but 21 of 200 */
    assert_true(find(l, "rechnung", &e) && (e.classes & LEXICON_COMMON)); /* 5 of 200 */
    assert_true(find(l, "konto", &e) && !(e.classes & LEXICON_COMMON));   /* 4 of 200 are 2 %, not more */
    assert_true(find(l, "cheap", &e) && !(e.classes & LEXICON_COMMON));   /* 15 of 1000 */
    lexicon_unref(l);
}

static void a_share_of_very_few_documents_makes_nothing_common(void **state)
{
    struct place *p = *state;
    char *path = g_build_filename(p->folder, "few.df", NULL);
    assert_true(g_file_set_contents(path,
                                    "# refrain document frequencies 1\n# tokeniser 1\n# collection few\n"
                                    "# documents 10\nfive\t5\nfour\t4\n",
                                    -1, NULL));
    df_free(&p->df);
    p->df = df_read(path, NULL);
    struct lexicon *l = make_and_open(p, &lexicon_default_plan, seed_one);
    struct lexicon_entry e;
    assert_true(find(l, "five", &e) && (e.classes & LEXICON_COMMON));
    assert_true(find(l, "four", &e) && !(e.classes & LEXICON_COMMON));
    lexicon_unref(l);
    g_unlink(path);
    g_free(path);
}

static void rare_terms_are_not_known(void **state)
{
    struct lexicon_plan plan = lexicon_default_plan;
    plan.min_count = 5;
    struct lexicon *l = make_and_open(*state, &plan, seed_one);
    struct lexicon_entry e;
    assert_false(find(l, "casino", &e));
    assert_false(find(l, "once", &e));
    assert_true(find(l, "watches", &e));
    assert_int_equal(lexicon_plan_of(l)->min_count, 5);
    lexicon_unref(l);
}

static void nidf_is_zero_everywhere_and_one_in_a_single_document(void **state)
{
    struct lexicon *l = make_and_open(*state, &lexicon_default_plan, seed_one);
    assert_true(fabs(lexicon_nidf(l, 1200)) < 1e-12);
    assert_true(fabs(lexicon_nidf(l, 1) - 1) < 1e-12);
    assert_true(fabs(lexicon_nidf(l, 12) - log(100) / log(1200)) < 1e-12);
    lexicon_unref(l);
}

static void classes_follow_the_nidf_range(void **state)
{
    struct lexicon_plan plan = lexicon_default_plan;
    plan.scheme = LEXICON_DROPOUT;
    plan.nidf_low = 0.4;
    plan.nidf_high = 0.6;
    struct lexicon *l = make_and_open(*state, &plan, seed_one);
    struct lexicon_entry e;
    /* nidf = 1 − ln df / ln 1200: 41 documents 0.476, 820 documents 0.054, 4 documents 0.804 */
    assert_true(find(l, "friend", &e) && (e.classes & LEXICON_PRIMARY) && !(e.classes & LEXICON_SECONDARY));
    assert_true(find(l, "that", &e) && !(e.classes & (LEXICON_PRIMARY | LEXICON_SECONDARY)));
    assert_true(find(l, "casino", &e) && (e.classes & LEXICON_SECONDARY) && !(e.classes & LEXICON_PRIMARY));
    lexicon_unref(l);
}

static void dropout_copies_miss_the_share_and_differ(void **state)
{
    struct lexicon_plan plan = lexicon_default_plan;
    plan.scheme = LEXICON_DROPOUT;
    plan.k = 10;
    struct lexicon *l = make_and_open(*state, &plan, seed_one);
    enum { TERMS = 100000 };
    unsigned differ = 0;
    for (unsigned k = 0; k < 10; k++) {
        unsigned in = 0;
        for (uint64_t t = 0; t < TERMS; t++) {
            uint64_t hash = hash_bytes(&t, sizeof t, 1);
            bool here = lexicon_in_copy(l, k, hash);
            in += here;
            differ += here != lexicon_in_copy(l, (k + 1) % 10, hash);
        }
        assert_float_equal((float)in / TERMS, 0.67f, 0.01f);
    }
    assert_float_equal((float)differ / (10 * TERMS), 2 * 0.67f * 0.33f, 0.01f);
    lexicon_unref(l);
}

static void the_plan_is_kept_in_the_file(void **state)
{
    struct lexicon_plan plan = {
        .scheme = LEXICON_DROPOUT,
        .k = 0,
        .keep = 3,
        .drop = 0.25,
        .nidf_low = 0.1,
        .nidf_high = 0.9,
        .secondary = true,
        .min_signature = 7,
        .common = 0.5,
        .min_count = 3,
        .bucket_bits = 20,
    };
    struct lexicon *l = make_and_open(*state, &plan, seed_one);
    const struct lexicon_plan *kept = lexicon_plan_of(l);
    assert_true(kept->scheme == plan.scheme && kept->k == plan.k && kept->keep == plan.keep);
    assert_true(kept->drop == plan.drop && kept->nidf_low == plan.nidf_low &&
                kept->nidf_high == plan.nidf_high);
    assert_true(kept->secondary == plan.secondary && kept->min_signature == plan.min_signature);
    assert_true(kept->common == plan.common && kept->min_count == plan.min_count);
    assert_true(kept->bucket_bits == plan.bucket_bits);
    lexicon_unref(l);
}

static void the_same_seed_gives_the_same_bytes(void **state)
{
    struct place *p = *state;
    gsize n, again_n;
    struct lexicon *l = make_and_open(p, &lexicon_default_plan, seed_one);
    char *bytes = bytes_of(p, &n);
    lexicon_unref(l);
    g_unlink(p->path);
    l = make_and_open(p, &lexicon_default_plan, seed_one);
    char *again = bytes_of(p, &again_n);
    assert_int_equal(n, again_n);
    assert_memory_equal(bytes, again, n);
    /* …on every machine and in every version of this format: */
    assert_int_equal(lexicon_id(l), UINT64_C(0x9a68e440428ad4d4));
    lexicon_unref(l);
    g_free(bytes);
    g_free(again);
}

static void another_seed_gives_other_keys_and_another_id(void **state)
{
    struct lexicon *one = make_and_open(*state, &lexicon_default_plan, seed_one);
    struct lexicon *two = make_and_open(*state, &lexicon_default_plan, seed_two);
    assert_true(lexicon_id(one) != lexicon_id(two));
    assert_true(lexicon_key(one) != lexicon_key(two));
    assert_true(lexicon_sketch_key(one) != lexicon_sketch_key(two));
    for (unsigned k = 0; k < 20; k++)
        for (unsigned j = 0; j < 20; j++) {
            assert_true(lexicon_order_keys(one)[k] != lexicon_order_keys(two)[j]);
            assert_true(j == k || lexicon_order_keys(one)[k] != lexicon_order_keys(one)[j]);
        }
    lexicon_unref(one);
    lexicon_unref(two);
}

static void neither_seed_nor_words_are_in_the_file(void **state)
{
    struct place *p = *state;
    lexicon_unref(make_and_open(p, &lexicon_default_plan, seed_one));
    gsize n;
    char *bytes = bytes_of(p, &n);
    assert_null(memmem(bytes, n, seed_one, 8));
    assert_null(memmem(bytes, n, "casino", 6));
    g_free(bytes);
}

static void only_owner_and_group_may_read_the_file(void **state)
{
    struct place *p = *state;
    lexicon_unref(make_and_open(p, &lexicon_default_plan, seed_one));
    struct stat st;
    assert_int_equal(stat(p->path, &st), 0);
    assert_int_equal(st.st_mode & 0777 & ~0640u, 0);
}

static void refused(const char *bytes, gsize n, const char *what, gsize at)
{
    int fd = memfd_create("lexicon", 0); /* thousands of them: none has to reach a disk */
    assert_int_equal(write(fd, bytes, n), n);
    char path[64];
    g_snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    GError *error = NULL;
    struct lexicon *l = lexicon_open(path, &error);
    close(fd);
    if (l)
        fail_msg("%s at %zu was accepted", what, (size_t)at);
    assert_non_null(strchr(error->message, ':'));
    assert_null(strchr(error->message, '\n'));
    g_error_free(error);
}

static void every_flipped_byte_is_an_error(void **state)
{
    struct place *p = *state;
    lexicon_unref(make_and_open(p, &lexicon_default_plan, seed_one));
    gsize n;
    char *bytes = bytes_of(p, &n);
    for (gsize i = 0; i < n; i++) {
        static const char flips[] = { 0x01, (char)0x80, (char)0xff };
        for (size_t f = 0; f < sizeof flips; f++) {
            bytes[i] = (char)(bytes[i] ^ flips[f]);
            refused(bytes, n, "a flipped byte", i);
            bytes[i] = (char)(bytes[i] ^ flips[f]);
        }
    }
    g_free(bytes);
}

static void every_truncation_is_an_error(void **state)
{
    struct place *p = *state;
    lexicon_unref(make_and_open(p, &lexicon_default_plan, seed_one));
    gsize n;
    char *bytes = bytes_of(p, &n);
    for (gsize i = 0; i < n; i++)
        refused(bytes, i, "a cut", i);
    char *longer = g_malloc0(n + 1);
    memcpy(longer, bytes, n);
    refused(longer, n + 1, "a byte too many", n);
    g_free(longer);
    g_free(bytes);
}

/* Values that no maker writes, under a checksum that fits: they must not lead to a crash or an endless
 * look-up. */
static void nonsense_under_a_good_checksum_is_an_error(void **state)
{
    struct place *p = *state;
    lexicon_unref(make_and_open(p, &lexicon_default_plan, seed_one));
    gsize n;
    unsigned char *bytes = (unsigned char *)bytes_of(p, &n), *copy = g_malloc(n);
    static const struct {
        gsize at;
        uint32_t value;
    } nonsense[] = {
        { LAYOUT_AT_SCHEME, 9 },
        { LAYOUT_AT_K, 65 },
        { LAYOUT_AT_K, 0 },
        { LAYOUT_AT_KEEP, 0 },
        { LAYOUT_AT_MIN_COUNT, 0 },
        { LAYOUT_AT_BUCKET_BITS, 77 },
        { LAYOUT_AT_DROP + 4, 0x7ff80000 },
        { LAYOUT_AT_TERMS, 3 },
        { LAYOUT_AT_SLOT_BITS, 60 },
        { LAYOUT_AT_SLOT_BITS, 3 },
        { LAYOUT_AT_COMMON + 4, 0xbff00000 },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(nonsense); i++) {
        memcpy(copy, bytes, n);
        layout_put32(copy + nonsense[i].at, nonsense[i].value);
        layout_put64(copy + LAYOUT_AT_CHECKSUM, layout_checksum(copy, n));
        refused((char *)copy, n, "nonsense", nonsense[i].at);
    }
    memcpy(copy, bytes, n);
    for (gsize at = LAYOUT_AT_SLOTS; at < n; at += LAYOUT_SLOT)
        layout_put32(copy + at + 8, 1); /* no free slot */
    layout_put64(copy + LAYOUT_AT_TERMS, (n - LAYOUT_AT_SLOTS) / LAYOUT_SLOT);
    layout_put64(copy + LAYOUT_AT_CHECKSUM, layout_checksum(copy, n));
    refused((char *)copy, n, "a full table", 0);
    g_free(copy);
    g_free(bytes);
}

static void another_version_is_named_with_what_to_do(void **state)
{
    struct place *p = *state;
    lexicon_unref(make_and_open(p, &lexicon_default_plan, seed_one));
    gsize n;
    unsigned char *bytes = (unsigned char *)bytes_of(p, &n);
    static const struct {
        gsize at;
        const char *words;
    } versions[] = { { LAYOUT_AT_TOKENISER, "tokeniser 12" }, { LAYOUT_AT_FORMAT, "format 12" } };
    for (size_t i = 0; i < G_N_ELEMENTS(versions); i++) {
        layout_put32(bytes + versions[i].at, 12);
        assert_true(g_file_set_contents(p->path, (char *)bytes, (gssize)n, NULL));
        GError *error = NULL;
        assert_null(lexicon_open(p->path, &error));
        assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_LEXICON));
        assert_non_null(strstr(error->message, versions[i].words));
        assert_non_null(strstr(error->message, "refrain-lexicon make"));
        g_error_free(error);
    }
    g_free(bytes);
}

static void a_nonsense_plan_is_refused_and_nothing_written(void **state)
{
    struct place *p = *state;
    struct lexicon_plan plans[9];
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i++)
        plans[i] = lexicon_default_plan;
    plans[0].k = 65;
    plans[1].k = 0;
    plans[2].keep = 0;
    plans[3].drop = 1;
    plans[4].nidf_low = 0.5, plans[4].nidf_high = 0.4;
    plans[5].common = 0;
    plans[6].min_count = 0;
    plans[7].drop = NAN;
    plans[8].min_count = 100000; /* no term left */
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i++) {
        GError *error = NULL;
        assert_false(lexicon_make(p->df, &plans[i], seed_one, p->path, &error));
        assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE));
        g_error_free(error);
        assert_false(g_file_test(p->path, G_FILE_TEST_EXISTS));
    }
}

static void a_lexicon_lives_as_long_as_its_last_reference(void **state)
{
    struct lexicon *l = make_and_open(*state, &lexicon_default_plan, seed_one);
    struct lexicon_entry e;
    assert_ptr_equal(lexicon_ref(l), l);
    lexicon_unref(l);
    assert_true(find(l, "bank", &e));
    lexicon_unref(l);
    lexicon_unref(NULL);
}

#define WITH_DF(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DF(every_term_is_found_with_its_frequency),
        cmocka_unit_test(a_link_host_and_a_word_of_the_same_letters_differ),
        WITH_DF(a_word_common_in_one_collection_is_common),
        WITH_DF(a_share_of_very_few_documents_makes_nothing_common),
        WITH_DF(rare_terms_are_not_known),
        WITH_DF(nidf_is_zero_everywhere_and_one_in_a_single_document),
        WITH_DF(classes_follow_the_nidf_range),
        WITH_DF(dropout_copies_miss_the_share_and_differ),
        WITH_DF(the_plan_is_kept_in_the_file),
        WITH_DF(the_same_seed_gives_the_same_bytes),
        WITH_DF(another_seed_gives_other_keys_and_another_id),
        WITH_DF(neither_seed_nor_words_are_in_the_file),
        WITH_DF(only_owner_and_group_may_read_the_file),
        WITH_DF(every_flipped_byte_is_an_error),
        WITH_DF(every_truncation_is_an_error),
        WITH_DF(nonsense_under_a_good_checksum_is_an_error),
        WITH_DF(another_version_is_named_with_what_to_do),
        WITH_DF(a_nonsense_plan_is_refused_and_nothing_written),
        WITH_DF(a_lexicon_lives_as_long_as_its_last_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
