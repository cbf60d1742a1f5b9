#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "tests/store/impostor.h"
#include "tests/store/tls_talk.h"

/* --- talking ------------------------------------------------------------------------------------- */

static void the_url_says_that_it_is_tls(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "rediss://mail:hushpuppy@db/1", "rediss://mail@db:6379/1" },
        { "rediss-sentinel://a,b:1/spam", "rediss-sentinel://a:26379,b:1/spam/0" },
        { "rediss-cluster://a,b:1", "rediss-cluster://a:6379,b:1" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct url *url = url_parse(rows[i][0], NULL, NULL);
        assert_non_null(url);
        assert_non_null(url->tls);
        assert_string_equal(url->name, rows[i][1]);
        url_free(&url);
    }
    struct url *plain = url_parse("redis://db", NULL, NULL);
    assert_null(plain->tls);
    url_free(&plain);
}

static void a_pipeline_comes_back_in_order(void **state)
{
    (void)state;
    struct link *link = open_tls(open_door->tls_url, trusting);
    talk_echo(link, 20);
    link_close(&link);
}

static void a_pipeline_larger_than_all_buffers_does_not_lock_up(void **state)
{
    (void)state;
    struct link *link = open_tls(open_door->tls_url, trusting);
    talk_echo(link, 300000);
    link_close(&link);
}

/* Larger than a record of TLS, of every length around its limit, so that some of it waits inside OpenSSL. */
static void values_around_the_size_of_a_record_arrive_whole(void **state)
{
    (void)state;
    struct link *link = open_tls(open_door->tls_url, trusting);
    for (size_t size = 16300; size < 16500; size++) {
        g_autofree char *value = g_strnfill(size, 'v'), *line = g_strdup_printf("ECHO %s", value);
        talk_expect(link, line, value);
    }
    g_autofree char *huge = g_strnfill(8 << 20, 'h'), *line = g_strdup_printf("ECHO %s", huge);
    talk_expect(link, line, huge);
    struct link_health health;
    link_health(link, &health);
    assert_int_equal(health.connections, 1);
    link_close(&link);
}

static void *echo_own_words(void *user)
{
    char *thread = g_strdup_printf("%p", (void *)&thread);
    for (int i = 0; i < 200; i++) {
        g_autofree char *word = g_strdup_printf("%s-%d", thread, i), *line = g_strdup_printf("ECHO %s", word);
        GError *error = NULL;
        redisReply *reply = talk_try(user, 10000, true, line, &error);
        if (!reply || strcmp(reply->str, word) != 0)
            g_error("%s", error ? error->message : reply->str);
        reply_free(reply);
    }
    g_free(thread);
    return NULL;
}

static void many_threads_share_what_is_trusted(void **state)
{
    (void)state;
    struct link_options options = link_default_options;
    options.connections = 3;
    struct link *link = open_with(open_door->tls_url, trusting, options);
    pthread_t threads[8];
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        pthread_create(&threads[i], NULL, echo_own_words, link);
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        pthread_join(threads[i], NULL);
    link_close(&link);
}

/* --- what goes wrong ----------------------------------------------------------------------------- */

static void a_server_that_is_not_there_is_named(void **state)
{
    (void)state;
    g_autofree char *refused = g_strdup_printf("rediss://localhost:%u", servers_free_port());
    expect_refusal(refused, trusting, UNAVAILABLE, "connection refused");
}

static void impostor_hangs_up(int fd)
{
    char byte;
    (void)!recv(fd, &byte, 1, 0);
}

static void talk_to_impostor(void (*serve)(int fd), int code, const char *part)
{
    struct impostor impostor;
    impostor_start(&impostor, serve);
    g_autofree char *url = g_strdup_printf("rediss://127.0.0.1:%u", impostor.port);
    struct link *link = open_tls(url, trusting);
    int64_t begin = g_get_monotonic_time();
    talk_expect_error(link, 300, "GET a", code, part);
    assert_true(g_get_monotonic_time() - begin < 2 * G_USEC_PER_SEC);
    link_close(&link);
    impostor_stop(&impostor);
}

