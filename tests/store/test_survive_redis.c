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
#include <string.h>

#include "base/error.h"
#include "store/cluster.h"
#include "store/store.h"
#include "tests/store/fixture.h"
#include "tests/store/servers.h"

/* The whole store against servers that are killed, frozen, full, locked, moved and tampered with. */

#define UNAVAILABLE REFRAIN_ERROR_UNAVAILABLE
#define REFUSED     REFRAIN_ERROR_REFUSED

static char *folder;
static struct lexicon *lexicon;

static int set_up(void **state)
{
    (void)state;
    folder = fixture_folder();
    lexicon = fixture_lexicon(folder, 1, 8);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lexicon_unref(lexicon);
    fixture_remove(folder);
    return 0;
}

static struct store *open_options(struct store_options options)
{
    GError *error = NULL;
    struct store *store = store_open(&options, lexicon, &error);
    if (!store)
        fail_msg("%s", error->message);
    return store;
}

static struct store *open_store(const char *url, int64_t timeout)
{
    struct store_options options = store_default_options;
    options.url = url;
    options.timeout = timeout;
    return open_options(options);
}

static bool report(struct store *store, uint64_t seed, GError **error)
{
    struct signature_set set = fixture_set(fixture_signature(lexicon, MESSAGE_BODY, seed));
    const struct store_report what = { .label = "pills", .source = "trap", .reporter = "anna" };
    enum store_outcome outcome;
    uint64_t campaign;
    return store_report(store, &set, &signature_default_rule, &what, &outcome, &campaign, error);
}

static void must_report(struct store *store, uint64_t seed)
{
    GError *error = NULL;
    if (!report(store, seed, &error))
        fail_msg("report: %s", error->message);
}

enum answer { FOUND, NOT_FOUND, FAILED };

static enum answer look_up(struct store *store, uint64_t seed, GError **error)
{
    struct signature_set set = fixture_set(fixture_signature(lexicon, MESSAGE_BODY, seed));
    struct store_match match;
    if (!store_lookup(store, &set, &signature_default_rule, &match, error))
        return FAILED;
    return match.level != SIGNATURE_STRANGER ? FOUND : NOT_FOUND;
}

static void must_find(struct store *store, uint64_t seed, enum answer expected)
{
    GError *error = NULL;
    enum answer answer = look_up(store, seed, &error);
    if (answer == FAILED)
        fail_msg("look-up of %d: %s", (int)seed, error->message);
    if (answer != expected)
        fail_msg("%d is %s", (int)seed, answer == FOUND ? "found" : "not found");
}

static void must_fail(bool ok, GError **error, int code, const char *part)
{
    assert_false(ok);
    if ((*error)->code != code || !strstr((*error)->message, part))
        fail_msg("\"%s\" (%d), expected \"%s\" (%d)", (*error)->message, (*error)->code, part, code);
    g_clear_error(error);
}

static void report_fails(struct store *store, uint64_t seed, int code, const char *part)
{
    GError *error = NULL;
    must_fail(report(store, seed, &error), &error, code, part);
}

static void look_up_fails(struct store *store, uint64_t seed, int code, const char *part)
{
    GError *error = NULL;
    must_fail(look_up(store, seed, &error) != FAILED, &error, code, part);
}

struct wanted {
    struct store *store;
    uint64_t seed;
};

static bool is_found(void *user)
{
    struct wanted *wanted = user;
    return look_up(wanted->store, wanted->seed, NULL) == FOUND;
}

static void await_found(struct store *store, uint64_t seed)
{
    struct wanted wanted = { store, seed };
    servers_await(is_found, &wanted, "the campaign is found again");
}

/* --- traffic ------------------------------------------------------------------------------------- */

#define REPORTS_MAX 100000

/* Two threads report one campaign after the other, two look up what was acknowledged. */
struct traffic {
    struct store *store;
    atomic_bool stop;
    atomic_uint next;
    atomic_uchar acknowledged[REPORTS_MAX];
    atomic_uint n_acknowledged, n_found, n_failed;
    atomic_uint n_lost;       /* acknowledged, looked up without an error, and not found */
    atomic_uint n_unexpected; /* errors other than "not available" */
};

