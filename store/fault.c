#include "store/fault.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

#define UNAVAILABLE REFRAIN_ERROR_UNAVAILABLE
#define REFUSED     REFRAIN_ERROR_REFUSED

/* By the beginning of the reply; the first that fits. */
static const struct fault {
    const char *begin;
    enum fault_kind kind;
    enum refrain_error code;
    const char *sentence; /* NULL: that the user may not, with what he may not */
} faults[] = {
    { "MOVED ", FAULT_MOVED, REFUSED,
      "it is part of a cluster: write redis-cluster://host:port in the store URL" },
    { "ASK ", FAULT_ASK, REFUSED,
      "it is part of a cluster: write redis-cluster://host:port in the store URL" },
    { "TRYAGAIN", FAULT_AGAIN, UNAVAILABLE, "the keys are on their way to another node: try again" },
    { "CLUSTERDOWN", FAULT_AGAIN, UNAVAILABLE,
      "the cluster is down, some slots have no owner: see redis-cli --cluster check" },
    { "READONLY", FAULT_READONLY, REFUSED,
      "it is a read-only replica: point url at the primary, and read-url at replicas" },
    { "LOADING", FAULT_SERVER, UNAVAILABLE,
      "it is still loading its data: it will answer when that is done" },
    { "BUSY ", FAULT_SERVER, UNAVAILABLE, "a script keeps it busy: see redis-cli SCRIPT KILL" },
    { "MASTERDOWN", FAULT_SERVER, UNAVAILABLE,
      "it is a replica that lost its primary: see INFO replication there" },
    { "ERR max number of clients", FAULT_SERVER, UNAVAILABLE,
      "it has too many clients: raise maxclients there, or close some" },
    { "NOREPLICAS", FAULT_SERVER, UNAVAILABLE,
      "it has too few replicas to take writes: see min-replicas-to-write there" },
    { "WRONGPASS", FAULT_SERVER, REFUSED,
      "wrong user or password: check the store URL and password-file against the server's ACL" },
    { "ERR invalid password", FAULT_SERVER, REFUSED,
      "wrong password: check the store URL and password-file" },
    { "ERR AUTH <password> called without any password", FAULT_SERVER, REFUSED,
      "it has no password, but one was given: take it out of the store URL and password-file" },
    { "ERR Client sent AUTH, but no password", FAULT_SERVER, REFUSED,
      "it has no password, but one was given: take it out of the store URL and password-file" },
    { "NOAUTH", FAULT_SERVER, REFUSED,
      "it wants a password: set password-file, or put it into the store URL" },
    { "NOPERM", FAULT_SERVER, REFUSED, NULL },
    { "DENIED", FAULT_SERVER, REFUSED,
      "it runs in protected mode: set a password or bind address there, or use a UNIX socket" },
    { "OOM ", FAULT_SERVER, REFUSED, "its memory is full: raise maxmemory there, or shorten ttl" },
    { "MISCONF", FAULT_SERVER, REFUSED,
      "it cannot save to its disk and refuses writes: see its log, and free space there" },
    { "ERR DB index is out of range", FAULT_SERVER, REFUSED,
      "it does not have that database: lower /db in the store URL, or raise databases there" },
    { "ERR SELECT is not allowed in cluster mode", FAULT_SERVER, REFUSED,
      "it is part of a cluster: write redis-cluster://host:port in the store URL" },
    { "ERR This instance has cluster support disabled", FAULT_SERVER, REFUSED,
      "it is not part of a cluster: write redis://host:port in the store URL" },
    { "WRONGTYPE", FAULT_COMMAND, REFUSED,
      "a key of ours has a foreign type: another program writes there; delete the key, or use another "
      "database" },
};

static const struct fault *find(const redisReply *reply)
{
    for (size_t i = 0; i < G_N_ELEMENTS(faults); i++)
        if (strncmp(reply->str, faults[i].begin, strlen(faults[i].begin)) == 0)
            return &faults[i];
    return NULL;
}

enum fault_kind fault_kind(const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ERROR)
        return FAULT_NONE;
    const struct fault *fault = find(reply);
    return fault ? fault->kind : FAULT_COMMAND;
}

static bool say(GError **error, enum refrain_error code, const char *server, const char *sentence)
{
    g_set_error(error, REFRAIN_ERROR, (gint)code, "redis%s%s: %s", server ? " " : "", server ? server : "",
                sentence);
    return false;
}

/* What it answered, fit for a line; free it. */
static char *quote(const redisReply *reply)
{
    char *text = g_strndup(reply->str, MIN(reply->len, 160));
    for (char *c = text; *c; c++)
        if (g_ascii_iscntrl(*c))
            *c = '?';
    return text;
}

bool fault_reply(GError **error, const char *server, const redisReply *reply, bool secret)
{
    const struct fault *fault = find(reply);
    if (fault && fault->sentence)
        return say(error, fault->code, server, fault->sentence);
    if (secret)
        return say(error, REFUSED, server,
                   "it does not accept the password: check user, password and its ACL");
    g_autofree char *answer = quote(reply);
    g_autofree char *sentence = g_strdup_printf(
        fault ? "the user may not do this (\"%s\"): give it with ACL SETUSER the commands and keys that "
                "doc/store.md names"
              : "it answered \"%s\": see its log",
        answer);
    return say(error, REFUSED, server, sentence);
}

bool fault_errno(GError **error, const char *server, int number)
{
    static const struct {
        int number;
        const char *sentence;
    } rows[] = {
        { ECONNREFUSED, "connection refused: see that redis-server runs and listens there" },
        { ENOENT, "there is no such socket: see that redis-server runs, with unixsocket set to this path" },
        { EACCES, "permission denied: add the user that runs this to the group of the socket" },
        { ECONNRESET, "it closed the connection: see its log, and whether it wants TLS (rediss:)" },
        { EPIPE, "it closed the connection: see its log, and whether it wants TLS (rediss:)" },
        { EHOSTUNREACH, "no way to that host: check address, routes and firewall" },
        { ENETUNREACH, "no way to that network: check address, routes and firewall" },
        { EMFILE, "too many open files: raise LimitNOFILE of this program" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].number == number)
            return say(error, UNAVAILABLE, server, rows[i].sentence);
    g_autofree char *sentence = g_strdup_printf("%s: check the address and the network", g_strerror(number));
    return say(error, UNAVAILABLE, server, sentence);
}

bool fault_timeout(GError **error, const char *server, struct deadline deadline)
{
    g_autofree char *sentence =
        g_strdup_printf("no answer within %" G_GINT64_FORMAT
                        " ms: it is frozen, overloaded or far; see its log, or raise timeout",
                        deadline.budget);
    return say(error, UNAVAILABLE, server, sentence);
}
