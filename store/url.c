#include "store/url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define PASSWORD_MAX 4096
#define DB_MAX       65535

static const struct scheme {
    const char *prefix;
    enum url_kind kind;
    uint16_t port;
    bool secure;
} schemes[] = {
    { "lmdb:", URL_LMDB, 0, false },
    { "redis+unix:", URL_UNIX, 0, false },
    { "redis://", URL_REDIS, 6379, false },
    { "rediss://", URL_REDIS, 6379, true },
    { "redis-sentinel://", URL_SENTINEL, 26379, false },
    { "rediss-sentinel://", URL_SENTINEL, 26379, true },
    { "redis-cluster://", URL_CLUSTER, 6379, false },
    { "rediss-cluster://", URL_CLUSTER, 6379, true },
};

/* Every sentence about a URL. It never quotes from one that has an @, as what it quotes may be a password. */
static bool complain(GError **error, const char *what)
{
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG, "store URL: %s", what);
    return false;
}

char *url_address(const char *host, unsigned port)
{
    return g_strdup_printf(strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
}

static bool parse_number(const char *text, unsigned max, unsigned *out)
{
    guint64 value;
    if (!g_ascii_string_to_unsigned(text, 10, 0, max, &value, NULL))
        return false;
    *out = (unsigned)value;
    return true;
}

/* "host", "host:port", "[v6]", "[v6]:port"; port 0 as the default: one must be there. */
static bool split_host(const char *text, uint16_t default_port, struct url_host *out)
{
    const char *end, *port = NULL;
    if (*text == '[') {
        end = strchr(++text, ']');
        if (!end || (end[1] != '\0' && end[1] != ':'))
            return false;
        port = end[1] == ':' ? end + 2 : NULL;
    } else {
        end = strchr(text, ':');
        port = end ? end + 1 : NULL;
        end = end ? end : text + strlen(text);
    }
    unsigned number = default_port;
    if (end == text || end - text > 253 || (port && !parse_number(port, 65535, &number)) || number == 0)
        return false;
    for (const char *c = text; c < end; c++)
        if (!g_ascii_isgraph(*c))
            return false;
    out->name = g_strndup(text, (gsize)(end - text));
    out->port = (uint16_t)number;
    return true;
}

bool url_split_address(const char *address, char **host_out, uint16_t *port_out)
{
    const char *colon = strrchr(address, ':');
    struct url_host host;
    /* Redis writes IPv6 addresses without brackets: the last colon is the port's. */
    g_autofree char *bracketed = NULL;
    if (colon && *address != '[' && memchr(address, ':', (size_t)(colon - address)))
        address = bracketed = g_strdup_printf("[%.*s]%s", (int)(colon - address), address, colon);
    if (!split_host(address, 0, &host))
        return false;
    *host_out = host.name;
    *port_out = host.port;
    return true;
}

static bool parse_hosts(struct url *url, const char *list, uint16_t default_port, bool quote, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(list, ",", URL_HOSTS_MAX + 1);
    guint n = g_strv_length(parts);
    if (n > URL_HOSTS_MAX || (url->kind == URL_REDIS && n > 1))
        return complain(error,
                        url->kind == URL_REDIS
                            ? "redis:// takes one host: for several use redis-sentinel:// or redis-cluster://"
                            : "there are too many hosts: a few of them are enough");
    url->hosts = g_new0(struct url_host, n + 1);
    for (guint i = 0; i < n; i++) {
        if (!split_host(parts[i], default_port, &url->hosts[i])) {
            g_autofree char *what =
                g_strdup_printf("\"%s\" is not host:port: write IPv6 addresses in brackets", parts[i]);
            return complain(error,
                            quote ? what
                                  : "what follows the @ is not host:port: percent-encode @ : / ? % in the "
                                    "password, write IPv6 addresses in brackets");
        }
        url->n_hosts++;
    }
    return n > 0 ? true : complain(error, "there is no host: write redis://localhost:6379");
}

static bool parse_user(struct url *url, const char *text, GError **error)
{
    const char *colon = strchr(text, ':');
    g_autofree char *user = g_strndup(text, colon ? (gsize)(colon - text) : strlen(text));
    url->user = g_uri_unescape_string(user, NULL);
    url->password = colon ? g_uri_unescape_string(colon + 1, NULL) : NULL;
    if (!url->user || (colon && !url->password))
        return complain(error,
                        "user or password has a % that is not followed by two hex digits: write %25 for %");
    if (*url->user == '\0')
        g_clear_pointer(&url->user, g_free);
    if (!url->user && url->password && *url->password == '\0')
        g_clear_pointer(&url->password, g_free);
    return true;
}

static bool parse_db(struct url *url, const char *text, GError **error)
{
    if (parse_number(text, DB_MAX, &url->db))
        return true;
    return complain(error, "the database is not a number: write 0, 1, 2…");
}

/* What follows the hosts: "db", or "master[/db]". */
static bool parse_tail(struct url *url, const char *tail, GError **error)
{
    if (url->kind == URL_CLUSTER)
        return *tail == '\0' || complain(error, "a cluster has database 0 only: leave /db away");
    if (url->kind == URL_REDIS)
        return *tail == '\0' || parse_db(url, tail, error);
    const char *slash = strchr(tail, '/');
    url->master = g_strndup(tail, slash ? (gsize)(slash - tail) : strlen(tail));
    if (*url->master == '\0')
        return complain(error, "the name of the master is missing: redis-sentinel://host:26379/mymaster");
    return !slash || slash[1] == '\0' || parse_db(url, slash + 1, error);
}

static bool parse_network(struct url *url, const char *rest, uint16_t default_port, GError **error)
{
    const char *slash = strchr(rest, '/');
    g_autofree char *authority = g_strndup(rest, slash ? (gsize)(slash - rest) : strlen(rest));
    char *hosts = authority, *at = strrchr(authority, '@');
    if (at) {
        *at = '\0';
        hosts = at + 1;
        if (!parse_user(url, authority, error))
            return false;
    }
    return parse_hosts(url, hosts, default_port, !strchr(rest, '@'), error) &&
           parse_tail(url, slash ? slash + 1 : "", error);
}

static bool parse_unix(struct url *url, const char *rest, GError **error)
{
    const char *query = strrchr(rest, '?');
    url->path = g_strndup(rest, query ? (gsize)(query - rest) : strlen(rest));
    if (url->path[0] != '/')
        return complain(error,
                        "the path of the socket does not start with /: redis+unix:/run/redis/redis.sock");
    if (strlen(url->path) >= 108) /* sun_path */
        return complain(error, "the path of the socket is too long: the system allows 107 bytes");
    g_auto(GStrv) pairs = query ? g_strsplit(query + 1, "&", 8) : NULL;
    for (char **pair = pairs; pair && *pair; pair++) {
        if (g_str_has_prefix(*pair, "db=")) {
            if (!parse_db(url, *pair + 3, error))
                return false;
        } else if (g_str_has_prefix(*pair, "user=") && (*pair)[5] && !url->user) {
            if (!(url->user = g_uri_unescape_string(*pair + 5, NULL)))
                return complain(error, "the user has a % that is not followed by two hex digits");
        } else {
            return complain(error, "behind the ? only db=N and user=NAME are known");
        }
    }
    return true;
}

static bool parse_lmdb(struct url *url, const char *rest, GError **error)
{
    if (g_str_has_prefix(rest, "///"))
        rest += 2;
    if (*rest == '\0')
        return complain(error, "lmdb: has no path: write lmdb:/var/lib/refrain/store");
    if (g_str_has_prefix(rest, "//"))
        return complain(error, "lmdb: has a path and no host: write one slash, lmdb:/var/lib/refrain/store");
    url->path = g_strdup(rest);
    return true;
}

static bool read_password(struct url *url, const char *file, GError **error)
{
    FILE *stream = fopen(file, "re");
    char text[PASSWORD_MAX + 2];
    size_t n = stream ? fread(text, 1, sizeof text - 1, stream) : 0;
    int failure = !stream || ferror(stream) ? errno : 0;
    if (stream)
        fclose(stream);
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    text[n] = '\0';
    const char *what = failure                 ? g_strerror(failure)
                       : n == 0                ? "it is empty"
                       : n > PASSWORD_MAX      ? "it is longer than a password can be"
                       : memchr(text, '\0', n) ? "it has a NUL byte"
                                               : NULL;
    if (what)
        g_set_error(
            error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG,
            "password file %s: %s: put the password alone into it, readable by the user that runs this", file,
            what);
    else
        url->password = g_strndup(text, n);
    explicit_bzero(text, sizeof text);
    return !what;
}

static char *print_name(const struct url *url, const char *prefix)
{
    GString *name = g_string_new(prefix);
    if (url->path)
        g_string_append(name, url->path);
    if (url->kind == URL_UNIX)
        g_string_append_printf(name, "?db=%u", url->db);
    if (url->user && url->kind != URL_UNIX)
        g_string_append_printf(name, "%s@", url->user);
    for (unsigned i = 0; i < url->n_hosts; i++) {
        g_autofree char *address = url_address(url->hosts[i].name, url->hosts[i].port);
        g_string_append_printf(name, "%s%s", i ? "," : "", address);
    }
    if (url->master)
        g_string_append_printf(name, "/%s", url->master);
    if (url->kind == URL_REDIS || url->kind == URL_SENTINEL)
        g_string_append_printf(name, "/%u", url->db);
    return g_string_free(name, FALSE);
}

static bool parse(struct url *url, const char *text, const struct url_access *access, GError **error)
{
    const char *password_file = access->password_file;
    const struct scheme *scheme = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(schemes) && !scheme; i++)
        if (g_str_has_prefix(text, schemes[i].prefix))
            scheme = &schemes[i];
    if (!scheme)
        return complain(error, "it is of no known kind: write lmdb:/path, redis://host, redis+unix:/path, "
                               "redis-sentinel://host/master or redis-cluster://host,host");
    const char *rest = text + strlen(scheme->prefix);
    url->kind = scheme->kind;
    if (scheme->secure && !(url->tls = tls_new(&access->tls, error)))
        return false;
    if (url->kind == URL_LMDB   ? !parse_lmdb(url, rest, error)
        : url->kind == URL_UNIX ? !parse_unix(url, rest, error)
                                : !parse_network(url, rest, scheme->port, error))
        return false;
    if (password_file && *password_file && url->kind != URL_LMDB && !url->password &&
        !read_password(url, password_file, error))
        return false;
    if (url->user && !url->password)
        return complain(error, "it has a user but no password: write user:password@, or set password-file");
    url->name = print_name(url, scheme->prefix);
    return true;
}

