/*
 * What went wrong with Redis, as a sentence: error replies and failed connections.
 *
 * No sentence ever has the password. Text of the server is cleaned of control characters and cut.
 */
#ifndef STORE_FAULT_H
#define STORE_FAULT_H

#include <glib.h>
#include <stdbool.h>

#include "store/resp.h"
#include "store/deadline.h"

enum fault_kind {
    FAULT_NONE,     /* not an error */
    FAULT_MOVED,    /* not executed: ask the owner, which is named */
    FAULT_ASK,      /* not executed: ask there, this once */
    FAULT_AGAIN,    /* not executed: TRYAGAIN, CLUSTERDOWN: wait a little */
    FAULT_READONLY, /* not executed: the primary is another one now */
    FAULT_SERVER,   /* the server as a whole does not serve this client */
    FAULT_COMMAND,  /* this one command failed */
};

enum fault_kind fault_kind(const redisReply *reply);

/*
 * Turns an error reply into a sentence about the server (NULL: not known). Always returns false. With
 * `secret` the command had the password in it, and nothing of the reply is quoted, as it may quote it.
 */
bool fault_reply(GError **error, const char *server, const redisReply *reply, bool secret);

/* Connecting or talking failed with an errno; `context` may be NULL. Always false. */
bool fault_errno(GError **error, const char *server, int number);

/* The deadline passed. Always false. */
bool fault_timeout(GError **error, const char *server, struct deadline deadline);

#endif
