#include "store/route.h"

#include <string.h>

#include "base/error.h"
#include "store/cluster.h"
#include "store/fault.h"
#include "store/sentinel.h"

/* During a resharding every slot that moves says so: not more than one look at the whole table a second. */
#define TABLE_FRESH G_USEC_PER_SEC

struct route {
    const struct url *url;
    unsigned connections;

    pthread_mutex_t lock;
    pthread_cond_t refreshed;
    GHashTable *servers; /* address -> server, never removed */
    bool refreshing;
    uint64_t refreshes;
    int64_t refreshed_at;
    unsigned next_sentinel;

    bool known;             /* what follows may be used */
    struct server *primary; /* all but clusters */
    struct server **owners; /* of CLUSTER_SLOTS slots */
};

/* With the lock held. */
static struct server *get_server(struct route *route, const char *host, uint16_t port)
{
    g_autofree char *address = url_address(host, port);
    struct server *server = g_hash_table_lookup(route->servers, address);
    if (!server) {
        server = server_new(route->url, host, port, route->connections);
        g_hash_table_insert(route->servers, (void *)server_address(server), server);
    }
    return server;
}

struct route *route_new(const struct url *url, unsigned connections)
{
    struct route *route = g_new0(struct route, 1);
    route->url = url;
    route->connections = connections;
    pthread_mutex_init(&route->lock, NULL);
    deadline_cond_init(&route->refreshed);
    route->servers = g_hash_table_new(g_str_hash, g_str_equal);
    if (url->kind == URL_UNIX) {
        route->primary = server_new(url, url->path, 0, connections);
        g_hash_table_insert(route->servers, (void *)server_address(route->primary), route->primary);
    } else if (url->kind == URL_REDIS) {
        route->primary = get_server(route, url->hosts[0].name, url->hosts[0].port);
    } else if (url->kind == URL_CLUSTER) {
        route->owners = g_new0(struct server *, CLUSTER_SLOTS);
        for (unsigned i = 0; i < url->n_hosts; i++)
            get_server(route, url->hosts[i].name, url->hosts[i].port);
    }
    route->known = route->primary != NULL;
    return route;
}

void route_free(struct route **route)
{
    struct route *r = *route;
    if (!r)
        return;
    GHashTableIter iter;
    void *server;
    g_hash_table_iter_init(&iter, r->servers);
    while (g_hash_table_iter_next(&iter, NULL, &server))
        server_free(server);
    g_hash_table_destroy(r->servers);
    pthread_cond_destroy(&r->refreshed);
    pthread_mutex_destroy(&r->lock);
    g_free(r->owners);
    g_free(r);
    *route = NULL;
}

enum url_kind route_kind(const struct route *route)
{
    return route->url->kind;
}

/* Of several failures people want to read the one that they can do something about: "wrong password". */
static void keep_telling(GError **kept, GError *other)
{
    if (*kept && g_error_matches(*kept, REFRAIN_ERROR, REFRAIN_ERROR_REFUSED)) {
        g_error_free(other);
        return;
    }
    g_clear_error(kept);
    *kept = other;
}

/* --- Sentinel ------------------------------------------------------------------------------------ */

/* The server that a sentinel names, if it lets us in and is a primary. */
static struct server *try_sentinel(struct route *route, const struct url_host *sentinel,
                                   struct deadline deadline, GError **error)
{
    g_autofree char *host = NULL;
    uint16_t port;
    if (!sentinel_ask(route->url, sentinel, deadline, &host, &port, error))
        return NULL;
    pthread_mutex_lock(&route->lock);
    struct server *server = get_server(route, host, port);
    pthread_mutex_unlock(&route->lock);
    struct wire *wire;
    if (server_take(server, deadline, &wire, error) != SERVER_READY)
        return NULL;
    server_give(server, wire);
    return server;
}

