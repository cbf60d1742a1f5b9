/*
 * TLS to Redis, by hiredis_ssl and OpenSSL: whom we trust, who we are, and the handshake.
 *
 * A server shows a certificate that a trusted CA made out to the host that we asked for. hiredis' own helper
 * looks at the CA only, so that any certificate of it would do for any host: the handshake here has the name
 * checked as well. There is no way to switch that off.
 *
 * Built without TLS (hiredis before 1.0), tls_new() refuses with a sentence, and the rest is never called.
 */
#ifndef STORE_TLS_H
#define STORE_TLS_H

#include <glib.h>
#include <stdbool.h>

#include "store/deadline.h"
#include "store/resp.h"

/* Immutable, for any thread. */
struct tls;

struct tls_options {
    const char *ca;         /* a file, or a folder that c_rehash made, of CAs in PEM; NULL: the system's */
    const char *cert, *key; /* files in PEM: what we show to a server that asks; NULL: nothing */
    const char *name;       /* that certificates are made out to; NULL: to the host that is connected to */
};

/* Reads the files. Errors are REFRAIN_ERROR_CONFIG. */
struct tls *tls_new(const struct tls_options *options, GError **error);
struct tls *tls_ref(struct tls *tls);
void tls_unref(struct tls *tls); /* NULL is fine */

/*
 * The handshake, on a connected and non-blocking context. NULL: the context is of no use any more. `server`
 * is its name for sentences.
 */
struct tls_session;
struct tls_session *tls_start(struct tls *tls, redisContext *context, const char *host, const char *server,
                              struct deadline deadline, GError **error);

/* After the context was freed. NULL is fine. */
void tls_end(struct tls_session *session);

/* Has the session bytes that were read from the socket already, so that poll() does not see them? */
bool tls_pending(const struct tls_session *session);

/*
 * After a failed read or write with an errno: if TLS knows better why, sets the error and returns true. With
 * TLS 1.3 a server refuses our certificate, or misses one, when the handshake is over for us.
 */
bool tls_explain(const struct tls_session *session, const char *server, int number, GError **error);

#endif
