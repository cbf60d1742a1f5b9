/*
 * Who serves what: the one server, the primary that the sentinels name, or the owners of a cluster's slots.
 *
 * Servers live as long as the route, so that their pointers may be held without a lock; those that
 * left keep no connection. Any thread; one refresh runs at a time, the others wait for its result.
 */
#ifndef STORE_ROUTE_H
#define STORE_ROUTE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/server.h"
#include "store/url.h"

struct route;

/* The URL must outlive it. */
struct route *route_new(const struct url *url, unsigned connections);
void route_free(struct route **route);

enum url_kind route_kind(const struct route *route);

#define ROUTE_ANY (-1)

/*
 * The server of a slot (ROUTE_ANY: of no key). Asks sentinels or cluster when it is not known, or when
 * somebody found that what is known is wrong.
 */
struct server *route_find(struct route *route, int slot, struct deadline deadline, GError **error);

/* The server at an address that link_servers() gave. NULL: there is none. */
struct server *route_at(struct route *route, const char *address);

/* The server did not answer, or is no primary any more: ask before the next use. */
void route_suspect(struct route *route, struct server *server);

/* Follows a MOVED or ASK. Learns from MOVED; asks the new owner for the whole table if ours is not fresh. */
struct server *route_redirect(struct route *route, const redisReply *reply, struct server *from,
                              struct deadline deadline);

/* Addresses of all primaries; free with g_strfreev(). */
char **route_addresses(struct route *route, struct deadline deadline, GError **error);

unsigned route_connections(struct route *route, uint64_t *refreshes_out);

#endif
