/*
 * Header text -> UTF-8: encoded words (RFC 2047), raw 8-bit bytes, folded lines. GMime's own decoder
 * complains on stderr about charsets that it does not know, which any sender could make it do.
 */
#ifndef MESSAGE_SUBJECT_H
#define MESSAGE_SUBJECT_H

#include <stddef.h>

#include "base/arena.h"

const char *subject_decode(struct arena *arena, const char *raw, size_t n, size_t *n_out);

#endif
