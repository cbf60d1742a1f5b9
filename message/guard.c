#include "message/guard.h"

#include <glib.h>
#include <string.h>

#include "base/find.h"

/* Of the same name: GMime warns about a second one; more of them say nothing new. */
#define MAX_SAME 2

/*
 * GMime compares each line that starts with -- with every boundary that is open. So many comparisons
 * take it some milliseconds.
 */
#define MAX_COMPARISONS 500000u
#define MAX_BOUNDARIES  256u

enum { HEADER_TYPE, HEADER_ENCODING, HEADER_DISPOSITION, HEADERS_KEPT };

static const char *const kept_names[HEADERS_KEPT] = {
    [HEADER_TYPE] = "Content-Type",
    [HEADER_ENCODING] = "Content-Transfer-Encoding",
    [HEADER_DISPOSITION] = "Content-Disposition",
};

struct header_walk {
    const char *end; /* of the message */
    size_t limit;    /* bytes of the block */
    char *out;       /* where kept headers go */
    unsigned seen[HEADERS_KEPT];
};

static const char *next_line(const char *p, const char *end)
{
    const char *lf = memchr(p, '\n', (size_t)(end - p));
    return lf ? lf + 1 : end;
}

static bool is_blank(const char *p, const char *next)
{
    return next == p || *p == '\n' || (*p == '\r' && (next - p == 1 || p[1] == '\n'));
}

/* The length of the name when the line is "Name:" with or without spaces before the colon, or 0. */
static size_t name_length(const char *p, const char *next)
{
    const char *q = p;
    while (q<next && * q> ' ' && *q < 0x7f && *q != ':')
        q++;
    size_t n = (size_t)(q - p);
    while (q < next && (*q == ' ' || *q == '\t'))
        q++;
    return q < next && *q == ':' ? n : 0;
}

/* Names that text hardly has at the start of a line: a junk line before one is not the end of the header. */
static bool is_mail_header(const char *p, const char *next)
{
    static const char *const names[] = { "Content-", "MIME-Version", "Received", "Message-ID", "Return-Path",
                                         "X-",       "Subject",      "From",     "To",         "Date" };
    size_t n = name_length(p, next);
    for (size_t i = 0; n && i < G_N_ELEMENTS(names); i++) {
        size_t length = strlen(names[i]);
        bool prefix = names[i][length - 1] == '-';
        if ((prefix ? n > length : n == length) && g_ascii_strncasecmp(p, names[i], length) == 0)
            return true;
    }
    return false;
}

/* The end of the header that starts at p: behind its folded lines. */
static const char *header_end(const char *p, const char *end)
{
    const char *next = next_line(p, end);
    while (next < end && (*next == ' ' || *next == '\t')) {
        const char *after = next_line(next, end);
        const char *q = next;
        while (q < after && g_ascii_isspace(*q))
            q++;
        if (q == after)
            break; /* a line of spaces is taken as the blank line */
        next = after;
    }
    return next;
}

static void keep_header(struct header_walk *walk, struct guarded *out, const char *p, size_t name_n,
                        const char *next)
{
    if (name_n == 7 && !out->subject && g_ascii_strncasecmp(p, "Subject", 7) == 0) {
        const char *value = (const char *)memchr(p, ':', (size_t)(next - p)) + 1;
        out->subject = value;
        out->subject_n = (size_t)(next - value);
        return;
    }
    for (unsigned i = 0; i < HEADERS_KEPT; i++) {
        if (name_n != strlen(kept_names[i]) || g_ascii_strncasecmp(p, kept_names[i], name_n) != 0)
            continue;
        if (++walk->seen[i] > MAX_SAME)
            return;
        memcpy(walk->out, p, (size_t)(next - p));
        walk->out += next - p;
        if (next[-1] != '\n')
            *walk->out++ = '\n';
    }
}

/*
 * Walks over the header block and returns where the body starts. A line that is no header ends it, as in
 * Postfix and Sendmail, unless headers go on behind it.
 */
static const char *walk_header(struct header_walk *walk, const char *p, struct guarded *out)
{
    const char *start = p;
    if (walk->end - p > 5 && (memcmp(p, "From ", 5) == 0 || memcmp(p, ">From", 5) == 0))
        p = next_line(p, walk->end);
    for (bool any = false; p < walk->end;) {
        const char *line = next_line(p, walk->end);
        if (is_blank(p, line))
            return line;
        size_t name_n = name_length(p, line);
        if (!name_n && !(any && line < walk->end && is_mail_header(line, next_line(line, walk->end))))
            return p;
        const char *next = name_n ? header_end(p, walk->end) : line;
        if ((size_t)(next - start) > walk->limit)
            out->cut |= MESSAGE_CUT_HEADER; /* read on for the body; no header of the rest counts */
        else if (name_n)
            keep_header(walk, out, p, name_n, next);
        any = true;
        p = next;
    }
    return p;
}

/* A mail with bare CRs for line ends: GMime and we know LF only. */
static const char *with_line_feeds(struct arena *arena, const char *bytes, size_t n)
{
    if (memchr(bytes, '\n', MIN(n, (size_t)4096)) || !memchr(bytes, '\r', MIN(n, (size_t)4096)) ||
        memchr(bytes, '\n', n))
        return bytes;
    char *copy = arena_alloc(arena, n);
    for (size_t i = 0; i < n; i++)
        copy[i] = bytes[i] == '\r' ? '\n' : bytes[i];
    return copy;
}

