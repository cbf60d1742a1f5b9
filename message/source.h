/*
 * Where messages come from: a message, an mbox, a Maildir, an MH folder, a directory tree, or standard
 * input, any file of them also compressed (.gz, .xz, .zst). Messages come one at a time, in a fixed order
 * (directories sorted by name), in bounded memory.
 */
#ifndef MESSAGE_SOURCE_H
#define MESSAGE_SOURCE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

struct message_source;

enum message_source_form {
    MESSAGE_SOURCE_MAIL,  /* mail: a file is a message or an mbox */
    MESSAGE_SOURCE_TEXT,  /* plain text: a file is a document */
    MESSAGE_SOURCE_LINES, /* plain text: a line is a document; an item holds many, see message_source_line()
                           */
};

struct message_source_item {
    char *path;      /* "file", or "file#N" in an mbox of several (N from 1); "-" for standard input */
    GBytes *data;    /* the message; NULL when it could not be read */
    GError *error;   /* then why: the source goes on with the next one */
    guint64 line;    /* LINES: the number of the first line in data, from 1 */
    size_t max_line; /* LINES: longer lines are cut */
};

/* Paths as on a command line; "-" is standard input. `max_bytes` of a message are kept (0: all, up to 2 GB).
 */
struct message_source *message_source_new(char *const *paths, enum message_source_form form,
                                          size_t max_bytes);

/* The next message, or NULL at the end. Free it with message_source_item_free(). */
struct message_source_item *message_source_next(struct message_source *source);

/*
 * LINES: an item is a batch of whole lines of one file (some hundred kB), so that ten million documents do
 * not cost ten million allocations. This gives them one by one, without the line end, empty lines left out; a
 * line longer than max_bytes is cut. Start with *at = 0; false at the end of the batch. Any thread.
 */
bool message_source_line(const struct message_source_item *item, size_t *at, const char **line_out,
                         size_t *n_out);

/* Bytes read so far and bytes there are in all (0: not known), for a progress bar. */
void message_source_position(const struct message_source *source, guint64 *done_out, guint64 *total_out);

void message_source_item_free(struct message_source_item *item);
void message_source_free(struct message_source **source);

#endif
