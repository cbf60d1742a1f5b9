/*
 * HTML -> what a reader sees of it, by libxml2's SAX interface: no tree, no network, no entities from
 * outside, no error output.
 *
 * Comments, script, style, the title and hidden text are not seen. Block elements end lines, cells end
 * words, inline elements do not: v<b></b>iagra is one word. <hr> is a line of four dashes, so that the
 * footer rule is the same as in plain text; a footer that a list put behind the last tag keeps its lines for
 * the same reason. Pictures are their `alt`.
 *
 * Links are where a reader, or the program for him, goes: href of a, area and base, action of form, src of
 * img and iframe (a mail that is one picture has no other content).
 */
#ifndef MESSAGE_HTML_H
#define MESSAGE_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "message/text.h"

struct html_links {
    void (*add)(void *user, const char *host, size_t n); /* user, host and port as they are written */
    void *user;
};

/* Appends the visible text of valid UTF-8 without NULs, and hands over the host of each link. */
void html_append(struct text *text, const char *html, size_t n, const struct html_links *links);

/*
 * Appends all text, hidden or not, in the same lines (<hr> is only an end of one: between short texts it
 * divides content as often as it starts a footer), with each other tag as a space and the values of the
 * attributes that hold content (links, alt, title, value) where they stand, each between two HTML_VALUE: the
 * material of the short view.
 */
#define HTML_VALUE '\x1f'
void html_append_source(struct text *text, const char *html, size_t n);

/* Does plain text start like a page of HTML? Many programs forget to say so. */
bool html_looks_like(const char *text, size_t n);

#endif
