/*
 * What the daemon counts, and the small HTTP server that tells it (libmicrohttpd): /metrics in Prometheus'
 * text format, /healthz for monitoring. Counting is a few atomic additions; any thread.
 */
#ifndef MILTER_METRICS_H
#define MILTER_METRICS_H

#include <glib.h>
#include <stdint.h>

#include "milter/decide.h"
#include "milter/snapshot.h"

struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

void metrics_message(struct metrics *metrics, const struct decision *decision, int64_t microseconds);
void metrics_trap_report(struct metrics *metrics, bool stored);
void metrics_reload(struct metrics *metrics, bool loaded);
void metrics_refused_connection(struct metrics *metrics);

/* Gauges that the daemon sets. */
void metrics_connection(struct metrics *metrics, int change);
int metrics_connections(struct metrics *metrics);
void metrics_descriptors(struct metrics *metrics, unsigned open, unsigned limit);

/* The whole page, for a snapshot. */
char *metrics_print(struct metrics *metrics, const struct snapshot *snapshot);

/*
 * Serves on "port" (loopback), "address:port" or "[address]:port". NULL and an error when it cannot.
 * Whoever reads the page gets the current snapshot's store and lexicon.
 */
struct metrics_server;
struct metrics_server *metrics_serve(struct metrics *metrics, struct snapshot_slot *slot, const char *listen,
                                     GError **error);
void metrics_server_stop(struct metrics_server *server);

#endif
