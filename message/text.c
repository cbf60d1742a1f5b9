#include "message/text.h"

#include <glib.h>
#include <string.h>

#include "base/find.h"

#define FIRST_ROOM   8192u
#define FOOTER_LINES 25

void text_init(struct text *text, struct arena *arena, size_t limit)
{
    static char nothing[1];
    *text = (struct text) { .arena = arena, .v = nothing, .limit = limit };
}

static void make_room(struct text *text, size_t need)
{
    size_t room = MAX(text->room * 2, (size_t)FIRST_ROOM);
    room = MAX(room, need);
    char *v = arena_alloc(text->arena, room);
    memcpy(v, text->v, text->n);
    text->v = v;
    text->room = room;
}

void text_append(struct text *text, const char *bytes, size_t n)
{
    if (n > text->limit - text->n) {
        n = text->limit - text->n;
        text->cut = true;
    }
    if (!n)
        return;
    if (n > text->room - text->n)
        make_room(text, text->n + n);
    memcpy(text->v + text->n, bytes, n);
    text->n += n;
}

void text_end_line(struct text *text)
{
    while (text->n && text->v[text->n - 1] == ' ')
        text->n--;
    if (text->n && text->v[text->n - 1] != '\n')
        text_append(text, "\n", 1);
}

void text_end_word(struct text *text)
{
    if (text->n && text->v[text->n - 1] != '\n' && text->v[text->n - 1] != ' ')
        text_append(text, " ", 1);
}

bool text_says_something(const struct text *text, size_t from)
{
    for (size_t i = from; i < text->n; i++)
        if ((unsigned char)text->v[i] >= 0x80 || g_ascii_isalnum(text->v[i]))
            return true;
    return false;
}

static const char *line_end(const char *p, const char *end)
{
    const char *lf = memchr(p, '\n', (size_t)(end - p));
    return lf ? lf + 1 : end;
}

/* "begin 644 name": three or four octal digits, and a name. */
static bool begins_uuencode(const char *p, const char *end)
{
    if (end - p < 12 || memcmp(p, "begin ", 6) != 0)
        return false;
    size_t digits = 0;
    while (digits < 5 && p[6 + digits] >= '0' && p[6 + digits] <= '7')
        digits++;
    return (digits == 3 || digits == 4) && p[6 + digits] == ' ';
}

/* A full line of uuencode says its own length in its first character. */
static bool is_uuencoded(const char *p, const char *next)
{
    while (next > p && (next[-1] == '\n' || next[-1] == '\r'))
        next--;
    if (p == next || *p < ' ' || *p > '`')
        return p == next;
    size_t bytes = (size_t)((*p - ' ') & 63), want = (bytes + 2) / 3 * 4, have = (size_t)(next - p) - 1;
    return have + 2 >= want && have <= want + 2;
}

/* Behind the block; a block that was cut off or is none ends with its last line that fits. */
static const char *skip_uuencode(const char *p, const char *end)
{
    p = line_end(p, end);
    while (p < end) {
        const char *next = line_end(p, end);
        if (next - p >= 3 && memcmp(p, "end", 3) == 0 && (next - p == 3 || g_ascii_isspace(p[3])))
            return next;
        if (!is_uuencoded(p, next))
            return p;
        p = next;
    }
    return p;
}

void text_append_plain(struct text *text, const char *bytes, size_t n)
{
    const char *p = bytes, *end = bytes + n;
    for (const char *from = p, *block; from < end; from = MAX(block + 6, p)) {
        block = find_rare(from, (size_t)(end - from), "begin ", 0);
        if (!block)
            break;
        if ((block != bytes && block[-1] != '\n') || !begins_uuencode(block, end))
            continue;
        const char *behind = skip_uuencode(block, end);
        if (behind == line_end(block, end))
            continue; /* a sentence: "begin 2025 with a smile" */
        text_append(text, p, (size_t)(block - p));
        p = behind;
    }
    text_append(text, p, (size_t)(end - p));
}

static bool ends_url(char c)
{
    return (unsigned char)c <= ' ' || (unsigned char)c >= 0x7f || strchr("<>\"'()[]{}|\\^`,", c);
}

