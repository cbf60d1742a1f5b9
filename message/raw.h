/*
 * The other way to read a message that was built, or broken, to be misparsed: without its structure, as
 * lines of text.
 */
#ifndef MESSAGE_RAW_H
#define MESSAGE_RAW_H

#include <stddef.h>

#include "message/html.h"
#include "message/text.h"

/*
 * Appends the readable lines of a body: no boundaries, no headers of parts, no base64; quoted-printable is
 * undone, and HTML is read as HTML.
 */
void raw_append(struct text *text, const char *body, size_t n, const struct html_links *links);

#endif
