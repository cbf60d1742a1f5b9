#include "milter/metrics.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <unistd.h>

#include "autoconfig.h"

/* Upper edges of the latency histogram, in microseconds; the last bucket is +Inf. */
static const int64_t edges[] = { 100,   250,   500,    1000,   2500,   5000,   10000,
                                 25000, 50000, 100000, 250000, 500000, 1000000 };
#define BUCKETS (G_N_ELEMENTS(edges) + 1)

struct metrics {
    _Atomic uint64_t messages[VERDICTS][ACTIONS];
    _Atomic uint64_t bucket[BUCKETS];
    _Atomic uint64_t microseconds;
    _Atomic uint64_t trap_reports[2], reloads[2], refused;
    atomic_int connections;
    atomic_uint descriptors, descriptor_limit;
    int64_t started; /* seconds since 1970 */
};

struct metrics *metrics_new(void)
{
    struct metrics *metrics = g_new0(struct metrics, 1);
    metrics->started = g_get_real_time() / G_USEC_PER_SEC;
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    g_free(metrics);
}

void metrics_message(struct metrics *metrics, const struct decision *decision, int64_t microseconds)
{
    size_t b = 0;
    while (b < G_N_ELEMENTS(edges) && microseconds > edges[b])
        b++;
    atomic_fetch_add(&metrics->messages[decision->verdict][decision->action], 1);
    atomic_fetch_add(&metrics->bucket[b], 1);
    atomic_fetch_add(&metrics->microseconds, (uint64_t)MAX(microseconds, 0));
}

void metrics_trap_report(struct metrics *metrics, bool stored)
{
    atomic_fetch_add(&metrics->trap_reports[stored], 1);
}

void metrics_reload(struct metrics *metrics, bool loaded)
{
    atomic_fetch_add(&metrics->reloads[loaded], 1);
}

void metrics_refused_connection(struct metrics *metrics)
{
    atomic_fetch_add(&metrics->refused, 1);
}

void metrics_connection(struct metrics *metrics, int change)
{
    atomic_fetch_add(&metrics->connections, change);
}

int metrics_connections(struct metrics *metrics)
{
    return atomic_load(&metrics->connections);
}

void metrics_descriptors(struct metrics *metrics, unsigned open, unsigned limit)
{
    atomic_store(&metrics->descriptors, open);
    atomic_store(&metrics->descriptor_limit, limit);
}

/* --- the page --------------------------------------------------------------------------------------- */

static void head(GString *page, const char *name, const char *type, const char *help)
{
    g_string_append_printf(page, "# HELP refrain_%s %s\n# TYPE refrain_%s %s\n", name, help, name, type);
}

static void number(GString *page, const char *name, const char *type, const char *help, uint64_t value)
{
    head(page, name, type, help);
    g_string_append_printf(page, "refrain_%s %" PRIu64 "\n", name, value);
}

static void pair(GString *page, const char *name, const char *help, const char *label,
                 const char *const words[2], _Atomic uint64_t values[2])
{
    head(page, name, "counter", help);
    for (int i = 0; i < 2; i++)
        g_string_append_printf(page, "refrain_%s{%s=\"%s\"} %" PRIu64 "\n", name, label, words[i],
                               atomic_load(&values[i]));
}

static void print_messages(GString *page, struct metrics *metrics)
{
    head(page, "messages_total", "counter", "Messages by verdict and action.");
    for (int v = 0; v < VERDICTS; v++)
        for (int a = 0; a < ACTIONS; a++) {
            uint64_t n = atomic_load(&metrics->messages[v][a]);
            /* Always there for the pairs that are common, so that a rate starts from 0. */
            if (n || a == CONFIG_ACTION_NONE)
                g_string_append_printf(page,
                                       "refrain_messages_total{verdict=\"%s\",action=\"%s\"} %" PRIu64 "\n",
                                       verdict_name((enum verdict)v), action_name((enum config_action)a), n);
        }
}

static void print_latency(GString *page, struct metrics *metrics)
{
    static const char name[] = "message_duration_seconds";
    uint64_t total = 0;
    head(page, name, "histogram", "Time from the end of a message to its verdict.");
    for (size_t b = 0; b < BUCKETS; b++) {
        total += atomic_load(&metrics->bucket[b]);
        if (b < G_N_ELEMENTS(edges))
            g_string_append_printf(page, "refrain_%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
                                   (double)edges[b] / 1e6, total);
        else
            g_string_append_printf(page, "refrain_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, total);
    }
    g_string_append_printf(page, "refrain_%s_sum %.6f\nrefrain_%s_count %" PRIu64 "\n", name,
                           (double)atomic_load(&metrics->microseconds) / 1e6, name, total);
}

static void print_store(GString *page, const struct snapshot *snapshot)
{
    struct store_health health = { 0 };
    store_health(snapshot->store, &health);
    number(page, "store_lookups_total", "counter", "Look-ups in the store.", health.lookups);
    number(page, "store_errors_total", "counter", "Calls of the store that failed.", health.errors);
    number(page, "store_timeouts_total", "counter", "Calls of the store that were not answered in time.",
           health.timeouts);
    number(page, "store_breaker_open", "gauge", "1 while the store is not asked because it failed too often.",
           health.breaker_open);
    number(page, "store_connections", "gauge", "Open connections to the store.", health.connections);
}

char *metrics_print(struct metrics *metrics, const struct snapshot *snapshot)
{
    static const char *const stored[2] = { "failed", "stored" }, *const loaded[2] = { "refused", "loaded" };
    GString *page = g_string_new(NULL);
    print_messages(page, metrics);
    print_latency(page, metrics);
    pair(page, "trap_reports_total", "Messages to spam traps.", "result", stored, metrics->trap_reports);
    pair(page, "reloads_total", "Reloads of configuration and lexicon.", "result", loaded, metrics->reloads);
    print_store(page, snapshot);
    number(page, "connections", "gauge", "Connections of the MTA.",
           (uint64_t)MAX(metrics_connections(metrics), 0));
    number(page, "connections_refused_total", "counter",
           "Connections above max-connections, passed unscanned.", atomic_load(&metrics->refused));
    number(page, "open_fds", "gauge", "Open file descriptors.", atomic_load(&metrics->descriptors));
    number(page, "max_fds", "gauge", "File descriptors that may be open.",
           atomic_load(&metrics->descriptor_limit));
    number(page, "start_time_seconds", "gauge", "Start of the daemon, in seconds since 1970.",
           (uint64_t)metrics->started);
    head(page, "lexicon_info", "gauge", "The lexicon in use.");
    g_string_append_printf(page, "refrain_lexicon_info{id=\"%016" PRIx64 "\"} 1\n",
                           lexicon_id(snapshot->lexicon));
    head(page, "build_info", "gauge", "The program.");
    g_string_append_printf(page, "refrain_build_info{version=\"%s\"} 1\n", PACKAGE_VERSION);
    return g_string_free(page, FALSE);
}