/* The beginning of a handshake that never gets any further: a record that is said to be long. */
static void impostor_dawdles(int fd)
{
    static const char record[] = { 22, 3, 3, 0x3f, 0 };
    if (send(fd, record, sizeof record, MSG_NOSIGNAL) != sizeof record)
        return;
    for (char byte = 2; send(fd, &byte, 1, MSG_NOSIGNAL) == 1; byte = 0)
        poll(NULL, 0, 20);
}

static void impostor_is_silent(int fd)
{
    char buffer[64];
    while (recv(fd, buffer, sizeof buffer, 0) > 0)
        ;
}

static void a_server_that_speaks_no_tls_is_noticed(void **state)
{
    (void)state;
    talk_to_impostor(impostor_smtp, REFUSED, "speaks no TLS");
    talk_to_impostor(impostor_hangs_up, UNAVAILABLE, "closed the connection");
}

static void a_handshake_ends_at_the_deadline(void **state)
{
    (void)state;
    talk_to_impostor(impostor_dawdles, UNAVAILABLE, "no TLS within 300 ms");
    talk_to_impostor(impostor_is_silent, UNAVAILABLE, "not its tls-port");
}

/* Redis takes a handshake for a command, and answers or waits for its end. */
static void the_plain_port_of_a_server_is_noticed(void **state)
{
    (void)state;
    g_autofree char *url = g_strdup_printf("rediss://localhost:%u", open_door->port);
    struct link *link = open_tls(url, trusting);
    GError *error = NULL;
    assert_null(talk_try(link, 300, false, "PING", &error));
    assert_non_null(strstr(error->message, "tls-port"));
    g_error_free(error);
    link_close(&link);
}

static void a_plain_url_for_the_tls_port_fails_with_a_hint(void **state)
{
    (void)state;
    g_autofree char *url = g_strdup_printf("redis://localhost:%u", open_door->tls_port);
    struct link *link = talk_open(url);
    GError *error = NULL;
    assert_null(talk_try(link, 2000, false, "PING", &error));
    if (!strstr(error->message, "rediss:"))
        fail_msg("%s", error->message);
    g_error_free(error);
    link_close(&link);
}

static void a_frozen_server_ends_at_the_deadline_and_never_mixes_replies(void **state)
{
    (void)state;
    struct servers_redis *server = start_server("server", "no");
    struct link *link = open_tls(server->tls_url, trusting);
    talk_expect(link, "ECHO before", "before");
    servers_freeze(server);
    for (int i = 0; i < 3; i++) {
        int64_t begin = g_get_monotonic_time();
        talk_expect_error(link, 100, "ECHO frozen", UNAVAILABLE, "within 100 ms");
        assert_true(g_get_monotonic_time() - begin < G_USEC_PER_SEC);
    }
    servers_thaw(server);
    for (int i = 0; i < 50; i++) {
        g_autofree char *word = g_strdup_printf("after-%d", i), *line = g_strdup_printf("ECHO %s", word);
        talk_expect(link, line, word);
    }
    link_close(&link);
    servers_stop(&server);
}

static void a_killed_server_is_found_again(void **state)
{
    (void)state;
    struct servers_redis *server = start_server("server", "no");
    struct link *link = open_tls(server->tls_url, trusting);
    for (int i = 0; i < 3; i++) {
        talk_expect(link, "ECHO here", "here");
        servers_kill(server);
        talk_expect_error(link, 1000, "ECHO gone", UNAVAILABLE, "connection refused");
        servers_restart(server);
    }
    talk_expect(link, "ECHO here", "here");
    /* Under way: the server is gone before it answers. */
    servers_freeze(server);
    talk_expect_error(link, 50, "ECHO lost", UNAVAILABLE, "within 50 ms");
    servers_kill(server);
    servers_restart(server);
    talk_expect(link, "ECHO again", "again");
    link_close(&link);
    servers_stop(&server);
}

static void *kill_connections(void *user)
{
    servers_await(servers_is_blocked_on, user, "somebody waits");
    servers_do(user, "CLIENT KILL TYPE normal SKIPME yes");
    return NULL;
}

static void a_connection_that_breaks_is_said_to_be_closed(void **state)
{
    (void)state;
    struct link *link = open_tls(open_door->tls_url, trusting);
    pthread_t thread;
    talk_expect(link, "ECHO here", "here");
    pthread_create(&thread, NULL, kill_connections, open_door);
    talk_expect_error(link, 5000, "BLPOP nothing 10", UNAVAILABLE, "it closed the connection");
    pthread_join(thread, NULL);
    talk_expect(link, "ECHO here", "here");
    link_close(&link);
}

