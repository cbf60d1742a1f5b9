/*
 * One connection to one Redis server: hiredis on a non-blocking socket that we opened ourselves, so that
 * connecting, writing and reading all end at one deadline. hiredis' own time-outs are per system call.
 *
 * A wire belongs to one thread at a time, and is dead after any error: close it. It is never mended.
 */
#ifndef STORE_WIRE_H
#define STORE_WIRE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/resp.h"
#include "store/deadline.h"
#include "store/tls.h"

struct wire;

/* A UNIX socket when path is there, else host and port. The name is for sentences. */
struct wire_target {
    const char *name, *path, *host;
    uint16_t port;
    struct tls *tls; /* NULL: in the clear */
};

/* Connected, with the TLS handshake done, and nothing else. The name must outlive the wire. */
struct wire *wire_open(const struct wire_target *target, struct deadline deadline, GError **error);

/* Sets NULL. NULL is fine. */
void wire_close(struct wire **wire);

/* One more command of the next exchange. */
void wire_append(struct wire *wire, int argc, const char **argv, const size_t *argvlen);

/* Is there nothing to read, not even that the server hung up? An idle wire must be so. */
bool wire_is_quiet(const struct wire *wire);

/* When it was last used, by the monotonic clock. */
int64_t wire_last_used(const struct wire *wire);

/* A number for the use of its owner. */
unsigned *wire_tag(struct wire *wire);

/* What one wire has to do in an exchange: send what was appended, and get as many replies. */
struct wire_job {
    struct wire *wire;
    redisReply **replies; /* n of them, filled from the first on */
    size_t n, got;
    bool written;  /* all of it is sent */
    GError *error; /* the wire is dead; replies up to `got` are there */
};

/* All at once: everything is sent, then everything is read. Each job ends with all its replies or an error. */
void wire_exchange(struct wire_job *jobs, size_t n_jobs, struct deadline deadline);

/* The same with one wire. False: no reply is kept, and the wire is dead. */
bool wire_ask(struct wire *wire, redisReply **replies, size_t n, struct deadline deadline, GError **error);

#endif
