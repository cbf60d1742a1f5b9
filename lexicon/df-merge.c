#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "lexicon/df-stream.h"

/*
 * A merge of sorted files, collection by collection:
 *
 *      reader ─▶ {collection, term, count} ─┐
 *      reader ─▶ {collection, term, count} ─┼─▶ heap by term ─▶ sum ─▶ writer
 *      reader ─▶ {collection, term, count} ─┘
 *
 * Only the readers that stand at the smallest collection name take part in one round.
 */
#define FAN_IN 64u

struct lane {
    struct df_reader *reader;
    const struct df_head *head; /* NULL at the end of the file */
    const char *text;
    uint32_t count;
};

struct merge {
    struct lane *lanes;
    size_t n_lanes;
    struct lane **heap; /* the smallest text first */
    size_t n_heap;
    bool (*stopped)(void);
};

static void sift_down(struct merge *m, size_t i)
{
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < m->n_heap; child++)
            if (strcmp(m->heap[child]->text, m->heap[least]->text) < 0)
                least = child;
        if (least == i)
            return;
        struct lane *swap = m->heap[i];
        m->heap[i] = m->heap[least];
        m->heap[least] = swap;
        i = least;
    }
}

/* False on error. At the end of the file the lane's head is NULL. */
static bool next_collection(struct lane *lane, GError **error)
{
    enum df_status status = df_reader_collection(lane->reader, &lane->head, error);
    if (status != DF_ONE)
        lane->head = NULL;
    return status != DF_ERROR;
}

/* Moves the top lane to its next term, or takes it out. */
static bool advance_top(struct merge *m, GError **error)
{
    struct lane *top = m->heap[0];
    enum df_status status = df_reader_term(top->reader, &top->text, &top->count, error);
    if (status == DF_ERROR)
        return false;
    if (status == DF_END) {
        if (!next_collection(top, error))
            return false;
        m->heap[0] = m->heap[--m->n_heap];
    }
    sift_down(m, 0);
    return true;
}

static bool write_terms(struct merge *m, struct df_writer *out, GError **error)
{
    GString *text = g_string_new(NULL);
    bool good = true;
    for (unsigned tick = 0; good && m->n_heap; tick++) {
        uint64_t count = 0;
        g_string_assign(text, m->heap[0]->text);
        while (good && m->n_heap && strcmp(m->heap[0]->text, text->str) == 0) {
            count += m->heap[0]->count;
            good = advance_top(m, error);
        }
        if (good && count > UINT32_MAX) {
            g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_LEXICON,
                        "a term is in more than %u documents: merge fewer files", UINT32_MAX);
            good = false;
        }
        if (good && tick % 4096 == 0 && m->stopped && m->stopped()) {
            g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INTERRUPTED, "interrupted: nothing was written");
            good = false;
        }
        if (good)
            df_writer_term(out, text->str, (uint32_t)count);
    }
    g_string_free(text, TRUE);
    return good;
}

static const char *least_collection(const struct merge *m)
{
    const char *least = NULL;
    for (size_t i = 0; i < m->n_lanes; i++) {
        const struct df_head *head = m->lanes[i].head;
        if (head && (!least || strcmp(head->name, least) < 0))
            least = head->name;
    }
    return least;
}

/* Takes the lanes at this collection into the heap, and adds up their heads. */
static bool gather(struct merge *m, struct df_head *sum, GError **error)
{
    for (size_t i = 0; i < m->n_lanes; i++) {
        struct lane *lane = &m->lanes[i];
        if (!lane->head || strcmp(lane->head->name, sum->name) != 0)
            continue;
        sum->documents += lane->head->documents;
        char **both = df_sources_union(sum->sources, lane->head->sources);
        g_strfreev(sum->sources);
        sum->sources = both;
        enum df_status status = df_reader_term(lane->reader, &lane->text, &lane->count, error);
        if (status == DF_ONE)
            m->heap[m->n_heap++] = lane;
        else if (status == DF_ERROR || !next_collection(lane, error))
            return false;
    }
    for (size_t i = m->n_heap / 2; i-- > 0;)
        sift_down(m, i);
    return true;
}

