#include "message/source.h"

#include <string.h>
#include <sys/stat.h>

#include "message/mbox.h"
#include "message/reader.h"
#include "message/walk.h"

/*
 *   walk ──▶ path ──▶ reader ──▶ [ window ] ──▶ item
 *                                 ^start  ^end
 *
 * The window is all that is held of a file: an mbox of any size goes by in it. Only the message that is being
 * put together takes more, and no more than max_bytes.
 */
#define WINDOW    (256 * 1024)
#define MAIL_HEAD 5          /* "From " */
#define MOST      (1u << 31) /* of one message or text, where no limit is given */

G_STATIC_ASSERT(WINDOW > MBOX_ENOUGH);

struct message_source {
    struct walk *walk;
    enum message_source_form form;
    size_t max_bytes;
    guint64 done; /* bytes of files that are finished */

    /* The present file. */
    struct reader *reader; /* NULL: none */
    char *path;
    bool is_mbox, at_end;
    GError *pending; /* met behind what was given out */
    guint64 number;  /* of the last message, or of the next line */
    size_t start, end;
    char *window;
};

struct message_source *message_source_new(char *const *paths, enum message_source_form form, size_t max_bytes)
{
    struct message_source *source = g_new0(struct message_source, 1);
    source->walk = walk_new(paths, form == MESSAGE_SOURCE_MAIL);
    source->form = form;
    source->max_bytes = max_bytes && max_bytes < MOST ? max_bytes : MOST;
    source->window = g_malloc(WINDOW);
    return source;
}

static void close_file(struct message_source *source)
{
    struct stat status;
    if (source->reader)
        source->done += MAX(reader_size(source->reader), reader_position(source->reader));
    else if (source->path && stat(source->path, &status) == 0 && S_ISREG(status.st_mode))
        source->done += (guint64)status.st_size; /* it could not be opened, but was counted */
    reader_close(&source->reader);
    g_clear_pointer(&source->path, g_free);
    g_clear_error(&source->pending);
}

static struct message_source_item *item_new(const struct message_source *source, GBytes *data, GError *error)
{
    struct message_source_item *item = g_new0(struct message_source_item, 1);
    item->path = source->is_mbox ? g_strdup_printf("%s#%" G_GUINT64_FORMAT, source->path, source->number)
                                 : g_strdup(source->path);
    item->data = data;
    item->error = error;
    return item;
}

/* The file ends here, with an item that says why. */
static struct message_source_item *give_up(struct message_source *source, GError *error)
{
    struct message_source_item *item = item_new(source, NULL, error);
    close_file(source);
    return item;
}

static size_t held(const struct message_source *source)
{
    return source->end - source->start;
}

/* Reads until `need` bytes are in the window, or the file ends. */
static bool fill(struct message_source *source, size_t need, GError **error)
{
    if (held(source) >= need || source->at_end)
        return true;
    memmove(source->window, source->window + source->start, held(source));
    source->end -= source->start;
    source->start = 0;
    while (source->end < need && !source->at_end) {
        gssize got = reader_read(source->reader, source->window + source->end, WINDOW - source->end, error);
        if (got < 0)
            return false;
        source->at_end = got == 0;
        source->end += (size_t)got;
    }
    return true;
}

/* Moves n bytes of the window to the message, as far as it may grow. */
static void keep(struct message_source *source, GByteArray *message, size_t n)
{
    size_t room = source->max_bytes - message->len;
    g_byte_array_append(message, (const guint8 *)source->window + source->start, (guint)MIN(n, room));
    source->start += n;
}

/* What is behind max_bytes is skipped; a pipe is read to its end, so that its writer is not killed. */
static bool take_rest(struct message_source *source, GByteArray *message, GError **error)
{
    do {
        keep(source, message, held(source));
        if (message->len == source->max_bytes && reader_size(source->reader))
            break;
        if (!fill(source, 1, error))
            return false;
    } while (held(source));
    source->start = source->end;
    source->at_end = true;
    return true;
}

/* A message or text that is a whole file: one item, even when it is empty. */
static struct message_source_item *next_whole(struct message_source *source)
{
    if (source->number++)
        return NULL;
    GError *error = NULL;
    GByteArray *message =
        g_byte_array_sized_new((guint)MIN(reader_size(source->reader), MIN(source->max_bytes, 1u << 24)));
    if (!take_rest(source, message, &error)) {
        g_byte_array_free(message, TRUE);
        return give_up(source, error);
    }
    return item_new(source, g_byte_array_free_to_bytes(message), NULL);
}

/* Passes over the "From " line that the window begins with, however long it is. */
static bool skip_line(struct message_source *source, GError **error)
{
    for (;;) {
        char *line_end = memchr(source->window + source->start, '\n', held(source));
        if (line_end) {
            source->start = (size_t)(line_end + 1 - source->window);
            return true;
        }
        source->start = source->end;
        if (!fill(source, 1, error))
            return false;
        if (!held(source))
            return true;
    }
}

