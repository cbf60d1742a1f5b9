/*
 * What is remembered of a connection and of the message that is under way on it. No libmilter here: the
 * callbacks of filter.c hand over what the MTA said, and everything can be tested without one.
 *
 *      connection   client, the MTA's name, what was negotiated
 *      mail         from MAIL FROM to the verdict: snapshot, envelope, headers of interest, the bytes
 *
 * The mail's memory is an arena that is made at MAIL FROM and freed at the end, so that an idle connection
 * costs a few hundred bytes.
 */
#ifndef MILTER_SESSION_H
#define MILTER_SESSION_H

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "milter/snapshot.h"

struct mail {
    struct arena *arena; /* NULL: no mail is under way */
    struct snapshot *snapshot;
    GByteArray *bytes; /* header and body as they came, lines ended by CRLF, as far as the limits go */
    bool body_begun;
    bool skip;          /* exempt, and exempt mail is not looked at: no body is needed */
    const char *exempt; /* the first reason found; NULL: none */
    unsigned recipients, exempt_recipients, traps;
    GHashTable *forged;  /* header names that only we may write -> how many times; NULL: none */
    const char *subject; /* of the first Subject header; NULL: none */
    bool below_received; /* headers from here on came with the message */
    unsigned cut;        /* enum message_cut: what the limits kept from being collected */
    bool dkim_told;      /* an Authentication-Results of ours had a DKIM result */
};

struct session {
    struct sockaddr_storage client;
    bool has_client;
    char *mta;             /* the MTA's host name */
    bool refused;          /* above max-connections: mail passes */
    bool keeps_space;      /* SMFIP_HDR_LEADSPC: header values come and go with their leading space */
    unsigned long steps;   /* negotiated SMFIP_ bits */
    unsigned long actions; /* negotiated SMFIF_ bits */
    struct mail mail;
};

struct session *session_new(void);
void session_free(struct session *session);

/* May be NULL, as it is for a message handed in on the MTA's own host. */
void session_client(struct session *session, const struct sockaddr *client);

/* MAIL FROM: a new mail, judged by this snapshot (referenced). One that was under way is forgotten. */
void session_mail(struct session *session, struct snapshot *snapshot, const char *sender, bool authenticated);
void session_recipient(struct session *session, const char *address);
void session_header(struct session *session, const char *name, const char *value);

/* False: enough was read. */
bool session_body(struct session *session, const unsigned char *bytes, size_t n);

/* After the last body block: is it exempt, and is all of it for traps? */
const char *session_exemption(const struct session *session);
bool session_is_trapped(const struct session *session);

/* The mail is over. */
void session_end(struct session *session);

#endif
