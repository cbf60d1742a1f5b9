#include "tests/message/reading.h"

#define HEAD "Subject: garden news\n"
#define TEXT "Caf\xc3\xa9 owners plant apple trees behind their na\xc3\xafve houses every spring.\n"

static char *view_of(const char *mail, enum message_view view)
{
    return read_view(mail, strlen(mail), view, &message_default_limits, NULL);
}

/* The same mail in as many ways as programs write it. */
static void test_the_same_mail_gives_the_same_terms_however_it_is_written(void **state)
{
    (void)state;
    static const char *const ways[] = {
        HEAD "Content-Type: text/plain; charset=utf-8\r\n\r\nCaf\xc3\xa9 owners plant apple trees\r\nbehind "
             "their na\xc3\xafve houses every spring.\r\n",
        HEAD
        "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\nCaf=C3=A9 "
        "owners plant apple trees behind their na=C3=AFve hou=\nses every spring.\n",
        HEAD "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: "
             "base64\r\n\r\nQ2Fmw6kgb3duZXJzIHBsYW50IGFwcGxlIHRyZWVzIGJlaGluZCB0aGVpciBuYcOvdmUgaG91c2Vz\r\nI"
             "GV2ZXJ5IHNwcmluZy4=\r\n",
        HEAD "Content-Type: text/plain; charset=iso-8859-1\n\nCaf\xe9 owners plant apple trees behind their "
             "na\xefve houses every spring.\n",
        HEAD "Content-Type: text/html; "
             "charset=iso-8859-1\n\n<html><head><title>x</title></head><body><p>Caf&eacute; owners "
             "<b>plant</b> apple trees<br>behind their na\xefve houses every spring.</p></body></html>\n",
        "Received: from one.example by two.example; Mon, 1 Jan 2024 00:00:00 +0000\nReceived: from "
        "three.example\n" HEAD "\n" TEXT,
        "Subject: =?utf-8?b?Z2FyZGVuIG5ld3M=?=\nMIME-Version: 1.0\nContent-Type: multipart/alternative; "
        "boundary=b\n\n--b\nContent-Type: text/plain; charset=utf-8\n\n" TEXT "--b--\n",
    };
    g_autofree char *plain = view_of(HEAD "\n" TEXT, MESSAGE_BODY);
    assert_true(has_term(plain, "garden") && has_term(plain, "apple") && has_term(plain, "cafe"));
    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        g_autofree char *terms = view_of(ways[i], MESSAGE_BODY);
        assert_string_equal(terms, plain);
    }
}

static void test_utf_16_and_32_give_the_same_terms(void **state)
{
    (void)state;
    static const struct {
        const char *label, *codec;
    } ways[] = { { "utf-16", "UTF-16LE" },   { "utf-16", "UTF-16BE" }, { "utf-16le", "UTF-16LE" },
                 { "utf-16be", "UTF-16BE" }, { "utf-16", "UTF-16" },   { "utf-32be", "UTF-32BE" },
                 { "x-unknown", "UTF-16" } };
    g_autofree char *plain = view_of(HEAD "\n" TEXT, MESSAGE_BODY);
    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++)
        for (int html = 0; html < 2; html++) {
            gsize n;
            g_autofree char *wide =
                g_convert(html ? "<p>" TEXT : TEXT, -1, ways[i].codec, "UTF-8", NULL, &n, NULL);
            g_autofree char *coded = g_base64_encode((guchar *)wide, n);
            g_autofree char *mail = g_strdup_printf(
                HEAD "Content-Type: text/%s; charset=%s\nContent-Transfer-Encoding: base64\n\n%s\n",
                html ? "html" : "plain", ways[i].label, coded);
            g_autofree char *terms = view_of(mail, MESSAGE_BODY);
            assert_string_equal(terms, plain);
        }
}

