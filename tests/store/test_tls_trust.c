#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/store/fixture.h"
#include "tests/store/tls_talk.h"

static void the_certificate_must_be_made_out_to_the_host(void **state)
{
    (void)state;
    struct servers_redis *other = start_server("other", "no");
    g_autofree char *by_address = g_strdup_printf("rediss://127.0.0.1:%u", open_door->tls_port);
    g_autofree char *other_address = g_strdup_printf("rediss://127.0.0.1:%u", other->tls_port);
    expect_welcome(open_door->tls_url, trusting);
    expect_welcome(by_address, trusting);
    expect_refusal(other->tls_url, trusting, REFUSED, "made out to another host");
    expect_refusal(other_address, trusting, REFUSED, "made out to another host");
    servers_stop(&other);
}

static void a_name_may_be_set_for_servers_that_are_known_by_address(void **state)
{
    (void)state;
    struct servers_redis *other = start_server("other", "no");
    g_autofree char *other_address = g_strdup_printf("rediss://127.0.0.1:%u", other->tls_port);
    static const char *const good[] = { "a.example.org", "192.0.2.1" };
    static const char *const bad[] = { "localhost", "127.0.0.1", "example.org", "a.b.example.org",
                                       "192.0.2.2" };
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
        expect_welcome(other_address, (struct keys) { .ca = "ca.pem", .name = good[i] });
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        expect_refusal(other_address, (struct keys) { .ca = "ca.pem", .name = bad[i] }, REFUSED,
                       "made out to another host");
    g_autofree char *endless = g_strnfill(300, 'a');
    expect_refusal(other_address, (struct keys) { .ca = "ca.pem", .name = endless }, REFUSED, "such a name");
    servers_stop(&other);
}

static void the_certificate_must_be_of_a_trusted_ca_and_of_today(void **state)
{
    (void)state;
    struct servers_redis *old = start_server("old", "no");
    expect_refusal(open_door->tls_url, (struct keys) { .ca = "stranger.pem" }, REFUSED, "not trusted");
    expect_refusal(open_door->tls_url, (struct keys) { 0 }, REFUSED, "set tls-ca");
    expect_refusal(old->tls_url, trusting, REFUSED, "has expired");
    servers_stop(&old);
}

static void a_folder_of_cas_will_do(void **state)
{
    (void)state;
    g_autofree char *folder = g_path_get_dirname(certs_path(certs, "ca.pem"));
    g_autofree char *command = g_strdup_printf("openssl rehash %s", folder);
    int status = 0;
    assert_true(g_spawn_command_line_sync(command, NULL, NULL, &status, NULL));
    assert_int_equal(status, 0);
    const struct url_access access = { .tls = { .ca = folder } };
    struct url *url = url_parse(open_door->tls_url, &access, NULL);
    struct link *link = link_open(url, NULL);
    talk_expect(link, "PING", "PONG");
    link_close(&link);
    url_free(&url);
}

/* With TLS 1.3 the handshake is over for us before the server has looked. */
static void a_server_that_wants_a_certificate_gets_ours(void **state)
{
    (void)state;
    expect_welcome(closed_door->tls_url,
                   (struct keys) { .ca = "ca.pem", .cert = "client.pem", .key = "client.key" });
    for (int i = 0; i < 20; i++) {
        expect_refusal(closed_door->tls_url, trusting, REFUSED, "set tls-cert and tls-key");
        expect_refusal(closed_door->tls_url,
                       (struct keys) { .ca = "ca.pem", .cert = "intruder.pem", .key = "intruder.key" },
                       REFUSED, "does not accept our certificate");
    }
    servers_do(closed_door, "CONFIG SET tls-protocols TLSv1.2");
    expect_welcome(closed_door->tls_url,
                   (struct keys) { .ca = "ca.pem", .cert = "client.pem", .key = "client.key" });
    expect_refusal(closed_door->tls_url, trusting, REFUSED, "set tls-cert and tls-key");
    servers_do(closed_door, "CONFIG SET tls-protocols %s", "TLSv1.2 TLSv1.3");
}

