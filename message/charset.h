/*
 * Any charset -> UTF-8. Labels lie, are missing, or are unknown: the bytes have the last word, and there is
 * always some text.
 */
#ifndef MESSAGE_CHARSET_H
#define MESSAGE_CHARSET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/*
 * The bytes as valid UTF-8 without NULs, of which there are n_out. ASCII and valid UTF-8 come back as they
 * are, without a copy. `label` is what the mail says, or NULL.
 */
const char *charset_to_utf8(struct arena *arena, const char *label, const char *bytes, size_t n,
                            size_t *n_out);

/* Only bytes below 0x80 and no NUL. */
bool charset_is_ascii(const char *bytes, size_t n);

#endif
