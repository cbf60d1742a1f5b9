/*
 * The archive of prototypes: the messages that made campaigns, kept so that they can be signed again with
 * a new lexicon. Off unless `report --archive DIR` asks for it: it is people's mail, in files that only
 * the owner may read.
 *
 *      DIR/4f0c9a….16 digits/about.json         label, source, reporter, time: as it was reported
 *      DIR/4f0c9a….16 digits/<digest>.eml       a prototype, named by its content
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
bool archive_keep(const char *dir, uint64_t campaign, const void *bytes, size_t n,
                  const struct store_report *details, GError **error);

/* The campaigns in it, sorted; an array of uint64_t. */
GArray *archive_campaigns(const char *dir, GError **error);

bool archive_has(const GArray *campaigns, uint64_t campaign);

/* The prototypes of one, sorted by name: NULL-ended paths. Those that are not there are an empty list. */
char **archive_prototypes(const char *dir, uint64_t campaign);

/* What about.json says: a campaign with its id, label, source, times; active. */
void archive_about(const char *dir, uint64_t campaign, struct store_campaign *out);

#endif