/* --- Sentinel and Cluster ------------------------------------------------------------------------ */

static void sentinels_and_the_primary_are_asked_over_tls(void **state)
{
    (void)state;
    g_autofree char *common = certs_lines(certs, "server", "ca", "yes");
    g_autofree char *lines = g_strdup_printf(
        "%stls-replication yes\nsentinel monitor refrain 127.0.0.1 %u 1\n", common, closed_door->tls_port);
    struct servers_redis *sentinel = servers_start_sentinel(lines);
    g_autofree char *url = g_strdup_printf("rediss-sentinel://localhost:%u/refrain", sentinel->tls_port);
    const struct keys ours = { .ca = "ca.pem", .cert = "client.pem", .key = "client.key" };
    struct link *link = open_tls(url, ours);
    talk_expect(link, "ECHO here", "here");
    g_autofree char *address = g_strdup_printf("127.0.0.1:%u", closed_door->tls_port);
    char **servers = link_servers(link, 5000, NULL);
    assert_string_equal(servers[0], address);
    g_strfreev(servers);
    link_close(&link);
    expect_refusal(url, trusting, REFUSED, "set tls-cert");
    servers_stop(&sentinel);
}

static void a_cluster_is_followed_over_tls(void **state)
{
    (void)state;
    g_autofree char *common = certs_lines(certs, "server", "ca", "yes");
    g_autofree char *lines = g_strdup_printf("%stls-cluster yes\ntls-replication yes\n", common);
    struct servers_cluster *cluster = servers_start_cluster(lines);
    g_autofree char *url = g_strdup_printf("rediss-cluster://localhost:%u", cluster->nodes[0]->tls_port);
    const struct keys ours = { .ca = "ca.pem", .cert = "client.pem", .key = "client.key" };
    struct link *link = open_tls(url, ours);
    for (int i = 0; i < 50; i++) {
        g_autofree char *set = g_strdup_printf("SET key-%d value-%d", i, i);
        talk_expect(link, set, "OK");
    }
    servers_move_slot(cluster, 1000);
    for (int i = 0; i < 50; i++) {
        g_autofree char *get = g_strdup_printf("GET key-%d", i), *value = g_strdup_printf("value-%d", i);
        talk_expect(link, get, value);
    }
    char **servers = link_servers(link, 5000, NULL);
    assert_int_equal(g_strv_length(servers), SERVERS_NODES);
    for (char **server = servers; *server; server++) {
        bool secure = false;
        for (int i = 0; i < SERVERS_NODES; i++) {
            g_autofree char *suffix = g_strdup_printf(":%u", cluster->nodes[i]->tls_port);
            secure |= g_str_has_suffix(*server, suffix);
        }
        assert_true(secure);
    }
    g_strfreev(servers);
    link_close(&link);
    servers_stop_cluster(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_url_says_that_it_is_tls),
        cmocka_unit_test(a_pipeline_comes_back_in_order),
        cmocka_unit_test(a_pipeline_larger_than_all_buffers_does_not_lock_up),
        cmocka_unit_test(values_around_the_size_of_a_record_arrive_whole),
        cmocka_unit_test(many_threads_share_what_is_trusted),
        cmocka_unit_test(a_server_that_is_not_there_is_named),
        cmocka_unit_test(a_server_that_speaks_no_tls_is_noticed),
        cmocka_unit_test(a_handshake_ends_at_the_deadline),
        cmocka_unit_test(the_plain_port_of_a_server_is_noticed),
        cmocka_unit_test(a_plain_url_for_the_tls_port_fails_with_a_hint),
        cmocka_unit_test(a_frozen_server_ends_at_the_deadline_and_never_mixes_replies),
        cmocka_unit_test(a_killed_server_is_found_again),
        cmocka_unit_test(a_connection_that_breaks_is_said_to_be_closed),
        cmocka_unit_test(sentinels_and_the_primary_are_asked_over_tls),
        cmocka_unit_test(a_cluster_is_followed_over_tls),
    };
    return cmocka_run_group_tests(tests, start_all, stop_all);
}