static bool refresh_sentinel(struct route *route, struct deadline deadline, GError **error)
{
    unsigned n = route->url->n_hosts;
    for (unsigned i = 0; i < n; i++) {
        unsigned which = (route->next_sentinel + i) % n;
        GError *failure = NULL;
        struct server *server =
            try_sentinel(route, &route->url->hosts[which], deadline_share(deadline, n - i), &failure);
        if (server) {
            g_clear_error(error);
            pthread_mutex_lock(&route->lock);
            route->primary = server;
            pthread_mutex_unlock(&route->lock);
            route->next_sentinel = which;
            return true;
        }
        keep_telling(error, failure);
    }
    route->next_sentinel++;
    return false;
}

/* --- Cluster ------------------------------------------------------------------------------------- */

/* Takes over a table; servers without a slot keep no connection. With the lock held. */
static void adopt(struct route *route, const GArray *ranges)
{
    g_autoptr(GHashTable) owners = g_hash_table_new(NULL, NULL);
    memset(route->owners, 0, CLUSTER_SLOTS * sizeof *route->owners);
    for (guint i = 0; i < ranges->len; i++) {
        const struct cluster_range *range = &g_array_index(ranges, struct cluster_range, i);
        struct server *server = get_server(route, range->host, range->port);
        g_hash_table_add(owners, server);
        for (unsigned slot = range->first; slot <= range->last; slot++)
            route->owners[slot] = server;
    }
    GHashTableIter iter;
    void *server;
    g_hash_table_iter_init(&iter, route->servers);
    while (g_hash_table_iter_next(&iter, NULL, &server))
        if (!g_hash_table_contains(owners, server))
            server_flush(server);
}

static bool try_node(struct route *route, struct server *server, struct deadline deadline, GError **error)
{
    struct wire *wire;
    if (server_take(server, deadline, &wire, error) != SERVER_READY)
        return false;
    GArray *ranges = cluster_ask(wire, server_address(server), server_host(server), deadline, error);
    if (!ranges) {
        server_drop(server, wire);
        return false;
    }
    server_give(server, wire);
    pthread_mutex_lock(&route->lock);
    adopt(route, ranges);
    pthread_mutex_unlock(&route->lock);
    g_array_unref(ranges);
    return true;
}

/* Everybody whom we know, the preferred one first: known owners, then the nodes of the URL, then the rest. */
static GPtrArray *nodes_to_ask(struct route *route, struct server *preferred)
{
    GPtrArray *nodes = g_ptr_array_new();
    if (preferred)
        g_ptr_array_add(nodes, preferred);
    pthread_mutex_lock(&route->lock);
    struct server *last = NULL;
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        if (route->owners[slot] && route->owners[slot] != last &&
            !g_ptr_array_find(nodes, route->owners[slot], NULL))
            g_ptr_array_add(nodes, route->owners[slot]);
        last = route->owners[slot];
    }
    GHashTableIter iter;
    void *server;
    g_hash_table_iter_init(&iter, route->servers);
    while (g_hash_table_iter_next(&iter, NULL, &server))
        if (!g_ptr_array_find(nodes, server, NULL))
            g_ptr_array_add(nodes, server);
    pthread_mutex_unlock(&route->lock);
    return nodes;
}

static bool refresh_cluster(struct route *route, struct server *preferred, struct deadline deadline,
                            GError **error)
{
    g_autoptr(GPtrArray) nodes = nodes_to_ask(route, preferred);
    for (guint i = 0; i < nodes->len; i++) {
        GError *failure = NULL;
        if (try_node(route, nodes->pdata[i], deadline_share(deadline, nodes->len - i), &failure)) {
            g_clear_error(error);
            return true;
        }
        keep_telling(error, failure);
    }
    return false;
}

/* --- both ---------------------------------------------------------------------------------------- */

/* With the lock held, which it lets go meanwhile. The error is never NULL here. */
static bool refresh(struct route *route, struct server *preferred, struct deadline deadline, GError **error)
{
    route->refreshing = true;
    pthread_mutex_unlock(&route->lock);
    bool done = route->url->kind == URL_SENTINEL ? refresh_sentinel(route, deadline, error)
                                                 : refresh_cluster(route, preferred, deadline, error);
    pthread_mutex_lock(&route->lock);
    route->refreshing = false;
    route->refreshes++;
    if (done) {
        route->known = true;
        route->refreshed_at = g_get_monotonic_time();
    }
    pthread_cond_broadcast(&route->refreshed);
    return done;
}

