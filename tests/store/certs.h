/*
 * Certificates for tests, made on the spot: each in a file NAME.pem with its key in NAME.key.
 */
#ifndef TESTS_STORE_CERTS_H
#define TESTS_STORE_CERTS_H

#include <glib.h>

struct certs;

/* In a folder of its own. */
struct certs *certs_new(void);
void certs_free(struct certs **certs); /* with the folder */

/* A CA. */
void certs_make_ca(struct certs *certs, const char *name);

/*
 * A certificate of a CA for names as OpenSSL writes them, "DNS:localhost,IP:127.0.0.1" (NULL: a client's),
 * valid for so many seconds from now; negative: until then.
 */
void certs_make(struct certs *certs, const char *name, const char *ca, const char *names, long seconds);

/* The same key again, behind a passphrase, in NAME.locked. */
void certs_lock(struct certs *certs, const char *name);

/* Lines of redis.conf (%TLS% as in servers.h) for a server with a certificate; `clients` is yes, no or
 * optional. */
char *certs_lines(struct certs *certs, const char *name, const char *ca, const char *clients);

/* The path of a file in the folder; it lives as long as the folder. */
const char *certs_path(struct certs *certs, const char *file);

#endif
