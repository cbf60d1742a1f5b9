#include "store/tls.h"

#include "autoconfig.h"
#include "base/error.h"

#if HAVE_TLS

#include <errno.h>
#include <hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include "store/fault.h"

struct tls {
    gatomicrefcount references;
    SSL_CTX *context;
    char *name;
};

struct tls_session {
    SSL *ssl;           /* the context's */
    bool asked;         /* for a certificate of ours */
    bool own;           /* and we have one */
    uint64_t handshake; /* bytes read until its end */
};

/* --- files -------------------------------------------------------------------------------------- */

/* OpenSSL would ask at the terminal, and a daemon would wait for ever. */
static int no_passphrase(char *buffer, int size, int writing, void *user)
{
    (void)buffer, (void)size, (void)writing, (void)user;
    return -1;
}

static bool bad_file(GError **error, const char *key, const char *path, const char *advice)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG, "%s %s: %s: %s", key, path,
                reason ? reason : "it cannot be read", advice);
    ERR_clear_error();
    return false;
}

static bool load_ca(SSL_CTX *context, const char *path, GError **error)
{
    if (!path)
        return SSL_CTX_set_default_verify_paths(context) == 1 ||
               bad_file(error, "tls-ca", "of the system", "set tls-ca");
    bool folder = g_file_test(path, G_FILE_TEST_IS_DIR);
    if ((folder ? SSL_CTX_load_verify_dir(context, path) : SSL_CTX_load_verify_file(context, path)) == 1)
        return true;
    return bad_file(
        error, "tls-ca", path,
        "name a file with the certificate of the CA in PEM, or a folder that openssl rehash made, "
        "readable by the user that runs this");
}

static bool load_own(SSL_CTX *context, const struct tls_options *options, GError **error)
{
    if (!options->cert && !options->key)
        return true;
    if (!options->cert || !options->key) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG, "%s is set, but %s is not: set both, or none",
                    options->cert ? "tls-cert" : "tls-key", options->cert ? "tls-key" : "tls-cert");
        return false;
    }
    if (SSL_CTX_use_certificate_chain_file(context, options->cert) != 1)
        return bad_file(error, "tls-cert", options->cert,
                        "name a file with our certificate in PEM, readable by the user that runs this");
    if (SSL_CTX_use_PrivateKey_file(context, options->key, SSL_FILETYPE_PEM) != 1)
        return bad_file(
            error, "tls-key", options->key,
            "name a file with the key of tls-cert in PEM, without a passphrase, readable by the user "
            "that runs this");
    return true;
}

struct tls *tls_new(const struct tls_options *options, GError **error)
{
    ERR_clear_error();
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context)
        g_error("out of memory");
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    /* Redis says how long its answers are: one that is cut off is noticed without TLS' good-bye. */
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    if (!load_ca(context, options->ca, error) || !load_own(context, options, error)) {
        SSL_CTX_free(context);
        return NULL;
    }
    struct tls *tls = g_new0(struct tls, 1);
    g_atomic_ref_count_init(&tls->references);
    tls->context = context;
    tls->name = g_strdup(options->name);
    return tls;
}

struct tls *tls_ref(struct tls *tls)
{
    if (tls)
        g_atomic_ref_count_inc(&tls->references);
    return tls;
}

void tls_unref(struct tls *tls)
{
    if (!tls || !g_atomic_ref_count_dec(&tls->references))
        return;
    SSL_CTX_free(tls->context);
    g_free(tls->name);
    g_free(tls);
}

/* --- sentences ---------------------------------------------------------------------------------- */

static bool say(GError **error, const char *server, const char *sentence)
{
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_REFUSED, "redis %s: %s", server, sentence);
    return true;
}

/* Why we do not like the server's certificate. */
static bool explain_certificate(long verdict, const char *server, GError **error)
{
    g_autofree char *untrusted = NULL;
    switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return say(error, server,
                   "its certificate is made out to another host: write the host as the certificate names it, "
                   "have Sentinel or Cluster announce host names, or set tls-name");
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return say(error, server, "its certificate has expired: renew it there");
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return say(error, server, "its certificate is not valid yet: compare the clocks of both hosts");
    default:
        untrusted = g_strdup_printf("its certificate is not trusted (%s): set tls-ca to the CA that made it",
                                    X509_verify_cert_error_string(verdict));
        return say(error, server, untrusted);
    }
}

#define NO_TLS                                                                                               \
    "it speaks no TLS on this port: name its tls-port in the store URL, or write redis instead of rediss"
#define TOO_OLD  "it and we have no version of TLS in common: allow TLSv1.2 or TLSv1.3 in tls-protocols there"
#define NO_CERT  "it wants a certificate of ours: set tls-cert and tls-key, or tls-auth-clients no there"
#define BAD_CERT "it does not accept our certificate: have tls-cert made by a CA of its tls-ca-cert-file"
#define REFUSED                                                                                              \
    "it refuses the handshake: if it wants a certificate, set tls-cert and tls-key; else see its log"

/* What OpenSSL says, or the server's alert. */
static const struct {
    int reason;
    const char *sentence;
} alerts[] = {
    { SSL_R_WRONG_VERSION_NUMBER, NO_TLS },
    { SSL_R_PACKET_LENGTH_TOO_LONG, NO_TLS },
    { SSL_R_UNSUPPORTED_PROTOCOL, TOO_OLD },
    { SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, TOO_OLD },
    { SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, NO_CERT },
    { SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, REFUSED },
    { SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, BAD_CERT },
    { SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, BAD_CERT },
    { SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, BAD_CERT },
    { SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, BAD_CERT },
    { SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, BAD_CERT },
    { SSL_R_TLSV1_ALERT_UNKNOWN_CA, BAD_CERT },
    { SSL_R_TLSV1_ALERT_DECRYPT_ERROR, BAD_CERT },
};

