/* A session: what is collected of a message, and whether it is exempt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <glib/gstdio.h>
#include <string.h>

#include "message/message.h"
#include "milter/session.h"

/* The configuration and its lists alone: no lexicon and no store are looked at here. */
static struct snapshot *shared;
static struct config *config;

static const char settings[] = "[exempt]\nnetworks = 192.0.2.0/24\nsenders = boss@example.net\n"
                               "recipients = postmaster@example.org\ndkim-domains = big.example\n"
                               "[trap]\nrecipients = trap@example.org\n";

static int start(void **state)
{
    (void)state;
    g_autofree char *path = NULL;
    int fd = g_file_open_tmp("refrain-session-XXXXXX", &path, NULL);
    assert_true(fd >= 0);
    g_close(fd, NULL);
    assert_true(g_file_set_contents(path, settings, -1, NULL));
    shared = snapshot_draft(&(struct snapshot_source) { .path = path }, NULL);
    g_unlink(path);
    assert_non_null(shared);
    config = shared->config;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    snapshot_unref(shared);
    return 0;
}

static struct session *begin(const char *sender, bool authenticated)
{
    struct session *session = session_new();
    session->mta = g_strdup("mx.example.org");
    session->keeps_space = true;
    session_mail(session, shared, sender, authenticated);
    return session;
}

static void add_body(struct session *session, const char *text)
{
    session_body(session, (const unsigned char *)text, strlen(text));
}

static void assert_bytes(const struct session *session, const char *expected)
{
    const GByteArray *bytes = session->mail.bytes;
    g_autofree char *text = g_strndup((const char *)bytes->data, bytes->len);
    assert_string_equal(text, expected);
}

static void the_message_is_put_together_as_it_came(void **state)
{
    (void)state;
    struct session *s = begin("<a@example.com>", false);
    session_header(s, "Subject", " folded\n\tvalue");
    session_header(s, "X-NoSpace", "value");
    session_header(s, "X-Empty", "");
    add_body(s, "one\r\n");
    add_body(s, "two\r\n");
    assert_bytes(s, "Subject: folded\r\n\tvalue\r\nX-NoSpace:value\r\nX-Empty:\r\n\r\none\r\ntwo\r\n");
    session_free(s);
}

static void an_mta_that_eats_the_leading_space_gets_it_back(void **state)
{
    (void)state;
    struct session *s = begin("<a@example.com>", false);
    s->keeps_space = false;
    session_header(s, "Subject", "value");
    add_body(s, "x");
    assert_bytes(s, "Subject: value\r\n\r\nx");
    session_free(s);
}

static void limits_cut_and_say_so(void **state)
{
    (void)state;
    shared->limits.bytes = 30;
    struct session *s = begin("<a@example.com>", false);
    session_header(s, "A", " b");
    session_header(s, "Long", " longer than all that is left of it");
    assert_true(session_body(s, (const unsigned char *)"12345\r\n", 7));
    assert_false(session_body(s, (const unsigned char *)"6789012345678901234567890", 25));
    assert_false(session_body(s, (const unsigned char *)"more", 4));
    assert_int_equal(s->mail.bytes->len, 30);
    assert_int_equal(s->mail.cut, MESSAGE_CUT_HEADER | MESSAGE_CUT_BYTES);
    session_free(s);
    shared->limits = message_default_limits;
}

static void forged_headers_are_counted_and_not_judged(void **state)
{
    (void)state;
    struct session *s = begin("<a@example.com>", false);
    session_header(s, "X-Refrain", " clean");
    session_header(s, "x-REFRAIN", " clean");
    session_header(s, "X-Refrain-Other", " clean");
    add_body(s, "x");
    assert_bytes(s, "\r\nx");
    assert_int_equal(GPOINTER_TO_SIZE(g_hash_table_lookup(s->mail.forged, "x-refrain")), 2);
    assert_int_equal(GPOINTER_TO_SIZE(g_hash_table_lookup(s->mail.forged, "x-refrain-other")), 1);
    session_free(s);
}

static void exempt_by_envelope(void **state)
{
    (void)state;
    struct session *s = begin("<a@example.com>", true);
    assert_string_equal(session_exemption(s), "authenticated");
    session_mail(s, shared, "<BOSS@example.net>", false);
    assert_string_equal(session_exemption(s), "sender");
    session_mail(s, shared, "<a@example.com>", false);
    assert_null(session_exemption(s));
    struct sockaddr_in client = { .sin_family = AF_INET };
    inet_pton(AF_INET, "192.0.2.9", &client.sin_addr);
    session_client(s, (const struct sockaddr *)&client);
    session_mail(s, shared, "<a@example.com>", false);
    assert_string_equal(session_exemption(s), "network");
    session_client(s, NULL);
    session_mail(s, shared, "<a@example.com>", false);
    assert_null(session_exemption(s));
    session_free(s);
}