static void note_failure(struct traffic *traffic, GError **error)
{
    atomic_fetch_add((*error)->code == UNAVAILABLE ? &traffic->n_failed : &traffic->n_unexpected, 1);
    if ((*error)->code != UNAVAILABLE)
        print_message("unexpected: %s\n", (*error)->message);
    g_clear_error(error);
    poll(NULL, 0, 2);
}

static void *report_on(void *user)
{
    struct traffic *traffic = user;
    while (!atomic_load(&traffic->stop)) {
        unsigned seed = atomic_fetch_add(&traffic->next, 1);
        GError *error = NULL;
        if (seed >= REPORTS_MAX)
            break;
        if (!report(traffic->store, seed, &error)) {
            note_failure(traffic, &error);
        } else {
            atomic_store(&traffic->acknowledged[seed], 1);
            atomic_fetch_add(&traffic->n_acknowledged, 1);
        }
    }
    return NULL;
}

static void *look_on(void *user)
{
    struct traffic *traffic = user;
    for (unsigned seed = 0; !atomic_load(&traffic->stop); seed++) {
        if (seed >= MIN(atomic_load(&traffic->next), REPORTS_MAX))
            seed = 0;
        if (!atomic_load(&traffic->acknowledged[seed])) {
            poll(NULL, 0, 1);
            continue;
        }
        GError *error = NULL;
        enum answer answer = look_up(traffic->store, seed, &error);
        if (answer == FAILED)
            note_failure(traffic, &error);
        else
            atomic_fetch_add(answer == FOUND ? &traffic->n_found : &traffic->n_lost, 1);
    }
    return NULL;
}

static bool traffic_flows(void *user)
{
    struct traffic *traffic = user;
    return atomic_load(&traffic->n_acknowledged) >= 20 && atomic_load(&traffic->n_found) >= 20;
}

static void await_flow(struct traffic *traffic)
{
    atomic_store(&traffic->n_acknowledged, 0);
    atomic_store(&traffic->n_found, 0);
    servers_await(traffic_flows, traffic, "reports and look-ups go on");
}

/* Lets traffic run, does something, waits until it flows again; then everything acknowledged must be there.
 */
static struct traffic *run_traffic(struct store *store, void (*disturb)(void *user), void *user)
{
    struct traffic *traffic = g_new0(struct traffic, 1);
    pthread_t threads[4];
    traffic->store = store;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i < 2 ? report_on : look_on, traffic);
    await_flow(traffic);
    disturb(user);
    await_flow(traffic);
    atomic_store(&traffic->stop, true);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (unsigned seed = 0; seed < MIN(traffic->next, REPORTS_MAX); seed++)
        if (traffic->acknowledged[seed])
            must_find(store, seed, FOUND);
    assert_int_equal(traffic->n_unexpected, 0);
    return traffic;
}

static void kill_and_restart(void *user)
{
    struct servers_redis *server = user;
    for (int i = 0; i < 2; i++) {
        servers_kill(server);
        poll(NULL, 0, 50); /* let some requests run into it */
        servers_restart(server);
    }
}

static void a_server_killed_and_restarted_under_traffic_loses_nothing(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start("appendonly yes\nappendfsync always");
    struct store *store = open_store(server->url, 500);
    struct traffic *traffic = run_traffic(store, kill_and_restart, server);
    assert_int_equal(traffic->n_lost, 0);
    assert_true(traffic->n_failed > 0);
    g_free(traffic);
    store_close(&store);
    servers_stop(&server);
}

static void kill_primary(void *user)
{
    servers_kill(user);
}

static void a_failover_loses_no_acknowledged_campaign(void **state)
{
    (void)state;
    struct servers_family *family = servers_start_family(NULL);
    struct store_options options = store_default_options;
    options.url = family->url;
    options.timeout = 500;
    options.wait_replicas = 1;
    struct store *store = open_options(options);
    struct traffic *traffic = run_traffic(store, kill_primary, family->primary);
    assert_int_equal(traffic->n_lost, 0);
    g_free(traffic);
    store_close(&store);
    servers_stop_family(&family);
}

