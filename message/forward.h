/*
 * Inline forwards: where, in the text of a mail, does the forwarded mail begin?
 *
 * Mail programs write a block of header lines above what they forward, in the language of the user:
 *
 *      -----Original Message-----        ---------- Forwarded message ---------     Begin forwarded message:
 *      From: …                           From: …
 *      Sent: …                           Date: …                                    > From: …
 *      To: …                             Subject: …                                 > Subject: …
 *      Subject: …                        To: …                                      > Date: …
 *
 * The block is known by its names, in the languages of the table; the line above it and the prefix of the
 * subject ("Fwd:", "WG:", "Tr:") say that it is a forward, not a reply.
 */
#ifndef MESSAGE_FORWARD_H
#define MESSAGE_FORWARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum forward_kind {
    FORWARD_NONE,
    FORWARD_CLEAR,    /* a block, and a sign that it is a forward */
    FORWARD_QUOTED,   /* a block alone */
    FORWARD_DOUBTFUL, /* a sign, but no block, and text that may be quoted */
};

struct forward {
    enum forward_kind kind;
    const char *subject; /* of the inner mail, "" when the block has none; with a NUL behind */
    const char *text;    /* of the inner mail, without quote marks */
    size_t n;
};

/* Text and subject are valid UTF-8; lines end with LF or CRLF. The result lives in the arena. */
struct forward forward_find(struct arena *arena, const char *subject, const char *text, size_t n);

#endif
