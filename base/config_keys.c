#include "base/config.h"

#include <stddef.h>

static const char *const on_failure_words[] = { "accept", "tempfail", NULL };
static const char *const action_words[] = {
    "none", "tag", "quarantine", "reject", "tempfail", "discard", NULL
};
static const char *const exempt_words[] = { "none", "tag", NULL };
static const char *const trap_words[] = { "discard", "pass", NULL };
static const char *const target_words[] = { "stderr", "syslog", "journal", "auto", NULL };
static const char *const level_words[] = { "error", "warning", "info", "debug", NULL };

#define STATE_DIR LOCALSTATEDIR "/lib/refrain"
#define AT(field) offsetof(struct config, field)

/* One row per key, in the order of the manual. A new key: a row here, a field in config.h, and the two
 * places that tests/base/test_config.c compares with this table: doc/refrain.conf.5 and etc/refrain.conf. */
static const struct config_key table[] = {
    { "milter", "socket", CONFIG_STRING, AT(milter.socket), "unix:/var/spool/postfix/refrain/milter.sock",
      NULL, "where the MTA connects: unix:/path, inet:port@host or inet6:port@host" },
    { "milter", "socket-group", CONFIG_STRING, AT(milter.socket_group), "postfix", NULL,
      "group that may connect to a unix socket" },
    { "milter", "socket-mode", CONFIG_OCTAL, AT(milter.socket_mode), "0660", NULL,
      "mode of a unix socket, in octal" },
    { "milter", "user", CONFIG_STRING, AT(milter.user), "refrain", NULL,
      "user (and its groups) that the daemon becomes when started as root" },
    { "milter", "max-connections", CONFIG_UNSIGNED, AT(milter.max_connections), "1000", NULL,
      "connections of the MTA served at once; further ones are let through unscanned" },
    { "milter", "pid-file", CONFIG_STRING, AT(milter.pid_file), "", NULL,
      "file with the process id; none when empty" },

    { "lexicon", "file", CONFIG_STRING, AT(lexicon.file), STATE_DIR "/refrain.lex", NULL,
      "the lexicon made by refrain-lexicon, the same for all who share a store" },

    { "store", "url", CONFIG_STRING, AT(store.url), "lmdb:" STATE_DIR "/store", NULL,
      "where campaigns are kept: lmdb:, redis:, redis+unix:, redis-sentinel: or redis-cluster:" },
    { "store", "password-file", CONFIG_STRING, AT(store.password_file), "", NULL,
      "file whose first line is the password of the store" },
    { "store", "read-url", CONFIG_STRING, AT(store.read_url), "", NULL,
      "a replica that look-ups ask instead, on the same host for instance" },
    { "store", "tls-ca", CONFIG_STRING, AT(store.tls_ca), "", NULL,
      "file or folder with the CAs that rediss: servers are trusted by; empty: the system's" },
    { "store", "tls-cert", CONFIG_STRING, AT(store.tls_cert), "", NULL,
      "file with the certificate that is shown to rediss: servers" },
    { "store", "tls-key", CONFIG_STRING, AT(store.tls_key), "", NULL, "file with the key of tls-cert" },
    { "store", "tls-name", CONFIG_STRING, AT(store.tls_name), "", NULL,
      "name in the certificates of rediss: servers; empty: the host that is connected to" },
    { "store", "timeout", CONFIG_TIME, AT(store.timeout), "200ms", NULL,
      "the longest that a look-up may hold up a message" },
    { "store", "on-failure", CONFIG_CHOICE, AT(store.on_failure), "accept", on_failure_words,
      "what happens to mail while the store does not answer" },
    { "store", "ttl", CONFIG_TIME, AT(store.ttl), "90d", NULL,
      "a campaign is forgotten this long after its last report or hit" },
    { "store", "wait-replicas", CONFIG_UNSIGNED, AT(store.wait_replicas), "0", NULL,
      "Redis replicas that must have a report before it is acknowledged" },
    { "store", "simhash-tables", CONFIG_BOOL, AT(store.simhash_tables), "no", NULL,
      "look up by permuted simhash tables too (Manku 2007); costs memory in the store" },

    { "match", "tag-similarity", CONFIG_SIMILARITY, AT(match.tag_similarity), "0.53", NULL,
      "resemblance from which on-tag applies" },
    { "match", "reject-similarity", CONFIG_SIMILARITY, AT(match.reject_similarity), "0.71", NULL,
      "resemblance from which on-reject applies; not below tag-similarity" },
    { "match", "min-terms", CONFIG_UNSIGNED, AT(match.min_terms), "5", NULL,
      "messages with fewer distinct terms are not scanned; at least 5" },
    { "match", "min-shared", CONFIG_UNSIGNED, AT(match.min_shared), "1", NULL,
      "lexicons or odd words that must agree on a campaign before it is compared; at least 1" },

    { "action", "on-tag", CONFIG_CHOICE, AT(action.on_tag), "tag", action_words,
      "what is done with a message that resembles a campaign" },
    { "action", "on-reject", CONFIG_CHOICE, AT(action.on_reject), "reject", action_words,
      "what is done with a message that resembles a campaign closely" },
    { "action", "subject-prefix", CONFIG_STRING, AT(action.subject_prefix), "", NULL,
      "put before the subject of tagged mail, with a space; nothing when empty" },
    { "action", "reject-code", CONFIG_STRING, AT(action.reject_code), "550 5.7.1", NULL,
      "reply code and enhanced status code of a reject, of class 5" },
    { "action", "reject-text", CONFIG_STRING, AT(action.reject_text),
      "Message resembles a reported spam campaign ({campaign})", NULL,
      "reply text of a reject; {campaign} is its id. Name a contact for those hit wrongly" },
    { "action", "add-clean-header", CONFIG_BOOL, AT(action.add_clean_header), "no", NULL,
      "add X-Refrain: clean to mail that resembles nothing" },
    { "action", "dry-run", CONFIG_BOOL, AT(action.dry_run), "no", NULL, "only log what would be done" },

    { "exempt", "networks", CONFIG_LIST, AT(exempt.networks), "", NULL,
      "clients whose mail is not acted on: addresses and networks, 192.0.2.0/24, 2001:db8::/32" },
    { "exempt", "authenticated", CONFIG_BOOL, AT(exempt.authenticated), "yes", NULL,
      "mail of senders who logged in (SMTP AUTH) is not acted on" },
    { "exempt", "senders", CONFIG_LIST, AT(exempt.senders), "", NULL,
      "envelope senders: user@domain, @domain, or .domain for it and all below it" },
    { "exempt", "recipients", CONFIG_LIST, AT(exempt.recipients), "", NULL,
      "envelope recipients, written in the same way; all of a message's must be listed" },
    { "exempt", "dkim-domains", CONFIG_LIST, AT(exempt.dkim_domains), "", NULL,
      "signing domains (d=) whose DKIM signature our own server found to pass; .domain for all below it" },
    { "exempt", "authserv-id", CONFIG_STRING, AT(exempt.authserv_id), "", NULL,
      "name in the Authentication-Results headers of our own server; empty: the MTA's host name" },
    { "exempt", "action", CONFIG_CHOICE, AT(exempt.action), "none", exempt_words,
      "what is done with exempt mail that matches: nothing, or tagged all the same" },

    { "report", "quorum", CONFIG_UNSIGNED, AT(report.quorum), "1", NULL,
      "different reporters that make a campaign count; until then it is a candidate" },
    { "report", "trusted", CONFIG_LIST, AT(report.trusted), "trap", NULL,
      "sources and reporters whose report alone makes a campaign count" },
    { "report", "clean-share", CONFIG_SIMILARITY, AT(report.clean_share), "0.01", NULL,
      "reports are refused that look like this share of a day's clean mail; 0: none are" },
    { "report", "clean-days", CONFIG_UNSIGNED, AT(report.clean_days), "3", NULL,
      "on so many of the last 7 days it must have been as common; 1 to 7" },

    { "trap", "recipients", CONFIG_LIST, AT(trap.recipients), "", NULL,
      "spam traps: mail to any of these is reported to the store, with the source trap" },
    { "trap", "action", CONFIG_CHOICE, AT(trap.action), "discard", trap_words,
      "what becomes of mail that is for traps alone, after it was reported" },

    { "limits", "message-bytes", CONFIG_SIZE, AT(limits.message_bytes), "2M", NULL,
      "of a message; the rest is not read" },
    { "limits", "header-bytes", CONFIG_SIZE, AT(limits.header_bytes), "256K", NULL,
      "of one header block; the rest is not read" },
    { "limits", "parts", CONFIG_UNSIGNED, AT(limits.parts), "1000", NULL, "MIME parts looked at" },
    { "limits", "depth", CONFIG_UNSIGNED, AT(limits.depth), "32", NULL,
      "levels of nested MIME parts looked at" },
    { "limits", "text-bytes", CONFIG_SIZE, AT(limits.text_bytes), "512K", NULL,
      "of visible text, after decoding" },
    { "limits", "terms", CONFIG_UNSIGNED, AT(limits.terms), "10000", NULL, "distinct terms of a message" },

    { "log", "target", CONFIG_CHOICE, AT(log.target), "auto", target_words,
      "where the log goes; auto: the journal when run by systemd, else stderr" },
    { "log", "level", CONFIG_CHOICE, AT(log.level), "info", level_words,
      "least important lines that are written; info has one for every message" },

    { "metrics", "listen", CONFIG_STRING, AT(metrics.listen), "", NULL,
      "port, or address:port, of /metrics and /healthz; a port alone is on loopback; empty: off" },
};

const struct config_key *config_keys(size_t *n_out)
{
    *n_out = G_N_ELEMENTS(table);
    return table;
}
