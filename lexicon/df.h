/*
 * Document frequencies: how many documents of a collection have a term.
 *
 *      # refrain document frequencies 1
 *      # tokeniser 1
 *      # collection english
 *      # documents 41234
 *      # sources 20news reuters
 *      abandon<TAB>57
 *      http:example.com<TAB>3
 *      # collection german
 *      ...
 *
 * A file holds one or more collections, each with its own number of documents, so that a word common in
 * German stays common in a file that is mostly English. Merging adds collections of the same name and
 * keeps the others apart. Terms are sorted by bytes, so the same counts are the same file.
 * A name that ends in .gz, .xz or .zst is read compressed (writing is always plain text).
 */
#ifndef LEXICON_DF_H
#define LEXICON_DF_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct df_term {
    const char *text;
    uint32_t count;
};

struct df_collection {
    const char *name;
    uint64_t documents;
    const char *const *sources; /* NULL-ended, sorted */
    const struct df_term *terms; /* sorted by bytes */
    size_t n_terms;
};

struct df;

struct df *df_read(const char *path, GError **error);

/* Adds the second to the first. */
bool df_merge(struct df *df, const struct df *other, GError **error);

/* Writes under a temporary name and renames: the final name never holds half a file. */
bool df_write(const struct df *df, const char *path, uint32_t min_count, GError **error);

size_t df_collections(const struct df *df);
const struct df_collection *df_collection(const struct df *df, size_t i);

void df_free(struct df **df);

#endif
