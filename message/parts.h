/*
 * The walk over the parts of a message, and the choice of those that a reader sees.
 */
#ifndef MESSAGE_PARTS_H
#define MESSAGE_PARTS_H

#include <gmime/gmime.h>
#include <stddef.h>

#include "base/arena.h"
#include "message/html.h"
#include "message/message.h"
#include "message/text.h"

/* A text part as it was shown, decoded to UTF-8. */
struct parts_shown {
    struct parts_shown *next;
    const char *utf8;
    size_t n;
    bool html;
};

struct parts {
    struct arena *arena;
    const struct message_limits *limits;
    struct html_links links;   /* where hosts of HTML links go */
    struct text subject;       /* of the message itself */
    struct text text;          /* all visible text below it, with the subjects of messages inside */
    struct parts_shown *shown; /* in order */
    struct parts_shown **shown_end;
    GMimePart *attached; /* the largest part that is no text, and about how large it is */
    size_t attached_n;
    unsigned n_parts;
    size_t bytes_left; /* to parse, over all messages inside messages */
    unsigned cut;      /* enum message_cut */
};

void parts_init(struct parts *walk, struct arena *arena, const struct message_limits *limits);
void parts_read(struct parts *walk, const char *bytes, size_t n);

/* The content of a part without its transfer encoding. Not a copy where there is none. */
const char *parts_decode(struct arena *arena, GMimePart *part, size_t *n_out);

#endif
