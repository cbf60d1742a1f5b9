#include "lexicon/df-stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "lexicon/df.h"
#include "message/message.h"

/*
 * A window over the file: lines are cut in place, the rest moves to the front when more is read.
 *
 *      buffer  [ used lines | line\0 | not yet looked at | room ]
 *                           line     at                  end    BUFFER
 */
#define BUFFER 65536u

struct df_reader {
    char *path;
    struct archive *archive; /* compressed files; plain ones are read directly */
    int fd;
    char *buffer;
    size_t at, end;
    bool at_eof;
    unsigned long line;
    char *pending;  /* a line that was read too far; in the buffer */
    char *previous; /* the last term, to see that they are sorted */
    size_t previous_room;
    struct df_head head;
    bool has_collection;
};

static enum df_status fail(const struct df_reader *r, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static enum df_status fail(const struct df_reader *r, GError **error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *what = g_strdup_vprintf(format, list);
    va_end(list);
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_LEXICON, "%s, line %lu: %s", r->path, r->line, what);
    g_free(what);
    return DF_ERROR;
}

static ssize_t read_some(struct df_reader *r, char *to, size_t room, GError **error)
{
    ssize_t n;
    if (r->archive) {
        n = archive_read_data(r->archive, to, room);
    } else {
        do
            n = read(r->fd, to, room);
        while (n < 0 && errno == EINTR);
    }
    if (n < 0)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "cannot read %s (%s): is the file damaged?",
                    r->path, r->archive ? archive_error_string(r->archive) : g_strerror(errno));
    return n;
}

/* The next line without its end, in place. */
static enum df_status next_line(struct df_reader *r, char **line_out, GError **error)
{
    if (r->pending) {
        *line_out = r->pending;
        r->pending = NULL;
        return DF_ONE;
    }
    r->line++;
    size_t seen = 0;
    for (;;) {
        char *start = r->buffer + r->at;
        char *newline = memchr(start + seen, '\n', r->end - r->at - seen);
        if (newline) {
            if (memchr(start, '\0', (size_t)(newline - start)))
                return fail(r, error, "a zero byte: this is not a frequency file");
            *newline = '\0';
            r->at = (size_t)(newline - r->buffer) + 1;
            *line_out = start;
            return DF_ONE;
        }
        seen = r->end - r->at;
        if (r->at_eof)
            return seen == 0 ? DF_END : fail(r, error, "the file ends within a line: it is cut off");
        memmove(r->buffer, start, seen);
        r->at = 0;
        r->end = seen;
        if (r->end == BUFFER)
            return fail(r, error, "a line of more than %u bytes: this is not a frequency file", BUFFER - 1);
        ssize_t n = read_some(r, r->buffer + r->end, BUFFER - r->end, error);
        if (n < 0)
            return DF_ERROR;
        r->at_eof = n == 0;
        r->end += (size_t)n;
    }
}

/* "# tokeniser 1" with "tokeniser" gives "1". */
static const char *header_value(const char *line, const char *name)
{
    size_t n = strlen(name);
    if (line[0] != '#' || line[1] != ' ' || strncmp(line + 2, name, n) != 0 || line[2 + n] != ' ')
        return NULL;
    return line + 2 + n + 1;
}

static bool parse_number(const char *text, uint64_t max, uint64_t *out)
{
    return g_ascii_isdigit(text[0]) && g_ascii_string_to_unsigned(text, 10, 0, max, out, NULL);
}

static enum df_status check_preamble(struct df_reader *r, GError **error)
{
    char *line;
    enum df_status status = next_line(r, &line, error);
    if (status == DF_ERROR)
        return status;
    const char *version = status == DF_ONE ? header_value(line, "refrain document frequencies") : NULL;
    if (!version) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_LEXICON,
                    "%s is not a frequency file: make one with refrain-lexicon count", r->path);
        return DF_ERROR;
    }
    if (strcmp(version, "1") != 0)
        return fail(r, error, "format %s, but this program reads format 1: use the version that wrote it",
                    version);
    status = next_line(r, &line, error);
    if (status == DF_ERROR)
        return status;
    const char *tokeniser = status == DF_ONE ? header_value(line, "tokeniser") : NULL;
    uint64_t number;
    if (!tokeniser || !parse_number(tokeniser, UINT32_MAX, &number))
        return fail(r, error, "\"# tokeniser N\" is missing: count again with refrain-lexicon count");
    if (number != MESSAGE_TOKENISER)
        return fail(r, error,
                    "counted with tokeniser %" PRIu64 ", but this program has tokeniser %d: count again with "
                    "refrain-lexicon count",
                    number, MESSAGE_TOKENISER);
    return DF_ONE;
}

static bool is_compressed(const char *path)
{
    return g_str_has_suffix(path, ".gz") || g_str_has_suffix(path, ".xz") || g_str_has_suffix(path, ".zst");
}

static bool open_input(struct df_reader *r, GError **error)
{
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "cannot open %s (%s): check the name", r->path,
                    g_strerror(errno));
        return false;
    }
    if (!is_compressed(r->path))
        return true;
    r->archive = archive_read_new();
    archive_read_support_filter_gzip(r->archive);
    archive_read_support_filter_xz(r->archive);
    archive_read_support_filter_zstd(r->archive);
    archive_read_support_format_raw(r->archive);
    archive_read_support_format_empty(r->archive);
    struct archive_entry *entry;
    int opened = archive_read_open_fd(r->archive, r->fd, BUFFER);
    if (opened == ARCHIVE_OK)
        opened = archive_read_next_header(r->archive, &entry);
    if (opened == ARCHIVE_OK || opened == ARCHIVE_EOF)
        return true;
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "cannot unpack %s (%s): is the file damaged?",
                r->path, archive_error_string(r->archive));
    return false;
}

