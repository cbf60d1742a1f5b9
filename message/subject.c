#include "message/subject.h"

#include <gmime/gmime.h>
#include <stdbool.h>
#include <string.h>

#include "message/charset.h"
#include "message/text.h"

/*
 *   =?charset*language?Q?text?=
 *
 * Programs cut a text into words at any byte, so neighbours of the same charset are joined before they are
 * converted, and the space between two encoded words is no part of the text.
 */
struct word {
    const char *charset;
    size_t charset_n;
    const char *text;
    size_t n;
    bool base64;
    const char *end;
};

#define CHARSET_MAX 64

static bool parse_word(const char *p, const char *end, struct word *out)
{
    if (end - p < 8 || p[0] != '=' || p[1] != '?')
        return false;
    const char *charset = p + 2, *mark = memchr(charset, '?', (size_t)(end - charset));
    if (!mark || mark == charset || mark - charset >= CHARSET_MAX || end - mark < 5 || mark[2] != '?')
        return false;
    char encoding = g_ascii_toupper(mark[1]);
    if (encoding != 'Q' && encoding != 'B')
        return false;
    const char *text = mark + 3, *close = memmem(text, (size_t)(end - text), "?=", 2);
    if (!close)
        return false;
    const char *language = memchr(charset, '*', (size_t)(mark - charset));
    *out = (struct word) {
        .charset = charset,
        .charset_n = (size_t)((language ? language : mark) - charset),
        .text = text,
        .n = (size_t)(close - text),
        .base64 = encoding == 'B',
        .end = close + 2,
    };
    return true;
}

/* Q is quoted-printable with _ for a space. */
static size_t decode_q(const char *text, size_t n, char *out)
{
    size_t written = 0;
    for (size_t i = 0; i < n; i++) {
        int high = -1, low = -1;
        if (text[i] == '=' && n - i > 2) {
            high = g_ascii_xdigit_value(text[i + 1]);
            low = g_ascii_xdigit_value(text[i + 2]);
        }
        bool coded = high >= 0 && low >= 0;
        if (coded)
            out[written] = (char)(high << 4 | low);
        else
            out[written] = text[i] == '_' ? ' ' : text[i];
        written++;
        i += coded ? 2 : 0;
    }
    return written;
}

static size_t decode_word(const struct word *word, char *out)
{
    GMimeEncoding state;
    if (word->base64) {
        g_mime_encoding_init_decode(&state, GMIME_CONTENT_ENCODING_BASE64);
        return g_mime_encoding_step(&state, word->text, word->n, out);
    }
    return decode_q(word->text, word->n, out);
}

/*
 * Joins encoded words of one charset in a buffer that holds all of the header, and appends them; returns
 * what follows the last of them.
 */
static const char *append_words(struct arena *arena, struct text *text, struct word word, const char *end,
                                char *joined)
{
    char *label = arena_strndup(arena, word.charset, word.charset_n);
    const char *after = word.end;
    size_t n = decode_word(&word, joined);
    for (;;) {
        const char *p = after;
        while (p < end && g_ascii_isspace(*p))
            p++;
        if (!parse_word(p, end, &word))
            break;
        after = p; /* the space between two encoded words is gone, whatever their charsets */
        if (word.charset_n != strlen(label) || g_ascii_strncasecmp(label, word.charset, word.charset_n) != 0)
            break;
        n += decode_word(&word, joined + n);
        after = word.end;
    }
    size_t utf8_n;
    const char *utf8 = charset_to_utf8(arena, label, joined, n, &utf8_n);
    text_append(text, utf8, utf8_n);
    return after;
}

static void append_raw(struct arena *arena, struct text *text, const char *raw, size_t n)
{
    size_t utf8_n;
    const char *utf8 = charset_to_utf8(arena, NULL, raw, n, &utf8_n);
    text_append(text, utf8, utf8_n);
}

const char *subject_decode(struct arena *arena, const char *raw, size_t n, size_t *n_out)
{
    struct text text;
    text_init(&text, arena, 4 * n + 16);
    char *joined = arena_alloc(arena, n + 8);
    const char *p = raw, *end = raw + n;
    while (p < end) {
        const char *mark = memmem(p, (size_t)(end - p), "=?", 2);
        struct word word;
        if (!mark) {
            append_raw(arena, &text, p, (size_t)(end - p));
            break;
        }
        append_raw(arena, &text, p, (size_t)(mark - p));
        if (parse_word(mark, end, &word)) {
            p = append_words(arena, &text, word, end, joined);
        } else {
            text_append(&text, mark, 2);
            p = mark + 2;
        }
    }
    *n_out = text.n;
    return text.v;
}
