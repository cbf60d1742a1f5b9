/*
 * A file that appears whole or not at all: written beside its final name, then renamed.
 */
#ifndef LEXICON_OUTFILE_H
#define LEXICON_OUTFILE_H

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct outfile;

/*
 * The mode is that of the finished file, less the umask. A lasting file is on the disk before it gets its
 * name; a scratch file need not be. Refuses a path that is there and is not a file.
 */
struct outfile *outfile_open(const char *path, mode_t mode, bool lasting, GError **error);

/* Write here; errors are found by outfile_commit(). */
FILE *outfile_stream(struct outfile *file);

/* Puts the file under its name and frees; sets the pointer to NULL. After an error nothing is left behind. */
bool outfile_commit(struct outfile **file, GError **error);

/* Removes what was written; NULL is fine. */
void outfile_discard(struct outfile **file);

#endif
