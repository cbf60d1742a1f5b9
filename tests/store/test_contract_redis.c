#include <string.h>

#include "tests/store/certs.h"
#include "tests/store/contract.h"
#include "tests/store/servers.h"

/* Built once for each way to reach Redis: CONTRACT_KIND is tcp, unix, tls, sentinel or cluster. */
static struct servers_redis *one;
static struct servers_family *family;
static struct servers_cluster *cluster;

static bool is_kind(const char *kind)
{
    return strcmp(CONTRACT_KIND, kind) == 0;
}

#ifdef CONTRACT_TLS
static struct certs *certs;

/* The test's CA takes the place of the system's. */
static struct servers_redis *start_tls(void)
{
    certs = certs_new();
    certs_make_ca(certs, "ca");
    certs_make(certs, "server", "ca", "DNS:localhost", 86400);
    g_setenv("SSL_CERT_FILE", certs_path(certs, "ca.pem"), TRUE);
    g_autofree char *lines = certs_lines(certs, "server", "ca", "no");
    return servers_start(lines);
}

static void stop_tls(void)
{
    certs_free(&certs);
}
#else
static struct servers_redis *start_tls(void)
{
    return NULL;
}

static void stop_tls(void) {}
#endif

static void start(const char *folder)
{
    (void)folder;
    if (is_kind("sentinel"))
        family = servers_start_family("");
    else if (is_kind("cluster"))
        cluster = servers_start_cluster("");
    else
        one = is_kind("tls") ? start_tls() : servers_start("");
}

static void stop(void)
{
    if (family)
        servers_stop_family(&family);
    else if (cluster)
        servers_stop_cluster(&cluster);
    else
        servers_stop(&one);
    stop_tls();
}

/* The i-th server that holds keys; NULL after the last. */
static struct servers_redis *server(unsigned i)
{
    if (cluster)
        return i < SERVERS_NODES ? cluster->nodes[i] : NULL;
    return i > 0 ? NULL : family ? family->primary : one;
}

static char *empty_store(const char *folder, unsigned nth)
{
    (void)folder, (void)nth;
    for (unsigned i = 0; server(i); i++)
        servers_do(server(i), "FLUSHALL");
    if (family)
        return g_strdup(family->url);
    return g_strdup(cluster           ? cluster->url
                    : one->tls_url    ? one->tls_url
                    : is_kind("unix") ? one->unix_url
                                      : one->url);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Members of sets, fields of hashes, names of strings. Values are left out: their counts change. */
static void print_key(struct servers_redis *at, const char *key, GPtrArray *lines)
{
    redisReply *type = servers_ask(at, "TYPE %s", key);
    bool set = strcmp(type->str, "set") == 0;
    if (strcmp(type->str, "string") == 0)
        g_ptr_array_add(lines, g_strdup(key));
    redisReply *content = servers_ask(at, set ? "SMEMBERS %s" : "HKEYS %s", key);
    for (size_t i = 0; i < content->elements; i++)
        g_ptr_array_add(lines, g_strdup_printf("%s %s", key, content->element[i]->str));
    freeReplyObject(type);
    freeReplyObject(content);
}

static char *key_space(const char *url)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    (void)url;
    for (unsigned i = 0; server(i); i++) {
        redisReply *keys = servers_ask(server(i), "KEYS *");
        for (size_t j = 0; j < keys->elements; j++)
            print_key(server(i), keys->element[j]->str, lines);
        freeReplyObject(keys);
    }
    g_ptr_array_sort(lines, by_text);
    g_ptr_array_add(lines, NULL);
    return g_strjoinv("\n", (char **)lines->pdata);
}

int main(void)
{
    static const struct contract_backend redis = { "Redis " CONTRACT_KIND, start, stop, empty_store,
                                                   key_space };
    return contract_run(&redis);
}
