#include "milter/session.h"

#include <netinet/in.h>
#include <string.h>

#include "milter/authres.h"
#include "milter/header.h"

/* Most mail fits: one allocation instead of a dozen that grow. */
#define USUAL_BYTES 16384

struct session *session_new(void)
{
    return g_new0(struct session, 1);
}

void session_free(struct session *session)
{
    if (!session)
        return;
    session_end(session);
    g_free(session->mta);
    g_free(session);
}

void session_client(struct session *session, const struct sockaddr *client)
{
    session->has_client = false;
    if (client && client->sa_family == AF_INET)
        memcpy(&session->client, client, sizeof(struct sockaddr_in));
    else if (client && client->sa_family == AF_INET6)
        memcpy(&session->client, client, sizeof(struct sockaddr_in6));
    else
        return;
    session->has_client = true;
}

static void exempt_for(struct mail *mail, const char *reason)
{
    if (!mail->exempt)
        mail->exempt = reason;
}

static void release_snapshot(void *snapshot)
{
    snapshot_unref(snapshot);
}

static void release_bytes(void *bytes)
{
    g_byte_array_unref(bytes);
}

static void release_table(void *table)
{
    g_hash_table_unref(table);
}

void session_mail(struct session *session, struct snapshot *snapshot, const char *sender, bool authenticated)
{
    session_end(session);
    struct mail *mail = &session->mail;
    mail->arena = arena_new();
    mail->snapshot = snapshot_ref(snapshot);
    arena_defer(mail->arena, release_snapshot, snapshot);
    mail->bytes = g_byte_array_sized_new(USUAL_BYTES);
    arena_defer(mail->arena, release_bytes, mail->bytes);
    if (session->has_client &&
        network_list_has(snapshot->networks, (const struct sockaddr *)&session->client))
        exempt_for(mail, "network");
    if (authenticated && snapshot->config->exempt.authenticated)
        exempt_for(mail, "authenticated");
    if (address_list_has(snapshot->senders, sender))
        exempt_for(mail, "sender");
}

void session_end(struct session *session)
{
    arena_free(&session->mail.arena);
    session->mail = (struct mail) { 0 };
}

void session_recipient(struct session *session, const char *address)
{
    struct mail *mail = &session->mail;
    if (!mail->arena)
        return;
    mail->recipients++;
    mail->exempt_recipients += address_list_has(mail->snapshot->recipients, address);
    mail->traps += address_list_has(mail->snapshot->traps, address);
}

/* Exempt only if all of them are: a sender must not get past us by adding a postmaster. */
static bool all_recipients_exempt(const struct mail *mail)
{
    return mail->recipients && mail->exempt_recipients == mail->recipients;
}

const char *session_exemption(const struct session *session)
{
    const struct mail *mail = &session->mail;
    if (mail->exempt)
        return mail->exempt;
    return all_recipients_exempt(mail) ? "recipients" : NULL;
}

bool session_is_trapped(const struct session *session)
{
    const struct mail *mail = &session->mail;
    return mail->recipients && mail->traps == mail->recipients && !session_exemption(session);
}

/* --- headers ---------------------------------------------------------------------------------------- */

static void count_forged(struct mail *mail, const char *name)
{
    if (!mail->forged) {
        mail->forged = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        arena_defer(mail->arena, release_table, mail->forged);
    }
    char *folded = g_ascii_strdown(name, -1);
    gsize n = GPOINTER_TO_SIZE(g_hash_table_lookup(mail->forged, folded));
    g_hash_table_replace(mail->forged, folded, GSIZE_TO_POINTER(n + 1));
}

static bool note_domain(const char *domain, void *user)
{
    struct mail *mail = user;
    if (!domain_list_has(mail->snapshot->dkim_domains, domain))
        return true;
    exempt_for(mail, "dkim");
    return false;
}

/*
 * A filter that ran before us writes its results above everything that came with the message, and takes
 * away what claims to be its own (RFC 8601, 5). So only headers above the first Received count, and of them
 * the topmost that says something about DKIM: a forged one below it has nothing to say.
 */
static void read_results(struct session *session, const char *value)
{
    struct mail *mail = &session->mail;
    const struct config *config = mail->snapshot->config;
    const char *us = *config->exempt.authserv_id ? config->exempt.authserv_id : session->mta;
    if (mail->below_received || mail->dkim_told || !us || address_list_is_empty(mail->snapshot->dkim_domains))
        return;
    mail->dkim_told = authres_read(value, us, note_domain, mail) == AUTHRES_DKIM;
}

/* Line ends inside a folded value come as LF, and go into the message as CRLF. */
static void append_value(GByteArray *bytes, const char *value)
{
    static const guint8 crlf[] = "\r\n";
    for (const char *line = value;; line++) {
        size_t n = strcspn(line, "\n");
        size_t kept = n && line[n - 1] == '\r' ? n - 1 : n;
        g_byte_array_append(bytes, (const guint8 *)line, (guint)kept);
        g_byte_array_append(bytes, crlf, 2);
        line += n;
        if (!*line)
            return;
    }
}

static void collect_header(struct session *session, const char *name, const char *value)
{
    GByteArray *bytes = session->mail.bytes;
    size_t room = MIN(session->mail.snapshot->limits.header_bytes, session->mail.snapshot->limits.bytes);
    size_t needed = strlen(name) + strlen(value) + 4;
    if (bytes->len + needed > room) {
        session->mail.cut |= MESSAGE_CUT_HEADER;
        return;
    }
    g_byte_array_append(bytes, (const guint8 *)name, (guint)strlen(name));
    g_byte_array_append(bytes, (const guint8 *)": ", session->keeps_space ? 1 : 2);
    append_value(bytes, value);
}

void session_header(struct session *session, const char *name, const char *value)
{
    struct mail *mail = &session->mail;
    if (!mail->arena)
        return;
    if (header_is_ours(name)) {
        count_forged(mail, name);
        return; /* not part of what the sender's readers see, nor of what we judge */
    }
    if (g_ascii_strcasecmp(name, "Received") == 0)
        mail->below_received = true;
    else if (g_ascii_strcasecmp(name, "Authentication-Results") == 0)
        read_results(session, value);
    else if (!mail->subject && g_ascii_strcasecmp(name, "Subject") == 0)
        mail->subject = arena_strndup(mail->arena, value, strlen(value));
    collect_header(session, name, value);
}

/* --- body ------------------------------------------------------------------------------------------- */

static void begin_body(struct session *session)
{
    struct mail *mail = &session->mail;
    mail->body_begun = true;
    mail->skip = session_exemption(session) && mail->snapshot->config->exempt.action == CONFIG_ACTION_NONE;
    if (!mail->skip)
        g_byte_array_append(mail->bytes, (const guint8 *)"\r\n", 2);
}

bool session_body(struct session *session, const unsigned char *bytes, size_t n)
{
    struct mail *mail = &session->mail;
    if (!mail->arena)
        return true;
    if (!mail->body_begun)
        begin_body(session);
    if (mail->skip)
        return false;
    size_t limit = mail->snapshot->limits.bytes;
    size_t room = limit > mail->bytes->len ? limit - mail->bytes->len : 0;
    g_byte_array_append(mail->bytes, bytes, (guint)MIN(n, room));
    if (n > room)
        mail->cut |= MESSAGE_CUT_BYTES;
    return n <= room;
}