struct boundaries {
    unsigned n;
    struct {
        const char *v;
        size_t n;
    } of[MAX_BOUNDARIES];
};

/* All that follows "boundary=" anywhere: more than the parser will use, which is on the safe side. */
static void find_boundaries(const char *p, const char *end, struct boundaries *out)
{
    out->n = 0;
    while (p < end && out->n < MAX_BOUNDARIES) {
        const char *eq = memchr(p, '=', (size_t)(end - p));
        if (!eq)
            return;
        const char *name = eq;
        while (name > p &&
               (name[-1] == ' ' || name[-1] == '\t' || name[-1] == '*' || g_ascii_isdigit(name[-1])))
            name--;
        bool declares = name - p >= 8 && g_ascii_strncasecmp(name - 8, "boundary", 8) == 0;
        p = eq + 1;
        while (declares && p < end && (g_ascii_isspace(*p) || *p == '"'))
            p++;
        if (!declares)
            continue;
        const char *value = p;
        while (p < end && *p != '"' && *p != ';' && *p != '\r' && *p != '\n')
            p++;
        out->of[out->n].v = value;
        out->of[out->n++].n = (size_t)(p - value);
    }
}

static bool is_boundary(const struct boundaries *boundaries, const char *p, const char *end)
{
    for (unsigned i = 0; i < boundaries->n; i++)
        if (boundaries->of[i].n <= (size_t)(end - p) &&
            memcmp(p, boundaries->of[i].v, boundaries->of[i].n) == 0)
            return true;
    return false;
}

static const char *next_dashes(const char *p, const char *end)
{
    return p < end ? find_rare(p, (size_t)(end - p), "\n--", 0) : NULL;
}

/* How many bytes of the body GMime may see. Called only when there are many lines that start with --. */
static size_t allowed(const char *body, const char *end, unsigned parts, const char *mime)
{
    struct boundaries boundaries;
    find_boundaries(mime, end, &boundaries);
    unsigned found = 0;
    size_t comparisons = 0;
    for (const char *p = next_dashes(body, end); p; p = next_dashes(p + 3, end)) {
        comparisons += boundaries.n + 1;
        found += boundaries.n == MAX_BOUNDARIES || is_boundary(&boundaries, p + 3, end);
        /* Each part has one boundary before it; the ends of nested ones are as many again at most. */
        if (found > 2 * (size_t)parts || comparisons > MAX_COMPARISONS)
            return (size_t)(p + 1 - body);
    }
    return (size_t)(end - body);
}

/* The header block of a part: from its boundary to the blank line, if that is before `stop`. */
static size_t header_length(const char *at, const char *stop)
{
    size_t n = (size_t)(stop - at);
    const char *lf = find_rare(at, n, "\n\n", 0);
    const char *crlf = find_rare(at, lf ? (size_t)(lf - at) : n, "\n\r\n", 0);
    return crlf ? (size_t)(crlf - at) : lf ? (size_t)(lf - at) : n;
}

/*
 * All part headers together may be as long as one header block. The one that goes beyond gets a blank line
 * where the limit is, and is the last part.
 */
static void limit_part_headers(struct guarded *out, char *body, char *end, size_t limit)
{
    size_t left = limit;
    for (const char *p = next_dashes(body, end), *next; p; p = next) {
        next = next_dashes(p + 3, end);
        size_t n = header_length(p + 3, next ? next : end);
        if (n < left) {
            left -= n;
            continue;
        }
        char *at = body + (p + 3 - body) + left;
        for (size_t i = 0; i < 2 && at + i < end; i++)
            at[i] = '\n';
        out->mime_n = (size_t)((next ? next : end) - out->mime);
        out->cut |= MESSAGE_CUT_HEADER;
        return;
    }
}

static void guard_body(struct guarded *out, const struct message_limits *limits)
{
    char *body = out->mime + out->body_at - 1, *end = out->mime + out->mime_n; /* from the blank line's LF */
    unsigned dashes = 0;
    for (const char *p = next_dashes(body, end); p && dashes <= limits->parts; p = next_dashes(p + 3, end))
        dashes++;
    if (dashes > limits->parts) {
        size_t n = allowed(body, end, limits->parts, out->mime);
        if (body + n < end)
            out->cut |= MESSAGE_CUT_PARTS;
        end = body + n;
        out->mime_n = (size_t)(end - out->mime);
    }
    if (dashes && (size_t)(end - body) > limits->header_bytes)
        limit_part_headers(out, body, end, limits->header_bytes);
}

void guard_message(struct arena *arena, const char *bytes, size_t n, const struct message_limits *limits,
                   struct guarded *out)
{
    *out = (struct guarded) { 0 };
    if (n > limits->bytes) {
        n = limits->bytes;
        out->cut |= MESSAGE_CUT_BYTES;
    }
    bytes = n ? with_line_feeds(arena, bytes, n) : "";
    const char *end = bytes + n;
    out->mime = arena_alloc(arena, n + 2);
    struct header_walk walk = { .end = end, .limit = limits->header_bytes, .out = out->mime };
    const char *body = walk_header(&walk, bytes, out);

    *walk.out++ = '\n';
    out->body_at = (size_t)(walk.out - out->mime);
    memcpy(walk.out, body, (size_t)(end - body));
    out->mime_n = out->body_at + (size_t)(end - body);
    guard_body(out, limits);
}
