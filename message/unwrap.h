/*
 * What users really send: the spam inside a report.
 *
 *   attached   message/rfc822 (or message/global) parts, one or several: "forward as attachment", a mailing
 *              list's or a help desk's envelope, a digest
 *   feedback   an ARF report (RFC 5965): its third part. Only text/rfc822-headers there: no body, nothing to
 * use inline     the text below the block of From:, Sent:, To:, Subject: lines that mail programs write above
 *              what they forward; the cover note above it is not used
 *
 * Wrappers are opened to a few levels, so that the user's forward inside a help desk's envelope is found.
 * A bounce (multipart/report of another type) is not a wrapper: the message that it returns was ours. When
 * something looks like a forward but the inner message is not clearly there, it is doubtful, and callers
 * should use none of it: a cover note in the store would match innocent mail.
 */
#ifndef MESSAGE_UNWRAP_H
#define MESSAGE_UNWRAP_H

#include <stddef.h>

#include "base/arena.h"
#include "message/message.h"

enum message_wrapping {
    MESSAGE_PLAIN, /* no wrapper: the message itself */
    MESSAGE_ATTACHED,
    MESSAGE_FEEDBACK,
    MESSAGE_INLINE,
    MESSAGE_QUOTED,   /* an inline block but no other sign of a forward: a reply, or a changed subject */
    MESSAGE_DOUBTFUL, /* looks like a forward; nothing to use */
};

#define MESSAGE_UNWRAP_MAX 1000 /* inner messages of one wrapper; more are not looked at */

struct message_inner {
    const void *bytes;
    size_t n;
};

struct message_unwrapped {
    enum message_wrapping wrapping; /* the outermost */
    unsigned n;                     /* 0: nothing inside that can be used */
    const struct message_inner *v;
};

/* Any thread. What it points to lives in the arena, or in `bytes`. */
struct message_unwrapped message_unwrap(struct arena *arena, const void *bytes, size_t n,
                                        const struct message_limits *limits);

#endif
