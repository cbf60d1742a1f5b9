#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "store/cluster.h"
#include "tests/store/survive.h"

/* The whole store under traffic, while servers are killed, replaced and resharded. */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_killed_and_restarted_under_traffic_loses_nothing),
        cmocka_unit_test(a_failover_loses_no_acknowledged_campaign),
        cmocka_unit_test(slots_that_move_under_traffic_cost_no_error_and_no_campaign),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
