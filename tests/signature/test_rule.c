#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "signature/signature.h"

/* A signature with the first `bits` bits of its sketch set, and all lexicon hashes equal to 1. */
static struct signature with(unsigned bits, uint16_t terms, enum message_view view)
{
    struct signature s = { .lexicon = 9, .view = view, .n_lex = 20, .terms = terms };
    for (unsigned i = 0; i < 20; i++)
        s.lex[i] = 1;
    for (unsigned i = 0; i < bits; i++)
        s.sketch[i / 64] |= UINT64_C(1) << (i % 64);
    return s;
}

static struct signature_likeness compare(unsigned distance, uint16_t n1, uint16_t n2, enum message_view view)
{
    struct signature a = with(0, n1, view), b = with(distance, n2, view);
    return signature_compare(&a, &b, &signature_default_rule);
}

static void similarity_is_the_cosine_of_the_angle(void **state)
{
    (void)state;
    assert_true(signature_similarity(0) == 1);
    assert_true(fabs(signature_similarity(128) - 0.7071) < 1e-4);
    assert_true(fabs(signature_similarity(165) - 0.5298) < 1e-4);
    assert_true(signature_similarity(256) == 0);
    assert_true(signature_similarity(400) == 0);
}

static void thresholds_are_distances_at_two_decimals(void **state)
{
    (void)state;
    assert_int_equal(signature_distance(0.53), 165);
    assert_int_equal(signature_distance(0.71), 128);
    assert_int_equal(signature_distance(0), 256);
    for (unsigned percent = 1; percent < 100; percent++) {
        unsigned t = signature_distance(percent / 100.0);
        assert_true(round(signature_similarity(t) * 100) >= percent);
        assert_true(round(signature_similarity(t + 1) * 100) < percent);
    }
}

static void the_rule_accepts_up_to_its_thresholds(void **state)
{
    (void)state;
    static const struct {
        unsigned distance;
        uint16_t n1, n2;
        enum message_view view;
        enum signature_level level;
    } rows[] = {
        { 0, 100, 100, MESSAGE_BODY, SIGNATURE_REJECT },
        { 128, 100, 100, MESSAGE_BODY, SIGNATURE_REJECT },
        { 129, 100, 100, MESSAGE_BODY, SIGNATURE_TAG },
        { 165, 100, 100, MESSAGE_BODY, SIGNATURE_TAG },
        { 166, 100, 100, MESSAGE_BODY, SIGNATURE_STRANGER },
        /* short texts: 30 terms cost 10 bits */
        { 118, 30, 100, MESSAGE_BODY, SIGNATURE_TAG }, /* lengths: 0.30 is enough for tag, not for reject */
        { 118, 30, 50, MESSAGE_BODY, SIGNATURE_REJECT },
        { 119, 30, 50, MESSAGE_BODY, SIGNATURE_TAG },
        { 156, 30, 50, MESSAGE_BODY, SIGNATURE_STRANGER },
        /* lengths: cos²(π·165/512) = 0.2807, cos²(π·128/512) = 0.5 */
        { 10, 50, 100, MESSAGE_BODY, SIGNATURE_REJECT },
        { 10, 49, 100, MESSAGE_BODY, SIGNATURE_TAG },
        { 10, 281, 1000, MESSAGE_BODY, SIGNATURE_TAG },
        { 10, 280, 1000, MESSAGE_BODY, SIGNATURE_STRANGER },
        /* the full view speaks only at reject */
        { 128, 100, 100, MESSAGE_FULL, SIGNATURE_REJECT },
        { 129, 100, 100, MESSAGE_FULL, SIGNATURE_STRANGER },
        /* the short view is stricter: 100 and 128, and below 40 windows it only tags */
        { 100, 60, 60, MESSAGE_SHORT, SIGNATURE_REJECT },
        { 101, 60, 60, MESSAGE_SHORT, SIGNATURE_TAG },
        { 128, 60, 60, MESSAGE_SHORT, SIGNATURE_TAG },
        { 130, 60, 60, MESSAGE_SHORT, SIGNATURE_STRANGER },
        { 0, 39, 39, MESSAGE_SHORT, SIGNATURE_TAG },
        /* a digest is equal or it is not */
        { 0, 1, 1, MESSAGE_PART, SIGNATURE_TAG },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct signature_likeness l = compare(rows[i].distance, rows[i].n1, rows[i].n2, rows[i].view);
        if (l.level != rows[i].level)
            fail_msg("row %zu: level %d, not %d", i, l.level, rows[i].level);
        l = compare(rows[i].distance, rows[i].n2, rows[i].n1, rows[i].view);
        assert_int_equal(l.level, rows[i].level);
    }
}

