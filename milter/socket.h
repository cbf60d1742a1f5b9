/*
 * The socket that the MTA connects to, and whom the daemon runs as.
 */
#ifndef MILTER_SOCKET_H
#define MILTER_SOCKET_H

#include <glib.h>
#include <stdbool.h>

#include "base/config.h"

/* The path of "unix:/path" (or "local:/path"); NULL for inet: and inet6:. Points into the text. */
const char *socket_unix_path(const char *socket);

/* Is it written as it should be, and if it is a unix socket, could it be made by whoever we are now? */
bool socket_check(const char *socket, GError **error);

/*
 * Makes libmilter listen on it. A dead unix socket in its place is removed, a live one or anything else is
 * an error. Group and mode are set as configured before anybody can connect.
 */
bool socket_open(const struct config *config, GError **error);

/* Removes the unix socket, if it still is the one we made. */
void socket_remove(void);

/*
 * Root becomes `user`, with its groups and the socket's group, for good. Others stay who they are.
 * Running as root is an error: mail is never filtered as root.
 */
bool socket_drop_privileges(const struct config *config, GError **error);

#endif