/* Keeps what belongs to the present message, up to the next "From " line or the end of the file. */
static bool take_until_from(struct message_source *source, GByteArray *message, GError **error)
{
    for (bool first = true;;) {
        size_t end, next, begin = source->start;
        if (mbox_find_end(source->window + begin, held(source), first, source->at_end, &end, &next)) {
            keep(source, message, end);
            source->start = begin + next;
            return true;
        }
        keep(source, message, end);
        if (source->at_end)
            return true;
        first = first && end == 0;
        if (!fill(source, WINDOW, error))
            return false;
    }
}

static struct message_source_item *next_in_mbox(struct message_source *source)
{
    GError *error = g_steal_pointer(&source->pending);
    source->number++;
    if (error || !fill(source, 1, &error))
        return give_up(source, error);
    if (!held(source))
        return NULL;
    GByteArray *message = g_byte_array_new();
    if (!skip_line(source, &error) || !take_until_from(source, message, &error)) {
        g_byte_array_free(message, TRUE);
        return give_up(source, error);
    }
    message->len = (guint)mbox_unquote((char *)message->data, message->len);
    fill(source, 1, &source->pending);
    if (source->number == 1 && !held(source) && !source->pending)
        source->is_mbox = false; /* a mail that was stored with its "From " line: the file is the message */
    return item_new(source, g_byte_array_free_to_bytes(message), NULL);
}

static guint64 count_lines(const char *bytes, size_t n)
{
    guint64 lines = 0;
    for (const char *at = bytes; (at = memchr(at, '\n', n - (size_t)(at - bytes))); at++)
        lines++;
    return lines;
}

/* A window of whole lines. A line that is longer than the window is cut to it. */
static struct message_source_item *next_lines(struct message_source *source)
{
    GError *error = g_steal_pointer(&source->pending);
    if (error || !fill(source, WINDOW, &error))
        return give_up(source, error);
    if (!held(source))
        return NULL;
    const char *bytes = source->window + source->start;
    const char *last = memrchr(bytes, '\n', held(source));
    size_t n = last && !source->at_end ? (size_t)(last + 1 - bytes) : held(source);
    struct message_source_item *item = item_new(source, g_bytes_new(bytes, n), NULL);
    item->line = source->number + 1;
    item->max_line = source->max_bytes;
    source->number += count_lines(bytes, n);
    source->start += n;
    if (!last && !source->at_end) {
        source->number++;
        skip_line(source, &source->pending);
    }
    return item;
}

bool message_source_line(const struct message_source_item *item, size_t *at, const char **line_out,
                         size_t *n_out)
{
    size_t size;
    const char *bytes = g_bytes_get_data(item->data, &size);
    while (*at < size) {
        const char *line = bytes + *at, *end = memchr(line, '\n', size - *at);
        size_t n = end ? (size_t)(end - line) : size - *at;
        *at += n + 1;
        if (n && line[n - 1] == '\r')
            n--;
        if (n) {
            *line_out = line;
            *n_out = MIN(n, item->max_line);
            return true;
        }
    }
    return false;
}

/* Opens a path; the item is NULL when that went well. */
static struct message_source_item *open_file(struct message_source *source, char *path, GError *error)
{
    source->path = path;
    source->is_mbox = source->at_end = false;
    source->start = source->end = 0;
    source->number = 0;
    if (!error)
        source->reader = reader_open(path, &error);
    if (!error)
        fill(source, MAIL_HEAD, &error);
    if (error)
        return give_up(source, error);
    source->is_mbox = source->form == MESSAGE_SOURCE_MAIL && held(source) >= MAIL_HEAD &&
                      !memcmp(source->window, "From ", MAIL_HEAD);
    return NULL;
}

static struct message_source_item *next_in_file(struct message_source *source)
{
    if (source->form == MESSAGE_SOURCE_LINES)
        return next_lines(source);
    return source->is_mbox ? next_in_mbox(source) : next_whole(source);
}

struct message_source_item *message_source_next(struct message_source *source)
{
    for (;;) {
        struct message_source_item *item = NULL;
        if (source->reader) {
            item = next_in_file(source);
            if (!item)
                close_file(source);
        } else {
            GError *error = NULL;
            char *path = walk_next(source->walk, &error);
            if (!path)
                return NULL;
            item = open_file(source, path, error);
        }
        if (item)
            return item;
    }
}

void message_source_position(const struct message_source *source, guint64 *done_out, guint64 *total_out)
{
    *done_out = source->done + (source->reader ? reader_position(source->reader) : 0);
    *total_out = walk_total(source->walk);
}

void message_source_item_free(struct message_source_item *item)
{
    if (!item)
        return;
    g_free(item->path);
    g_clear_pointer(&item->data, g_bytes_unref);
    g_clear_error(&item->error);
    g_free(item);
}

void message_source_free(struct message_source **source)
{
    if (!*source)
        return;
    close_file(*source);
    walk_free(&(*source)->walk);
    g_free((*source)->window);
    g_free(*source);
    *source = NULL;
}
