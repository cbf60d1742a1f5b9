#include "message/raw.h"

#include <gmime/gmime.h>
#include <stdbool.h>
#include <string.h>

#include "message/charset.h"

#define BASE64_LINE 60 /* a line of so many characters without a space is no text */

struct lines {
    char *v; /* the readable ones */
    size_t n;
    bool in_header; /* of a part */
    bool quoted, html;
};

static bool starts(const char *p, const char *next, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(next - p) >= n && g_ascii_strncasecmp(p, word, n) == 0;
}

static bool is_base64(const char *p, const char *next)
{
    size_t n = 0;
    while (p + n < next && (g_ascii_isalnum(p[n]) || strchr("+/=", p[n])))
        n++;
    return n >= BASE64_LINE && (p + n == next || p[n] == '\r' || p[n] == '\n');
}

static bool is_boundary(const char *p, const char *next)
{
    while (next > p && g_ascii_isspace(next[-1]))
        next--;
    return next - p > 4 && p[0] == '-' && p[1] == '-' && p[2] != '-' && !memchr(p, ' ', (size_t)(next - p));
}

static void read_line(struct lines *lines, const char *p, const char *next)
{
    if (starts(p, next, "Content-")) {
        lines->in_header = true;
        const char *value = memchr(p, ':', (size_t)(next - p));
        if (value && memmem(value, (size_t)(next - value), "quoted-printable", 16))
            lines->quoted = true;
        if (value && memmem(value, (size_t)(next - value), "text/html", 9))
            lines->html = true;
        return;
    }
    if (is_boundary(p, next)) {
        lines->in_header = true;
        return;
    }
    if (lines->in_header && !g_ascii_isspace(*p) && !memchr(p, ':', (size_t)(next - p)))
        lines->in_header = false;
    if (lines->in_header && (*p == '\n' || *p == '\r'))
        lines->in_header = false;
    if (lines->in_header || is_base64(p, next))
        return;
    memcpy(lines->v + lines->n, p, (size_t)(next - p));
    lines->n += (size_t)(next - p);
}

void raw_append(struct text *text, const char *body, size_t n, const struct html_links *links)
{
    struct lines lines = { .v = arena_alloc(text->arena, n + 1) };
    for (const char *p = body, *end = body + n; p < end;) {
        const char *lf = memchr(p, '\n', (size_t)(end - p)), *next = lf ? lf + 1 : end;
        read_line(&lines, p, next);
        p = next;
    }
    if (lines.quoted) {
        GMimeEncoding state;
        g_mime_encoding_init_decode(&state, GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE);
        char *out = arena_alloc(text->arena, g_mime_encoding_outlen(&state, lines.n));
        lines.n = g_mime_encoding_step(&state, lines.v, lines.n, out);
        lines.v = out;
    }
    size_t utf8_n;
    const char *utf8 = charset_to_utf8(text->arena, NULL, lines.v, lines.n, &utf8_n);
    text_end_line(text);
    if (lines.html || html_looks_like(utf8, utf8_n))
        html_append(text, utf8, utf8_n, links);
    else
        text_append_plain(text, utf8, utf8_n);
    text_end_line(text);
}
