#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "tests/store/servers.h"
#include "tests/store/talk.h"

#define UNAVAILABLE REFRAIN_ERROR_UNAVAILABLE
#define REFUSED     REFRAIN_ERROR_REFUSED

static struct servers_family *common; /* for tests that leave the primary where it is */

static int start_common(void **state)
{
    (void)state;
    common = servers_start_family(NULL);
    return 0;
}

static int stop_common(void **state)
{
    (void)state;
    servers_stop_family(&common);
    return 0;
}

static int start_family(void **state)
{
    *state = servers_start_family(NULL);
    return 0;
}

static int stop_family(void **state)
{
    struct servers_family *family = *state;
    servers_stop_family(&family);
    return 0;
}

static void the_sentinels_name_the_primary_and_one_living_one_is_enough(void **state)
{
    (void)state;
    struct servers_family *family = common;
    struct link *link = talk_open(family->url);
    talk_expect(link, "SET a 1", "OK");
    char **servers = link_servers(link, 1000, NULL);
    g_autofree char *primary = g_strdup_printf("127.0.0.1:%u", family->primary->port);
    assert_string_equal(servers[0], primary);
    assert_null(servers[1]);
    g_strfreev(servers);
    link_close(&link);

    servers_kill(family->sentinels[0]);
    servers_freeze(family->sentinels[1]);
    link = talk_open(family->url);
    int64_t begin = g_get_monotonic_time();
    GError *error = NULL;
    redisReply *reply = talk_try(link, 1000, true, "GET a", &error);
    if (!reply)
        fail_msg("%s", error->message);
    assert_string_equal(reply->str, "1");
    assert_true(g_get_monotonic_time() - begin < 2 * G_USEC_PER_SEC);
    reply_free(reply);
    servers_thaw(family->sentinels[1]);
    servers_restart(family->sentinels[0]);
    link_close(&link);
}

static void an_unknown_master_and_dead_sentinels_are_told_apart(void **state)
{
    (void)state;
    struct servers_family *family = common;
    g_autofree char *unknown =
        g_strdup_printf("redis-sentinel://127.0.0.1:%u/stranger", family->sentinels[0]->port);
    g_autofree char *dead = g_strdup_printf("redis-sentinel://127.0.0.1:%u,127.0.0.1:%u/refrain",
                                            servers_free_port(), servers_free_port());
    struct link *link = talk_open(unknown);
    talk_expect_error(link, 1000, "GET a", REFUSED, "knows no master \"stranger\"");
    link_close(&link);
    link = talk_open(dead);
    talk_expect_error(link, 1000, "GET a", UNAVAILABLE, "connection refused");
    link_close(&link);
}

static void writes_wait_for_replicas(void **state)
{
    (void)state;
    struct servers_family *family = common;
    struct link *link = talk_open(family->url);
    char value[16];
    const char *argv[] = { "SET", "awaited", value };
    const struct link_command command = { .argc = 3, .argv = argv, .key = argv[1], .key_length = 7 };
    struct link_request request = {
        .commands = &command, .n = 1, .timeout = 5000, .wait_replicas = SERVERS_REPLICAS
    };
    redisReply *reply;
    GError *error = NULL;
    for (int i = 0; i < 20; i++) {
        snprintf(value, sizeof value, "%d", i);
        if (!link_run(link, &request, &reply, &error))
            fail_msg("%s", error->message);
        assert_string_equal(reply->str, "OK");
        reply_free(reply);
        for (int r = 0; r < SERVERS_REPLICAS; r++) {
            redisReply *copy = servers_ask(family->replicas[r], "GET awaited");
            assert_string_equal(copy->str, value);
            freeReplyObject(copy);
        }
    }
    servers_freeze(family->replicas[0]);
    request.timeout = 700;
    assert_false(link_run(link, &request, &reply, &error));
    assert_non_null(strstr(error->message, "1 of 2 replicas"));
    g_error_free(error);
    servers_thaw(family->replicas[0]);
    link_close(&link);
}

struct traffic {
    struct link *link;
    atomic_bool stop;
    atomic_int written, failed;
    atomic_llong last_good;
};

/* Numbers every write, and notes those that were acknowledged with a replica's word. */
static void *write_on(void *user)
{
    struct traffic *traffic = user;
    for (int i = 0; !atomic_load(&traffic->stop); i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        const char *argv[] = { "SADD", "acknowledged", value };
        const struct link_command command = { .argc = 3, .argv = argv, .key = argv[1], .key_length = 12 };
        const struct link_request request = {
            .commands = &command, .n = 1, .timeout = 1000, .repeatable = true, .wait_replicas = 1
        };
        redisReply *reply;
        if (link_run(traffic->link, &request, &reply, NULL)) {
            reply_free(reply);
            atomic_fetch_add(&traffic->written, 1);
            atomic_store(&traffic->last_good, g_get_monotonic_time());
        } else {
            atomic_fetch_add(&traffic->failed, 1);
            poll(NULL, 0, 5);
        }
    }
    return NULL;
}

static bool writes_go_on(void *user)
{
    struct traffic *traffic = user;
    return atomic_load(&traffic->last_good) > 0;
}

static struct servers_redis *new_primary(struct servers_family *family)
{
    for (int i = 0; i < SERVERS_REPLICAS; i++) {
        redisReply *reply = servers_ask(family->replicas[i], "ROLE");
        bool master = strcmp(reply->element[0]->str, "master") == 0;
        freeReplyObject(reply);
        if (master)
            return family->replicas[i];
    }
    return NULL;
}

