/*
 * The files that paths of a command line stand for: a file itself, or all files in a tree, sorted by name
 * (numbers by value, as in MH folders). Hidden files are left out; of a Maildir only cur and new are read;
 * a folder that is reached twice by links is read once.
 */
#ifndef MESSAGE_WALK_H
#define MESSAGE_WALK_H

#include <glib.h>
#include <stdbool.h>

struct walk;

/* Maildirs are only looked for where mail is expected. The paths are copied. */
struct walk *walk_new(char *const *paths, bool mail);

/*
 * The next file, to be freed by the caller; NULL at the end. With an error, what is returned could not be
 * looked at; the walk goes on behind it.
 */
char *walk_next(struct walk *walk, GError **error);

/* Bytes of the files known so far; grows as folders are opened. 0: not known, there is a pipe among them. */
guint64 walk_total(const struct walk *walk);

void walk_free(struct walk **walk);

#endif
