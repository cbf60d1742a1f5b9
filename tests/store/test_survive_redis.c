#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/store/survive.h"

/* The whole store against servers that are frozen, locked, loading, full and busy. */

static void a_frozen_server_costs_the_deadline_and_then_nothing(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct store *store = open_store(server->unix_url, 200);
    must_report(store, 1);
    must_find(store, 1, FOUND);
    servers_freeze(server);
    for (int i = 0; i < 3; i++) {
        int64_t begin = g_get_monotonic_time();
        look_up_fails(store, 1, UNAVAILABLE, "no answer within");
        assert_true(g_get_monotonic_time() - begin < G_USEC_PER_SEC);
    }
    int64_t begin = g_get_monotonic_time();
    for (int i = 0; i < 20; i++)
        look_up_fails(store, 1, UNAVAILABLE, "next try in");
    assert_true(g_get_monotonic_time() - begin < 500000);
    struct store_health health;
    store_health(store, &health);
    assert_true(health.breaker_open);
    assert_true(health.timeouts >= 3);
    servers_thaw(server);
    await_found(store, 1);
    store_health(store, &health);
    assert_false(health.breaker_open);
    store_close(&store);
    servers_stop(&server);
}

static void passwords_are_asked_for_and_read_from_a_file(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start("requirepass hushpuppy");
    g_autofree char *file = g_build_filename(folder, "password", NULL);
    g_autofree char *wrong = g_strdup_printf("redis://:terrier@127.0.0.1:%u", server->port);
    struct store *store = open_store(server->url, 2000);
    look_up_fails(store, 1, REFUSED, "wants a password");
    report_fails(store, 1, REFUSED, "wants a password");
    store_close(&store);
    store = open_store(wrong, 2000);
    GError *error = NULL;
    must_fail(store_ping(store, &error), &error, REFUSED, "wrong user or password");
    store_close(&store);

    assert_true(g_file_set_contents(file, "hushpuppy\n", -1, NULL));
    struct store_options options = store_default_options;
    options.url = server->url;
    options.password_file = file;
    store = open_options(options);
    assert_null(strstr(store_name(store), "hushpuppy"));
    must_report(store, 1);
    must_find(store, 1, FOUND);
    store_close(&store);
    servers_stop(&server);
}

static void a_replica_is_read_and_not_written(void **state)
{
    (void)state;
    struct servers_redis *primary = servers_start("repl-diskless-sync-delay 0");
    g_autofree char *lines = g_strdup_printf("replicaof 127.0.0.1 %u", primary->port);
    struct servers_redis *replica = servers_start(lines);
    struct store *store = open_store(primary->url, 2000), *of_replica = open_store(replica->url, 2000);
    must_report(store, 1);
    await_found(of_replica, 1);
    report_fails(of_replica, 2, REFUSED, "read-only replica");
    store_close(&store);
    store_close(&of_replica);

    struct store_options options = store_default_options;
    options.url = primary->url;
    options.read_url = replica->url;
    options.timeout = 1000;
    store = open_options(options);
    must_report(store, 3);
    await_found(store, 3);
    servers_freeze(replica);
    for (int i = 0; i < 10; i++)
        must_find(store, 3, FOUND); /* the primary answers for it, in time */
    servers_thaw(replica);
    servers_kill(primary);
    await_found(store, 3);
    report_fails(store, 4, UNAVAILABLE, "connection refused");
    store_close(&store);
    servers_stop(&replica);
    servers_stop(&primary);
}

static void a_loading_server_is_waited_for(void **state)
{
    (void)state;
    struct servers_redis *source = servers_start(NULL);
    struct store *store = open_store(source->url, 2000);
    for (uint64_t seed = 1; seed <= 10; seed++)
        must_report(store, seed);
    store_close(&store);
    servers_do(source, "SAVE");
    struct servers_redis *server = servers_start_loading(
        "key-load-delay 10000\nloading-process-events-interval-bytes 1024", source->folder);
    store = open_store(server->url, 2000);
    look_up_fails(store, 1, UNAVAILABLE, "loading");
    await_found(store, 1);
    store_close(&store);
    servers_stop(&server);
    servers_stop(&source);
}

static void a_full_server_refuses_reports_and_still_recognises(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct store *store = open_store(server->url, 2000);
    must_report(store, 1);
    servers_do(server, "CONFIG SET maxmemory 1");
    for (int i = 0; i < 5; i++)
        report_fails(store, 2, REFUSED, "memory is full");
    must_find(store, 1, FOUND);
    must_find(store, 2, NOT_FOUND);
    servers_do(server, "CONFIG SET maxmemory 0");
    must_report(store, 2);
    must_find(store, 2, FOUND);
    store_close(&store);
    servers_stop(&server);
}

static bool is_busy(void *user)
{
    redisReply *reply = servers_ask(user, "GET a");
    bool busy = reply->type == REDIS_REPLY_ERROR && g_str_has_prefix(reply->str, "BUSY");
    freeReplyObject(reply);
    return busy;
}

static void a_server_that_forgot_the_script_is_told_it_again(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct store *store = open_store(server->url, 2000);
    for (uint64_t seed = 1; seed <= 10; seed++)
        must_report(store, seed);
    servers_do(server, "SCRIPT FLUSH");
    for (uint64_t seed = 11; seed <= 20; seed++)
        must_report(store, seed);
    for (uint64_t seed = 1; seed <= 20; seed++)
        must_find(store, seed, FOUND);
    assert_int_equal(servers_calls(server, "eval"), 2);
    assert_true(servers_calls(server, "evalsha") >= 20);
    store_close(&store);
    servers_stop(&server);
}

static void reports_ask_for_clean_mail_once_where_there_is_none(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct store *store = open_store(server->url, 2000);
    for (uint64_t seed = 1; seed <= 10; seed++)
        must_report(store, seed);
    assert_int_equal(servers_calls(server, "bitfield"), STORE_CLEAN_DAYS);
    store_close(&store);
    servers_stop(&server);
}

static void a_busy_server_is_unavailable_until_its_script_ends(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start("lua-time-limit 20");
    struct store *store = open_store(server->url, 2000);
    must_report(store, 1);
    redisContext *script = redisConnect("127.0.0.1", server->port);
    int done = 0;
    redisAppendCommand(script, "EVAL %s 0", "while true do end");
    redisBufferWrite(script, &done);
    servers_await(is_busy, server, "the script makes the server busy");
    look_up_fails(store, 1, UNAVAILABLE, "script keeps it busy");
    report_fails(store, 2, UNAVAILABLE, "script keeps it busy");
    servers_do(server, "SCRIPT KILL");
    await_found(store, 1);
    must_find(store, 2, NOT_FOUND);
    redisFree(script);
    store_close(&store);
    servers_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frozen_server_costs_the_deadline_and_then_nothing),
        cmocka_unit_test(passwords_are_asked_for_and_read_from_a_file),
        cmocka_unit_test(a_replica_is_read_and_not_written),
        cmocka_unit_test(a_loading_server_is_waited_for),
        cmocka_unit_test(a_full_server_refuses_reports_and_still_recognises),
        cmocka_unit_test(a_server_that_forgot_the_script_is_told_it_again),
        cmocka_unit_test(reports_ask_for_clean_mail_once_where_there_is_none),
        cmocka_unit_test(a_busy_server_is_unavailable_until_its_script_ends),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
