/*
 * What must be looked at before GMime sees a message: GMime has no limit on headers and parts, and its
 * address parser recurses.
 *
 *      From: …           ┐ only what says how to read the body goes on; the subject is kept apart;
 *      Subject: …        │ addresses, dates and the rest are never parsed
 *      Content-Type: …   ┘
 *                          the blank line
 *      body                cut where there are too many lines that can be boundaries
 */
#ifndef MESSAGE_GUARD_H
#define MESSAGE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "message/message.h"

struct guarded {
    const char *subject; /* as it is in the header, folded lines and all */
    size_t subject_n;
    char *mime; /* Content-* headers, a blank line, the body: what GMime parses; in the arena */
    size_t mime_n;
    size_t body_at; /* in mime */
    unsigned cut;   /* enum message_cut */
};

void guard_message(struct arena *arena, const char *bytes, size_t n, const struct message_limits *limits,
                   struct guarded *out);

#endif
