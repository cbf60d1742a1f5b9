#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "base/error.h"
#include "tests/store/common_server.h"
#include "tests/store/talk.h"

#define UNAVAILABLE REFRAIN_ERROR_UNAVAILABLE
#define REFUSED     REFRAIN_ERROR_REFUSED

/* --- the plain case ------------------------------------------------------------------------------ */

static void echo_over_both(int n)
{
    struct link *over_tcp = talk_open(common->url), *over_unix = talk_open(common->unix_url);
    talk_echo(over_tcp, n);
    talk_echo(over_unix, n);
    link_close(&over_tcp);
    link_close(&over_unix);
}

static void a_pipeline_comes_back_in_order_over_tcp_and_unix_sockets(void **state)
{
    (void)state;
    echo_over_both(20);
}

static void a_pipeline_larger_than_all_buffers_does_not_lock_up(void **state)
{
    (void)state;
    echo_over_both(300000);
}

static void arguments_and_replies_are_binary_safe(void **state)
{
    (void)state;
    struct link *link = talk_open(common->url);
    const char *argv[] = { "ECHO", "a\0b\r\n$5\r\n" };
    const size_t lengths[] = { 4, 9 };
    const struct link_command command = { .argc = 2, .argv = argv, .argvlen = lengths };
    const struct link_request request = { .commands = &command, .n = 1, .timeout = 5000 };
    redisReply *reply;
    assert_true(link_run(link, &request, &reply, NULL));
    assert_int_equal(reply->len, 9);
    assert_memory_equal(reply->str, argv[1], 9);
    reply_free(reply);
    link_close(&link);
}

static void a_localhost_name_is_resolved(void **state)
{
    (void)state;
    g_autofree char *url = g_strdup_printf("redis://localhost:%u", common->port);
    struct link *link = talk_open(url);
    talk_expect(link, "PING", "PONG");
    link_close(&link);
}

static void the_database_is_selected_on_every_connection(void **state)
{
    (void)state;
    g_autofree char *url = g_strdup_printf("%s/3", common->url);
    g_autofree char *unix_url = g_strdup_printf("%s?db=3", common->unix_url);
    g_autofree char *missing = g_strdup_printf("%s/4", common->url);
    struct link *in_3 = talk_open(url), *in_3_too = talk_open(unix_url), *in_0 = talk_open(common->url),
                *in_4 = talk_open(missing);
    talk_expect(in_3, "SET where three", "OK");
    talk_expect(in_3_too, "GET where", "three");
    talk_expect(in_0, "GET where", "(nil)");
    talk_expect_error(in_4, 5000, "GET where", REFUSED, "does not have that database");
    link_close(&in_3);
    link_close(&in_3_too);
    link_close(&in_0);
    link_close(&in_4);
}

static void the_only_server_is_named(void **state)
{
    (void)state;
    struct link *link = talk_open(common->url);
    char **servers = link_servers(link, 1000, NULL);
    assert_int_equal(g_strv_length(servers), 1);
    const char *argv[] = { "DBSIZE" };
    const struct link_command command = { .argc = 1, .argv = argv, .server = servers[0] };
    const struct link_request request = { .commands = &command, .n = 1, .timeout = 5000 };
    redisReply *reply;
    assert_true(link_run(link, &request, &reply, NULL));
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    reply_free(reply);
    g_strfreev(servers);
    link_close(&link);
}

/* --- many threads -------------------------------------------------------------------------------- */

static void *echo_own_words(void *user)
{
    struct link *link = user;
    for (int i = 0; i < 300; i++) {
        g_autofree char *word = g_strdup_printf("%p-%d", (void *)&link, i);
        const char *argv[] = { "ECHO", word };
        const struct link_command command = { .argc = 2, .argv = argv };
        const struct link_request request = { .commands = &command, .n = 1, .timeout = 10000 };
        redisReply *reply;
        if (!link_run(link, &request, &reply, NULL))
            return "failed";
        bool own = strcmp(reply->str, word) == 0;
        reply_free(reply);
        if (!own)
            return "mixed up";
    }
    return NULL;
}