static void test_the_footer_is_in_the_full_view_only(void **state)
{
    (void)state;
    static const char *const rules[] = {
        "-- ", "--", "____", "--------", "====", "****", "---- list footer ----", "-- \r"
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rules); i++) {
        g_autofree char *mail =
            g_strdup_printf(HEAD "\n" TEXT "%s\nprovider boilerplate www.list.example\n", rules[i]);
        g_autofree char *body = view_of(mail, MESSAGE_BODY), *full = view_of(mail, MESSAGE_FULL);
        assert_true(has_term(body, "apple") && has_term(full, "apple"));
        assert_true(has_term(full, "boilerplate") && !has_term(body, "boilerplate"));
        assert_true(has_term(body, "http:list.example") && has_term(full, "http:list.example"));
    }
}

static void test_a_mail_without_a_footer_has_no_full_view(void **state)
{
    (void)state;
    static const char *const lines[] = { "---", "-- joe", "_ _ _ _", "text ----", "=-=-=-" };
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_autofree char *mail = g_strdup_printf(HEAD "\n" TEXT "%s\nboilerplate\n", lines[i]);
        g_autofree char *body = view_of(mail, MESSAGE_BODY), *full = view_of(mail, MESSAGE_FULL);
        assert_true(has_term(body, "boilerplate"));
        assert_string_equal(full, "  ");
    }
}

static void test_a_rule_before_the_last_25_lines_starts_no_footer(void **state)
{
    (void)state;
    for (int lines = 23; lines <= 26; lines++) {
        GString *mail = g_string_new(HEAD "\n" TEXT "----\n");
        for (int i = 0; i < lines; i++)
            g_string_append(mail, "boilerplate\n");
        g_autofree char *body = view_of(mail->str, MESSAGE_BODY);
        assert_int_equal(has_term(body, "boilerplate"), lines > 24);
        g_string_free(mail, TRUE);
    }
}

static void test_the_first_rule_of_the_last_lines_counts(void **state)
{
    (void)state;
    g_autofree char *body = view_of(HEAD "\n" TEXT "____\nboilerplate\n----\nmore\n", MESSAGE_BODY);
    assert_true(has_term(body, "apple") && !has_term(body, "boilerplate") && !has_term(body, "more"));
}

static void test_a_banner_at_the_top_is_no_footer(void **state)
{
    (void)state;
    GString *mail = g_string_new("Subject: x\n\n****\nbanner\n****\n");
    for (char c = 'a'; c <= 'z'; c++)
        g_string_append_printf(mail, "long%c text%c\n", c, c);
    g_string_append(mail, "----\nboilerplate\n");
    g_autofree char *body = view_of(mail->str, MESSAGE_BODY), *full = view_of(mail->str, MESSAGE_FULL);
    assert_true(has_term(body, "longz") && !has_term(body, "boilerplate"));
    assert_true(has_term(full, "boilerplate"));
    g_string_free(mail, TRUE);
}

static void test_a_footer_may_have_rules_inside(void **state)
{
    (void)state;
    g_autofree char *mail =
        g_strdup("Subject: short\n\nhello\n----\nthis message sponsored somebody very generous\n"
                 "____\nsomething mailing list information\n");
    g_autofree char *body = view_of(mail, MESSAGE_BODY), *full = view_of(mail, MESSAGE_FULL);
    assert_string_equal(body, "  ");
    assert_true(has_term(full, "sponsored") && has_term(full, "mailing"));
}

static void test_a_mail_that_is_little_more_than_a_footer_has_no_body(void **state)
{
    (void)state;
    GString *mail = g_string_new("Subject: x\n\nhello\n----\n");
    for (char c = 'a'; c <= 'z'; c++)
        g_string_append_printf(mail, "foot%c ", c);
    g_autofree char *body = view_of(mail->str, MESSAGE_BODY), *full = view_of(mail->str, MESSAGE_FULL);
    assert_string_equal(body, "  ");
    assert_true(has_term(full, "hello") && has_term(full, "footz"));
    for (char c = 'a'; c <= 'z'; c++)
        g_string_append_printf(mail, "text%c ", c);
    g_autofree char *long_body = view_of(mail->str, MESSAGE_BODY),
                    *no_full = view_of(mail->str, MESSAGE_FULL);
    assert_true(has_term(long_body, "footz") && has_term(long_body, "textz"));
    assert_string_equal(no_full, "  ");
    g_string_free(mail, TRUE);
}

