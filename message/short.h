/*
 * Short mail: a line and a link, a picture. Too few words for a sketch, so it is read in two other ways.
 */
#ifndef MESSAGE_SHORT_H
#define MESSAGE_SHORT_H

#include <stdint.h>

#include "base/arena.h"
#include "base/term.h"
#include "message/parts.h"

/* Fewer terms than this in the body view: the mail is short. */
#define SHORT_BELOW 20

/*
 * Windows of five characters over the text parts without the subject: letters in lower case, runs of digits
 * as one 0, runs of anything else as one space; links and other content of HTML tags are part of it. None
 * when there are fewer than 12 windows, or 3,000 characters or more.
 */
struct terms short_windows(const struct parts *walk, uint64_t key);

/* The digest of the largest part that is no text, when it has 1,024 bytes or more. */
struct terms short_part(const struct parts *walk, uint64_t key);

#endif
