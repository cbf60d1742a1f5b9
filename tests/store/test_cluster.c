#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "store/cluster.h"
#include "tests/store/many.h"
#include "tests/store/servers.h"
#include "tests/store/talk.h"

#define UNAVAILABLE REFRAIN_ERROR_UNAVAILABLE
#define REFUSED     REFRAIN_ERROR_REFUSED

static struct servers_cluster *cluster;

static int start_cluster(void **state)
{
    (void)state;
    cluster = servers_start_cluster(NULL);
    return 0;
}

static int stop_cluster(void **state)
{
    (void)state;
    servers_stop_cluster(&cluster);
    return 0;
}

/* --- slots --------------------------------------------------------------------------------------- */

static void slots_are_those_of_the_specification(void **state)
{
    (void)state;
    assert_int_equal(cluster_crc16("123456789", 9), 0x31c3);
    assert_int_equal(cluster_crc16("", 0), 0);
    assert_int_equal(slot_of("{user1000}.following"), slot_of("{user1000}.followers"));
    assert_int_equal(slot_of("{user1000}.following"), slot_of("user1000"));
    assert_int_equal(slot_of("foo{{bar}}zap"), slot_of("{bar"));
    assert_int_equal(slot_of("foo{bar}{zap}"), slot_of("bar"));
    assert_int_equal(slot_of("foo{}{bar}"), cluster_crc16("foo{}{bar}", 10) % CLUSTER_SLOTS);
    assert_int_equal(slot_of("foo{bar"), cluster_crc16("foo{bar", 7) % CLUSTER_SLOTS);
}

static void slots_are_those_of_the_server(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int i = 0; i < 200; i++) {
        char key[24];
        size_t n = 1 + (size_t)i % sizeof key;
        for (size_t j = 0; j < n; j++)
            key[j] = "{}ab\0\377z{"[(seed = seed * 1103515245 + 12345) >> 16 & 7];
        redisReply *reply = servers_ask(cluster->nodes[0], "CLUSTER KEYSLOT %b", key, n);
        assert_int_equal(cluster_slot(key, n), reply->integer);
        freeReplyObject(reply);
    }
}

static void redirections_are_read(void **state)
{
    (void)state;
    static const struct {
        char *text;
        const char *host;
        unsigned slot, port;
    } rows[] = {
        { "MOVED 3999 127.0.0.1:6381", "127.0.0.1", 3999, 6381 },
        { "ASK 0 ::1:6381", "::1", 0, 6381 },
        { "MOVED 16383 node.example:1", "node.example", 16383, 1 },
        { "MOVED 1 :7000", "asked", 1, 7000 },
        { "MOVED 1 ?:7000", "asked", 1, 7000 },
        { "MOVED 16384 127.0.0.1:6381", NULL, 0, 0 },
        { "MOVED x 127.0.0.1:6381", NULL, 0, 0 },
        { "MOVED 1", NULL, 0, 0 },
        { "MOVED 1 127.0.0.1", NULL, 0, 0 },
        { "ERR 1 127.0.0.1:1", NULL, 0, 0 },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const redisReply reply = { .type = REDIS_REPLY_ERROR,
                                   .str = rows[i].text,
                                   .len = strlen(rows[i].text) };
        char *host = NULL;
        unsigned slot = 0;
        uint16_t port = 0;
        assert_int_equal(cluster_redirect(&reply, "asked", &slot, &host, &port), rows[i].host != NULL);
        if (rows[i].host) {
            assert_string_equal(host, rows[i].host);
            assert_int_equal(slot, rows[i].slot);
            assert_int_equal(port, rows[i].port);
        }
        g_free(host);
    }
}

/* --- routing ------------------------------------------------------------------------------------- */

static void a_pipeline_over_all_slots_is_one_round_trip_to_each_node(void **state)
{
    (void)state;
    struct link *link = talk_open(cluster->url);
    store_many(link);
    struct link_health before = health_of(link);
    expect_many(link);
    struct link_health after = health_of(link);
    assert_int_equal(after.round_trips - before.round_trips, SERVERS_NODES);
    assert_int_equal(after.redirects, 0);
    assert_int_equal(after.refreshes, 1);
    assert_int_equal(after.connections, SERVERS_NODES);
    for (int i = 0; i < SERVERS_NODES; i++)
        assert_true(servers_info(cluster->nodes[i], "total_commands_processed") > 0);
    link_close(&link);
}

static void one_living_node_of_the_url_is_enough(void **state)
{
    (void)state;
    g_autofree char *url = g_strdup_printf("redis-cluster://127.0.0.1:%u,127.0.0.1:%u", servers_free_port(),
                                           cluster->nodes[1]->port);
    struct link *link = talk_open(url);
    store_many(link);
    expect_many(link);
    link_close(&link);
}

static void every_primary_can_be_asked_by_its_address(void **state)
{
    (void)state;
    struct link *link = talk_open(cluster->url);
    store_many(link);
    char **servers = link_servers(link, 5000, NULL);
    assert_int_equal(g_strv_length(servers), SERVERS_NODES);
    const char *argv[] = { "DBSIZE" };
    struct link_command commands[SERVERS_NODES];
    for (int i = 0; i < SERVERS_NODES; i++)
        commands[i] = (struct link_command) { .argc = 1, .argv = argv, .server = servers[i] };
    const struct link_request request = { .commands = commands, .n = SERVERS_NODES, .timeout = 5000 };
    redisReply *replies[SERVERS_NODES];
    assert_true(link_run(link, &request, replies, NULL));
    long long sum = 0;
    for (int i = 0; i < SERVERS_NODES; i++) {
        assert_true(replies[i]->integer > 0);
        sum += replies[i]->integer;
    }
    assert_true(sum >= MANY);
    link_free_replies(replies, SERVERS_NODES);
    g_strfreev(servers);
    link_close(&link);
}