static void test_html_has_footers_too(void **state)
{
    (void)state;
    static const char *const rules[] = { "<hr>", "<p>-- </p>", "<br>____<br>" };
    for (size_t i = 0; i < G_N_ELEMENTS(rules); i++) {
        g_autofree char *mail =
            g_strdup_printf(HEAD "Content-Type: text/html\n\n<p>" TEXT "</p>%s<p>boilerplate</p>", rules[i]);
        g_autofree char *body = view_of(mail, MESSAGE_BODY), *full = view_of(mail, MESSAGE_FULL);
        assert_true(has_term(body, "apple") && !has_term(body, "boilerplate") &&
                    has_term(full, "boilerplate"));
    }
}

static void test_a_list_footer_behind_the_page_is_a_footer(void **state)
{
    (void)state;
    static const char *const ends[] = { "</body></html>\n\n", "\n", "<br>\n", "</HTML> \n" };
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        g_autofree char *mail = g_strdup_printf(HEAD "Content-Type: text/html\n\n<html><p>" TEXT
                                                     "%s-- \nboilerplate list &amp; more\nmaintainer\n",
                                                ends[i]);
        g_autofree char *body = view_of(mail, MESSAGE_BODY), *full = view_of(mail, MESSAGE_FULL);
        assert_true(has_term(body, "apple") && !has_term(body, "boilerplate") &&
                    !has_term(body, "maintainer") && has_term(full, "boilerplate"));
    }
    /* hidden text stays hidden */
    g_autofree char *hidden = view_of(HEAD "Content-Type: text/html\n\n<html><p>" TEXT
                                           "</p><div style='display:none'>\n----\nunseen\nlines\n",
                                      MESSAGE_FULL);
    assert_false(has_term(hidden, "unseen"));
}

static void test_urls_in_text_are_their_hosts(void **state)
{
    (void)state;
    CHECK_READINGS({ "scheme", "Subject: x\n\napple http://Shop.Example/secret/words?more=hidden banana",
                     "apple banana http:shop.example", "secret words more hidden shop" },
                   { "www", "Subject: x\n\napple (WWW.Shop.Example/secret), banana",
                     "apple banana http:shop.example", "secret" },
                   { "end of a sentence", "Subject: x\n\nLook at http://shop.example. banana",
                     "look banana http:shop.example", NULL },
                   { "user and port", "Subject: x\n\nhttp://bank.example@evil.example:81/",
                     "http:evil.example", "http:bank.example" },
                   { "beside other scripts",
                     "Subject: x\n\nhttp://shop.example/a\xe3\x80\x82\xe6\x97\xa5\xe6\x9c\xac",
                     "http:shop.example", NULL },
                   { "no link", "Subject: x\n\nawww.apple ://banana http:// cherry", "cherry", NULL }, );
}

static void test_only_short_mail_has_a_short_view(void **state)
{
    (void)state;
    GString *longer = g_string_new(HEAD "\n");
    for (char c = 'a'; c <= 'z'; c++)
        g_string_append_printf(longer, "apple%c ", c);
    g_autofree char *few =
        view_of("Subject: secret\n\nLook: http://shop.example/a1234 Now!\n", MESSAGE_SHORT);
    g_autofree char *many = view_of(longer->str, MESSAGE_SHORT);
    g_autofree char *tiny = view_of("Subject: secret\n\nhello\n", MESSAGE_SHORT);
    assert_string_equal(many, "  ");
    assert_string_equal(tiny, "  ");
    /* "look http shop example a0 now ": letters, one space for the rest, one 0 for digits; no subject */
    assert_non_null(strstr(few, " look  "));
    assert_non_null(strstr(few, " ook h "));
    assert_non_null(strstr(few, " e a0  "));
    assert_null(strstr(few, "secre"));
    g_string_free(longer, TRUE);
}