static void all_recipients_must_be_exempt(void **state)
{
    (void)state;
    struct session *s = begin("<a@example.com>", false);
    assert_null(session_exemption(s));
    session_recipient(s, "<postmaster@example.org>");
    assert_string_equal(session_exemption(s), "recipients");
    session_recipient(s, "<user@example.org>");
    assert_null(session_exemption(s));
    session_free(s);
}

static void a_trap_alone_is_trapped_unless_exempt(void **state)
{
    (void)state;
    struct session *s = begin("<a@example.com>", false);
    session_recipient(s, "<trap@example.org>");
    assert_true(session_is_trapped(s));
    session_recipient(s, "<user@example.org>");
    assert_false(session_is_trapped(s));
    assert_int_equal(s->mail.traps, 1);
    session_mail(s, shared, "<a@example.com>", true);
    session_recipient(s, "<trap@example.org>");
    assert_false(session_is_trapped(s));
    session_free(s);
}

#define RESULT(domain) " mx.example.org; dkim=pass header.d=" domain

static const struct {
    const char *name, *headers[4][2];
    bool exempt;
} results[] = {
    { "ours", { { "Authentication-Results", RESULT("big.example") } }, true },
    { "of another domain", { { "Authentication-Results", RESULT("other.example") } }, false },
    { "below a Received",
      { { "Received", " from x" }, { "Authentication-Results", RESULT("big.example") } },
      false },
    { "of another server",
      { { "Authentication-Results", " mx.evil.example; dkim=pass header.d=big.example" } },
      false },
    { "forged below ours",
      { { "Authentication-Results", " mx.example.org; dkim=fail header.d=big.example" },
        { "Authentication-Results", RESULT("big.example") } },
      false },
    { "below a result of ours that is not about DKIM",
      { { "Authentication-Results", " mx.example.org; dmarc=pass" },
        { "Authentication-Results", RESULT("big.example") } },
      true },
};

static void results_count_only_where_they_prove_something(void **state)
{
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++) {
        struct session *s = begin("<a@example.com>", false);
        for (int h = 0; h < 4 && results[i].headers[h][0]; h++)
            session_header(s, results[i].headers[h][0], results[i].headers[h][1]);
        if ((session_exemption(s) != NULL) != results[i].exempt)
            fail_msg("%s", results[i].name);
        session_free(s);
    }
}

static void exempt_mail_needs_no_body_unless_it_may_be_tagged(void **state)
{
    (void)state;
    struct session *s = begin("<a@example.com>", true);
    assert_false(session_body(s, (const unsigned char *)"x", 1));
    assert_int_equal(s->mail.bytes->len, 0);
    config->exempt.action = CONFIG_ACTION_TAG;
    session_mail(s, shared, "<a@example.com>", true);
    assert_true(session_body(s, (const unsigned char *)"x", 1));
    config->exempt.action = CONFIG_ACTION_NONE;
    session_free(s);
}

static void calls_outside_of_a_mail_do_no_harm(void **state)
{
    (void)state;
    struct session *s = session_new();
    session_recipient(s, "<a@example.com>");
    session_header(s, "Subject", "x");
    assert_true(session_body(s, (const unsigned char *)"x", 1));
    session_end(s);
    session_end(s);
    session_free(s);
    session_free(NULL);
}

static void the_limits_of_the_configuration_are_those_of_message(void **state)
{
    (void)state;
    assert_int_equal(config->limits.message_bytes, message_default_limits.bytes);
    assert_int_equal(config->limits.header_bytes, message_default_limits.header_bytes);
    assert_int_equal(config->limits.text_bytes, message_default_limits.text_bytes);
    assert_int_equal(config->limits.parts, message_default_limits.parts);
    assert_int_equal(config->limits.depth, message_default_limits.depth);
    assert_int_equal(config->limits.terms, message_default_limits.terms);
    assert_int_equal(config->match.min_terms, SIGNATURE_MIN_TERMS);
    assert_true(config->match.tag_similarity == signature_default_rule.tag);
    assert_true(config->match.reject_similarity == signature_default_rule.reject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_message_is_put_together_as_it_came),
        cmocka_unit_test(an_mta_that_eats_the_leading_space_gets_it_back),
        cmocka_unit_test(limits_cut_and_say_so),
        cmocka_unit_test(forged_headers_are_counted_and_not_judged),
        cmocka_unit_test(exempt_by_envelope),
        cmocka_unit_test(all_recipients_must_be_exempt),
        cmocka_unit_test(a_trap_alone_is_trapped_unless_exempt),
        cmocka_unit_test(results_count_only_where_they_prove_something),
        cmocka_unit_test(exempt_mail_needs_no_body_unless_it_may_be_tagged),
        cmocka_unit_test(calls_outside_of_a_mail_do_no_harm),
        cmocka_unit_test(the_limits_of_the_configuration_are_those_of_message),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
