#include "store/resp.h"
#include "store/sentinel.h"

#include <string.h>

#include "base/error.h"
#include "store/fault.h"
#include "store/reply.h"
#include "store/wire.h"

static bool ask_once(struct wire *wire, const char *master, struct deadline deadline, redisReply **reply_out,
                     GError **error)
{
    const char *argv[] = { "SENTINEL", "get-master-addr-by-name", master };
    wire_append(wire, 3, argv, NULL);
    return wire_ask(wire, reply_out, 1, deadline, error);
}

static bool log_in(struct wire *wire, const struct url *url, const char *name, struct deadline deadline,
                   GError **error)
{
    const char *argv[] = { "AUTH", url->user ? url->user : url->password, url->password };
    redisReply *reply;
    wire_append(wire, url->user ? 3 : 2, argv, NULL);
    if (!wire_ask(wire, &reply, 1, deadline, error))
        return false;
    bool in = reply->type != REDIS_REPLY_ERROR || fault_reply(error, name, reply, true);
    reply_free(reply);
    return in;
}

static bool read_answer(const redisReply *reply, const char *name, const char *master, char **host_out,
                        uint16_t *port_out, GError **error)
{
    if (reply->type == REDIS_REPLY_ERROR)
        return fault_reply(error, name, reply, false);
    guint64 port;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        reply->element[0]->type == REDIS_REPLY_STRING && reply->element[1]->type == REDIS_REPLY_STRING &&
        g_ascii_string_to_unsigned(reply->element[1]->str, 10, 1, 65535, &port, NULL)) {
        *host_out = g_strdup(reply->element[0]->str);
        *port_out = (uint16_t)port;
        return true;
    }
    g_set_error(
        error, REFRAIN_ERROR, REFRAIN_ERROR_REFUSED,
        "sentinel %s: it knows no master \"%s\": check the name in the store URL against sentinel monitor",
        name, master);
    return false;
}

bool sentinel_ask(const struct url *url, const struct url_host *sentinel, struct deadline deadline,
                  char **host_out, uint16_t *port_out, GError **error)
{
    g_autofree char *name = url_address(sentinel->name, sentinel->port);
    const struct wire_target target = {
        .name = name, .host = sentinel->name, .port = sentinel->port, .tls = url->tls
    };
    struct wire *wire = wire_open(&target, deadline, error);
    redisReply *reply = NULL;
    bool answered = wire && ask_once(wire, url->master, deadline, &reply, error);
    if (answered && url->password && reply->type == REDIS_REPLY_ERROR &&
        g_str_has_prefix(reply->str, "NOAUTH")) {
        reply_free(reply);
        answered =
            log_in(wire, url, name, deadline, error) && ask_once(wire, url->master, deadline, &reply, error);
    }
    bool known = answered && read_answer(reply, name, url->master, host_out, port_out, error);
    if (answered)
        reply_free(reply);
    wire_close(&wire);
    return known;
}
