/*
 * refrain.conf: one table of keys, one plain struct of values.
 *
 * The table in config.c names every key with its section, type, default and one line of help. A test
 * compares it with refrain.conf(5) and etc/refrain.conf, so that they never drift. A config is immutable
 * once loaded and reference-counted: sessions hold the one they started with.
 */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

enum config_on_failure { CONFIG_FAIL_ACCEPT, CONFIG_FAIL_TEMPFAIL };

enum config_action {
    CONFIG_ACTION_NONE,
    CONFIG_ACTION_TAG,
    CONFIG_ACTION_QUARANTINE,
    CONFIG_ACTION_REJECT,
    CONFIG_ACTION_TEMPFAIL,
    CONFIG_ACTION_DISCARD,
};

enum config_trap { CONFIG_TRAP_DISCARD, CONFIG_TRAP_PASS };

struct config {
    struct {
        char *socket, *socket_group, *user, *pid_file;
        unsigned socket_mode;
        unsigned max_connections;
    } milter;
    struct {
        char *file;
    } lexicon;
    struct {
        char *url, *password_file, *read_url;
        char *tls_ca, *tls_cert, *tls_key, *tls_name;
        int64_t timeout; /* milliseconds */
        int64_t ttl;     /* milliseconds */
        enum config_on_failure on_failure;
        unsigned wait_replicas; /* WAIT for this many after a report */
        bool simhash_tables;    /* Manku's tables as a second proposer */
    } store;
    struct {
        double tag_similarity, reject_similarity;
        unsigned min_terms, min_shared;
    } match;
    struct {
        enum config_action on_tag, on_reject;
        char *subject_prefix, *reject_code, *reject_text;
        bool add_clean_header, dry_run;
    } action;
    struct {
        char **networks, **senders, **recipients, **dkim_domains; /* NULL-ended, never NULL */
        bool authenticated;
        char *authserv_id;
        enum config_action action; /* none or tag */
    } exempt;
    struct {
        unsigned quorum;
        char **trusted;
        double clean_share;
        unsigned clean_days;
    } report;
    struct {
        char **recipients;
        enum config_trap action;
    } trap;
    struct {
        uint64_t message_bytes, header_bytes, text_bytes;
        unsigned parts, depth, terms;
    } limits;
    struct {
        enum log_target target;
        enum log_level level;
    } log;
    struct {
        char *listen;
    } metrics;
};

enum config_type {
    CONFIG_STRING,
    CONFIG_LIST,
    CONFIG_BOOL,
    CONFIG_UNSIGNED,
    CONFIG_OCTAL,
    CONFIG_SIMILARITY,
    CONFIG_TIME,
    CONFIG_SIZE,
    CONFIG_CHOICE,
};

/* One row of the table. */
struct config_key {
    const char *section, *name;
    enum config_type type;
    size_t offset;              /* of the value in struct config */
    const char *initial;        /* the default, as it would be written in the file */
    const char *const *choices; /* CONFIG_CHOICE: the words, in the order of the enum */
    const char *help;           /* one line, for the sample file and the manual */
};

/* The whole table, in the order of the manual. */
const struct config_key *config_keys(size_t *n_out);

/* All defaults. */
struct config *config_new(void);

/*
 * Reads a file over the defaults. An unknown section or key, or a value that is not allowed, is an error
 * that names file, line, and what is allowed. A file that does not exist is an error too.
 */
struct config *config_load(const char *path, GError **error);

struct config *config_ref(struct config *config);
void config_unref(struct config *config);

/* "file:line" of a key in a file, or the file alone when the key is not in it: for errors found later on. */
char *config_where(const char *path, const char *section, const char *name);

/* $sysconfdir/refrain/refrain.conf */
const char *config_default_path(void);

#endif