struct url *url_parse(const char *text, const struct url_access *access, GError **error)
{
    static const struct url_access nothing;
    struct url *url = g_new0(struct url, 1);
    if (!parse(url, text, access ? access : &nothing, error))
        url_free(&url);
    return url;
}

struct url *url_copy(const struct url *url)
{
    struct url *copy = g_new0(struct url, 1);
    *copy = *url;
    copy->path = g_strdup(url->path);
    copy->master = g_strdup(url->master);
    copy->user = g_strdup(url->user);
    copy->password = g_strdup(url->password);
    copy->tls = tls_ref(url->tls);
    copy->name = g_strdup(url->name);
    copy->hosts = g_new0(struct url_host, url->n_hosts + 1);
    for (unsigned i = 0; i < url->n_hosts; i++) {
        copy->hosts[i].name = g_strdup(url->hosts[i].name);
        copy->hosts[i].port = url->hosts[i].port;
    }
    return copy;
}

void url_free(struct url **url)
{
    struct url *u = *url;
    if (!u)
        return;
    for (unsigned i = 0; i < u->n_hosts; i++)
        g_free(u->hosts[i].name);
    if (u->password)
        explicit_bzero(u->password, strlen(u->password));
    g_free(u->hosts);
    g_free(u->path);
    g_free(u->master);
    g_free(u->user);
    g_free(u->password);
    tls_unref(u->tls);
    g_free(u->name);
    g_free(u);
    *url = NULL;
}
