#include "message/short.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unicode/uchar.h>

#include "base/hash.h"
#include "message/tokens.h"

#define WINDOW      5
#define MIN_WINDOWS 12
#define MAX_LENGTH  3000 /* characters */
#define MIN_TEXT    20   /* characters that a footer must leave */
#define MAX_VALUES  3    /* links, pictures and their names */
#define MIN_PART    1024

/* The material is folded to much less; beyond this much of it the mail is not short. */
#define MAX_SOURCE (64 * 1024)

struct folded {
    char v[MAX_LENGTH * 6];
    size_t n;
    uint16_t at[MAX_LENGTH + 1]; /* where character i starts; at[length] is the end */
    unsigned length;
    char last; /* ' ' or '0' when the last character stands for a run */
};

static void put(struct folded *folded, UChar32 c)
{
    folded->at[folded->length++] = (uint16_t)folded->n;
    folded->n += (size_t)g_unichar_to_utf8((gunichar)c, folded->v + folded->n);
    folded->at[folded->length] = (uint16_t)folded->n;
}

/* False: too long. */
static bool fold(struct folded *folded, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        gunichar read = g_utf8_get_char_validated(text + i, (gssize)(n - i));
        bool bad = read >= (gunichar)-2;
        UChar32 c = bad ? ' ' : (UChar32)read;
        i += bad ? 1 : (size_t)g_utf8_skip[(unsigned char)text[i]];
        char run = !u_isalnum(c) ? ' ' : u_isdigit(c) ? '0' : 0;
        if (run && run == folded->last)
            continue;
        folded->last = run;
        if (folded->length == MAX_LENGTH - 1)
            return false;
        put(folded, run ? (UChar32)run : u_tolower(c));
    }
    return true;
}

static size_t length_without_footer(const char *text, size_t n)
{
    size_t footer = text_find_footer(text, n, 0);
    return footer < MIN_TEXT ? n : footer;
}

/*
 * A link and a picture are what the mail is about. More of them are the frame that a sender puts around all
 * of his mail: a shop's logo, account and imprint.
 */
static void append_html(struct text *text, const char *html, size_t n)
{
    struct text page;
    text_init(&page, text->arena, MAX_SOURCE);
    html_append_source(&page, html, n);
    text->cut |= page.cut;
    n = length_without_footer(page.v, page.n);
    unsigned marks = 0;
    for (size_t i = 0; i < n; i++)
        marks += page.v[i] == HTML_VALUE;
    bool value = false;
    for (size_t i = 0, next; i < n; i = next) {
        const char *mark = memchr(page.v + i, HTML_VALUE, n - i);
        next = mark ? (size_t)(mark + 1 - page.v) : n;
        if (!value || marks <= 2 * MAX_VALUES)
            text_append(text, page.v + i, next - i);
        value = !value;
    }
}

struct terms short_windows(const struct parts *walk, uint64_t key)
{
    const struct terms none = { NULL, 0 };
    struct text text;
    text_init(&text, walk->arena, MAX_SOURCE);
    for (const struct parts_shown *shown = walk->shown; shown && !text.cut; shown = shown->next) {
        text_append(&text, " ", 1);
        if (shown->html)
            append_html(&text, shown->utf8, shown->n);
        else
            text_append_plain(&text, shown->utf8, length_without_footer(shown->utf8, shown->n));
    }
    struct folded *folded = ARENA_NEW(walk->arena, struct folded);
    folded->last = ' ';
    if (text.cut || !fold(folded, text.v, text.n))
        return none;
    struct tokens *tokens = tokens_new(walk->arena, key, MAX_LENGTH);
    for (unsigned i = 0; i + WINDOW <= folded->length; i++)
        tokens_add(tokens, TERM_WINDOW, folded->v + folded->at[i],
                   (size_t)(folded->at[i + WINDOW] - folded->at[i]));
    struct terms terms = tokens_terms(tokens);
    return terms.n < MIN_WINDOWS ? none : terms;
}

/* Line ends of a part that is not encoded are those of the way it came. */
static const char *without_cr(struct arena *arena, const char *bytes, size_t *n)
{
    char *out = arena_alloc(arena, *n);
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++)
        if (bytes[i] != '\r')
            out[kept++] = bytes[i];
    *n = kept;
    return out;
}

/* Is there a background="cid:id" or url(cid:id) in the page? */
static bool names_background(const char *page, size_t n, const char *id)
{
    for (const char *at = page, *end = page + n; (at = memmem(at, (size_t)(end - at), "cid:", 4)); at += 4) {
        size_t id_n = strlen(id);
        const char *before = at;
        while (before > page && strchr(" \t\r\n\"'=(", before[-1]) && before[-1])
            before--;
        bool background = (before - page >= 10 && g_ascii_strncasecmp(before - 10, "background", 10) == 0) ||
                          (before - page >= 3 && g_ascii_strncasecmp(before - 3, "url", 3) == 0);
        if (background && (size_t)(end - at) >= 4 + id_n && memcmp(at + 4, id, id_n) == 0)
            return true;
    }
    return false;
}

/* Stationery is the same in strangers' mail. */
static bool is_background(const struct parts *walk)
{
    const char *id = g_mime_object_get_content_id((GMimeObject *)walk->attached);
    bool found = false;
    for (const struct parts_shown *shown = walk->shown; id && shown && !found; shown = shown->next)
        found = shown->html && names_background(shown->utf8, shown->n, id);
    return found;
}

struct terms short_part(const struct parts *walk, uint64_t key)
{
    size_t n = 0;
    if (walk->attached && is_background(walk))
        return (struct terms) { NULL, 0 };
    const char *bytes = walk->attached ? parts_decode(walk->arena, walk->attached, &n) : NULL;
    if (n < MIN_PART)
        return (struct terms) { NULL, 0 };
    GMimeContentEncoding encoding = g_mime_part_get_content_encoding(walk->attached);
    if (encoding != GMIME_CONTENT_ENCODING_BASE64 && encoding != GMIME_CONTENT_ENCODING_UUENCODE)
        bytes = without_cr(walk->arena, bytes, &n);
    char digest[17];
    snprintf(digest, sizeof digest, "%016" G_GINT64_MODIFIER "x", hash_bytes(bytes, n, key));
    struct tokens *tokens = tokens_new(walk->arena, key, 1);
    tokens_add(tokens, TERM_PART, digest, 16);
    return tokens_terms(tokens);
}
