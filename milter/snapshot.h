/*
 * Everything that a message is judged by: configuration, lexicon, store and the parsed lists, in one
 * immutable, reference-counted value. A message takes the current one at MAIL FROM and keeps it to its
 * end; a reload puts another one in its place. Nobody ever waits for anybody.
 */
#ifndef MILTER_SNAPSHOT_H
#define MILTER_SNAPSHOT_H

#include <glib.h>

#include "base/config.h"
#include "lexicon/lexicon.h"
#include "message/message.h"
#include "milter/exempt.h"
#include "store/store.h"

struct snapshot {
    struct config *config;
    struct lexicon *lexicon;
    struct store *store;
    struct message_limits limits;
    struct signature_rule rule;
    struct network_list *networks;
    struct address_list *senders, *recipients, *dkim_domains, *traps;
};

/* Where it comes from: the file, and what the command line says instead. */
struct snapshot_source {
    const char *path;    /* of refrain.conf */
    const char *store;   /* NULL: as in the file */
    const char *lexicon; /* NULL: as in the file */
};

/* The configuration and its lists alone: no lexicon, no store. What can be checked before there are any. */
struct snapshot *snapshot_draft(const struct snapshot_source *source, GError **error);

/*
 * Loads all of it. The store of a previous snapshot goes on to be used when neither its settings nor the
 * lexicon changed, so that a reload costs no connection.
 */
struct snapshot *snapshot_load(const struct snapshot_source *source, struct snapshot *previous,
                               GError **error);

struct snapshot *snapshot_ref(struct snapshot *snapshot);
void snapshot_unref(struct snapshot *snapshot);

/* The place of the current one. */
struct snapshot_slot;
struct snapshot_slot *snapshot_slot_new(struct snapshot *first);
struct snapshot *snapshot_slot_get(struct snapshot_slot *slot); /* a reference: unref it; NULL once emptied */
void snapshot_slot_put(struct snapshot_slot *slot, struct snapshot *next);

/* At the end. The slot itself stays, for sessions that come to it until the process is gone. */
void snapshot_slot_empty(struct snapshot_slot *slot);

#endif
