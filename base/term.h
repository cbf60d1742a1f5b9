/*
 * A term: what message/ makes of a text, and what lexicon/ and signature/ work on.
 */
#ifndef BASE_TERM_H
#define BASE_TERM_H

#include <stdint.h>

enum term_kind {
    TERM_WORD,   /* a word, or a character bigram in scripts without spaces */
    TERM_HOST,   /* the host of a link, written "http:host" in files, so that no word is ever equal to one */
    TERM_WINDOW, /* five characters of a short mail */
    TERM_PART,   /* the digest of an attached part, in hex */
};

/* Plain value. The text is UTF-8 with a NUL behind, and lives in the arena of its message. */
struct term {
    uint64_t hash; /* hash_bytes(text, length, key ^ kind): the only hash of the string ever taken */
    const char *text;
    uint32_t length;
    enum term_kind kind;
};

/* Distinct terms in the order in which they were first seen. */
struct terms {
    const struct term *v;
    uint32_t n;
};

#endif