/* The slots of some keys that are there now. */
static void move_some_slots(void *user)
{
    struct servers_cluster *cluster = user;
    for (int n = 0; n < SERVERS_NODES; n++) {
        redisReply *keys = servers_ask(cluster->nodes[n], "KEYS *");
        for (size_t i = 0; i < MIN(keys->elements, 8); i++)
            servers_move_slot(cluster, cluster_slot(keys->element[i]->str, keys->element[i]->len));
        freeReplyObject(keys);
    }
}

static void slots_that_move_under_traffic_cost_no_error_and_no_campaign(void **state)
{
    (void)state;
    struct servers_cluster *cluster = servers_start_cluster(NULL);
    struct store *store = open_store(cluster->url, 2000);
    struct traffic *traffic = run_traffic(store, move_some_slots, cluster);
    assert_int_equal(traffic->n_lost, 0);
    assert_int_equal(traffic->n_failed, 0);
    g_free(traffic);
    store_close(&store);
    servers_stop_cluster(&cluster);
}

/* --- servers that cannot ------------------------------------------------------------------------- */

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

/* --- keys that others wrote ---------------------------------------------------------------------- */

#define CAMPAIGNS 12

static unsigned count_found(struct store *store)
{
    unsigned found = 0;
    for (uint64_t seed = 1; seed <= CAMPAIGNS; seed++) {
        GError *error = NULL;
        enum answer answer = look_up(store, seed, &error);
        if (answer == FAILED && error->code != REFUSED)
            fail_msg("%s", error->message);
        g_clear_error(&error);
        found += answer == FOUND;
    }
    return found;
}

static void a_key_of_the_wrong_type_hides_no_more_than_its_own(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct store *store = open_store(server->url, 2000);
    for (uint64_t seed = 1; seed <= CAMPAIGNS; seed++)
        must_report(store, seed);
    redisReply *keys = servers_ask(server, "KEYS *");
    assert_true(keys->elements > CAMPAIGNS);
    for (size_t i = 0; i < keys->elements; i++) {
        const char *key = keys->element[i]->str;
        redisReply *type = servers_ask(server, "TYPE %s", key);
        bool is_set = strcmp(type->str, "set") == 0;
        freeReplyObject(type);
        servers_do(server, "RENAME %s saved", key);
        servers_do(server, "SET %s garbage", key);
        unsigned found = count_found(store);
        /* Of twenty sets one may be missing; a hash of records hides those that are in it. */
        if (is_set && found != CAMPAIGNS)
            fail_msg("%u of %d are found without the set %s", found, CAMPAIGNS, key);
        struct store_stats stats;
        uint64_t dropped;
        store_stats(store, &stats, NULL);
        if (i % 16 == 0)
            report(store, 1000 + i, NULL);
        bool expire = i % 64 == 0 || !is_set;
        if (expire)
            store_expire(store, &dropped, NULL);
        servers_do(server, "DEL %s", key);
        servers_do(server, "RENAME saved %s", key);
        /* Expiry took the members of records that it did not see, and now puts them back. */
        if (expire && !store_expire(store, &dropped, NULL))
            fail_msg("expiry fails after %s was put right", key);
        if (count_found(store) != CAMPAIGNS)
            fail_msg("not all are found after %s was put right", key);
    }
    freeReplyObject(keys);
    store_close(&store);
    servers_stop(&server);
}

/* How often a command was asked for since the last reset. */
static unsigned calls_of(struct servers_redis *server, const char *command)
{
    redisReply *info = servers_ask(server, "INFO commandstats");
    g_autofree char *name = g_strdup_printf("cmdstat_%s:calls=", command);
    const char *at = strstr(info->str, name);
    unsigned calls = at ? (unsigned)g_ascii_strtoull(at + strlen(name), NULL, 10) : 0;
    freeReplyObject(info);
    return calls;
}

#define CROWD 60 /* campaigns: five members in each of 256 sets */

