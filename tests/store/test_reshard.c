#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tests/store/many.h"
#include "tests/store/servers.h"
#include "tests/store/talk.h"

#define UNAVAILABLE REFRAIN_ERROR_UNAVAILABLE

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

struct move {
    unsigned slot;
    struct servers_redis *from, *to;
    char *from_id, *to_id;
};

static struct move begin_move(const char *key)
{
    struct move move = { .slot = slot_of(key) };
    move.from = servers_owner(cluster, move.slot);
    move.to = cluster->nodes[0] == move.from ? cluster->nodes[1] : cluster->nodes[0];
    move.from_id = servers_node_id(move.from);
    move.to_id = servers_node_id(move.to);
    servers_do(move.to, "CLUSTER SETSLOT %u IMPORTING %s", move.slot, move.from_id);
    servers_do(move.from, "CLUSTER SETSLOT %u MIGRATING %s", move.slot, move.to_id);
    return move;
}

static void move_key(const struct move *move, const char *key)
{
    servers_do(move->from, "MIGRATE 127.0.0.1 %d %s 0 5000", (int)move->to->port, key);
}

/* The word of a node that has not heard of the last epoch would count for nothing when it takes the slot
 * back. */
static bool all_know_the_epoch(void)
{
    g_autofree char *first = NULL;
    for (int i = 0; i < SERVERS_NODES; i++) {
        redisReply *reply = servers_ask(cluster->nodes[i], "CLUSTER INFO");
        const char *epoch = strstr(reply->str, "cluster_current_epoch:");
        assert_non_null(epoch);
        g_autofree char *line = g_strndup(epoch, strcspn(epoch, "\r\n"));
        freeReplyObject(reply);
        if (first && strcmp(first, line) != 0)
            return false;
        if (!first)
            first = g_steal_pointer(&line);
    }
    return true;
}

static bool all_agree(void *user)
{
    struct move *move = user;
    for (int i = 0; i < SERVERS_NODES; i++) {
        redisReply *reply = servers_ask(cluster->nodes[i], "CLUSTER SLOTS");
        bool agrees = false;
        for (size_t j = 0; j < reply->elements; j++) {
            redisReply *range = reply->element[j];
            if (range->element[0]->integer <= move->slot && move->slot <= range->element[1]->integer)
                agrees = range->element[2]->element[1]->integer == move->to->port;
        }
        freeReplyObject(reply);
        if (!agrees)
            return false;
    }
    return all_know_the_epoch();
}

static void end_move(struct move *move)
{
    servers_do(move->to, "CLUSTER SETSLOT %u NODE %s", move->slot, move->to_id);
    servers_do(move->from, "CLUSTER SETSLOT %u NODE %s", move->slot, move->to_id);
    servers_await(all_agree, move, "all nodes know the new owner");
    g_free(move->from_id);
    g_free(move->to_id);
}

static void a_slot_that_moved_is_followed_and_learnt(void **state)
{
    (void)state;
    struct link *link = talk_open(cluster->url);
    talk_expect(link, "SET wanderer home", "OK");
    struct move move = begin_move("wanderer");
    move_key(&move, "wanderer");
    end_move(&move);
    talk_expect(link, "GET wanderer", "home");
    assert_int_equal(health_of(link).redirects, 1);
    talk_expect(link, "GET wanderer", "home");
    assert_int_equal(health_of(link).redirects, 1);
    link_close(&link);
}

/* Many slots move at once: the first redirection brings the whole table. */
static void one_redirection_refreshes_the_whole_table(void **state)
{
    (void)state;
    struct link *link = talk_open(cluster->url);
    static const char *const keys[] = { "flock-1", "flock-2", "flock-3", "flock-4", "flock-5" };
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        g_autofree char *line = g_strdup_printf("SET %s x", keys[i]);
        talk_expect(link, line, "OK");
    }
    int64_t refreshed = g_get_monotonic_time();
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        struct move move = begin_move(keys[i]);
        move_key(&move, keys[i]);
        end_move(&move);
    }
    /* A table younger than a second is not asked for again. */
    while (g_get_monotonic_time() - refreshed < 1100000)
        poll(NULL, 0, 10);
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        g_autofree char *line = g_strdup_printf("GET %s", keys[i]);
        talk_expect(link, line, "x");
    }
    assert_int_equal(health_of(link).redirects, 1);
    assert_int_equal(health_of(link).refreshes, 2);
    link_close(&link);
}

/* A whole node's worth of redirections in one answer. */
static void a_pipeline_whose_every_slot_moved_is_followed(void **state)
{
    (void)state;
    struct link *link = talk_open(cluster->url);
    store_many(link);
    int moved = 0;
    for (int i = 0; i < MANY; i++) {
        g_autofree char *key = g_strdup_printf("many-%d", i);
        if (servers_owner(cluster, slot_of(key)) == cluster->nodes[2]) {
            servers_move_slot(cluster, slot_of(key));
            moved++;
        }
    }
    assert_true(moved > 16);
    struct link_health before = health_of(link);
    expect_many(link);
    struct link_health after = health_of(link);
    assert_int_equal(after.redirects - before.redirects, moved);
    assert_in_range(after.round_trips - before.round_trips, SERVERS_NODES + 1, SERVERS_NODES + 2);
    expect_many(link);
    assert_int_equal(health_of(link).redirects, after.redirects);
    link_close(&link);
}