static void test_the_short_view_of_html_has_its_links_and_no_tags(void **state)
{
    (void)state;
    g_autofree char *html =
        view_of("Subject: x\nContent-Type: text/html\n\n<!-- secret --><script>secret</script><p "
                "class=secret>Look<a href='http://shop.example/a1'><img alt='pills' src='cid:secret'></a>",
                MESSAGE_SHORT);
    assert_non_null(strstr(html, " shop  "));
    assert_non_null(strstr(html, " pills "));
    assert_null(strstr(html, "secre"));
    assert_null(strstr(html, "class"));
}

static void test_the_short_view_of_html_has_no_footer_and_no_frame_of_links(void **state)
{
    (void)state;
    g_autofree char *signature = view_of("Subject: x\nContent-Type: text/html\n\n<p>Look at these watches, "
                                         "friend</p><pre>-- \nsecret words</pre>",
                                         MESSAGE_SHORT);
    assert_non_null(strstr(signature, " watch "));
    assert_null(strstr(signature, "secre"));
    g_autofree char *frame = view_of("Subject: x\nContent-Type: text/html\n\n<p>Look at these watches, "
                                     "friend</p><a href='http://secret.example/'>a</a><a "
                                     "href='http://secret.example/b'>b</a><img "
                                     "src='http://secret.example/c'><img src='http://secret.example/d'>",
                                     MESSAGE_SHORT);
    assert_non_null(strstr(frame, " watch "));
    assert_null(strstr(frame, "secre"));
}

static void test_long_content_has_no_short_view(void **state)
{
    (void)state;
    for (int length = 2900; length <= 3100; length += 200) {
        GString *mail = g_string_new("Subject: x\n\nhello ");
        while (mail->len < (gsize)length)
            g_string_append(mail, "ab cd ef ");
        g_autofree char *terms = view_of(mail->str, MESSAGE_SHORT);
        assert_int_equal(strlen(terms) > 2, length < 3000);
        g_string_free(mail, TRUE);
    }
}

static char *with_part(const char *type, const char *encoding, size_t n, char fill)
{
    g_autofree char *bytes = g_strnfill(n, fill);
    g_autofree char *coded = g_base64_encode((guchar *)bytes, n);
    return g_strdup_printf(HEAD
                           "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nlook\n--b\nContent-Type: %s\n"
                           "Content-Transfer-Encoding: %s\nContent-Disposition: attachment\n\n%s\n--b--\n",
                           type, encoding, strcmp(encoding, "base64") ? bytes : coded);
}

static void test_the_largest_attached_part_is_digested(void **state)
{
    (void)state;
    g_autofree char *one = with_part("image/gif", "base64", 2000, 'x'),
                    *same = with_part("image/png", "7bit", 2000, 'x');
    g_autofree char *other = with_part("image/gif", "base64", 2000, 'y'),
                    *small = with_part("image/gif", "base64", 1023, 'x');
    g_autofree char *text = with_part("text/plain", "base64", 2000, 'x');
    g_autofree char *a = view_of(one, MESSAGE_PART), *b = view_of(same, MESSAGE_PART),
                    *c = view_of(other, MESSAGE_PART);
    g_autofree char *d = view_of(small, MESSAGE_PART), *e = view_of(text, MESSAGE_PART);
    assert_int_equal(strlen(a), 18);
    assert_string_equal(a, b);
    assert_string_not_equal(a, c);
    assert_string_equal(d, "  ");
    assert_string_equal(e, "  ");
}

