/*
 * The archive of prototypes: the messages that made campaigns, kept so that they can be signed again with
 * a new lexicon. Off unless `report --archive DIR` asks for it: it is people's mail, in files that only
 * the owner may read.
 *
 *      DIR/<number>/about.json         campaign, label, source, reporter, time: as it was reported
 *      DIR/<number>/<digest>.eml       a prototype, named by its content
 *
 * A campaign's id changes with the lexicon, its number (8 hex digits) does not: so one archive serves for
 * every lexicon that comes.
 */
#ifndef TOOLS_ARCHIVE_H
#define TOOLS_ARCHIVE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

/* Makes the folder where it is missing. */
bool archive_prepare(const char *dir, GError **error);

/* Keeps a prototype: under a temporary name first, so that there is never half of one. Twice is once. */
bool archive_keep(const char *dir, const struct lexicon *lexicon, uint64_t campaign, const void *bytes,
                  size_t n, const struct store_report *details, GError **error);

/* The numbers of the campaigns in it, sorted; an array of uint32_t. */
GArray *archive_campaigns(const char *dir, GError **error);

bool archive_has(const GArray *numbers, uint32_t number);

/* The prototypes of one, sorted by name: NULL-ended paths. Those that are not there are an empty list. */
char **archive_prototypes(const char *dir, uint32_t number);

/* What about.json says: label, source, times; active. Its id is not set. */
void archive_about(const char *dir, uint32_t number, struct store_campaign *out);

#endif
