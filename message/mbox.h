/* Where a message in an mbox ends. Pure functions on bytes. */
#ifndef MESSAGE_MBOX_H
#define MESSAGE_MBOX_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Looks for the "From " line behind a message in the n bytes of it that are there. `first`: they begin with
 * the message's first byte; `last`: the file ends with them.
 *
 * True: the message is the first *end_out bytes, and the "From " line begins at *next_out. False: none yet;
 * the first *end_out bytes (perhaps 0) surely belong to the message, and more bytes are needed to judge the
 * others. Never undecided about all of MBOX_ENOUGH bytes.
 */
#define MBOX_ENOUGH 4096
bool mbox_find_end(const char *bytes, size_t n, bool first, bool last, size_t *end_out, size_t *next_out);

/* Takes one '>' from each line that is ">From ", ">>From " and so on, in place; returns the new length. */
size_t mbox_unquote(char *bytes, size_t n);

#endif
