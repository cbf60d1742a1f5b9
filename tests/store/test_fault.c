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

static void a_wrong_type_is_the_commands_own_error(void **state)
{
    (void)state;
    struct link *link = talk_open(common->url);
    talk_expect(link, "SET text x", "OK");
    talk_expect(link, "SMEMBERS text", "WRONGTYPE");
    struct talk_line lines[] = { talk_parse("MULTI"), talk_parse("SADD text 1"), talk_parse("EXEC") };
    struct link_command commands[] = { lines[0].command, lines[1].command, lines[2].command };
    redisReply *replies[3];
    const struct link_request request = { .commands = commands, .n = 3, .timeout = 5000 };
    assert_true(link_run(link, &request, replies, NULL));
    GError *error = NULL;
    assert_true(link_check(replies, 2, NULL));
    assert_false(link_check(replies, 3, &error));
    assert_int_equal(error->code, REFUSED);
    assert_non_null(strstr(error->message, "foreign type"));
    g_error_free(error);
    link_free_replies(replies, 3);
    for (int i = 0; i < 3; i++)
        g_strfreev(lines[i].words);
    talk_expect(link, "DEL text", "1");
    link_close(&link);
}

static void wrong_and_missing_passwords_are_told_apart_and_never_shown(void **state)
{
    (void)state;
    struct servers_redis *server =
        servers_start("requirepass hushpuppy\nuser reader on >terrier ~* +get +auth\n");
    static const struct {
        const char *user_info, *part;
    } rows[] = {
        { "", "wants a password" },
        { ":basset@", "wrong user or password" },
        { "reader:basset@", "wrong user or password" },
        { "nobody:basset@", "wrong user or password" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *url = g_strdup_printf("redis://%s127.0.0.1:%u", rows[i].user_info, server->port);
        struct link *link = talk_open(url);
        GError *error = NULL;
        assert_null(talk_try(link, 5000, true, "GET a", &error));
        assert_int_equal(error->code, REFUSED);
        assert_non_null(strstr(error->message, rows[i].part));
        assert_null(strstr(error->message, "basset"));
        assert_null(strstr(link_name(link), "basset"));
        g_error_free(error);
        link_close(&link);
    }
    g_autofree char *good = g_strdup_printf("redis://:hushpuppy@127.0.0.1:%u", server->port);
    g_autofree char *reader = g_strdup_printf("redis://reader:terrier@127.0.0.1:%u", server->port);
    struct link *link = talk_open(good), *limited = talk_open(reader);
    talk_expect(link, "SET a 1", "OK");
    talk_expect(limited, "GET a", "1");
    talk_expect_error(limited, 5000, "SET a 2", REFUSED, "may not do this");
    link_close(&link);
    link_close(&limited);
    servers_stop(&server);
}

static void a_password_that_nobody_wants_is_refused(void **state)
{
    (void)state;
    g_autofree char *url = g_strdup_printf("redis://:hushpuppy@127.0.0.1:%u", common->port);
    struct link *link = talk_open(url);
    talk_expect_error(link, 5000, "GET a", REFUSED, "has no password");
    link_close(&link);
}

/* Some servers quote the arguments of a command that they do not know. */
static void a_reply_that_quotes_the_password_is_not_shown(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start("rename-command AUTH \"\"");
    g_autofree char *url = g_strdup_printf("redis://:hushpuppy@127.0.0.1:%u", server->port);
    struct link *link = talk_open(url);
    GError *error = NULL;
    assert_null(talk_try(link, 5000, true, "GET a", &error));
    assert_null(strstr(error->message, "hushpuppy"));
    assert_non_null(strstr(error->message, "does not accept the password"));
    g_error_free(error);
    link_close(&link);
    servers_stop(&server);
}

static void a_full_memory_refuses_writes_and_leaves_reads_alone(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start("maxmemory 100kb\nmaxmemory-policy noeviction");
    struct link_options options = link_default_options;
    struct link *link = talk_open_with(server->url, options);
    for (int i = 0; i < 10; i++)
        talk_expect_error(link, 5000, "SET a 1", REFUSED, "memory is full");
    talk_expect(link, "GET a", "(nil)");
    link_close(&link);
    servers_stop(&server);
}

static void a_replica_refuses_writes(void **state)
{
    (void)state;
    g_autofree char *lines = g_strdup_printf("replicaof 127.0.0.1 %u", servers_free_port());
    g_autofree char *strict = g_strdup_printf("%s\nreplica-serve-stale-data no", lines);
    struct servers_redis *replica = servers_start(lines), *lost = servers_start(strict);
    struct link *link = talk_open(replica->url), *lost_link = talk_open(lost->url);
    talk_expect_error(link, 5000, "SET a 1", REFUSED, "read-only replica");
    talk_expect(link, "GET a", "(nil)");
    talk_expect_error(lost_link, 5000, "GET a", UNAVAILABLE, "lost its primary");
    link_close(&link);
    link_close(&lost_link);
    servers_stop(&replica);
    servers_stop(&lost);
}

static void a_loading_server_is_unavailable(void **state)
{
    (void)state;
    struct servers_redis *source = servers_start("enable-debug-command yes");
    servers_do(source, "DEBUG POPULATE 20000");
    servers_do(source, "SAVE");
    struct servers_redis *server = servers_start_loading(
        "key-load-delay 1000\nloading-process-events-interval-bytes 1024", source->folder);
    struct link *link = talk_open(server->url);
    talk_expect_error(link, 5000, "GET a", UNAVAILABLE, "loading");
    link_close(&link);
    servers_stop(&server);
    servers_stop(&source);
}

static bool is_busy(void *user)
{
    redisReply *reply = servers_ask(user, "GET a");
    bool busy = reply->type == REDIS_REPLY_ERROR && g_str_has_prefix(reply->str, "BUSY");
    freeReplyObject(reply);
    return busy;
}

static bool is_not_busy(void *user)
{
    return !is_busy(user);
}

static void a_server_busy_with_a_script_is_unavailable_until_it_ends(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start("lua-time-limit 20");
    struct link *link = talk_open(server->url);
    talk_expect(link, "SET a 1", "OK");
    redisContext *script = redisConnect("127.0.0.1", server->port);
    redisAppendCommand(script, "EVAL %s 0", "while true do end");
    int done = 0;
    redisBufferWrite(script, &done);
    servers_await(is_busy, server, "the script makes the server busy");
    talk_expect_error(link, 5000, "GET a", UNAVAILABLE, "script");
    servers_do(server, "SCRIPT KILL");
    servers_await(is_not_busy, server, "the script ends");
    talk_expect(link, "GET a", "1");
    redisFree(script);
    link_close(&link);
    servers_stop(&server);
}

static void too_many_clients_are_said_so(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start("maxclients 1");
    redisContext *first = NULL;
    /* The connection of the start may not be gone yet. */
    redisReply *reply = NULL;
    while (!reply) {
        first = redisConnect("127.0.0.1", server->port);
        reply = redisCommand(first, "PING");
        if (!reply || reply->type == REDIS_REPLY_ERROR) {
            redisFree(first);
            if (reply)
                freeReplyObject(reply);
            reply = NULL;
        }
    }
    freeReplyObject(reply);
    struct link *link = talk_open(server->url);
    talk_expect_error(link, 5000, "GET a", UNAVAILABLE, "too many clients");
    redisFree(first);
    link_close(&link);
    servers_stop(&server);
}

static void too_few_replicas_fail_a_write_that_waits_for_them(void **state)
{
    (void)state;
    struct link *link = talk_open(common->url);
    struct talk_line line = talk_parse("SET awaited 1");
    struct link_request request = { .commands = &line.command, .n = 1, .timeout = 1000, .wait_replicas = 1 };
    redisReply *reply;
    GError *error = NULL;
    assert_false(link_run(link, &request, &reply, &error));
    assert_int_equal(error->code, UNAVAILABLE);
    assert_non_null(strstr(error->message, "0 of 1 replicas"));
    assert_null(reply);
    g_error_free(error);
    g_strfreev(line.words);
    link_close(&link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_type_is_the_commands_own_error),
        cmocka_unit_test(wrong_and_missing_passwords_are_told_apart_and_never_shown),
        cmocka_unit_test(a_password_that_nobody_wants_is_refused),
        cmocka_unit_test(a_reply_that_quotes_the_password_is_not_shown),
        cmocka_unit_test(a_full_memory_refuses_writes_and_leaves_reads_alone),
        cmocka_unit_test(a_replica_refuses_writes),
        cmocka_unit_test(a_loading_server_is_unavailable),
        cmocka_unit_test(a_server_busy_with_a_script_is_unavailable_until_it_ends),
        cmocka_unit_test(too_many_clients_are_said_so),
        cmocka_unit_test(too_few_replicas_fail_a_write_that_waits_for_them),
    };
    return cmocka_run_group_tests(tests, start_common, stop_common);
}
