#include "message/mbox.h"

#include <glib.h>
#include <string.h>

#define LOOK_AHEAD 1024 /* bytes of the "From " line and the one behind it that are judged */
#define LOOK_BACK  2    /* bytes before "\nFrom " that are: an empty line */

static bool one_of(const char *word, const char *words)
{
    for (; *words; words += 3)
        if (!memcmp(word, words, 3))
            return true;
    return false;
}

/* "From joe@example.org Wed Nov 18 10:16:58 2026": a weekday, a month and a time make it sure. */
static bool has_date(const char *line, size_t n)
{
    for (size_t i = 5; i + 12 < n; i++)
        if (line[i - 1] == ' ' && line[i + 3] == ' ' && line[i + 7] == ' ' &&
            one_of(line + i, "MonTueWedThuFriSatSun") &&
            one_of(line + i + 4, "JanFebMarAprMayJunJulAugSepOctNovDec"))
            return memchr(line + i, ':', n - i) != NULL;
    return false;
}

/* "Subject: ...", as the line behind a "From " line is. */
static bool is_header_field(const char *line, size_t n)
{
    size_t i = 0;
    while (i < n && line[i] > ' ' && line[i] < 0x7f && line[i] != ':')
        i++;
    return i > 0 && i < n && line[i] == ':';
}

/* Is the line before the line end at `at` empty? Counts the bytes of that line end. */
static size_t empty_line_before(const char *bytes, size_t at, bool first)
{
    size_t i = at && bytes[at - 1] == '\r' ? at - 1 : at;
    return (i == 0 ? first : bytes[i - 1] == '\n') ? at - i + 1 : 0;
}

/* Writers who do not quote "From " in the text are common, so it must also look like what it should be. */
static bool is_from_line(const char *line, size_t n, bool behind_empty_line)
{
    const char *end = memchr(line, '\n', n);
    size_t length = end ? (size_t)(end - line) : n;
    if (has_date(line, length))
        return true;
    return behind_empty_line && end && is_header_field(end + 1, n - length - 1);
}

bool mbox_find_end(const char *bytes, size_t n, bool first, bool last, size_t *end_out, size_t *next_out)
{
    size_t from = 0;
    for (const char *found; (found = memmem(bytes + from, n - from, "\nFrom ", 6));) {
        size_t at = (size_t)(found - bytes);
        if (!last && n - at < LOOK_AHEAD) {
            *end_out = at > LOOK_BACK ? at - LOOK_BACK : 0;
            return false;
        }
        size_t gap = empty_line_before(bytes, at, first);
        if (is_from_line(found + 1, MIN(n - at - 1, LOOK_AHEAD), gap > 0)) {
            *end_out = at + 1 - gap;
            *next_out = at + 1;
            return true;
        }
        from = at + 1;
    }
    size_t undecided = strlen("\nFrom ") + LOOK_BACK;
    *end_out = last ? n : n > undecided ? n - undecided : 0;
    return false;
}

static bool is_quoted_from(const char *line, size_t n)
{
    size_t quotes = 0;
    while (quotes < n && line[quotes] == '>')
        quotes++;
    return quotes && n - quotes >= 5 && !memcmp(line + quotes, "From ", 5);
}

size_t mbox_unquote(char *bytes, size_t n)
{
    if (!n || !memmem(bytes, n, ">From ", 6))
        return n;
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '>' && (i == 0 || bytes[i - 1] == '\n') && is_quoted_from(bytes + i, n - i))
            continue;
        bytes[to++] = bytes[i];
    }
    return to;
}
