/*
 * Redis Sentinel: who is the primary now?
 */
#ifndef STORE_SENTINEL_H
#define STORE_SENTINEL_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/deadline.h"
#include "store/url.h"

/*
 * Asks one sentinel of the URL for the address of the master that the URL names. It answers what it
 * believes: connect, and check the ROLE. The sentinel gets the password only when it wants one.
 */
bool sentinel_ask(const struct url *url, const struct url_host *sentinel, struct deadline deadline,
                  char **host_out, uint16_t *port_out, GError **error);

#endif