static void what_users_see_decides(void **state)
{
    (void)state;
    for (unsigned distance = 0; distance < 256; distance++) {
        struct signature_likeness l = compare(distance, 35, 35, MESSAGE_BODY);
        double seen = round(l.similarity * 100);
        assert_int_equal(l.level >= SIGNATURE_TAG, seen >= 53);
        assert_int_equal(l.level >= SIGNATURE_REJECT, seen >= 71);
    }
}

static void odd_words_in_common_make_a_match_but_never_a_reject(void **state)
{
    (void)state;
    static const struct {
        unsigned distance, odd;
        double similarity;
        enum signature_level level;
    } rows[] = {
        { 175, 0, 0.48, SIGNATURE_STRANGER }, { 175, 1, 0.48, SIGNATURE_STRANGER },
        { 175, 2, 0.56, SIGNATURE_TAG },      { 175, 3, 0.60, SIGNATURE_TAG },
        { 194, 4, 0.53, SIGNATURE_TAG },      { 196, 4, 0.52, SIGNATURE_STRANGER },
        { 194, 8, 0.53, SIGNATURE_TAG },      { 130, 8, 0.70, SIGNATURE_TAG },
        { 128, 8, 0.71, SIGNATURE_REJECT },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct signature a = with(0, 100, MESSAGE_BODY), b = with(rows[i].distance, 100, MESSAGE_BODY);
        for (unsigned n = 0; n < SIGNATURE_ODD; n++) {
            a.odd[n] = 100 + n;
            b.odd[SIGNATURE_ODD - 1 - n] = n < rows[i].odd ? 100 + n : 200 + n;
        }
        struct signature_likeness likeness = signature_compare(&a, &b, &signature_default_rule);
        assert_int_equal(likeness.odd, rows[i].odd);
        assert_true(fabs(likeness.similarity - rows[i].similarity) < 0.005);
        assert_int_equal(likeness.level, rows[i].level);
    }
}

static void an_odd_word_that_is_there_twice_is_one(void **state)
{
    (void)state;
    struct signature a = with(0, 100, MESSAGE_BODY), b = with(175, 100, MESSAGE_BODY);
    a.odd[0] = 7;
    for (unsigned i = 0; i < SIGNATURE_ODD; i++)
        b.odd[i] = 7;
    assert_int_equal(signature_shared_odd(&a, &b), 1);
    assert_int_equal(signature_shared_odd(&b, &a), 1);
    assert_int_equal(signature_shared_odd(&b, &b), 1);
    assert_int_equal(signature_compare(&a, &b, &signature_default_rule).level, SIGNATURE_STRANGER);
}

static void odd_words_propose_like_a_lexicon(void **state)
{
    (void)state;
    struct signature a = with(0, 100, MESSAGE_BODY), b = with(10, 100, MESSAGE_BODY);
    memset(b.lex, 0, sizeof b.lex);
    assert_int_equal(signature_compare(&a, &b, &signature_default_rule).level, SIGNATURE_STRANGER);
    a.odd[0] = b.odd[0] = 7;
    assert_int_equal(signature_compare(&a, &b, &signature_default_rule).level, SIGNATURE_REJECT);
}

static void other_views_and_lexicons_are_strangers(void **state)
{
    (void)state;
    struct signature a = with(0, 100, MESSAGE_BODY), b = a;
    b.view = MESSAGE_FULL;
    assert_int_equal(signature_compare(&a, &b, &signature_default_rule).level, SIGNATURE_STRANGER);
    b = a;
    b.lexicon++;
    assert_int_equal(signature_compare(&a, &b, &signature_default_rule).level, SIGNATURE_STRANGER);
}

static void min_shared_counts_lexicons_that_have_a_hash(void **state)
{
    (void)state;
    struct signature a = with(0, 100, MESSAGE_BODY), b = a;
    struct signature_rule rule = signature_default_rule;
    for (unsigned i = 0; i < 18; i++)
        a.lex[i] = b.lex[i] = 0; /* no hash is not an equal hash */
    rule.min_shared = 2;
    assert_int_equal(signature_compare(&a, &b, &rule).level, SIGNATURE_REJECT);
    assert_int_equal(signature_compare(&a, &b, &rule).shared, 2);
    rule.min_shared = 3;
    assert_int_equal(signature_compare(&a, &b, &rule).level, SIGNATURE_STRANGER);
}

