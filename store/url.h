/*
 * The URL of a store, taken apart.
 *
 *      lmdb:/var/lib/refrain/store
 *      redis://[user:password@]host[:port][/db]
 *      redis+unix:/path/to/socket[?db=N][&user=NAME]
 *      redis-sentinel://[user:password@]host[:port],host[:port]/master-name[/db]
 *      redis-cluster://[user:password@]host[:port],host[:port]
 *
 * rediss://, rediss-sentinel:// and rediss-cluster:// are the same over TLS, to all servers and sentinels.
 * IPv6 addresses stand in brackets. User and password are percent-encoded where they have one of @ : / ? %.
 * The password is in no error message and not in the printable name.
 */
#ifndef STORE_URL_H
#define STORE_URL_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/tls.h"

enum url_kind { URL_LMDB, URL_REDIS, URL_UNIX, URL_SENTINEL, URL_CLUSTER };

#define URL_HOSTS_MAX 64

struct url_host {
    char *name; /* a name or an address, without brackets */
    uint16_t port;
};

/* Read it; change nothing. */
struct url {
    enum url_kind kind;
    char *path;             /* LMDB's folder, the UNIX socket; else NULL */
    struct url_host *hosts; /* one with redis://, the sentinels, nodes of the cluster */
    unsigned n_hosts;
    char *master;           /* the name that the sentinels know; else NULL */
    unsigned db;
    char *user, *password;  /* NULL: none */
    struct tls *tls;        /* NULL: in the clear */
    char *name;             /* for people: without the password */
};

/* What is not in the URL itself. */
struct url_access {
    const char *password_file; /* NULL: none. A trailing newline is dropped; a password in the URL wins */
    struct tls_options tls;    /* for the kinds that use it */
};

/* access may be NULL. Errors are REFRAIN_ERROR_CONFIG. */
struct url *url_parse(const char *text, const struct url_access *access, GError **error);

struct url *url_copy(const struct url *url);

/* Wipes the password; sets the pointer to NULL. NULL is fine. */
void url_free(struct url **url);

/* "host:port", "[::1]:port": how a server is named everywhere. Free with g_free(). */
char *url_address(const char *host, unsigned port);

/* The reverse. A port must be there. */
bool url_split_address(const char *address, char **host_out, uint16_t *port_out);

#endif
