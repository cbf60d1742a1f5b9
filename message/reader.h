/*
 * The bytes of one file or of standard input, decompressed where they are compressed (gzip, xz, zstd, bzip2,
 * lz4: told by their first bytes, not by the name). Plain files are read straight.
 */
#ifndef MESSAGE_READER_H
#define MESSAGE_READER_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

struct reader;

/* "-" is standard input. NULL and an error that names the path when it cannot be opened or is no such data.
 */
struct reader *reader_open(const char *path, GError **error);

/* Reads up to n bytes; 0 at the end, -1 with an error that names the path. */
gssize reader_read(struct reader *reader, void *bytes, size_t n, GError **error);

/* How far in the file, as it is on disk; and its size there, 0 when it is a pipe. */
guint64 reader_position(const struct reader *reader);
guint64 reader_size(const struct reader *reader);

/* Sets the pointer to NULL. NULL is fine. */
void reader_close(struct reader **reader);

#endif
