#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>

#include "base/error.h"
#include "tests/store/common_server.h"
#include "tests/store/impostor.h"
#include "tests/store/talk.h"

#define UNAVAILABLE REFRAIN_ERROR_UNAVAILABLE

static void a_server_that_is_not_there_is_named(void **state)
{
    (void)state;
    g_autofree char *refused = g_strdup_printf("redis://127.0.0.1:%u", servers_free_port());
    static const char *const parts[] = { "connection refused", "no such socket", "unknown host" };
    const char *urls[] = { refused, "redis+unix:/nonexistent/redis.sock", "redis://no-such-host.invalid" };
    for (size_t i = 0; i < G_N_ELEMENTS(urls); i++) {
        struct link *link = talk_open(urls[i]);
        talk_expect_error(link, 20000, "GET a", UNAVAILABLE, parts[i]);
        link_close(&link);
    }
}

static void promise_too_much(int fd)
{
    char buffer[64];
    if (send(fd, "*2147483647\r\n", 13, MSG_NOSIGNAL) > 0)
        while (recv(fd, buffer, sizeof buffer, 0) > 0)
            ;
}

static void talk_to_impostor(void (*serve)(int fd), const char *part)
{
    struct impostor impostor;
    impostor_start(&impostor, serve);
    g_autofree char *url = g_strdup_printf("redis://127.0.0.1:%u", impostor.port);
    struct link *link = talk_open(url);
    int64_t begin = g_get_monotonic_time();
    talk_expect_error(link, 300, "GET a", UNAVAILABLE, part);
    assert_true(g_get_monotonic_time() - begin < 2 * G_USEC_PER_SEC);
    link_close(&link);
    impostor_stop(&impostor);
}

static void a_server_that_is_not_redis_is_noticed(void **state)
{
    (void)state;
    talk_to_impostor(impostor_smtp, "not Redis'");
    talk_to_impostor(promise_too_much, "not Redis'");
}

static void a_server_that_trickles_does_not_stretch_the_deadline(void **state)
{
    (void)state;
    talk_to_impostor(impostor_trickle, "no answer within 300 ms");
}

static void a_frozen_server_ends_at_the_deadline_and_never_mixes_replies(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct link *links[] = { talk_open(server->url), talk_open(server->unix_url) };
    for (int i = 0; i < 2; i++) {
        struct link *link = links[i];
        talk_expect(link, "ECHO before", "before");
        servers_freeze(server);
        for (int j = 0; j < 3; j++) {
            int64_t begin = g_get_monotonic_time();
            talk_expect_error(link, 100, "ECHO frozen", UNAVAILABLE, "no answer within 100 ms");
            assert_true(g_get_monotonic_time() - begin < G_USEC_PER_SEC);
        }
        servers_thaw(server);
        for (int j = 0; j < 50; j++) {
            g_autofree char *word = g_strdup_printf("after-%d", j), *line = g_strdup_printf("ECHO %s", word);
            talk_expect(link, line, word);
        }
        link_close(&link);
    }
    servers_stop(&server);
}

static void a_late_reply_never_answers_the_next_question(void **state)
{
    (void)state;
    struct link *link = talk_open(common->url);
    talk_expect(link, "ECHO first", "first");
    talk_expect_error(link, 50, "BLPOP nothing 0.1", UNAVAILABLE, "no answer");
    for (int j = 0; j < 200; j++) {
        g_autofree char *word = g_strdup_printf("next-%d", j), *line = g_strdup_printf("ECHO %s", word);
        talk_expect(link, line, word);
        poll(NULL, 0, 1);
    }
    link_close(&link);
}

static void a_restarted_server_is_found_again_without_an_error(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct link *link = talk_open(server->url), *over_unix = talk_open(server->unix_url);
    for (int i = 0; i < 3; i++) {
        talk_expect(link, "ECHO here", "here");
        talk_expect(over_unix, "ECHO here", "here");
        servers_kill(server);
        talk_expect_error(link, 1000, "ECHO gone", UNAVAILABLE, "connection refused");
        talk_expect_error(over_unix, 1000, "ECHO gone", UNAVAILABLE, "connection refused");
        servers_restart(server);
        servers_do(server, "CLIENT KILL TYPE normal SKIPME yes");
    }
    talk_expect(link, "ECHO here", "here");
    servers_kill(server);
    servers_restart(server);
    /* Not repeatable, on a connection of the last life: it must have been seen before it was used. */
    GError *error = NULL;
    redisReply *reply = talk_try(link, 1000, false, "ECHO again", &error);
    assert_non_null(reply);
    reply_free(reply);
    link_close(&link);
    link_close(&over_unix);
    servers_stop(&server);
}

struct killing {
    struct servers_redis *server;
    pthread_t thread;
};

static void *kill_the_blocked(void *user)
{
    struct servers_redis *server = user;
    while (!servers_is_blocked_on(server))
        poll(NULL, 0, 1);
    freeReplyObject(servers_ask(server, "CLIENT KILL TYPE normal"));
    freeReplyObject(servers_ask(server, "RPUSH list late"));
    return NULL;
}

static void only_repeatable_requests_are_sent_again_when_a_connection_breaks(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct link *link = talk_open(server->url);
    for (int repeatable = 0; repeatable < 2; repeatable++) {
        pthread_t thread;
        pthread_create(&thread, NULL, kill_the_blocked, server);
        GError *error = NULL;
        redisReply *reply = talk_try(link, 5000, repeatable, "BLPOP list 4", &error);
        pthread_join(thread, NULL);
        if (repeatable) {
            assert_non_null(reply);
            assert_string_equal(reply->element[1]->str, "late");
            reply_free(reply);
        } else {
            assert_null(reply);
            assert_int_equal(error->code, UNAVAILABLE);
            assert_non_null(strstr(error->message, "closed the connection"));
            g_error_free(error);
            talk_expect(link, "DEL list", "1");
        }
    }
    link_close(&link);
    servers_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_is_not_there_is_named),
        cmocka_unit_test(a_server_that_is_not_redis_is_noticed),
        cmocka_unit_test(a_server_that_trickles_does_not_stretch_the_deadline),
        cmocka_unit_test(a_frozen_server_ends_at_the_deadline_and_never_mixes_replies),
        cmocka_unit_test(a_late_reply_never_answers_the_next_question),
        cmocka_unit_test(a_restarted_server_is_found_again_without_an_error),
        cmocka_unit_test(only_repeatable_requests_are_sent_again_when_a_connection_breaks),
    };
    return cmocka_run_group_tests(tests, start_common, stop_common);
}
