#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <glib/gstdio.h>

#include "base/hash.h"
#include "signature/signature.h"

/*
 * A lexicon made for the test: `lines` is the body of a .df file of 1,000 documents. nidf is
 * log(1000/df)/log(1000): df 100 → 0.333, df 10 → 0.667, df 316 → 0.167, df 2 → 0.900.
 */
static struct lexicon *lexicon_of(const char *lines, const struct lexicon_plan *plan, uint8_t seed_byte)
{
    GError *error = NULL;
    char *dir = g_dir_make_tmp("refrain-signature-XXXXXX", &error);
    assert_non_null(dir);
    char *df_path = g_build_filename(dir, "words.df", NULL),
         *lex_path = g_build_filename(dir, "test.lex", NULL);
    char *text = g_strdup_printf("# refrain document frequencies 1\n# tokeniser %d\n# collection test\n"
                                 "# documents 1000\n# sources test\n%s",
                                 MESSAGE_TOKENISER, lines);
    assert_true(g_file_set_contents(df_path, text, -1, &error));
    struct df *df = df_read(df_path, &error);
    if (!df)
        fail_msg("%s", error->message);
    uint8_t seed[LEXICON_SEED];
    memset(seed, seed_byte, sizeof seed);
    if (!lexicon_make(df, plan, seed, lex_path, &error))
        fail_msg("%s", error->message);
    struct lexicon *lexicon = lexicon_open(lex_path, &error);
    if (!lexicon)
        fail_msg("%s", error->message);
    g_unlink(df_path);
    g_unlink(lex_path);
    g_rmdir(dir);
    df_free(&df);
    g_free(text);
    g_free(df_path);
    g_free(lex_path);
    g_free(dir);
    return lexicon;
}

/* Words wNNNN with the same frequency, as .df lines, sorted. */
static char *many_words(unsigned n, unsigned count)
{
    GString *lines = g_string_new(NULL);
    for (unsigned i = 0; i < n; i++)
        g_string_append_printf(lines, "word%06u\t%u\n", i, count);
    return g_string_free(lines, FALSE);
}

struct document {
    struct term term[400];
    char text[400][32];
    uint32_t n;
};

static void add(struct document *d, const struct lexicon *lexicon, enum term_kind kind, const char *text)
{
    struct term *term = &d->term[d->n];
    g_strlcpy(d->text[d->n], text, sizeof d->text[0]);
    *term = (struct term) { .text = d->text[d->n], .length = (uint32_t)strlen(text), .kind = kind };
    term->hash = hash_bytes(text, strlen(text), lexicon_key(lexicon) ^ kind);
    d->n++;
}

static void add_words(struct document *d, const struct lexicon *lexicon, const char *words)
{
    char **word = g_strsplit(words, " ", -1);
    for (unsigned i = 0; word[i]; i++)
        add(d, lexicon, g_str_has_prefix(word[i], "http:") ? TERM_HOST : TERM_WORD, word[i]);
    g_strfreev(word);
}

static struct terms terms_of(const struct document *d)
{
    return (struct terms) { .v = d->term, .n = d->n };
}