static void digests_that_differ_are_strangers(void **state)
{
    (void)state;
    struct signature a = { .lexicon = 9, .view = MESSAGE_PART, .n_lex = 1, .terms = 1, .lex = { 5 } }, b = a;
    assert_int_equal(signature_compare(&a, &b, &signature_default_rule).level, SIGNATURE_TAG);
    b.lex[0] = 6;
    struct signature_rule any = { .tag = 0, .reject = 0, .min_shared = 1 };
    assert_int_equal(signature_compare(&a, &b, &any).level, SIGNATURE_STRANGER);
}

/* A set with a body and, unless its terms are 0, a full view. */
static struct signature_set set_with(unsigned body_bits, uint16_t body_terms, unsigned full_bits,
                                     uint16_t full_terms)
{
    struct signature_set set = { .n = 1, .v = { with(body_bits, body_terms, MESSAGE_BODY) } };
    if (full_terms)
        set.v[set.n++] = with(full_bits, full_terms, MESSAGE_FULL);
    return set;
}

static struct signature_likeness compare_sets(struct signature_set message, struct signature_set prototype,
                                              enum message_view *view_out)
{
    struct signature_pair pair;
    struct signature_likeness likeness =
        signature_compare_sets(&message, &prototype, &signature_default_rule, &pair);
    *view_out = pair.view;
    return likeness;
}

static void a_payload_hidden_below_a_footer_line_meets_the_body_of_a_prototype(void **state)
{
    (void)state;
    enum message_view view;
    struct signature_set hidden = set_with(500, 60, 20, 150), plain = set_with(0, 100, 0, 0);
    assert_int_equal(compare_sets(hidden, plain, &view).level, SIGNATURE_REJECT);
    assert_int_equal(view, MESSAGE_FULL);
    /* without a footer of its own it may tag: boilerplate is what two footers share */
    hidden = set_with(500, 60, 140, 150);
    assert_int_equal(compare_sets(hidden, plain, &view).level, SIGNATURE_TAG);
    assert_int_equal(view, MESSAGE_FULL);
    assert_int_equal(compare_sets(hidden, set_with(0, 100, 0, 110), &view).level, SIGNATURE_STRANGER);
    /* but its footer may have no line above it: a message that says no more than footers do is not tagged */
    plain = set_with(0, 40, 0, 0);
    assert_int_equal(compare_sets(set_with(500, 10, 140, 40), plain, &view).level, SIGNATURE_TAG);
    assert_int_equal(compare_sets(set_with(500, 10, 140, 39), plain, &view).level, SIGNATURE_STRANGER);
    plain = set_with(0, 100, 0, 0);
    /* the same when the prototype was the hidden one, while its cover is not what people see of the provider;
     * then only at the reject threshold */
    hidden = set_with(500, 100, 20, 150);
    assert_int_equal(compare_sets(plain, hidden, &view).level, SIGNATURE_REJECT);
    hidden = set_with(500, 100, 140, 150);
    assert_int_equal(compare_sets(plain, hidden, &view).level, SIGNATURE_STRANGER);
}

static void a_prototype_that_is_mostly_footer_has_no_say_in_the_full_view(void **state)
{
    (void)state;
    enum message_view view;
    struct signature_set message = set_with(500, 60, 0, 150);
    assert_int_equal(compare_sets(message, set_with(0, 100, 0, 150), &view).level, SIGNATURE_REJECT);
    assert_int_equal(compare_sets(message, set_with(0, 99, 0, 150), &view).level, SIGNATURE_STRANGER);
    struct signature_set no_body = { .n = 1, .v = { with(0, 150, MESSAGE_FULL) } };
    assert_int_equal(compare_sets(message, no_body, &view).level, SIGNATURE_STRANGER);
}

static void the_closest_pair_of_views_decides(void **state)
{
    (void)state;
    enum message_view view;
    struct signature_set message = set_with(150, 100, 100, 120), prototype = set_with(0, 100, 0, 120);
    assert_int_equal(compare_sets(message, prototype, &view).level, SIGNATURE_REJECT);
    assert_int_equal(view, MESSAGE_FULL);
    message = set_with(90, 100, 100, 120);
    assert_int_equal(compare_sets(message, prototype, &view).distance, 90);
    assert_int_equal(view, MESSAGE_BODY);
    /* nothing in common */
    struct signature_set other = { .n = 1, .v = { with(0, 60, MESSAGE_SHORT) } };
    struct signature_pair pair;
    signature_compare_sets(&other, &prototype, &signature_default_rule, &pair);
    assert_null(pair.message);
}

