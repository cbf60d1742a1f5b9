#include "tests/store/certs.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <glib/gstdio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "tests/store/fixture.h"

struct certs {
    char *folder;
    GHashTable *paths; /* file -> path */
    long serial;
};

struct certs *certs_new(void)
{
    struct certs *certs = g_new0(struct certs, 1);
    certs->folder = fixture_folder();
    certs->paths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return certs;
}

void certs_free(struct certs **certs)
{
    fixture_remove((*certs)->folder);
    g_hash_table_destroy((*certs)->paths);
    g_free(*certs);
    *certs = NULL;
}

const char *certs_path(struct certs *certs, const char *file)
{
    char *path = g_hash_table_lookup(certs->paths, file);
    if (!path) {
        path = g_build_filename(certs->folder, file, NULL);
        g_hash_table_insert(certs->paths, g_strdup(file), path);
    }
    return path;
}

static FILE *open_file(struct certs *certs, const char *name, const char *suffix, const char *mode)
{
    g_autofree char *file = g_strconcat(name, suffix, NULL);
    FILE *stream = fopen(certs_path(certs, file), mode);
    if (!stream)
        fail_msg("cannot open %s", file);
    return stream;
}

static EVP_PKEY *read_key(struct certs *certs, const char *name)
{
    FILE *stream = open_file(certs, name, ".key", "r");
    EVP_PKEY *key = PEM_read_PrivateKey(stream, NULL, NULL, NULL);
    fclose(stream);
    return key;
}

static X509 *read_certificate(struct certs *certs, const char *name)
{
    FILE *stream = open_file(certs, name, ".pem", "r");
    X509 *certificate = PEM_read_X509(stream, NULL, NULL, NULL);
    fclose(stream);
    return certificate;
}

static void extend(X509 *certificate, const char *name, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf(NULL, NULL, name, value);
    if (!extension || X509_add_ext(certificate, extension, -1) != 1)
        fail_msg("%s: %s", name, value);
    X509_EXTENSION_free(extension);
}

static X509 *draft(struct certs *certs, const char *name, EVP_PKEY *key, long seconds)
{
    X509 *certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++certs->serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate), MIN(seconds, 0) - 3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), seconds);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                               (const unsigned char *)name, -1, -1, 0);
    return certificate;
}

static void save(struct certs *certs, const char *name, X509 *certificate, EVP_PKEY *key)
{
    FILE *stream = open_file(certs, name, ".pem", "w");
    PEM_write_X509(stream, certificate);
    fclose(stream);
    stream = open_file(certs, name, ".key", "w");
    PEM_write_PrivateKey(stream, key, NULL, NULL, 0, NULL, NULL);
    fclose(stream);
}

void certs_make_ca(struct certs *certs, const char *name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = draft(certs, name, key, 86400);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    extend(certificate, "basicConstraints", "critical,CA:TRUE");
    extend(certificate, "keyUsage", "critical,keyCertSign,cRLSign");
    X509_sign(certificate, key, EVP_sha256());
    save(certs, name, certificate, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

void certs_make(struct certs *certs, const char *name, const char *ca, const char *names, long seconds)
{
    EVP_PKEY *key = EVP_EC_gen("P-256"), *ca_key = read_key(certs, ca);
    X509 *certificate = draft(certs, name, key, seconds), *issuer = read_certificate(certs, ca);
    X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
    if (names)
        extend(certificate, "subjectAltName", names);
    X509_sign(certificate, ca_key, EVP_sha256());
    save(certs, name, certificate, key);
    X509_free(certificate);
    X509_free(issuer);
    EVP_PKEY_free(key);
    EVP_PKEY_free(ca_key);
}

void certs_lock(struct certs *certs, const char *name)
{
    EVP_PKEY *key = read_key(certs, name);
    FILE *stream = open_file(certs, name, ".locked", "w");
    PEM_write_PrivateKey(stream, key, EVP_aes_128_cbc(), (const unsigned char *)"hush", 4, NULL, NULL);
    fclose(stream);
    EVP_PKEY_free(key);
}

char *certs_lines(struct certs *certs, const char *name, const char *ca, const char *clients)
{
    g_autofree char *own = g_strconcat(name, ".pem", NULL), *key = g_strconcat(name, ".key", NULL);
    g_autofree char *trusted = g_strconcat(ca, ".pem", NULL);
    return g_strdup_printf("tls-port %%TLS%%\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\n"
                           "tls-auth-clients %s\n",
                           certs_path(certs, own), certs_path(certs, key), certs_path(certs, trusted),
                           clients);
}