/* Lets writes run, does something to the primary, and waits for writes to go on elsewhere. */
static void fail_over(struct servers_family *family, void (*hit)(struct servers_redis *primary))
{
    struct traffic traffic = { 0 };
    struct link_options options = link_default_options;
    options.breaker_pause = 100;
    options.breaker_pause_max = 200;
    traffic.link = talk_open_with(family->url, options);
    pthread_t thread;
    pthread_create(&thread, NULL, write_on, &traffic);
    servers_await(writes_go_on, &traffic, "writes are acknowledged");
    hit(family->primary);
    int before = atomic_load(&traffic.written);
    poll(NULL, 0, 300); /* what was under way is over */
    atomic_store(&traffic.last_good, 0);
    servers_await(writes_go_on, &traffic, "writes go on with the new primary");
    atomic_store(&traffic.stop, true);
    pthread_join(thread, NULL);

    struct servers_redis *primary = new_primary(family);
    assert_non_null(primary);
    assert_true(atomic_load(&traffic.written) > before);
    /* Repeated writes are the same member: every acknowledged one is there once. */
    redisReply *reply = servers_ask(primary, "SCARD acknowledged");
    assert_true(reply->integer >= atomic_load(&traffic.written));
    freeReplyObject(reply);
    link_close(&traffic.link);
}

static void a_killed_primary_is_replaced_and_no_acknowledged_write_is_lost(void **state)
{
    fail_over(*state, servers_kill);
}

static void a_frozen_primary_is_replaced(void **state)
{
    fail_over(*state, servers_freeze);
}

static bool has_stepped_down(void *user)
{
    redisReply *reply = servers_ask(user, "ROLE");
    bool replica = strcmp(reply->element[0]->str, "slave") == 0;
    freeReplyObject(reply);
    return replica;
}

/* An orderly failover: the old primary lives on as a replica, and says READONLY. */
static void a_primary_that_stepped_down_is_left_without_an_error(void **state)
{
    struct servers_family *family = *state;
    struct link *link = talk_open(family->url);
    talk_expect(link, "SET a 1", "OK");
    servers_do(family->sentinels[0], "SENTINEL failover refrain");
    servers_await(has_stepped_down, family->primary, "the primary becomes a replica");
    talk_expect(link, "SET a 2", "OK");
    redisReply *reply = servers_ask(new_primary(family), "GET a");
    assert_string_equal(reply->str, "2");
    freeReplyObject(reply);
    link_close(&link);
}

/* READONLY on a connection that nobody closed: REPLICAOF by hand leaves clients alone. */
static void a_read_only_answer_makes_it_ask_the_sentinels_again(void **state)
{
    struct servers_family *family = *state;
    struct link *link = talk_open(family->url);
    talk_expect(link, "SET a 1", "OK");
    struct servers_redis *next = family->replicas[0];
    servers_do(next, "REPLICAOF NO ONE");
    servers_do(family->primary, "REPLICAOF 127.0.0.1 %d", (int)next->port);
    GError *error = NULL;
    redisReply *reply = talk_try(link, 500, true, "SET a 2", &error);
    if (reply) {
        reply_free(reply); /* the sentinels were quick to put it right */
    } else {
        assert_int_equal(error->code, UNAVAILABLE);
        assert_non_null(strstr(error->message, "no primary"));
        g_error_free(error);
    }
    struct link_health health;
    link_health(link, &health);
    assert_true(health.refreshes > 1);
    link_close(&link);
}

static void sentinels_and_servers_with_a_password_are_let_in(void **state)
{
    (void)state;
    struct servers_family *family = common;
    servers_do(family->sentinels[0], "ACL SETUSER default on >hushpuppy");
    for (int i = 0; i < SERVERS_REPLICAS; i++)
        servers_do(family->replicas[i], "CONFIG SET masterauth hushpuppy");
    servers_do(family->primary, "CONFIG SET requirepass hushpuppy");
    g_autofree char *url =
        g_strdup_printf("redis-sentinel://:hushpuppy@127.0.0.1:%u/refrain/2", family->sentinels[0]->port);
    g_autofree char *open_url =
        g_strdup_printf("redis-sentinel://:hushpuppy@127.0.0.1:%u/refrain/2", family->sentinels[1]->port);
    g_autofree char *wrong_url =
        g_strdup_printf("redis-sentinel://:terrier@127.0.0.1:%u/refrain/2", family->sentinels[0]->port);
    struct link *link = talk_open(url), *open_link = talk_open(open_url), *wrong = talk_open(wrong_url);
    talk_expect(link, "SET a 1", "OK");
    talk_expect(open_link, "GET a", "1"); /* this sentinel wants none */
    talk_expect_error(wrong, 1000, "GET a", REFUSED, "password");
    link_close(&link);
    link_close(&open_link);
    link_close(&wrong);
}

int main(void)
{
#define WITH_FAMILY(test) cmocka_unit_test_setup_teardown(test, start_family, stop_family)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sentinels_name_the_primary_and_one_living_one_is_enough),
        cmocka_unit_test(an_unknown_master_and_dead_sentinels_are_told_apart),
        cmocka_unit_test(writes_wait_for_replicas),
        WITH_FAMILY(a_killed_primary_is_replaced_and_no_acknowledged_write_is_lost),
        WITH_FAMILY(a_frozen_primary_is_replaced),
        WITH_FAMILY(a_primary_that_stepped_down_is_left_without_an_error),
        WITH_FAMILY(a_read_only_answer_makes_it_ask_the_sentinels_again),
        cmocka_unit_test(sentinels_and_servers_with_a_password_are_let_in),
    };
    return cmocka_run_group_tests(tests, start_common, stop_common);
}
