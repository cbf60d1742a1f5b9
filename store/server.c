#include "store/server.h"

#include <string.h>

#include "base/error.h"
#include "store/fault.h"
#include "store/reply.h"

/* Firewalls forget quiet connections without telling anybody: do not trust one after this time. */
#define IDLE_MAX (60 * G_USEC_PER_SEC)

struct server {
    const struct url *url;
    char *address, *host;
    uint16_t port;
    unsigned limit;

    pthread_mutex_t lock;
    pthread_cond_t came_back;
    GQueue idle;      /* the last one in is the first one out: the others grow old and are closed */
    unsigned open;    /* idle, in use or being opened */
    unsigned flushes; /* wires opened before the last flush are closed when they come back */
};

struct server *server_new(const struct url *url, const char *host, uint16_t port, unsigned connections)
{
    struct server *server = g_new0(struct server, 1);
    server->url = url;
    server->host = g_strdup(host);
    server->port = port;
    server->address = url->kind == URL_UNIX ? g_strdup(url->path) : url_address(host, port);
    server->limit = MAX(connections, 1);
    pthread_mutex_init(&server->lock, NULL);
    deadline_cond_init(&server->came_back);
    g_queue_init(&server->idle);
    return server;
}

void server_free(struct server *server)
{
    server_flush(server);
    pthread_cond_destroy(&server->came_back);
    pthread_mutex_destroy(&server->lock);
    g_free(server->address);
    g_free(server->host);
    g_free(server);
}

const char *server_address(const struct server *server)
{
    return server->address;
}

const char *server_host(const struct server *server)
{
    return server->host;
}

int server_compare(const void *a, const void *b)
{
    const struct server *const *x = a, *const *y = b;
    return strcmp((*x)->address, (*y)->address);
}

static void append_words(struct wire *wire, const char *first, const char *second, const char *third)
{
    const char *argv[] = { first, second, third };
    wire_append(wire, third ? 3 : second ? 2 : 1, argv, NULL);
}

static bool is_master(const redisReply *role)
{
    return role->type == REDIS_REPLY_ARRAY && role->elements > 0 && role->element[0]->str &&
           strcmp(role->element[0]->str, "master") == 0;
}

enum greeting { GREET_AUTH, GREET_SELECT, GREET_PING, GREET_ROLE, GREETINGS };

static unsigned append_greeting(struct wire *wire, const struct url *url, enum greeting *asked)
{
    unsigned n = 0;
    if (url->password) {
        append_words(wire, "AUTH", url->user ? url->user : url->password, url->user ? url->password : NULL);
        asked[n++] = GREET_AUTH;
    }
    if (url->db != 0) {
        char db[16];
        g_snprintf(db, sizeof db, "%u", url->db);
        append_words(wire, "SELECT", db, NULL);
        asked[n++] = GREET_SELECT;
    }
    /* A server that is loading, protected or full of clients says so now. */
    append_words(wire, "PING", NULL, NULL);
    asked[n++] = GREET_PING;
    if (url->kind == URL_SENTINEL) {
        append_words(wire, "ROLE", NULL, NULL);
        asked[n++] = GREET_ROLE;
    }
    return n;
}

static enum server_result judge(const struct server *server, enum greeting asked, const redisReply *reply,
                                GError **error)
{
    bool failed = reply->type == REDIS_REPLY_ERROR;
    /* A user that may do our commands, but not PING, is welcome. */
    if (asked == GREET_PING && failed && g_str_has_prefix(reply->str, "NOPERM"))
        return SERVER_READY;
    if (failed) {
        fault_reply(error, server->address, reply, asked == GREET_AUTH);
        return SERVER_DOWN;
    }
    if (asked == GREET_ROLE && !is_master(reply)) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                    "redis %s: it is no primary: the sentinels have not finished their failover, try again",
                    server->address);
        return SERVER_REPLICA;
    }
    return SERVER_READY;
}