/* With the lock held: waits for, or makes, a route that is known. */
static bool ensure(struct route *route, struct deadline deadline, GError **error)
{
    while (!route->known && route->refreshing)
        if (!deadline_wait(deadline, &route->refreshed, &route->lock))
            return fault_timeout(error, route->url->name, deadline);
    return route->known || refresh(route, NULL, deadline, error);
}

static struct server *find_locked(struct route *route, int slot)
{
    if (!route->owners)
        return route->primary;
    if (slot != ROUTE_ANY)
        return route->owners[slot];
    for (unsigned i = 0; i < CLUSTER_SLOTS; i++)
        if (route->owners[i])
            return route->owners[i];
    return NULL;
}

struct server *route_find(struct route *route, int slot, struct deadline deadline, GError **error)
{
    GError *reason = NULL;
    pthread_mutex_lock(&route->lock);
    bool known = ensure(route, deadline, &reason);
    struct server *server = known ? find_locked(route, slot) : NULL;
    if (known && !server)
        route->known = false;
    pthread_mutex_unlock(&route->lock);
    if (reason)
        g_propagate_error(error, reason);
    else if (!server)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                    "%s: slot %d of the cluster has no owner: see redis-cli --cluster check",
                    route->url->name, slot);
    return server;
}

struct server *route_at(struct route *route, const char *address)
{
    pthread_mutex_lock(&route->lock);
    struct server *server = g_hash_table_lookup(route->servers, address);
    pthread_mutex_unlock(&route->lock);
    return server;
}

void route_suspect(struct route *route, struct server *server)
{
    pthread_mutex_lock(&route->lock);
    if (route->owners || (route->url->kind == URL_SENTINEL && route->primary == server))
        route->known = false;
    pthread_mutex_unlock(&route->lock);
    server_flush(server);
}

struct server *route_redirect(struct route *route, const redisReply *reply, struct server *from,
                              struct deadline deadline)
{
    unsigned slot;
    g_autofree char *host = NULL;
    uint16_t port;
    if (!route->owners || !cluster_redirect(reply, server_host(from), &slot, &host, &port))
        return NULL;
    pthread_mutex_lock(&route->lock);
    struct server *server = get_server(route, host, port);
    if (g_str_has_prefix(reply->str, "MOVED")) {
        bool fresh = g_get_monotonic_time() - route->refreshed_at < TABLE_FRESH;
        if (!fresh && !route->refreshing) {
            /* The redirection alone is enough to go on with: a table that cannot be had is no error. */
            g_autoptr(GError) ignored = NULL;
            refresh(route, server, deadline_share(deadline, 2), &ignored);
        }
        route->owners[slot] = server;
    }
    pthread_mutex_unlock(&route->lock);
    return server;
}

char **route_addresses(struct route *route, struct deadline deadline, GError **error)
{
    GPtrArray *addresses = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    GError *reason = NULL;
    pthread_mutex_lock(&route->lock);
    bool known = ensure(route, deadline, &reason);
    for (int slot = 0; known && slot < (route->owners ? CLUSTER_SLOTS : 1); slot++) {
        struct server *server = find_locked(route, slot);
        if (server && g_hash_table_add(seen, server))
            g_ptr_array_add(addresses, g_strdup(server_address(server)));
    }
    pthread_mutex_unlock(&route->lock);
    g_ptr_array_add(addresses, NULL);
    if (known)
        return (char **)g_ptr_array_free(addresses, FALSE);
    g_propagate_error(error, reason);
    g_ptr_array_free(addresses, TRUE);
    return NULL;
}

unsigned route_connections(struct route *route, uint64_t *refreshes_out)
{
    unsigned open = 0;
    GHashTableIter iter;
    void *server;
    pthread_mutex_lock(&route->lock);
    g_hash_table_iter_init(&iter, route->servers);
    while (g_hash_table_iter_next(&iter, NULL, &server))
        open += server_connections(server);
    *refreshes_out = route->refreshes;
    pthread_mutex_unlock(&route->lock);
    return open;
}