/* An error on one connection must not be taken for one of the next, in the same thread. */
static void a_refusal_does_no_harm_to_other_connections(void **state)
{
    (void)state;
    struct link *good = open_tls(open_door->tls_url, trusting);
    for (int i = 0; i < 10; i++) {
        expect_refusal(open_door->tls_url, (struct keys) { .ca = "stranger.pem" }, REFUSED, "not trusted");
        expect_refusal(closed_door->tls_url, trusting, REFUSED, "set tls-cert");
        talk_expect(good, "ECHO still", "still");
    }
    struct link_health health;
    link_health(good, &health);
    assert_int_equal(health.failures, 0);
    assert_int_equal(health.connections, 1);
    link_close(&good);
}

static void a_bad_file_is_named(void **state)
{
    (void)state;
    assert_true(g_file_set_contents(certs_path(certs, "nonsense.pem"), "nonsense\n", -1, NULL));
    static const struct {
        struct keys keys;
        const char *key, *part;
    } rows[] = {
        { { .ca = "missing.pem" }, "tls-ca", "missing.pem" },
        { { .ca = "nonsense.pem" }, "tls-ca", "nonsense.pem" },
        { { .ca = "ca.pem", .cert = "client.pem" }, "tls-cert", "tls-key is not" },
        { { .ca = "ca.pem", .key = "client.key" }, "tls-key", "tls-cert is not" },
        { { .ca = "ca.pem", .cert = "missing.pem", .key = "client.key" }, "tls-cert", "missing.pem" },
        { { .ca = "ca.pem", .cert = "nonsense.pem", .key = "client.key" }, "tls-cert", "nonsense.pem" },
        { { .ca = "ca.pem", .cert = "client.pem", .key = "missing.key" }, "tls-key", "missing.key" },
        { { .ca = "ca.pem", .cert = "client.pem", .key = "server.key" }, "tls-key", "mismatch" },
        { { .ca = "ca.pem", .cert = "client.pem", .key = "client.locked" }, "tls-key", "passphrase" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        const struct url_access access = { .tls = options_of(rows[i].keys) };
        assert_null(url_parse("rediss://localhost", &access, &error));
        assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG));
        if (!g_str_has_prefix(error->message, rows[i].key) || !strstr(error->message, rows[i].part))
            fail_msg("row %zu: %s", i, error->message);
    }
    /* Those who do not use them need not have them. */
    const struct url_access unused = { .tls = options_of((struct keys) { .ca = "missing.pem" }) };
    struct url *url = url_parse("redis://localhost", &unused, NULL);
    assert_non_null(url);
    url_free(&url);
}

static void keys_of_tls_with_a_url_in_the_clear_are_a_mistake(void **state)
{
    (void)state;
    char *folder = fixture_folder();
    struct lexicon *lexicon = fixture_lexicon(folder, 1, 8);
    struct store_options options = store_default_options;
    options.url = open_door->url;
    options.tls_ca = certs_path(certs, "ca.pem");
    g_autoptr(GError) error = NULL;
    assert_null(store_open(&options, lexicon, &error));
    assert_non_null(strstr(error->message, "write rediss"));
    const char *const fine[][2] = {
        { open_door->tls_url, NULL },
        { open_door->tls_url, open_door->url },
        { open_door->url, open_door->tls_url },
        { open_door->unix_url, NULL },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(fine); i++) {
        options.url = fine[i][0];
        options.read_url = fine[i][1];
        struct store *store = store_open(&options, lexicon, NULL);
        assert_non_null(store);
        assert_true(store_ping(store, NULL));
        store_close(&store);
    }
    lexicon_unref(lexicon);
    fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_certificate_must_be_made_out_to_the_host),
        cmocka_unit_test(a_name_may_be_set_for_servers_that_are_known_by_address),
        cmocka_unit_test(the_certificate_must_be_of_a_trusted_ca_and_of_today),
        cmocka_unit_test(a_folder_of_cas_will_do),
        cmocka_unit_test(a_server_that_wants_a_certificate_gets_ours),
        cmocka_unit_test(a_refusal_does_no_harm_to_other_connections),
        cmocka_unit_test(a_bad_file_is_named),
        cmocka_unit_test(keys_of_tls_with_a_url_in_the_clear_are_a_mistake),
    };
    return cmocka_run_group_tests(tests, start_all, stop_all);
}