static enum server_result greet(struct server *server, struct wire *wire, struct deadline deadline,
                                GError **error)
{
    enum greeting asked[GREETINGS];
    redisReply *replies[GREETINGS];
    unsigned n = append_greeting(wire, server->url, asked);
    if (!wire_ask(wire, replies, n, deadline, error))
        return SERVER_DOWN;
    enum server_result result = SERVER_READY;
    for (unsigned i = 0; i < n; i++) {
        if (result == SERVER_READY)
            result = judge(server, asked[i], replies[i], error);
        reply_free(replies[i]);
    }
    return result;
}

static enum server_result open_wire(struct server *server, struct deadline deadline, struct wire **wire_out,
                                    GError **error)
{
    const struct wire_target target = { .name = server->address,
                                        .path = server->url->kind == URL_UNIX ? server->url->path : NULL,
                                        .host = server->host,
                                        .port = server->port,
                                        .tls = server->url->tls };
    *wire_out = wire_open(&target, deadline, error);
    if (!*wire_out)
        return SERVER_DOWN;
    enum server_result result = greet(server, *wire_out, deadline, error);
    if (result != SERVER_READY)
        wire_close(wire_out);
    return result;
}

/* With the lock held, which it lets go while it asks the kernel: others shall not wait for that. */
static struct wire *take_idle(struct server *server)
{
    struct wire *wire;
    while ((wire = g_queue_pop_head(&server->idle))) {
        pthread_mutex_unlock(&server->lock);
        bool sound = wire_is_quiet(wire) && g_get_monotonic_time() - wire_last_used(wire) < IDLE_MAX;
        if (!sound)
            wire_close(&wire);
        pthread_mutex_lock(&server->lock);
        if (sound)
            return wire;
        server->open--;
        pthread_cond_signal(&server->came_back);
    }
    return NULL;
}

/* With the lock held: an idle wire, or room for a new one, or neither within the deadline. */
static bool await_turn(struct server *server, struct deadline deadline, struct wire **wire_out)
{
    for (;;) {
        if ((*wire_out = take_idle(server)))
            return true;
        if (server->open < server->limit) {
            server->open++;
            return true;
        }
        if (!deadline_wait(deadline, &server->came_back, &server->lock))
            return false;
    }
}

enum server_result server_take(struct server *server, struct deadline deadline, struct wire **wire_out,
                               GError **error)
{
    enum server_result result = SERVER_READY;
    pthread_mutex_lock(&server->lock);
    bool turn = await_turn(server, deadline, wire_out);
    if (turn && !*wire_out) {
        unsigned flushes = server->flushes;
        pthread_mutex_unlock(&server->lock);
        result = open_wire(server, deadline, wire_out, error);
        pthread_mutex_lock(&server->lock);
        if (result == SERVER_READY) {
            *wire_tag(*wire_out) = flushes;
        } else {
            server->open--;
            pthread_cond_signal(&server->came_back);
        }
    }
    pthread_mutex_unlock(&server->lock);
    if (turn)
        return result;
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                "redis %s: all %u connections were busy for %" G_GINT64_FORMAT
                " ms: the store is overloaded; raise timeout, or add servers",
                server->address, server->limit, deadline.budget);
    return SERVER_EXHAUSTED;
}

static void put_back(struct server *server, struct wire *wire, bool sound)
{
    pthread_mutex_lock(&server->lock);
    if (sound && *wire_tag(wire) == server->flushes) {
        g_queue_push_head(&server->idle, wire);
    } else {
        wire_close(&wire);
        server->open--;
    }
    pthread_cond_signal(&server->came_back);
    pthread_mutex_unlock(&server->lock);
}

void server_give(struct server *server, struct wire *wire)
{
    put_back(server, wire, true);
}

void server_drop(struct server *server, struct wire *wire)
{
    put_back(server, wire, false);
}

void server_flush(struct server *server)
{
    struct wire *wire;
    pthread_mutex_lock(&server->lock);
    server->flushes++;
    while ((wire = g_queue_pop_head(&server->idle))) {
        wire_close(&wire);
        server->open--;
    }
    pthread_cond_broadcast(&server->came_back);
    pthread_mutex_unlock(&server->lock);
}

unsigned server_connections(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    unsigned open = server->open;
    pthread_mutex_unlock(&server->lock);
    return open;
}