static void sparse_sets_are_asked_for_at_once_and_crowded_ones_one_by_one(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct store *store = open_store(server->url, 2000);
    must_report(store, 1);
    servers_do(server, "CONFIG RESETSTAT");
    for (unsigned i = 0; i < 10; i++)
        must_find(store, 1, FOUND);
    must_find(store, 1000, NOT_FOUND);
    assert_int_equal(calls_of(server, "sunion"), 11);
    assert_int_equal(calls_of(server, "smembers"), 0);
    for (uint64_t seed = 2; seed <= CROWD; seed++)
        must_report(store, seed);
    for (uint64_t seed = 1; seed <= CROWD; seed++)
        must_find(store, seed, FOUND);
    servers_do(server, "CONFIG RESETSTAT");
    for (uint64_t seed = 1; seed <= CROWD; seed++)
        must_find(store, seed, FOUND);
    must_find(store, 1000, NOT_FOUND);
    assert_int_equal(calls_of(server, "sunion"), 0);
    assert_true(calls_of(server, "smembers") > 10 * CROWD);
    store_close(&store);
    servers_stop(&server);
}

static void put_garbage(struct servers_redis *server, const char *key)
{
    static const char *const members[] = {
        "hello", "-1", "0", "9223372036854775807", "18446744073709551616", "99999999999999999999999999",
        "1e9",   ""
    };
    redisReply *type = servers_ask(server, "TYPE %s", key);
    if (strcmp(type->str, "set") == 0)
        for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
            servers_do(server, "SADD %s %s", key, members[i]);
    else if (strcmp(type->str, "hash") == 0)
        for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
            servers_do(server, "HSET %s %s %s", key, members[i], members[i]);
    freeReplyObject(type);
}

/* Every record, one byte or more of it at random. */
static void spoil_record(struct servers_redis *server, const char *key, unsigned *seed)
{
    redisReply *all = servers_ask(server, "HGETALL %s", key);
    for (size_t i = 0; all->type == REDIS_REPLY_ARRAY && i + 1 < all->elements; i += 2) {
        redisReply *value = all->element[i + 1];
        for (size_t j = 0; j < value->len; j++)
            if ((*seed = *seed * 1103515245 + 12345) >> 16 % 8 == 0 || j == 4)
                value->str[j] = (char)(*seed >> 20);
        servers_do(server, "HSET %s %b %b", key, all->element[i]->str, all->element[i]->len, value->str,
                   value->len / (1 + *seed / 65536 % 3));
    }
    freeReplyObject(all);
}

static void garbage_in_keys_is_no_campaign_and_goes(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct store *store = open_store(server->url, 2000);
    for (uint64_t seed = 1; seed <= CAMPAIGNS; seed++)
        must_report(store, seed);
    redisReply *keys = servers_ask(server, "KEYS *");
    for (size_t i = 0; i < keys->elements; i++)
        put_garbage(server, keys->element[i]->str);
    assert_int_equal(count_found(store), CAMPAIGNS);
    GError *error = NULL;
    uint64_t dropped;
    if (!store_expire(store, &dropped, &error))
        fail_msg("%s", error->message);
    assert_int_equal(count_found(store), CAMPAIGNS);

    unsigned seed = 5;
    for (int round = 0; round < 10; round++) {
        for (size_t i = 0; i < keys->elements; i++)
            if (strstr(keys->element[i]->str, ":r"))
                spoil_record(server, keys->element[i]->str, &seed);
        count_found(store);
        struct store_stats stats;
        store_stats(store, &stats, NULL);
        report(store, 1, NULL);
    }
    freeReplyObject(keys);
    if (!store_expire(store, &dropped, &error))
        fail_msg("%s", error->message);
    for (uint64_t again = 1; again <= CAMPAIGNS; again++)
        must_report(store, again);
    assert_int_equal(count_found(store), CAMPAIGNS);
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
        cmocka_unit_test(a_busy_server_is_unavailable_until_its_script_ends),
        cmocka_unit_test(a_key_of_the_wrong_type_hides_no_more_than_its_own),
        cmocka_unit_test(sparse_sets_are_asked_for_at_once_and_crowded_ones_one_by_one),
        cmocka_unit_test(garbage_in_keys_is_no_campaign_and_goes),
        cmocka_unit_test(a_server_killed_and_restarted_under_traffic_loses_nothing),
        cmocka_unit_test(a_failover_loses_no_acknowledged_campaign),
        cmocka_unit_test(slots_that_move_under_traffic_cost_no_error_and_no_campaign),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
