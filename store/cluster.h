/*
 * Redis Cluster: which of the 16384 slots a key is in, and who owns the slots.
 */
#ifndef STORE_CLUSTER_H
#define STORE_CLUSTER_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/resp.h"
#include "store/wire.h"

#define CLUSTER_SLOTS 16384

/* CRC-16/XMODEM: polynomial 0x1021, begins with 0. */
uint16_t cluster_crc16(const void *bytes, size_t n);

/* Of the part between the first { and the next }, if there is one and it is not empty; else of the whole key. */
unsigned cluster_slot(const char *key, size_t length);

/* A run of slots and its primary. */
struct cluster_range {
    unsigned first, last;
    char *host;
    uint16_t port;
};

/*
 * CLUSTER SLOTS. An array of struct cluster_range that frees itself; NULL with an error. A node that does
 * not know its own name is at `asked_host`.
 */
GArray *cluster_ask(struct wire *wire, const char *asked_name, const char *asked_host, struct deadline deadline,
                    GError **error);

/* "MOVED 3999 host:port" and "ASK 3999 host:port". False when it is neither. */
bool cluster_redirect(const redisReply *reply, const char *asked_host, unsigned *slot_out, char **host_out,
                      uint16_t *port_out);

#endif