static void hamming_is_a_metric(void **state)
{
    (void)state;
    GRand *rand = g_rand_new_with_seed(3);
    struct signature s[12];
    memset(s, 0, sizeof s);
    for (unsigned i = 0; i < 12; i++)
        for (unsigned w = 0; w < SIGNATURE_WORDS; w++)
            s[i].sketch[w] = (uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand);
    for (unsigned a = 0; a < 12; a++)
        for (unsigned b = 0; b < 12; b++) {
            assert_int_equal(signature_hamming(&s[a], &s[b]), signature_hamming(&s[b], &s[a]));
            assert_int_equal(signature_hamming(&s[a], &s[b]) == 0, a == b);
            for (unsigned c = 0; c < 12; c++)
                assert_true(signature_hamming(&s[a], &s[c]) <=
                            signature_hamming(&s[a], &s[b]) + signature_hamming(&s[b], &s[c]));
        }
    g_rand_free(rand);
}

static void a_signature_is_printed_and_parsed_back(void **state)
{
    (void)state;
    struct signature a = with(300, 77, MESSAGE_FULL), b;
    a.lex[3] = 0;
    a.lex[4] = UINT64_C(0xfedcba9876543210);
    for (unsigned n = 0; n <= SIGNATURE_ODD; n++) {
        char *text = signature_print(&a);
        assert_true(signature_parse(text, 9, &b, NULL));
        assert_true(signature_equal(&a, &b));
        g_free(text);
        if (n < SIGNATURE_ODD)
            a.odd[n] = 0xabc000 + n;
    }
}

static void what_is_not_a_signature_is_refused(void **state)
{
    (void)state;
    char *good, *sketch = g_strnfill(128, '0');
    static const char *const bad[] = {
        "",
        "body",
        "body 5 -",
        "nobody 5 - S",
        "body 0 - S",
        "body 65536 - S",
        "body x - S",
        "body 5  S",
        "body 5 -,S S",
        "body 5 -, S",
        "body 5 0123 S",
        "body 5 - 0S",
        "body 5 - S more",
        "body 5 - S 12345",
        "body 5 - S 000000",
        "body 5 - S 123456,",
        "body 5 - S 123456 123456",
        "body 5 - S 000001,000002,000003,000004,000005,000006,000007,000008,000009",
        "body 5 - g",
    };
    struct signature out;
    good = g_strconcat("body 5 - ", sketch, NULL);
    assert_true(signature_parse(good, 1, &out, NULL));
    g_free(good);
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        char **pieces = g_strsplit(bad[i], "S", -1), *text = g_strjoinv(sketch, pieces);
        GError *error = NULL;
        if (signature_parse(text, 1, &out, &error))
            fail_msg("accepted: %s", bad[i]);
        assert_non_null(error);
        g_error_free(error);
        g_free(text);
        g_strfreev(pieces);
    }
    g_free(sketch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(similarity_is_the_cosine_of_the_angle),
        cmocka_unit_test(thresholds_are_distances_at_two_decimals),
        cmocka_unit_test(the_rule_accepts_up_to_its_thresholds),
        cmocka_unit_test(what_users_see_decides),
        cmocka_unit_test(odd_words_in_common_make_a_match_but_never_a_reject),
        cmocka_unit_test(an_odd_word_that_is_there_twice_is_one),
        cmocka_unit_test(odd_words_propose_like_a_lexicon),
        cmocka_unit_test(other_views_and_lexicons_are_strangers),
        cmocka_unit_test(min_shared_counts_lexicons_that_have_a_hash),
        cmocka_unit_test(digests_that_differ_are_strangers),
        cmocka_unit_test(a_payload_hidden_below_a_footer_line_meets_the_body_of_a_prototype),
        cmocka_unit_test(a_prototype_that_is_mostly_footer_has_no_say_in_the_full_view),
        cmocka_unit_test(the_closest_pair_of_views_decides),
        cmocka_unit_test(hamming_is_a_metric),
        cmocka_unit_test(a_signature_is_printed_and_parsed_back),
        cmocka_unit_test(what_is_not_a_signature_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
