/*
 * Short forms for tests of TLS: certificates, servers that show them, and links with their keys.
 */
#ifndef TESTS_STORE_TLS_TALK_H
#define TESTS_STORE_TLS_TALK_H

#include "base/error.h"
#include "tests/store/certs.h"
#include "tests/store/servers.h"
#include "tests/store/talk.h"

#define UNAVAILABLE REFRAIN_ERROR_UNAVAILABLE
#define REFUSED     REFRAIN_ERROR_REFUSED
#define LIFE        86400

static struct certs *certs;
static struct servers_redis *open_door, *closed_door; /* without and with tls-auth-clients */

static inline struct servers_redis *start_server(const char *name, const char *clients)
{
    g_autofree char *lines = certs_lines(certs, name, "ca", clients);
    return servers_start(lines);
}

static inline int start_all(void **state)
{
    (void)state;
    certs = certs_new();
    certs_make_ca(certs, "ca");
    certs_make_ca(certs, "stranger");
    certs_make(certs, "server", "ca", "DNS:localhost,IP:127.0.0.1", LIFE);
    certs_make(certs, "other", "ca", "DNS:*.example.org,IP:192.0.2.1", LIFE);
    certs_make(certs, "old", "ca", "DNS:localhost", -60);
    certs_make(certs, "client", "ca", NULL, LIFE);
    certs_make(certs, "intruder", "stranger", NULL, LIFE);
    certs_lock(certs, "client");
    open_door = start_server("server", "no");
    closed_door = start_server("server", "yes");
    return 0;
}

static inline int stop_all(void **state)
{
    (void)state;
    servers_stop(&open_door);
    servers_stop(&closed_door);
    certs_free(&certs);
    return 0;
}

/* Names of files in the folder of certificates; NULL: not set. */
struct keys {
    const char *ca, *cert, *key, *name;
};

static const struct keys trusting = { .ca = "ca.pem" };

static inline struct tls_options options_of(struct keys keys)
{
    return (struct tls_options) { .ca = keys.ca ? certs_path(certs, keys.ca) : NULL,
                                  .cert = keys.cert ? certs_path(certs, keys.cert) : NULL,
                                  .key = keys.key ? certs_path(certs, keys.key) : NULL,
                                  .name = keys.name };
}

static inline struct link *open_with(const char *text, struct keys keys, struct link_options options)
{
    GError *error = NULL;
    const struct url_access access = { .tls = options_of(keys) };
    struct url *url = url_parse(text, &access, &error);
    if (!url)
        fail_msg("%s", error->message);
    struct link *link = link_open(url, &options);
    url_free(&url);
    return link;
}

static inline struct link *open_tls(const char *text, struct keys keys)
{
    struct link_options options = link_default_options;
    options.breaker_failures = 1000000;
    return open_with(text, keys, options);
}

static inline void expect_refusal(const char *text, struct keys keys, int code, const char *part)
{
    struct link *link = open_tls(text, keys);
    talk_expect_error(link, 5000, "GET a", code, part);
    link_close(&link);
}

static inline void expect_welcome(const char *text, struct keys keys)
{
    struct link *link = open_tls(text, keys);
    talk_expect(link, "PING", "PONG");
    link_close(&link);
}

#endif