static struct signature sign(const struct lexicon *lexicon, const char *words)
{
    struct document *d = g_new0(struct document, 1);
    struct signature s = { 0 };
    add_words(d, lexicon, words);
    assert_true(signature_make(lexicon, MESSAGE_BODY, terms_of(d), &s));
    g_free(d);
    return s;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The signers of lexicon hash i as words, sorted, joined by spaces. */
static char *signers(const struct lexicon *lexicon, const char *words, unsigned i)
{
    struct document *d = g_new0(struct document, 1);
    add_words(d, lexicon, words);
    uint32_t index[400], n = signature_signers(lexicon, terms_of(d), i, index, 400);
    GPtrArray *names = g_ptr_array_new();
    for (uint32_t j = 0; j < n; j++)
        g_ptr_array_add(names, d->text[index[j]]);
    g_ptr_array_sort(names, by_name);
    g_ptr_array_add(names, NULL);
    char *text = g_strjoinv(" ", (char **)names->pdata);
    g_ptr_array_free(names, TRUE);
    g_free(d);
    return text;
}

#define assert_signers(lexicon, words, i, expected)                                                          \
    do {                                                                                                     \
        char *found_ = signers(lexicon, words, i);                                                           \
        assert_string_equal(found_, expected);                                                               \
        g_free(found_);                                                                                      \
    } while (0)

/* --- I-Match and dropout ---------------------------------------------------------------------- */

/* nidf in [0.2, 0.7]: df 10 … 251. "often" (500) is below, "rare…" are above the range. */
static const char imatch_words[] =
    "cheap\t100\nhealth\t50\nmoney\t200\noffer\t20\noften\t500\nrarea\t3\nrareb\t5\n"
    "rarec\t5\nrared\t2\n";

static struct lexicon_plan imatch_plan(bool secondary, unsigned min_signature)
{
    struct lexicon_plan plan = lexicon_default_plan;
    plan.scheme = LEXICON_DROPOUT;
    plan.k = 10;
    plan.drop = 0.33;
    plan.nidf_low = 0.2;
    plan.nidf_high = 0.7;
    plan.secondary = secondary;
    plan.min_signature = min_signature;
    return plan;
}

static void imatch_signs_the_terms_in_range_whatever_else_there_is(void **state)
{
    (void)state;
    struct lexicon_plan plan = imatch_plan(false, 2);
    struct lexicon *lexicon = lexicon_of(imatch_words, &plan, 1);
    assert_signers(lexicon, "often money rarea offer cheap health", 0, "cheap health money offer");
    struct signature a = sign(lexicon, "often money rarea offer cheap health");
    struct signature b = sign(lexicon, "health cheap offer money rareb rared");
    struct signature c = sign(lexicon, "health cheap offer rareb rared often");
    assert_int_equal(a.n_lex, 11);
    assert_true(a.lex[0] != 0 && a.lex[0] == b.lex[0]);
    assert_true(a.lex[0] != c.lex[0]);
    lexicon_unref(lexicon);
}

static void imatch_without_enough_terms_gives_no_hash(void **state)
{
    (void)state;
    struct lexicon_plan plan = imatch_plan(false, 3);
    struct lexicon *lexicon = lexicon_of(imatch_words, &plan, 1);
    struct signature s = sign(lexicon, "money offer often rarea rareb rarec");
    assert_int_equal(s.lex[0], 0);
    lexicon_unref(lexicon);
}

static void the_secondary_lexicon_fills_up_by_increasing_idf(void **state)
{
    (void)state;
    struct lexicon_plan plan = imatch_plan(true, 4);
    struct lexicon *lexicon = lexicon_of(imatch_words, &plan, 1);
    /* Two in range; of the rare ones rareb and rarec (5 documents) come before rarea (3) and rared (2). */
    assert_signers(lexicon, "rared rarea rarec money rareb offer often", 0, "money offer rareb rarec");
    /* Enough in range: the secondary lexicon is not asked; terms below the range never are. */
    assert_signers(lexicon, "often money rarea offer cheap health", 0, "cheap health money offer");
    assert_signers(lexicon, "often money rarea offer cheap nothing", 0, "cheap money offer rarea");
    lexicon_unref(lexicon);
}

static void each_copy_misses_its_share_and_signs_the_rest(void **state)
{
    (void)state;
    struct lexicon_plan plan = imatch_plan(false, 1);
    struct lexicon *lexicon = lexicon_of(imatch_words, &plan, 1);
    const char *const all[] = { "cheap", "health", "money", "offer" };
    for (unsigned k = 0; k < plan.k; k++) {
        GString *kept = g_string_new(NULL);
        for (unsigned i = 0; i < 4; i++)
            if (lexicon_in_copy(lexicon, k,
                                hash_bytes(all[i], strlen(all[i]), lexicon_key(lexicon) ^ TERM_WORD)))
                g_string_append_printf(kept, "%s%s", kept->len ? " " : "", all[i]);
        assert_signers(lexicon, "often money rarea offer cheap health", k + 1, kept->str);
        g_string_free(kept, TRUE);
    }
    lexicon_unref(lexicon);
}

/* --- adaptive --------------------------------------------------------------------------------- */

static struct lexicon_plan adaptive_plan(unsigned k, unsigned keep)
{
    struct lexicon_plan plan = lexicon_default_plan;
    plan.scheme = LEXICON_ADAPTIVE;
    plan.k = k;
    plan.keep = keep;
    return plan;
}

/* common: above 2 % of 1,000 documents. */
static const char adaptive_words[] =
    "apple\t5\nbread\t5\ncandle\t5\nevery\t400\nfriend\t300\nhttp:known.example\t4\n"
    "lemon\t5\nmarble\t5\nthere\t250\nwhich\t500\n";

static void adaptive_signs_the_first_r_terms_in_keyed_order(void **state)
{
    (void)state;
    const char *words = "marble which lemon every candle bread apple";
    const char *const candidates[] = { "apple", "bread", "candle", "lemon", "marble" };
    for (unsigned r = 1; r <= 3; r++) {
        struct lexicon_plan plan = adaptive_plan(8, r);
        struct lexicon *lexicon = lexicon_of(adaptive_words, &plan, 2);
        for (unsigned k = 0; k < 8; k++) {
            /* By hand: rank all candidates, take those with fewer than r before them. */
            GString *first = g_string_new(NULL);
            for (unsigned i = 0; i < 5; i++) {
                unsigned before = 0;
                uint64_t rank[5];
                for (unsigned j = 0; j < 5; j++)
                    rank[j] = hash_mix(
                        hash_bytes(candidates[j], strlen(candidates[j]), lexicon_key(lexicon) ^ TERM_WORD) ^
                        lexicon_order_keys(lexicon)[k]);
                for (unsigned j = 0; j < 5; j++)
                    before += rank[j] < rank[i];
                if (before < r)
                    g_string_append_printf(first, "%s%s", first->len ? " " : "", candidates[i]);
            }
            assert_signers(lexicon, words, k, first->str);
            g_string_free(first, TRUE);
        }
        lexicon_unref(lexicon);
    }
}

static void common_words_sign_only_when_nothing_else_is_left(void **state)
{
    (void)state;
    struct lexicon_plan plan = adaptive_plan(20, 2);
    struct lexicon *lexicon = lexicon_of(adaptive_words, &plan, 3);
    for (unsigned k = 0; k < 20; k++) {
        assert_signers(lexicon, "every which friend lemon apple", k, "apple lemon");
        char *two = signers(lexicon, "every which friend lemon there", k);
        assert_true(strstr(two, "lemon") != NULL);
        g_free(two);
    }
    lexicon_unref(lexicon);
}

static void uses_of(const struct lexicon *lexicon, const char *words, enum signature_use *use)
{
    struct document *d = g_new0(struct document, 1);
    add_words(d, lexicon, words);
    signature_uses(lexicon, terms_of(d), use);
    g_free(d);
}

static void unknown_terms_are_left_out_but_link_hosts_stay(void **state)
{
    (void)state;
    struct lexicon_plan plan = adaptive_plan(20, 2);
    struct lexicon *lexicon = lexicon_of(adaptive_words, &plan, 4);
    enum signature_use use[16];
    uses_of(lexicon, "apple xqzvw bread every lemon marble http:new.example http:known.example", use);
    const enum signature_use expected[] = { SIGNATURE_USED,   SIGNATURE_UNUSED, SIGNATURE_USED,
                                            SIGNATURE_COMMON, SIGNATURE_USED,   SIGNATURE_USED,
                                            SIGNATURE_USED,   SIGNATURE_USED };
    assert_memory_equal(use, expected, sizeof expected);
    struct signature a = sign(lexicon, "apple bread every lemon marble candle");
    struct signature b = sign(lexicon, "apple xqzvw bread every lemon marble jjkkp candle");
    assert_memory_equal(a.lex, b.lex, sizeof a.lex);
    assert_memory_equal(a.sketch, b.sketch, sizeof a.sketch);
    assert_int_equal(a.terms, b.terms);
    lexicon_unref(lexicon);
}

static void words_that_the_lexicon_does_not_know_are_odd(void **state)
{
    (void)state;
    struct lexicon_plan plan = adaptive_plan(20, 2);
    struct lexicon *lexicon = lexicon_of(adaptive_words, &plan, 4);
    struct signature none = sign(lexicon, "apple bread every lemon marble candle http:new.example");
    struct signature two = sign(lexicon, "apple xqzvw bread every lemon marble jjkkp candle");
    struct signature same = sign(lexicon, "jjkkp candle every lemon bread marble xqzvw apple");
    struct signature other = sign(lexicon, "apple xqzvw bread every lemon marble pqpqp candle");
    assert_int_equal(signature_n_odd(&none), 0);
    assert_int_equal(signature_n_odd(&two), 2);
    assert_true(signature_equal(&two, &same));
    assert_int_equal(signature_shared_odd(&two, &same), 2);
    assert_int_equal(signature_shared_odd(&two, &other), 1);
    assert_int_equal(signature_shared_odd(&two, &none), 0);
    uint64_t hash = hash_bytes("xqzvw", 5, lexicon_key(lexicon) ^ TERM_WORD);
    uint32_t odd = signature_odd_of(lexicon, hash);
    assert_true(two.odd[0] == odd || two.odd[1] == odd);
    lexicon_unref(lexicon);
}

static void a_text_of_more_unknown_words_than_known_ones_has_no_odd_words(void **state)
{
    (void)state;
    struct lexicon_plan plan = adaptive_plan(20, 2);
    struct lexicon *lexicon = lexicon_of(adaptive_words, &plan, 4);
    struct signature half = sign(lexicon, "apple bread lemon marble candle aaaa bbbb cccc dddd eeee");
    struct signature more = sign(lexicon, "apple bread lemon marble candle aaaa bbbb cccc dddd eeee ffff");
    assert_int_equal(signature_n_odd(&half), 5);
    assert_int_equal(signature_n_odd(&more), 0);
    lexicon_unref(lexicon);
}

static void an_unknown_language_falls_back_to_all_terms(void **state)
{
    (void)state;
    struct lexicon_plan plan = adaptive_plan(20, 2);
    struct lexicon *lexicon = lexicon_of(adaptive_words, &plan, 4);
    enum signature_use use[32];
    /* four known of eight: too few */
    uses_of(lexicon, "apple bread lemon marble eins zwei drei vier", use);
    assert_int_equal(use[7], SIGNATURE_USED);
    /* five known of eight: the rest is noise */
    uses_of(lexicon, "apple bread lemon marble candle zwei drei vier", use);
    assert_int_equal(use[7], SIGNATURE_UNUSED);
    /* five known of twenty-one: less than a quarter */
    const char *foreign =
        "apple bread lemon marble candle aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii jjjj kkkk "
        "llll mmmm nnnn oooo pppp";
    uses_of(lexicon, foreign, use);
    assert_int_equal(use[20], SIGNATURE_USED);
    lexicon_unref(lexicon);
}

static void gibberish_in_any_quantity_is_left_out(void **state)
{
    (void)state;
    char *lines = many_words(25, 8);
    struct lexicon_plan plan = adaptive_plan(20, 2);
    struct lexicon *lexicon = lexicon_of(lines, &plan, 4);
    struct document *d = g_new0(struct document, 1);
    struct signature clean, padded;
    char text[32];
    for (unsigned i = 0; i < 25; i++) {
        g_snprintf(text, sizeof text, "word%06u", i);
        add(d, lexicon, TERM_WORD, text);
    }
    assert_true(signature_make(lexicon, MESSAGE_BODY, terms_of(d), &clean));
    for (unsigned i = 0; i < 300; i++) {
        g_snprintf(text, sizeof text, "xqz%u", i);
        add(d, lexicon, TERM_WORD, text);
    }
    assert_true(signature_make(lexicon, MESSAGE_BODY, terms_of(d), &padded));
    assert_true(signature_equal(&clean, &padded));
    g_free(d);
    g_free(lines);
    lexicon_unref(lexicon);
}

static void too_few_terms_are_not_signed(void **state)
{
    (void)state;
    struct lexicon_plan plan = adaptive_plan(20, 2);
    struct lexicon *lexicon = lexicon_of(adaptive_words, &plan, 4);
    struct document *d = g_new0(struct document, 1);
    struct signature s;
    add_words(d, lexicon, "apple bread lemon marble");
    assert_false(signature_make(lexicon, MESSAGE_BODY, terms_of(d), &s));
    add_words(d, lexicon, "candle");
    assert_true(signature_make(lexicon, MESSAGE_BODY, terms_of(d), &s));
    assert_int_equal(s.terms, 5);
    g_free(d);
    lexicon_unref(lexicon);
}

/* --- properties ------------------------------------------------------------------------------- */

static void random_document(struct document *d, const struct lexicon *lexicon, GRand *rand, unsigned n,
                            unsigned words)
{
    d->n = 0;
    while (d->n < n) {
        char text[32];
        g_snprintf(text, sizeof text, "word%06d", g_rand_int_range(rand, 0, (gint)words));
        bool again = false;
        for (uint32_t i = 0; i < d->n; i++)
            again |= strcmp(d->text[i], text) == 0;
        if (!again)
            add(d, lexicon, TERM_WORD, text);
    }
}

static void shuffle(struct document *d, GRand *rand)
{
    for (uint32_t i = d->n; i > 1; i--) {
        uint32_t j = (uint32_t)g_rand_int_range(rand, 0, (gint)i);
        struct term swap = d->term[i - 1];
        d->term[i - 1] = d->term[j];
        d->term[j] = swap;
    }
}

static void word_order_never_matters(void **state)
{
    (void)state;
    char *lines = many_words(2000, 8);
    struct lexicon_plan plans[] = { adaptive_plan(20, 2), adaptive_plan(20, 3), imatch_plan(true, 5) };
    struct document *d = g_new0(struct document, 1);
    GRand *rand = g_rand_new_with_seed(11);
    for (unsigned p = 0; p < G_N_ELEMENTS(plans); p++) {
        struct lexicon *lexicon = lexicon_of(lines, &plans[p], 5);
        for (unsigned round = 0; round < 50; round++) {
            struct signature a, b;
            random_document(d, lexicon, rand, 5 + round * 3, 2000);
            assert_true(signature_make(lexicon, MESSAGE_BODY, terms_of(d), &a));
            shuffle(d, rand);
            assert_true(signature_make(lexicon, MESSAGE_BODY, terms_of(d), &b));
            assert_true(signature_equal(&a, &b));
            assert_int_equal(signature_hamming(&a, &b), 0);
        }
        lexicon_unref(lexicon);
    }
    g_rand_free(rand);
    g_free(d);
    g_free(lines);
}

/* The share of documents of which at least one lexicon hash survives when n terms are taken away. */
static double survival(const struct lexicon *lexicon, unsigned terms, unsigned taken, unsigned first_lex,
                       GRand *rand)
{
    struct document *d = g_new0(struct document, 1);
    unsigned survived = 0, rounds = 4000;
    for (unsigned round = 0; round < rounds; round++) {
        struct signature a, b;
        random_document(d, lexicon, rand, terms, 5000);
        signature_make(lexicon, MESSAGE_BODY, terms_of(d), &a);
        d->n -= taken;
        signature_make(lexicon, MESSAGE_BODY, terms_of(d), &b);
        for (unsigned i = first_lex; i < a.n_lex; i++) {
            if (a.lex[i] == b.lex[i]) {
                survived++;
                break;
            }
        }
    }
    g_free(d);
    return (double)survived / rounds;
}

static void dropout_survives_as_the_paper_says(void **state)
{
    (void)state;
    char *lines = many_words(5000, 50);
    struct lexicon_plan plan = imatch_plan(false, 1);
    struct lexicon *lexicon = lexicon_of(lines, &plan, 6);
    GRand *rand = g_rand_new_with_seed(12);
    for (unsigned n = 1; n <= 3; n++) {
        double expected = 1 - pow(1 - pow(plan.drop, n), plan.k);
        double found = survival(lexicon, 40, n, 1, rand);
        if (fabs(found - expected) > 0.04)
            fail_msg("%u changes: %.3f, expected %.3f", n, found, expected);
    }
    g_rand_free(rand);
    lexicon_unref(lexicon);
    g_free(lines);
}

static void adaptive_survives_by_the_jaccard_similarity(void **state)
{
    (void)state;
    char *lines = many_words(5000, 8);
    GRand *rand = g_rand_new_with_seed(13);
    for (unsigned r = 2; r <= 3; r++) {
        struct lexicon_plan plan = adaptive_plan(10, r);
        struct lexicon *lexicon = lexicon_of(lines, &plan, 7);
        for (unsigned taken = 12; taken <= 48; taken += 12) {
            /* Drawing r of 60 without replacement: J^r up to the small sample. */
            double alone = 1;
            for (unsigned i = 0; i < r; i++)
                alone *= (60.0 - taken - i) / (60.0 - i);
            double expected = 1 - pow(1 - alone, plan.k);
            double found = survival(lexicon, 60, taken, 0, rand);
            if (fabs(found - expected) > 0.04)
                fail_msg("r %u, %u of 60 taken: %.3f, expected %.3f", r, taken, found, expected);
        }
        lexicon_unref(lexicon);
    }
    g_rand_free(rand);
    g_free(lines);
}

static void a_large_document_equals_a_small_one_computed_in_place(void **state)
{
    (void)state;
    /* More terms than the selection keeps on the stack: the result must not depend on where it lies. */
    char *lines = many_words(3000, 8);
    struct lexicon_plan plan = adaptive_plan(20, 2);
    struct lexicon *lexicon = lexicon_of(lines, &plan, 8);
    struct term *terms = g_new0(struct term, 1200);
    for (unsigned i = 0; i < 1200; i++) {
        char text[32];
        g_snprintf(text, sizeof text, "word%06u", i % 600);
        terms[i].hash = hash_bytes(text, strlen(text), lexicon_key(lexicon) ^ TERM_WORD);
    }
    struct signature once, twice;
    assert_true(signature_make(lexicon, MESSAGE_BODY, (struct terms) { terms, 500 }, &once));
    memmove(terms + 500, terms, 500 * sizeof *terms);
    assert_true(signature_make(lexicon, MESSAGE_BODY, (struct terms) { terms, 1000 }, &twice));
    /* Every term counted twice gives the same majority. (r = 2 of doubled terms is not compared.) */
    assert_int_equal(signature_hamming(&once, &twice), 0);
    g_free(terms);
    lexicon_unref(lexicon);
    g_free(lines);
}

static void lexicons_of_other_seeds_have_nothing_in_common(void **state)
{
    (void)state;
    struct lexicon_plan plan = adaptive_plan(20, 2);
    struct lexicon *one = lexicon_of(adaptive_words, &plan, 1), *two = lexicon_of(adaptive_words, &plan, 2);
    struct signature a = sign(one, "apple bread candle lemon marble"),
                     b = sign(two, "apple bread candle lemon marble");
    assert_int_equal(signature_shared(&a, &b), 0);
    assert_in_range(signature_hamming(&a, &b), 256 - 70, 256 + 70);
    assert_int_equal(signature_compare(&a, &b, &signature_default_rule).level, SIGNATURE_STRANGER);
    lexicon_unref(one);
    lexicon_unref(two);
}

static void a_foreign_text_stays_foreign_above_a_known_footer(void **state)
{
    (void)state;
    struct lexicon_plan plan = adaptive_plan(20, 2);
    struct lexicon *lexicon = lexicon_of(adaptive_words, &plan, 1);
    struct document *body = g_new0(struct document, 1), *full = g_new0(struct document, 1);
    add_words(body, lexicon, "eins zwei drei vier fuenf sechs sieben acht");
    add_words(full, lexicon, "eins zwei drei vier fuenf sechs sieben acht apple bread candle lemon marble");
    struct message message = { .view = { [MESSAGE_BODY] = terms_of(body), [MESSAGE_FULL] = terms_of(full) } };
    struct signature_set set;
    signature_make_all(lexicon, &message, 5, &set);
    assert_int_equal(set.n, 2);
    assert_int_equal(set.v[0].terms, 8);
    assert_int_equal(set.v[1].terms, 13);
    g_free(body);
    g_free(full);
    lexicon_unref(lexicon);
}

static void a_foreign_text_with_some_known_words_is_found_by_all_its_terms(void **state)
{
    (void)state;
    struct lexicon_plan plan = adaptive_plan(20, 2);
    struct lexicon *lexicon = lexicon_of(adaptive_words, &plan, 1);
    struct document *plain = g_new0(struct document, 1), *mixed = g_new0(struct document, 1);
    char word[16];
    for (unsigned i = 0; i < 15; i++) {
        g_snprintf(word, sizeof word, "f%crem%c", 'a' + i, 'a' + i);
        add(plain, lexicon, TERM_WORD, word);
        add(mixed, lexicon, TERM_WORD, word);
    }
    add_words(mixed, lexicon, "apple bread candle lemon marble");
    struct message reported = { .view = { [MESSAGE_BODY] = terms_of(plain) } },
                   varied = { .view = { [MESSAGE_BODY] = terms_of(mixed) } };
    struct signature_set prototype, message;
    struct signature_pair pair;
    signature_make_all(lexicon, &reported, 5, &prototype);
    assert_int_equal(prototype.n, 1);
    signature_make_all(lexicon, &varied, 5, &message);
    assert_int_equal(message.n, 2);
    assert_int_equal(message.v[0].terms, 5);
    assert_int_equal(message.v[1].view, MESSAGE_FULL);
    assert_int_equal(message.v[1].terms, 20);
    assert_int_not_equal(signature_compare_sets(&message, &prototype, &signature_default_rule, &pair).level,
                         SIGNATURE_STRANGER);
    assert_int_equal(pair.view, MESSAGE_FULL);
    g_free(plain);
    g_free(mixed);
    lexicon_unref(lexicon);
}

static void all_views_of_a_message_are_signed(void **state)
{
    (void)state;
    struct lexicon_plan plan = adaptive_plan(20, 2);
    struct lexicon *lexicon = lexicon_of(adaptive_words, &plan, 1);
    struct document *body = g_new0(struct document, 1), *part = g_new0(struct document, 1);
    add_words(body, lexicon, "apple bread candle lemon marble");
    add(part, lexicon, TERM_PART, "0123456789abcdef");
    struct message message = { .view = { [MESSAGE_BODY] = terms_of(body), [MESSAGE_PART] = terms_of(part) } };
    struct signature_set set;
    signature_make_all(lexicon, &message, 5, &set);
    assert_int_equal(set.n, 2);
    assert_int_equal(set.v[0].view, MESSAGE_BODY);
    assert_int_equal(set.v[1].view, MESSAGE_PART);
    assert_int_equal(set.v[1].n_lex, 1);
    signature_make_all(lexicon, &message, 6, &set);
    assert_int_equal(set.n, 1);
    g_free(body);
    g_free(part);
    lexicon_unref(lexicon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imatch_signs_the_terms_in_range_whatever_else_there_is),
        cmocka_unit_test(imatch_without_enough_terms_gives_no_hash),
        cmocka_unit_test(the_secondary_lexicon_fills_up_by_increasing_idf),
        cmocka_unit_test(each_copy_misses_its_share_and_signs_the_rest),
        cmocka_unit_test(adaptive_signs_the_first_r_terms_in_keyed_order),
        cmocka_unit_test(common_words_sign_only_when_nothing_else_is_left),
        cmocka_unit_test(unknown_terms_are_left_out_but_link_hosts_stay),
        cmocka_unit_test(words_that_the_lexicon_does_not_know_are_odd),
        cmocka_unit_test(a_text_of_more_unknown_words_than_known_ones_has_no_odd_words),
        cmocka_unit_test(an_unknown_language_falls_back_to_all_terms),
        cmocka_unit_test(gibberish_in_any_quantity_is_left_out),
        cmocka_unit_test(too_few_terms_are_not_signed),
        cmocka_unit_test(word_order_never_matters),
        cmocka_unit_test(dropout_survives_as_the_paper_says),
        cmocka_unit_test(adaptive_survives_by_the_jaccard_similarity),
        cmocka_unit_test(a_large_document_equals_a_small_one_computed_in_place),
        cmocka_unit_test(lexicons_of_other_seeds_have_nothing_in_common),
        cmocka_unit_test(a_foreign_text_stays_foreign_above_a_known_footer),
        cmocka_unit_test(a_foreign_text_with_some_known_words_is_found_by_all_its_terms),
        cmocka_unit_test(all_views_of_a_message_are_signed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
