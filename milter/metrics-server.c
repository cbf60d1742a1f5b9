#include "milter/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"

/* A monitor asks every few seconds: a handful of connections is plenty, and nobody may keep one for long. */
#define CONNECTIONS_MAX 16u
#define SECONDS_MAX     10u

struct metrics_server {
    struct MHD_Daemon *http;
    struct metrics *metrics;
    struct snapshot_slot *slot;
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
                              char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    g_free(text);
    return result;
}

static enum MHD_Result answer_health(struct MHD_Connection *connection, const struct snapshot *snapshot)
{
    struct store_health health = { 0 };
    store_health(snapshot->store, &health);
    return health.breaker_open ? answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain",
                                        g_strdup("store unavailable: mail passes unscanned\n"))
                               : answer(connection, MHD_HTTP_OK, "text/plain", g_strdup("ok\n"));
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data, size_t *data_size,
                              void **context)
{
    (void)version;
    (void)data;
    (void)context;
    struct metrics_server *server = user;
    *data_size = 0;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", g_strdup("GET only\n"));
    struct snapshot *snapshot = snapshot_slot_get(server->slot);
    enum MHD_Result result;
    if (!snapshot)
        result = answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain", g_strdup("stopping\n"));
    else if (strcmp(url, "/metrics") == 0)
        result = answer(connection, MHD_HTTP_OK, "text/plain; version=0.0.4",
                        metrics_print(server->metrics, snapshot));
    else if (strcmp(url, "/healthz") == 0)
        result = answer_health(connection, snapshot);
    else
        result = answer(connection, MHD_HTTP_NOT_FOUND, "text/plain", g_strdup("/metrics or /healthz\n"));
    snapshot_unref(snapshot);
    return result;
}

/* "9811", "192.0.2.1:9811", "[::1]:9811". A port alone is on loopback: nothing here asks for a password. */
static bool parse_listen(const char *listen, struct sockaddr_storage *out, socklen_t *length)
{
    const char *colon = strrchr(listen, ':');
    g_autofree char *host = colon ? g_strndup(listen, (gsize)(colon - listen)) : g_strdup("127.0.0.1");
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    size_t n = strlen(host);
    guint64 port;
    memset(out, 0, sizeof *out);
    if (!g_ascii_string_to_unsigned(colon ? colon + 1 : listen, 10, 1, 65535, &port, NULL))
        return false;
    if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
        host[n - 1] = '\0';
        *v6 = (struct sockaddr_in6) { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
        *length = sizeof *v6;
        return inet_pton(AF_INET6, host + 1, &v6->sin6_addr) == 1;
    }
    *v4 = (struct sockaddr_in) { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    *length = sizeof *v4;
    return inet_pton(AF_INET, host, &v4->sin_addr) == 1;
}

struct metrics_server *metrics_serve(struct metrics *metrics, struct snapshot_slot *slot, const char *listen,
                                     GError **error)
{
    struct sockaddr_storage address;
    socklen_t length;
    if (!parse_listen(listen, &address, &length)) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG,
                    "metrics cannot listen on \"%s\": use a port, address:port or [address]:port", listen);
        return NULL;
    }
    struct metrics_server *server = g_new0(struct metrics_server, 1);
    server->metrics = metrics;
    server->slot = slot;
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
                     (address.ss_family == AF_INET6 ? (unsigned)MHD_USE_IPv6 : 0);
    server->http = MHD_start_daemon(flags, 0, NULL, NULL, handle, server, MHD_OPTION_SOCK_ADDR, &address,
                                    MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
                                    MHD_OPTION_CONNECTION_TIMEOUT, SECONDS_MAX, MHD_OPTION_END);
    if (!server->http) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG,
                    "metrics cannot listen on %s: %s: choose another port in [metrics] listen", listen,
                    g_strerror(errno));
        g_free(server);
        return NULL;
    }
    return server;
}

void metrics_server_stop(struct metrics_server *server)
{
    if (!server)
        return;
    MHD_stop_daemon(server->http);
    g_free(server);
}