static size_t scheme_length(const char *bytes, size_t colon)
{
    static const char *const schemes[] = { "https", "http", "ftp" };
    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (colon >= n && g_ascii_strncasecmp(bytes + colon - n, schemes[i], n) == 0)
            return n;
    }
    return 0;
}

static void measure_url(const char *bytes, size_t n, size_t host_at, struct text_url *out)
{
    size_t end = host_at, host_end;
    while (end < n && !ends_url(bytes[end]))
        end++;
    for (host_end = host_at; host_end < end && !strchr("/?#", bytes[host_end]); host_end++)
        ;
    while (host_end > host_at && !g_ascii_isalnum(bytes[host_end - 1]))
        host_end--;
    out->host_at = host_at;
    out->host_n = host_end - host_at;
    out->n = end - out->at;
}

static bool is_www(const char *bytes, size_t n, size_t at)
{
    return n - at > 4 && g_ascii_strncasecmp(bytes + at, "www.", 4) == 0 &&
           (!at || !g_ascii_isalnum(bytes[at - 1])) && g_ascii_isalnum(bytes[at + 4]);
}

static bool find_schemed(const char *bytes, size_t n, size_t from, struct text_url *out)
{
    for (size_t at = from; at < n;) {
        const char *p = find_rare(bytes + at, n - at, "://", 0);
        if (!p)
            return false;
        size_t colon = (size_t)(p - bytes), scheme = scheme_length(bytes + from, colon - from);
        at = colon + 3;
        if (scheme && at < n && !ends_url(bytes[at])) {
            out->at = colon - scheme;
            measure_url(bytes, n, at, out);
            return true;
        }
    }
    return false;
}

/* Looks only before `stop`: the next URL with a scheme. */
static bool find_www(const char *bytes, size_t n, size_t stop, size_t from, struct text_url *out)
{
    for (size_t at = from; at < stop; at++) {
        const char *p = memchr(bytes + at, '.', stop - at);
        if (!p)
            return false;
        at = (size_t)(p - bytes);
        if (at >= from + 3 && is_www(bytes, n, at - 3)) {
            out->at = at - 3;
            measure_url(bytes, n, at - 3, out);
            return true;
        }
    }
    return false;
}

void text_urls_init(struct text_urls *urls, const char *bytes, size_t n)
{
    *urls = (struct text_urls) { .bytes = bytes, .n = n };
}

bool text_urls_next(struct text_urls *urls, struct text_url *out)
{
    /* The place of the next "://" is kept, so that many "www." before it do not look for it each time. */
    if (!urls->looked || (urls->more && urls->schemed.at < urls->at)) {
        urls->more = find_schemed(urls->bytes, urls->n, urls->at, &urls->schemed);
        urls->looked = true;
    }
    size_t stop = urls->more ? urls->schemed.at : urls->n;
    if (!find_www(urls->bytes, urls->n, stop, urls->at, out)) {
        if (!urls->more)
            return false;
        *out = urls->schemed;
    }
    urls->at = out->at + out->n;
    return true;
}

/* Is the line [p, end) a rule? Line ends are not in it. */
static bool is_rule(const char *p, const char *end)
{
    while (end > p && g_ascii_isspace(end[-1]))
        end--;
    if (end - p == 2 && p[0] == '-' && p[1] == '-')
        return true;
    return end - p >= 4 && strchr("_-=*", p[0]) && p[1] == p[0] && p[2] == p[0] && p[3] == p[0];
}

size_t text_find_footer(const char *bytes, size_t n, size_t from)
{
    size_t footer = n, end = n;
    while (end && g_ascii_isspace(bytes[end - 1]))
        end--;
    for (unsigned line = 0; line < FOOTER_LINES && end; line++) {
        size_t start = end;
        while (start && bytes[start - 1] != '\n' && bytes[start - 1] != '\r')
            start--;
        if (start < from)
            break;
        if (is_rule(bytes + start, bytes + end))
            footer = start;
        if (!start)
            break;
        end = start - 1;
        if (end && bytes[end] == '\n' && bytes[end - 1] == '\r')
            end--;
    }
    return footer;
}