static void a_url_of_the_wrong_kind_is_said_so(void **state)
{
    (void)state;
    struct servers_redis *single = servers_start(NULL);
    g_autofree char *as_cluster = g_strdup_printf("redis-cluster://127.0.0.1:%u", single->port);
    struct link *link = talk_open(as_cluster);
    talk_expect_error(link, 5000, "GET a", REFUSED, "not part of a cluster");
    link_close(&link);
    link = talk_open(cluster->nodes[0]->url);
    unsigned theirs = 0;
    char line[32] = "";
    for (int i = 0; theirs == 0; i++) {
        snprintf(line, sizeof line, "GET key-%d", i);
        theirs = servers_owner(cluster, slot_of(line + 4)) != cluster->nodes[0];
    }
    talk_expect_error(link, 5000, line, REFUSED, "part of a cluster");
    link_close(&link);
    servers_stop(&single);
}

/* --- nodes that fail ----------------------------------------------------------------------------- */

static void a_frozen_node_ends_the_request_at_the_deadline_only(void **state)
{
    (void)state;
    struct link *link = talk_open(cluster->url);
    store_many(link);
    servers_freeze(cluster->nodes[1]);
    for (int i = 0; i < 3; i++) {
        redisReply *replies[MANY];
        GError *error = NULL;
        int64_t begin = g_get_monotonic_time();
        run_many(link, "GET", 150, replies, &error);
        assert_non_null(error);
        assert_int_equal(error->code, UNAVAILABLE);
        assert_non_null(strstr(error->message, "no answer"));
        assert_true(g_get_monotonic_time() - begin < G_USEC_PER_SEC);
        for (int j = 0; j < MANY; j++)
            assert_null(replies[j]);
        g_error_free(error);
    }
    servers_thaw(cluster->nodes[1]);
    expect_many(link);
    link_close(&link);
}

static bool cluster_fails(void *user)
{
    redisReply *reply = servers_ask(user, "CLUSTER INFO");
    bool fails = strstr(reply->str, "cluster_state:fail") != NULL;
    freeReplyObject(reply);
    return fails;
}

static void a_cluster_that_is_down_is_waited_for_within_the_deadline(void **state)
{
    (void)state;
    struct link *link = talk_open(cluster->url);
    store_many(link);
    servers_kill(cluster->nodes[1]);
    redisReply *replies[MANY];
    GError *error = NULL;
    run_many(link, "GET", 500, replies, &error);
    assert_int_equal(error->code, UNAVAILABLE);
    assert_non_null(strstr(error->message, "connection refused"));
    g_clear_error(&error);
    servers_await(cluster_fails, cluster->nodes[0], "the nodes notice that one is down");
    g_autofree char *line = NULL;
    for (int i = 0; !line; i++) {
        g_autofree char *key = g_strdup_printf("many-%d", i);
        if (servers_owner(cluster, slot_of(key)) == cluster->nodes[0])
            line = g_strdup_printf("GET %s", key);
    }
    talk_expect_error(link, 100, line, UNAVAILABLE, "cluster is down");
    servers_restart(cluster->nodes[1]);
    redisReply *reply = talk_try(link, 15000, true, line, &error);
    if (!reply)
        fail_msg("%s", error->message);
    reply_free(reply);
    link_close(&link);
}

static bool replica_has_all(void *replica)
{
    return servers_info(replica, "slave_repl_offset") >=
           servers_info(cluster->nodes[1], "master_repl_offset");
}

static void a_replica_that_was_promoted_is_found(void **state)
{
    (void)state;
    struct servers_redis *replica = servers_add_replica(cluster, cluster->nodes[1]);
    struct link *link = talk_open(cluster->url);
    store_many(link);
    servers_await(replica_has_all, replica, "the replica has all keys");
    servers_kill(cluster->nodes[1]);
    GError *error = NULL;
    redisReply *replies[MANY];
    int64_t begin = g_get_monotonic_time();
    do {
        g_clear_error(&error);
        run_many(link, "GET", 2000, replies, &error);
        if (error)
            assert_int_equal(error->code, UNAVAILABLE);
    } while (error && g_get_monotonic_time() - begin < 20 * G_USEC_PER_SEC);
    if (error)
        fail_msg("%s", error->message);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(replies[i]->type, REDIS_REPLY_STRING);
        assert_int_equal(atoi(replies[i]->str), i);
    }
    link_free_replies(replies, MANY);
    link_close(&link);
    servers_stop(&replica);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_those_of_the_specification),
        cmocka_unit_test(slots_are_those_of_the_server),
        cmocka_unit_test(redirections_are_read),
        cmocka_unit_test(a_pipeline_over_all_slots_is_one_round_trip_to_each_node),
        cmocka_unit_test(one_living_node_of_the_url_is_enough),
        cmocka_unit_test(every_primary_can_be_asked_by_its_address),
        cmocka_unit_test(a_url_of_the_wrong_kind_is_said_so),
        cmocka_unit_test(a_frozen_node_ends_the_request_at_the_deadline_only),
        cmocka_unit_test(a_cluster_that_is_down_is_waited_for_within_the_deadline),
        cmocka_unit_test(a_replica_that_was_promoted_is_found),
    };
    return cmocka_run_group_tests(tests, start_cluster, stop_cluster);
}