static void a_slot_on_its_way_is_asked_for_at_both_ends(void **state)
{
    (void)state;
    struct link *link = talk_open(cluster->url);
    talk_expect(link, "SET {way}gone 1", "OK");
    talk_expect(link, "SET {way}still 2", "OK");
    struct move move = begin_move("{way}");
    move_key(&move, "{way}gone");
    for (int i = 0; i < 3; i++) {
        talk_expect(link, "GET {way}gone", "1");
        talk_expect(link, "GET {way}still", "2");
    }
    assert_int_equal(health_of(link).redirects, 3); /* ASK is not learnt */
    talk_expect(link, "SET {way}new 3", "OK");
    redisReply *reply = servers_ask(move.to, "CLUSTER COUNTKEYSINSLOT %u", move.slot);
    assert_int_equal(reply->integer, 2);
    freeReplyObject(reply);
    move_key(&move, "{way}still");
    end_move(&move);
    talk_expect(link, "GET {way}gone", "1");
    talk_expect(link, "GET {way}still", "2");
    talk_expect(link, "GET {way}new", "3");
    link_close(&link);
}

static void expect_transaction(struct link *link, const char *const *texts, const char *key, long long last)
{
    struct talk_line lines[4];
    struct link_command commands[4];
    for (int i = 0; i < 4; i++) {
        lines[i] = talk_parse(texts[i]);
        commands[i] = lines[i].command;
        commands[i].key = key;
        commands[i].key_length = strlen(key);
    }
    const struct link_request request = { .commands = commands, .n = 4, .timeout = 5000 };
    redisReply *replies[4];
    GError *error = NULL;
    if (!link_run(link, &request, replies, &error) || !link_check(replies, 4, &error))
        fail_msg("%s", error->message);
    assert_int_equal(replies[3]->elements, 2);
    assert_int_equal(replies[3]->element[1]->integer, last);
    link_free_replies(replies, 4);
    for (int i = 0; i < 4; i++)
        g_strfreev(lines[i].words);
}

static void a_transaction_moves_as_a_whole(void **state)
{
    (void)state;
    static const char *const texts[] = { "MULTI", "INCR {deal}a", "INCR {deal}a", "EXEC" };
    struct link *link = talk_open(cluster->url);
    expect_transaction(link, texts, "{deal}", 2);
    struct move move = begin_move("{deal}");
    move_key(&move, "{deal}a");
    expect_transaction(link, texts, "{deal}", 4); /* ASK */
    end_move(&move);
    expect_transaction(link, texts, "{deal}", 6); /* MOVED */
    talk_expect(link, "GET {deal}a", "6");
    link_close(&link);
}

static void *finish_later(void *user)
{
    poll(NULL, 0, 100);
    move_key(user, "{pair}b");
    return NULL;
}

static void keys_on_both_sides_are_waited_for(void **state)
{
    (void)state;
    struct link *link = talk_open(cluster->url);
    talk_expect(link, "SET {pair}a 1", "OK");
    talk_expect(link, "SET {pair}b 2", "OK");
    struct move move = begin_move("{pair}");
    move_key(&move, "{pair}a");
    talk_expect_error(link, 60, "MGET {pair}a {pair}b", UNAVAILABLE, "on their way");
    pthread_t thread;
    pthread_create(&thread, NULL, finish_later, &move);
    talk_expect(link, "MGET {pair}a {pair}b", "(array of 2)");
    pthread_join(thread, NULL);
    end_move(&move);
    link_close(&link);
}

struct traffic {
    struct link *link;
    atomic_bool stop;
    atomic_int counts[4]; /* acknowledged increments of each key */
    atomic_int failures;
};

static void *count_up(void *user)
{
    struct traffic *traffic = user;
    for (unsigned i = 0; !atomic_load(&traffic->stop); i++) {
        char line[32];
        snprintf(line, sizeof line, "INCR {road}%u", i % 4);
        GError *error = NULL;
        redisReply *reply = talk_try(traffic->link, 5000, false, line, &error);
        if (reply && reply->type == REDIS_REPLY_INTEGER)
            atomic_fetch_add(&traffic->counts[i % 4], 1);
        else
            atomic_fetch_add(&traffic->failures, 1);
        g_clear_error(&error);
        if (reply)
            reply_free(reply);
    }
    return NULL;
}

static void nothing_is_lost_when_a_slot_moves_under_traffic(void **state)
{
    (void)state;
    struct traffic traffic = { .link = talk_open(cluster->url) };
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, count_up, &traffic);
    for (int round = 0; round < 4; round++) {
        struct move move = begin_move("{road}");
        for (int i = 0; i < 4; i++) {
            char key[32];
            snprintf(key, sizeof key, "{road}%d", i);
            move_key(&move, key);
        }
        end_move(&move);
    }
    atomic_store(&traffic.stop, true);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&traffic.failures), 0);
    assert_true(health_of(traffic.link).redirects > 0);
    for (int i = 0; i < 4; i++) {
        char line[32], expected[16];
        snprintf(line, sizeof line, "GET {road}%d", i);
        snprintf(expected, sizeof expected, "%d", atomic_load(&traffic.counts[i]));
        talk_expect(traffic.link, line, expected);
    }
    link_close(&traffic.link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_that_moved_is_followed_and_learnt),
        cmocka_unit_test(one_redirection_refreshes_the_whole_table),
        cmocka_unit_test(a_pipeline_whose_every_slot_moved_is_followed),
        cmocka_unit_test(a_slot_on_its_way_is_asked_for_at_both_ends),
        cmocka_unit_test(a_transaction_moves_as_a_whole),
        cmocka_unit_test(keys_on_both_sides_are_waited_for),
        cmocka_unit_test(nothing_is_lost_when_a_slot_moves_under_traffic),
    };
    return cmocka_run_group_tests(tests, start_cluster, stop_cluster);
}
