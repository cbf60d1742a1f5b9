#include "tests/message/reading.h"

#define MULTI "Subject: x\nContent-Type: multipart/mixed; boundary=abcd\n\n"

static GString *repeated(const char *before, const char *unit, unsigned n, const char *behind)
{
    GString *mail = g_string_new(before);
    for (unsigned i = 0; i < n; i++)
        g_string_append(mail, unit);
    return g_string_append(mail, behind);
}

/* Reads with one limit changed; what must have been cut, and a word that must have been seen all the same. */
static void check_cut(GString *mail, struct message_limits limits, unsigned cut, const char *seen,
                      const char *unseen)
{
    unsigned was_cut;
    g_autofree char *terms = read_view(mail->str, mail->len, MESSAGE_BODY, &limits, &was_cut);
    assert_int_equal(was_cut, cut);
    assert_true(!seen || has_term(terms, seen));
    assert_true(!unseen || !has_term(terms, unseen));
    g_string_free(mail, TRUE);
}

static void test_each_limit_cuts_and_says_so(void **state)
{
    (void)state;
    const struct message_limits all = message_default_limits;
    struct message_limits limits = all;
    check_cut(repeated("Subject: x\n\napple ", "", 0, "banana"), all, 0, "banana", NULL);

    limits.bytes = 100;
    check_cut(repeated("Subject: x\n\napple ", "spam ", 50, "banana"), limits, MESSAGE_CUT_BYTES, "apple",
              "banana");
    limits = all, limits.header_bytes = 200;
    check_cut(repeated("Subject: apple\n", "X-Filler: spam\n", 50, "Subject: cherry\n\nbanana"), limits,
              MESSAGE_CUT_HEADER, "banana", "cherry");
    limits = all, limits.parts = 10;
    check_cut(repeated(MULTI, "--abcd\n\napple\n", 50, "--abcd\n\nbanana"), limits, MESSAGE_CUT_PARTS,
              "apple", "banana");
    limits = all, limits.depth = 3;
    check_cut(repeated("Subject: grape\n", "Content-Type: message/rfc822\n\nSubject: apple\n", 3,
                       "Content-Type: message/rfc822\n\nSubject: banana\n\n"),
              limits, MESSAGE_CUT_DEPTH, "apple", "banana");
    limits = all, limits.text_bytes = 100;
    check_cut(repeated("Subject: x\n\napple ", "spam ", 50, "banana"), limits, MESSAGE_CUT_TEXT, "apple",
              "banana");
    limits = all, limits.terms = 3;
    check_cut(repeated("Subject: x\n\napple ", "", 0, "cherry grape banana"), limits, MESSAGE_CUT_TERMS,
              "apple", "banana");
}

static void test_cuts_have_names(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_string_equal(message_cut_names(arena, 0), "");
    assert_string_equal(message_cut_names(arena, MESSAGE_CUT_PARTS | MESSAGE_CUT_DEPTH), "parts, depth");
    assert_string_equal(message_cut_names(arena, MESSAGE_CUT_BYTES | MESSAGE_CUT_HEADER | MESSAGE_CUT_TEXT |
                                                     MESSAGE_CUT_TERMS),
                        "bytes, header, text, terms");
    arena_free(&arena);
}

static void test_zero_limits_give_nothing(void **state)
{
    (void)state;
    const struct message_limits none = { 0 };
    GString *mail = repeated(MULTI, "--abcd\n\napple\n", 5, "");
    g_autofree char *terms = read_view(mail->str, mail->len, MESSAGE_BODY, &none, NULL);
    assert_string_equal(terms, "  ");
    g_string_free(mail, TRUE);
}

static void test_lines_of_dashes_are_not_taken_for_parts(void **state)
{
    (void)state;
    unsigned cut;
    GString *mail =
        repeated(MULTI "--abcd\n\napple\n", "--\n-- price list --\n", 1500, "\nbanana\n--abcd--\n");
    g_autofree char *terms = read_view(mail->str, mail->len, MESSAGE_FULL, &message_default_limits, &cut);
    assert_int_equal(cut, 0);
    assert_true(has_term(terms, "apple") && has_term(terms, "banana"));
    g_string_free(mail, TRUE);
}

