/*
 * The visible text of a message while it grows: one piece of UTF-8 in the arena, lines ended by LF, never
 * longer than the limit.
 */
#ifndef MESSAGE_TEXT_H
#define MESSAGE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct text {
    struct arena *arena;
    char *v;
    size_t n, room, limit;
    bool cut; /* the limit was reached: later text was dropped */
};

void text_init(struct text *text, struct arena *arena, size_t limit);

void text_append(struct text *text, const char *bytes, size_t n);

/* Ends the line, or the word, unless it has ended. */
void text_end_line(struct text *text);
void text_end_word(struct text *text);

/* Is there a letter or digit behind this place? */
bool text_says_something(const struct text *text, size_t from);

/* Appends plain text without uuencoded blocks. */
void text_append_plain(struct text *text, const char *bytes, size_t n);

/* A place in a text: a link, written as a URL. */
struct text_url {
    size_t at, n;           /* all of it */
    size_t host_at, host_n; /* user, host and port */
};

/* Walks over the URLs of a text: scheme://… (http, https, ftp) and www.… */
struct text_urls {
    const char *bytes;
    size_t n, at;            /* at: behind the last URL */
    struct text_url schemed; /* the next one with a scheme; known while it is behind `at` */
    bool looked, more;       /* schemed is known; there is one */
};

void text_urls_init(struct text_urls *urls, const char *bytes, size_t n);
bool text_urls_next(struct text_urls *urls, struct text_url *out);

/*
 * Where a footer may start: at the first line, at or behind `from` and among the last 25, that is `-- ` or
 * begins with `____`, `----`, `====` or `****`. n when there is none.
 */
size_t text_find_footer(const char *bytes, size_t n, size_t from);

#endif