static bool merge_collections(struct merge *m, struct df_writer *out, GError **error)
{
    const char *name;
    bool good = true;
    while (good && (name = least_collection(m))) {
        struct df_head sum = { .name = g_strdup(name), .sources = g_new0(char *, 1) };
        good = gather(m, &sum, error);
        if (good)
            df_writer_collection(out, &sum);
        good = good && write_terms(m, out, error);
        g_free(sum.name);
        g_strfreev(sum.sources);
    }
    return good;
}

static bool open_lanes(struct merge *m, char *const *paths, GError **error)
{
    for (size_t i = 0; i < m->n_lanes; i++) {
        struct lane *lane = &m->lanes[i];
        lane->reader = df_reader_open(paths[i], error);
        if (!lane->reader || !next_collection(lane, error))
            return false;
    }
    return true;
}

static bool has_documents(const struct df_writer *writer, struct df_total *total_out, GError **error)
{
    struct df_total total = df_writer_total(writer);
    if (total_out)
        *total_out = total;
    if (!total.documents)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_LEXICON,
                    "there are no documents in these files: nothing to write");
    return total.documents > 0;
}

/* Takes the writer. */
static bool merge_into(struct df_writer *writer, char *const *paths, size_t n, bool (*stopped)(void),
                       struct df_total *total_out, GError **error)
{
    struct merge m = { .n_lanes = n, .stopped = stopped };
    m.lanes = g_new0(struct lane, n);
    m.heap = g_new0(struct lane *, n);
    bool good = open_lanes(&m, paths, error) && merge_collections(&m, writer, error) &&
                has_documents(writer, total_out, error) && df_writer_commit(&writer, error);
    df_writer_discard(&writer);
    for (size_t i = 0; i < n; i++)
        df_reader_close(&m.lanes[i].reader);
    g_free(m.lanes);
    g_free(m.heap);
    return good;
}

static char *temporary_name(const char *folder, unsigned pass, size_t group)
{
    return g_strdup_printf("%s/refrain-%ld-merge-%u-%zu.df", folder, (long)getpid(), pass, group);
}

/* One pass: groups of FAN_IN files become one file each. */
static GPtrArray *merge_groups(char *const *paths, size_t n, unsigned pass, const char *folder,
                               bool (*stopped)(void), bool *good, GError **error)
{
    GPtrArray *made = g_ptr_array_new_with_free_func(g_free);
    for (size_t i = 0; *good && i < n; i += FAN_IN) {
        char *name = temporary_name(folder, pass, i / FAN_IN);
        g_ptr_array_add(made, name);
        struct df_writer *writer = df_writer_open_scratch(name, error);
        *good = writer && merge_into(writer, paths + i, MIN(n - i, (size_t)FAN_IN), stopped, NULL, error);
    }
    return made;
}

static void remove_files(GPtrArray *paths)
{
    for (guint i = 0; i < paths->len; i++)
        g_unlink(paths->pdata[i]);
    g_ptr_array_free(paths, TRUE);
}

bool df_merge_files(char *const *paths, size_t n, const char *out, uint32_t min_count, const char *folder,
                    bool (*stopped)(void), struct df_total *total_out, GError **error)
{
    GPtrArray *level = NULL;
    bool good = true;
    for (unsigned pass = 0; good && n > FAN_IN; pass++) {
        GPtrArray *made = merge_groups(paths, n, pass, folder, stopped, &good, error);
        if (level)
            remove_files(level);
        level = made;
        paths = (char *const *)made->pdata;
        n = made->len;
    }
    struct df_writer *writer = good ? df_writer_open(out, min_count, error) : NULL;
    good = writer && merge_into(writer, paths, n, stopped, total_out, error);
    if (level)
        remove_files(level);
    return good;
}