struct df_reader *df_reader_open(const char *path, GError **error)
{
    struct df_reader *r = g_new0(struct df_reader, 1);
    r->path = g_strdup(path);
    r->buffer = g_malloc(BUFFER);
    if (!open_input(r, error) || check_preamble(r, error) != DF_ONE)
        df_reader_close(&r);
    return r;
}

static enum df_status start_collection(struct df_reader *r, const char *name, GError **error)
{
    if (!*name || !g_utf8_validate(name, -1, NULL) || strpbrk(name, " \t"))
        return fail(r, error, "a collection's name is one word: \"# collection NAME\"");
    if (r->has_collection && strcmp(name, r->head.name) <= 0)
        return fail(r, error,
                    "collections \"%s\" and \"%s\" are not in order: merge their files with "
                    "refrain-lexicon merge",
                    r->head.name, name);
    g_free(r->head.name);
    g_strfreev(r->head.sources);
    r->head = (struct df_head) { .name = g_strdup(name), .sources = g_new0(char *, 1) };
    r->has_collection = true;
    if (r->previous)
        r->previous[0] = '\0';
    return DF_ONE;
}

/* One "# …" line of a collection's head. What is not known is a comment. */
static enum df_status head_line(struct df_reader *r, const char *line, GError **error)
{
    const char *value;
    if ((value = header_value(line, "documents"))) {
        if (!parse_number(value, INT64_MAX, &r->head.documents) || !r->head.documents)
            return fail(r, error, "\"%s\" is not a number of documents: it must be 1 or more", value);
    } else if ((value = header_value(line, "sources"))) {
        char **names = g_strsplit(value, " ", 0), *none[] = { NULL };
        g_strfreev(r->head.sources);
        r->head.sources = df_sources_union(names, none);
        g_strfreev(names);
    }
    return DF_ONE;
}

enum df_status df_reader_collection(struct df_reader *r, const struct df_head **head_out, GError **error)
{
    char *line;
    enum df_status status;
    bool started = false;
    while ((status = next_line(r, &line, error)) == DF_ONE) {
        const char *name = header_value(line, "collection");
        bool is_header = line[0] == '#';
        if (started && (!is_header || name)) {
            r->pending = line;
            break;
        }
        if (name)
            status = start_collection(r, name, error);
        else if (started)
            status = head_line(r, line, error);
        else if (!is_header || header_value(line, "documents"))
            status = fail(r, error, "\"# collection NAME\" is missing before this line");
        if (status != DF_ONE)
            return status;
        started = started || name;
    }
    if (status == DF_ERROR || !started)
        return status;
    if (!r->head.documents)
        return fail(r, error, "collection \"%s\" has no \"# documents N\": add it, or count again",
                    r->head.name);
    *head_out = &r->head;
    return DF_ONE;
}

static bool good_term(const char *text, size_t n)
{
    if (n == 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
            return false;
    return g_utf8_validate(text, (gssize)n, NULL);
}

static void remember(struct df_reader *r, const char *text, size_t n)
{
    if (n + 1 > r->previous_room)
        r->previous = g_realloc(r->previous, r->previous_room = MAX(2 * (n + 1), (size_t)256));
    memcpy(r->previous, text, n + 1);
}

enum df_status df_reader_term(struct df_reader *r, const char **text_out, uint32_t *count_out, GError **error)
{
    char *line;
    enum df_status status = next_line(r, &line, error);
    while (status == DF_ONE && line[0] == '#' && !header_value(line, "collection"))
        status = next_line(r, &line, error);
    if (status != DF_ONE)
        return status;
    if (line[0] == '#') {
        r->pending = line;
        return DF_END;
    }
    char *tab = strchr(line, '\t');
    if (!tab)
        return fail(r, error, "no tab: a line is a term, a tab and a count");
    if (strchr(tab + 1, '\t'))
        return fail(r, error, "two tabs: a term cannot hold a tab");
    uint64_t count;
    if (!parse_number(tab + 1, UINT32_MAX, &count) || count == 0)
        return fail(r, error, "\"%s\" is not a count: it must be a number from 1 to %" PRIu32, tab + 1,
                    UINT32_MAX);
    if (count > r->head.documents)
        return fail(r, error, "a term in %" PRIu64 " of %" PRIu64 " documents: the file is damaged", count,
                    r->head.documents);
    *tab = '\0';
    size_t n = (size_t)(tab - line);
    if (!good_term(line, n))
        return fail(r, error, "not a term: terms are UTF-8 without spaces and control characters");
    if (r->previous && r->previous[0] && strcmp(line, r->previous) <= 0)
        return fail(r, error, "terms are not sorted, or one is there twice: sort them with LC_ALL=C sort");
    remember(r, line, n);
    *text_out = line;
    *count_out = (uint32_t)count;
    return DF_ONE;
}

void df_reader_close(struct df_reader **reader)
{
    struct df_reader *r = *reader;
    if (!r)
        return;
    if (r->archive)
        archive_read_free(r->archive);
    if (r->fd >= 0)
        close(r->fd);
    g_free(r->path);
    g_free(r->buffer);
    g_free(r->previous);
    g_free(r->head.name);
    g_strfreev(r->head.sources);
    g_free(r);
    *reader = NULL;
}
