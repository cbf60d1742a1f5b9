/*
 * .df files as streams: collections much larger than memory are counted, merged and written through
 * these. df.h describes the format.
 */
#ifndef LEXICON_DF_STREAM_H
#define LEXICON_DF_STREAM_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands before the terms of a collection. */
struct df_head {
    char *name;
    uint64_t documents;
    char **sources; /* NULL-ended, sorted, never NULL */
};

enum df_status { DF_ERROR = -1, DF_END = 0, DF_ONE = 1 };

struct df_reader;

struct df_reader *df_reader_open(const char *path, GError **error);

/* Moves to the next collection; DF_END at the end of the file. The head belongs to the reader. */
enum df_status df_reader_collection(struct df_reader *reader, const struct df_head **head_out,
                                    GError **error);

/* The next term of this collection, or DF_END. The text stays valid until the next call. */
enum df_status df_reader_term(struct df_reader *reader, const char **text_out, uint32_t *count_out,
                              GError **error);

/* NULL is fine; sets the pointer to NULL. */
void df_reader_close(struct df_reader **reader);

/* What a file has in all its collections; terms without the rare ones that were left out. */
struct df_total {
    uint64_t documents, terms;
};

struct df_writer;

/* Terms with a smaller count are left out. */
struct df_writer *df_writer_open(const char *path, uint32_t min_count, GError **error);

/* A file that is read and removed by the same program. */
struct df_writer *df_writer_open_scratch(const char *path, GError **error);

void df_writer_collection(struct df_writer *writer, const struct df_head *head);
void df_writer_term(struct df_writer *writer, const char *text, uint32_t count);

/* What was written so far. */
struct df_total df_writer_total(const struct df_writer *writer);

/* Puts the file under its name; or removes it. Both free the writer and set the pointer to NULL. */
bool df_writer_commit(struct df_writer **writer, GError **error);
void df_writer_discard(struct df_writer **writer);

/*
 * Adds files of any number and size into one. Large numbers of files are merged in several passes, whose
 * temporary files are in `folder`. Returns early with REFRAIN_ERROR_INTERRUPTED once stopped() says so (may
 * be NULL).
 */
bool df_merge_files(char *const *paths, size_t n, const char *out, uint32_t min_count, const char *folder,
                    bool (*stopped)(void), struct df_total *total_out, GError **error);

/*
 * Sources are names for people, and few: no more than DF_MAX_SOURCES, the first in sorted order, then
 * "..."; so the union does not depend on what was joined first. Both return a new NULL-ended list.
 */
#define DF_MAX_SOURCES 32
char **df_sources_union(char *const *a, char *const *b);
char **df_sources_of_paths(char *const *paths);

#endif
