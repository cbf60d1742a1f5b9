/*
 * message/ turns the bytes of a mail into its visible text, and the text into terms.
 *
 *      bytes ─▶ guard ─▶ GMime ─▶ parts a reader sees ─▶ charset, HTML ─▶ text ─▶ tokens ─▶ terms per view
 *
 * There is no bad message: broken MIME, lying charsets and hostile sizes give some text, or none. What a
 * limit cut off is said in `cut`; what was seen before it still counts.
 */
#ifndef MESSAGE_MESSAGE_H
#define MESSAGE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/term.h"

/* Changes whenever the same text may give other terms. Recorded in .df and .lex files. */
#define MESSAGE_TOKENISER 1

/* Settings: [limits] in refrain.conf. */
struct message_limits {
    size_t bytes;        /* of the message as it came; the rest is not read */
    size_t header_bytes; /* of one header block */
    unsigned parts;      /* MIME parts */
    unsigned depth;      /* of nested parts */
    size_t text_bytes;   /* of visible text, after decoding */
    unsigned terms;      /* distinct terms in one view */
};

extern const struct message_limits message_default_limits;

/* Bits of `cut`. */
enum message_cut {
    MESSAGE_CUT_BYTES = 1 << 0,
    MESSAGE_CUT_HEADER = 1 << 1,
    MESSAGE_CUT_PARTS = 1 << 2,
    MESSAGE_CUT_DEPTH = 1 << 3,
    MESSAGE_CUT_TEXT = 1 << 4,
    MESSAGE_CUT_TERMS = 1 << 5,
};

/*
 * A view is one way to read a message. A view is only ever compared with the same view.
 *
 *   body   what a reader reads: subject and visible text without the footer, and the hosts of all links
 *   full   everything visible, footer included; only when there is a footer
 *   short  windows of five characters of a mail with few words
 *   part   the digest of the largest attached part of a mail with few words
 */
enum message_view { MESSAGE_BODY, MESSAGE_FULL, MESSAGE_SHORT, MESSAGE_PART, MESSAGE_VIEWS };

/* "body", "full", "short", "part". */
const char *message_view_name(enum message_view view);

/* Plain value; everything it points to lives in the arena. */
struct message {
    struct terms view[MESSAGE_VIEWS]; /* n = 0: the message has no such view */
    unsigned cut;                     /* enum message_cut */
};

/*
 * Reads a message. `key` is the key of all term hashes: lexicon_key() where they go on to a signature.
 * Any thread; GMime must have been initialised by message_init().
 */
struct message *message_read(struct arena *arena, const void *bytes, size_t n, uint64_t key,
                             const struct message_limits *limits);

/* The terms of plain text that is not a mail: lines of a collection, words on a command line. */
struct terms message_terms_of_text(struct arena *arena, const char *text, size_t n, uint64_t key,
                                   const struct message_limits *limits);

/*
 * The visible text itself, subject first and the hosts of links as URLs last: for experiments, never for
 * a log or a store. UTF-8, not ended by a NUL.
 */
const char *message_text(struct arena *arena, const void *bytes, size_t n, const struct message_limits *limits,
                         size_t *n_out);

/*
 * Once per process, before any other function here and before threads start. From then on GMime gives
 * message/rfc822 and its kin as plain parts (GMimePart), whose content is the message inside: its own way
 * would parse the addresses there, by a recursion that a long header drives through the stack. Guard the
 * header before GMime sees a whole message for the same reason (guard.h).
 */
void message_init(void);

/* "parts, depth": the names of the limits in a cut, for people. Empty when nothing was cut. */
const char *message_cut_names(struct arena *arena, unsigned cut);

#endif
