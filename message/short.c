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

static size_t plain_length(const struct parts_shown *shown)
{
    size_t footer = text_find_footer(shown->utf8, shown->n, 0);
    return footer < MIN_TEXT ? shown->n : footer;
}

struct terms short_windows(const struct parts *walk, uint64_t key)
{
    const struct terms none = { NULL, 0 };
    struct text text;
    text_init(&text, walk->arena, MAX_SOURCE);
    for (const struct parts_shown *shown = walk->shown; shown && !text.cut; shown = shown->next) {
        text_append(&text, " ", 1);
        if (shown->html)
            html_append_source(&text, shown->utf8, shown->n);
        else
            text_append_plain(&text, shown->utf8, plain_length(shown));
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

struct terms short_part(const struct parts *walk, uint64_t key)
{
    size_t n = 0;
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