static void many_threads_share_a_bounded_pool(void **state)
{
    (void)state;
    struct link_options options = link_default_options;
    options.connections = 3;
    long long before = servers_info(common, "total_connections_received");
    struct link *link = talk_open_with(common->url, options);
    pthread_t threads[16];
    for (int i = 0; i < 16; i++)
        pthread_create(&threads[i], NULL, echo_own_words, link);
    for (int i = 0; i < 16; i++) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        assert_null(complaint);
    }
    struct link_health health;
    link_health(link, &health);
    assert_in_range(health.connections, 1, 3);
    /* One is the question itself. */
    assert_in_range(servers_info(common, "total_connections_received") - before, 2, 4);
    assert_int_equal(health.requests, 16 * 300);
    assert_int_equal(health.failures, 0);
    link_close(&link);
}

static void *block_a_while(void *user)
{
    redisReply *reply = talk_try(user, 5000, false, "BLPOP never 1", NULL);
    if (reply)
        reply_free(reply);
    return NULL;
}

static void who_finds_no_free_connection_waits_no_longer_than_the_deadline(void **state)
{
    (void)state;
    struct link_options options = link_default_options;
    options.connections = 1;
    struct link *link = talk_open_with(common->url, options);
    pthread_t thread;
    pthread_create(&thread, NULL, block_a_while, link);
    servers_await(servers_is_blocked_on, common, "the only connection is in use");
    for (int i = 0; i < 5; i++)
        talk_expect_error(link, 20, "PING", UNAVAILABLE, "connections were busy");
    struct link_health health;
    link_health(link, &health);
    assert_false(health.breaker_open); /* it says nothing of the server */
    talk_expect(link, "PING", "PONG");
    pthread_join(thread, NULL);
    link_close(&link);
}

/* --- the breaker --------------------------------------------------------------------------------- */

struct changes {
    int opened, closed;
    char *why;
};

static void note_change(bool open, const char *why, void *user)
{
    struct changes *changes = user;
    if (open) {
        changes->opened++;
        g_free(changes->why);
        changes->why = g_strdup(why);
    } else {
        changes->closed++;
    }
}

static bool link_answers(void *user)
{
    redisReply *reply = talk_try(user, 1000, true, "PING", NULL);
    if (reply)
        reply_free(reply);
    return reply != NULL;
}

static void the_breaker_spares_a_server_that_is_down_and_finds_it_again(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct changes changes = { 0 };
    struct link_options options = link_default_options;
    options.breaker_pause = 1000;
    options.breaker_pause_max = 1000;
    options.changed = note_change;
    options.user = &changes;
    struct link *link = talk_open_with(server->url, options);
    talk_expect(link, "PING", "PONG");
    servers_freeze(server);
    for (int i = 0; i < 3; i++)
        talk_expect_error(link, 50, "PING", UNAVAILABLE, "no answer within");
    assert_int_equal(changes.opened, 1);
    assert_non_null(strstr(changes.why, "no answer within"));
    int64_t begin = g_get_monotonic_time();
    for (int i = 0; i < 100; i++)
        talk_expect_error(link, 10000, "PING", UNAVAILABLE, "not asked again");
    assert_true(g_get_monotonic_time() - begin < 900000);
    servers_thaw(server);
    servers_await(link_answers, link, "the breaker closes");
    assert_int_equal(changes.opened, 1);
    assert_int_equal(changes.closed, 1);
    struct link_health health;
    link_health(link, &health);
    assert_false(health.breaker_open);
    assert_int_equal(health.breaker_opened, 1);
    g_free(changes.why);
    link_close(&link);
    servers_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_comes_back_in_order_over_tcp_and_unix_sockets),
        cmocka_unit_test(a_pipeline_larger_than_all_buffers_does_not_lock_up),
        cmocka_unit_test(arguments_and_replies_are_binary_safe),
        cmocka_unit_test(a_localhost_name_is_resolved),
        cmocka_unit_test(the_database_is_selected_on_every_connection),
        cmocka_unit_test(the_only_server_is_named),
        cmocka_unit_test(many_threads_share_a_bounded_pool),
        cmocka_unit_test(who_finds_no_free_connection_waits_no_longer_than_the_deadline),
        cmocka_unit_test(the_breaker_spares_a_server_that_is_down_and_finds_it_again),
    };
    return cmocka_run_group_tests(tests, start_common, stop_common);
}