static bool explain_code(const struct tls_session *session, unsigned long code, const char *server,
                         GError **error)
{
    int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
        return explain_certificate(SSL_get_verify_result(session->ssl), server, error);
    for (size_t i = 0; i < G_N_ELEMENTS(alerts); i++)
        if (reason == alerts[i].reason)
            return say(error, server, alerts[i].sentence);
    const char *text = ERR_reason_error_string(code);
    g_autofree char *sentence =
        g_strdup_printf("TLS failed (%s): see its log", text ? text : "no reason given");
    return say(error, server, sentence);
}

bool tls_explain(const struct tls_session *session, const char *server, int number, GError **error)
{
    if (!session)
        return false;
    /* What is left in the queue of this thread would be taken for the next connection's. */
    unsigned long code = ERR_peek_last_error();
    ERR_clear_error();
    if (code != 0 && !ERR_SYSTEM_ERROR(code))
        return explain_code(session, code, server, error);
    if (number != ECONNRESET && number != EPIPE)
        return false;
    /* Its alert is lost when it hangs up before it has read what we wrote. */
    if (session->asked && BIO_number_read(SSL_get_rbio(session->ssl)) == session->handshake)
        return say(error, server, session->own ? BAD_CERT : NO_CERT);
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                "redis %s: it closed the connection: see its log", server);
    return true;
}

/* --- the handshake ------------------------------------------------------------------------------ */

/* An address is looked for among the certificate's addresses, and is not sent as a name. */
static bool expect_host(SSL *ssl, const char *host)
{
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1)
        return true;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

/* The next step of the handshake; 1 when it is done, 0 when the socket was not ready in time, -1. */
static int shake(SSL *ssl, int fd, struct deadline deadline)
{
    for (;;) {
        ERR_clear_error();
        int done = SSL_do_handshake(ssl);
        if (done == 1)
            return 1;
        int wants = SSL_get_error(ssl, done);
        if (wants != SSL_ERROR_WANT_READ && wants != SSL_ERROR_WANT_WRITE)
            return -1;
        struct pollfd p = { .fd = fd, .events = wants == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT };
        int left = deadline_left(deadline);
        int ready = poll(&p, 1, left);
        if (left == 0 || ready == 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -1;
    }
}

/* OpenSSL calls it when the server asks for a certificate. */
static int note_request(SSL *ssl, void *user)
{
    (void)user;
    struct tls_session *session = SSL_get_app_data(ssl);
    session->asked = true;
    session->own = SSL_get_certificate(ssl) != NULL;
    return 1;
}

static bool shake_hands(struct tls_session *session, redisContext *context, const char *server,
                        struct deadline deadline, GError **error)
{
    /* It begins the handshake, and takes the SSL over if that did not fail at once. */
    errno = 0;
    bool taken = redisInitiateSSL(context, session->ssl) == REDIS_OK;
    int result = taken ? shake(session->ssl, context->fd, deadline) : -1, number = errno;
    if (result == 0)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                    "redis %s: no TLS within %" G_GINT64_FORMAT
                    " ms: it is frozen, overloaded or far, or this is not its tls-port",
                    server, deadline.budget);
    else if (result < 0 && !tls_explain(session, server, number ? number : ECONNRESET, error))
        fault_errno(error, server, number);
    if (!taken)
        SSL_free(session->ssl);
    return result == 1;
}

struct tls_session *tls_start(struct tls *tls, redisContext *context, const char *host, const char *server,
                              struct deadline deadline, GError **error)
{
    SSL *ssl = SSL_new(tls->context);
    if (!ssl)
        g_error("out of memory");
    if (!expect_host(ssl, tls->name ? tls->name : host)) {
        say(error, server, "a certificate cannot be made out to such a name: check the host, and tls-name");
        SSL_free(ssl);
        return NULL;
    }
    struct tls_session *session = g_new0(struct tls_session, 1);
    session->ssl = ssl;
    SSL_set_app_data(ssl, session);
    SSL_set_cert_cb(ssl, note_request, NULL);
    if (!shake_hands(session, context, server, deadline, error)) {
        tls_end(session);
        return NULL;
    }
    session->handshake = BIO_number_read(SSL_get_rbio(ssl));
    return session;
}

void tls_end(struct tls_session *session)
{
    if (session)
        ERR_clear_error(); /* whatever it died of is not the next one's */
    g_free(session);
}

bool tls_pending(const struct tls_session *session)
{
    return session && SSL_pending(session->ssl) > 0;
}

#else

struct tls *tls_new(const struct tls_options *options, GError **error)
{
    (void)options;
    g_set_error(
        error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG,
        "store URL: this build has no TLS (hiredis has it from 1.0 on): let stunnel listen on localhost "
        "and write redis://localhost, or use a UNIX socket, redis+unix:/path");
    return NULL;
}

struct tls *tls_ref(struct tls *tls)
{
    return tls;
}

void tls_unref(struct tls *tls)
{
    (void)tls;
}

struct tls_session *tls_start(struct tls *tls, redisContext *context, const char *host, const char *server,
                              struct deadline deadline, GError **error)
{
    (void)tls, (void)context, (void)host, (void)server, (void)deadline, (void)error;
    return NULL;
}

void tls_end(struct tls_session *session)
{
    (void)session;
}

bool tls_pending(const struct tls_session *session)
{
    (void)session;
    return false;
}

bool tls_explain(const struct tls_session *session, const char *server, int number, GError **error)
{
    (void)session, (void)server, (void)number, (void)error;
    return false;
}

#endif