/* What each of these costs in memory shows that it was cut before it was parsed. */
static void test_hostile_mail_costs_little(void **state)
{
    (void)state;
    static const struct {
        const char *what, *before, *unit;
        unsigned n;
        const char *behind;
    } rows[] = {
        { "empty parts", MULTI, "--abcd\n\n\n", 500000, "" },
        { "messages inside messages", "Subject: x\n", "Content-Type: message/rfc822\n\n", 100000, "apple" },
        { "address groups", "Subject: x\nTo: ", "a:", 120000, "\n\napple" },
        { "address groups inside", MULTI "--abcd\nContent-Type: message/rfc822\n\nTo: ", "a:", 120000,
          "\n\napple" },
        { "address groups in a digest",
          "Subject: x\nContent-Type: multipart/digest; boundary=b\n\n--b\n\nTo: ", "a:", 120000,
          "\n\napple" },
        { "part headers", MULTI "--abcd\n", "A: b\n", 300000, "\napple" },
        { "headers", "Subject: x\n", "Content-Type: text/plain\n", 100000, "\napple" },
        { "parameters", "Subject: x\nContent-Type: text/plain", "; a*0*=b", 30000, "\n\napple" },
        { "encoded words", "Subject: ", "=?utf-8?q?a?= ", 15000, "\n\napple" },
        { "half encoded words", "Subject: ", "=?utf-8?q?", 15000, "\n\napple" },
        { "nested div", "Content-Type: text/html\n\n", "<div>", 2000000, "apple" },
        { "end tags", "Content-Type: text/html\n\n<div><div><div>", "</b>", 200000, "apple" },
        { "attributes", "Content-Type: text/html\n\n<a ", "a b c d e f ", 80000, ">apple" },
        { "a large attribute", "Content-Type: text/html\n\n<a href='http://a.example/", "aaaaaaaa", 100000,
          "'>apple" },
        { "links in text", "Subject: x\n\n", "www.a ", 40000, "http://b.example apple" },
        { "uuencode", "Subject: x\n\n", "begin 644 a\n", 20000, "apple" },
        { "one long word", "Subject: x\n\n", "aaaaaaaa", 100000, " apple" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        GString *mail = repeated(rows[i].before, rows[i].unit, rows[i].n, rows[i].behind);
        struct arena *arena = arena_new();
        assert_non_null(message_read(arena, mail->str, mail->len, READING_KEY, &message_default_limits));
        if (arena_used(arena) > 16 * message_default_limits.bytes)
            fail_msg("%s: %zu bytes", rows[i].what, arena_used(arena));
        arena_free(&arena);
        g_string_free(mail, TRUE);
    }
}

/* GMime compares each line of dashes with all open boundaries. */
static void test_lines_of_dashes_below_open_boundaries_are_bounded(void **state)
{
    (void)state;
    for (int depth = 100; depth <= 3000; depth += 2900) {
        GString *mail = g_string_new("Subject: x\n");
        for (int i = 0; i < depth; i++)
            g_string_append_printf(mail, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i);
        for (int i = 0; i < 200000; i++)
            g_string_append(mail, "--c\n");
        unsigned cut;
        g_autofree char *terms = read_view(mail->str, mail->len, MESSAGE_BODY, &message_default_limits, &cut);
        assert_true(cut & MESSAGE_CUT_PARTS);
        g_string_free(mail, TRUE);
    }
}

static void test_headers_of_parts_are_limited_together(void **state)
{
    (void)state;
    struct message_limits limits = message_default_limits;
    limits.header_bytes = 1000;
    check_cut(repeated(MULTI "--abcd\n\napple\n--abcd\n", "X-Filler: spam\n", 200, "\nbanana\n--abcd--\n"),
              limits, MESSAGE_CUT_HEADER, "apple", NULL);
    check_cut(repeated(MULTI, "--abcd\nX-Filler: spam\n\napple\n", 100, "--abcd\n\nbanana\n--abcd--\n"),
              limits, MESSAGE_CUT_HEADER, "apple", "banana");
    check_cut(repeated(MULTI, "--abcd\nX-Filler: spam\n\napple\n", 10, "--abcd\n\nbanana\n--abcd--\n"),
              limits, 0, "banana", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_limit_cuts_and_says_so),
        cmocka_unit_test(test_cuts_have_names),
        cmocka_unit_test(test_zero_limits_give_nothing),
        cmocka_unit_test(test_lines_of_dashes_are_not_taken_for_parts),
        cmocka_unit_test(test_hostile_mail_costs_little),
        cmocka_unit_test(test_lines_of_dashes_below_open_boundaries_are_bounded),
        cmocka_unit_test(test_headers_of_parts_are_limited_together),
    };
    return cmocka_run_group_tests(tests, init_message, NULL);
}
