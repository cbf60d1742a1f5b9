/*
 * One Redis server and its bounded pool of connections, greeted (AUTH, SELECT, PING) and ready.
 *
 *      server_take ──▶ an idle wire, else a new one, else wait ──▶ server_give (all replies read)
 *                                                              └─▶ server_drop (anything else)
 *
 * Any thread. Who takes from several servers at once takes in the order of server_compare(), so that two
 * threads never wait for each other.
 */
#ifndef STORE_SERVER_H
#define STORE_SERVER_H

#include <glib.h>
#include <stdbool.h>

#include "store/url.h"
#include "store/wire.h"

struct server;

/* User, password, database and, with URL_UNIX, the socket are the URL's, which must outlive it. */
struct server *server_new(const struct url *url, const char *host, uint16_t port, unsigned connections);

/* All wires must be back. */
void server_free(struct server *server);

/* "host:port", or the path of the socket. */
const char *server_address(const struct server *server);
const char *server_host(const struct server *server);

enum server_result {
    SERVER_READY,
    SERVER_DOWN,      /* not reached, or it did not let us in */
    SERVER_REPLICA,   /* its ROLE is not master (asked with URL_SENTINEL only) */
    SERVER_EXHAUSTED, /* all connections were in use until the deadline: says nothing of the server */
};

enum server_result server_take(struct server *server, struct deadline deadline, struct wire **wire_out,
                               GError **error);
void server_give(struct server *server, struct wire *wire);
void server_drop(struct server *server, struct wire *wire);

/* Closes the idle wires, and those in use when they come back: it is not the primary any more. */
void server_flush(struct server *server);

unsigned server_connections(struct server *server);

int server_compare(const void *a, const void *b); /* of pointers to pointers, for qsort() */

#endif