static char *related(const char *page)
{
    g_autofree char *bytes = g_strnfill(2000, 'x'), *coded = g_base64_encode((guchar *)bytes, 2000);
    return g_strdup_printf(HEAD "Content-Type: multipart/related; boundary=b\n\n--b\nContent-Type: "
                                "text/html\n\n<body>%s look\n--b\nContent-Type: image/gif\nContent-ID: "
                                "<ivy@x>\nContent-Transfer-Encoding: base64\n\n%s\n--b--\n",
                           page, coded);
}

static void test_the_picture_of_a_page_is_digested_but_not_its_background(void **state)
{
    (void)state;
    g_autofree char *picture = related("<img src='cid:ivy@x'>"),
                    *stationery = related("<table BACKGROUND = \"cid:ivy@x\">"),
                    *styled = related("<p style='background-image: url(\"cid:ivy@x\")'>");
    g_autofree char *a = view_of(picture, MESSAGE_PART), *b = view_of(stationery, MESSAGE_PART),
                    *c = view_of(styled, MESSAGE_PART);
    assert_int_equal(strlen(a), 18);
    assert_string_equal(b, "  ");
    assert_string_equal(c, "  ");
}

#define THREADS 4

static gpointer read_many_times(gpointer mail)
{
    char *first = view_of(mail, MESSAGE_BODY);
    for (int i = 0; i < 200; i++) {
        g_autofree char *again = view_of(mail, MESSAGE_BODY);
        if (strcmp(first, again)) {
            g_free(first);
            return NULL;
        }
    }
    return first;
}

static void test_any_number_of_threads_may_read(void **state)
{
    (void)state;
    static char mail[] =
        HEAD "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html; charset=koi8-r\n\n"
             "<p style='color:red'>" TEXT
             "\n--b\nContent-Type: message/rfc822\n\nSubject: =?big5?q?inner?=\n\napple\n--b--\n";
    GThread *threads[THREADS];
    g_autofree char *alone = view_of(mail, MESSAGE_BODY);
    for (int i = 0; i < THREADS; i++)
        threads[i] = g_thread_new("reader", read_many_times, mail);
    for (int i = 0; i < THREADS; i++) {
        g_autofree char *terms = g_thread_join(threads[i]);
        assert_non_null(terms);
        assert_string_equal(terms, alone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_mail_gives_the_same_terms_however_it_is_written),
        cmocka_unit_test(test_utf_16_and_32_give_the_same_terms),
        cmocka_unit_test(test_the_footer_is_in_the_full_view_only),
        cmocka_unit_test(test_a_mail_without_a_footer_has_no_full_view),
        cmocka_unit_test(test_a_rule_before_the_last_25_lines_starts_no_footer),
        cmocka_unit_test(test_the_first_rule_of_the_last_lines_counts),
        cmocka_unit_test(test_a_banner_at_the_top_is_no_footer),
        cmocka_unit_test(test_a_footer_may_have_rules_inside),
        cmocka_unit_test(test_a_mail_that_is_little_more_than_a_footer_has_no_body),
        cmocka_unit_test(test_html_has_footers_too),
        cmocka_unit_test(test_a_list_footer_behind_the_page_is_a_footer),
        cmocka_unit_test(test_urls_in_text_are_their_hosts),
        cmocka_unit_test(test_only_short_mail_has_a_short_view),
        cmocka_unit_test(test_the_short_view_of_html_has_its_links_and_no_tags),
        cmocka_unit_test(test_the_short_view_of_html_has_no_footer_and_no_frame_of_links),
        cmocka_unit_test(test_long_content_has_no_short_view),
        cmocka_unit_test(test_the_largest_attached_part_is_digested),
        cmocka_unit_test(test_the_picture_of_a_page_is_digested_but_not_its_background),
        cmocka_unit_test(test_any_number_of_threads_may_read),
    };
    return cmocka_run_group_tests(tests, init_message, NULL);
}
