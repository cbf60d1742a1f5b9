/*
 * Host names to addresses, within a deadline: getaddrinfo() has none, so that it runs on a thread of its
 * own, which is left to itself when it takes too long. Addresses in digits cost no thread.
 */
#ifndef STORE_RESOLVE_H
#define STORE_RESOLVE_H

#include <glib.h>
#include <netdb.h>
#include <stdint.h>

#include "store/deadline.h"

/* Free with freeaddrinfo(). NULL with REFRAIN_ERROR_UNAVAILABLE. */
struct addrinfo *resolve_host(const char *host, uint16_t port, struct deadline deadline, GError **error);

#endif
