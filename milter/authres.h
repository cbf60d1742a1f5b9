/*
 * Authentication-Results (RFC 8601): which DKIM domains did our own server find to pass?
 *
 * The bytes come from outside: a sender may write anything into them, also our own server's name. Only the
 * caller knows which of the headers may be trusted (see session.c); here one header is read.
 */
#ifndef MILTER_AUTHRES_H
#define MILTER_AUTHRES_H

#include <stdbool.h>
#include <stddef.h>

/* Called for each dkim=pass with its signing domain (header.d), in lower case. False stops. */
typedef bool (*authres_visit)(const char *domain, void *user);

enum authres {
    AUTHRES_FOREIGN, /* not of this server, or not to be understood */
    AUTHRES_SILENT,  /* of this server, says nothing about DKIM */
    AUTHRES_DKIM,    /* of this server, has a DKIM result: passed ones were visited */
};

/* Reads the value of one header. Comments, quotes and folding are understood; what is broken is foreign. */
enum authres authres_read(const char *value, const char *authserv_id, authres_visit visit, void *user);

#endif
