#include "lexicon/df.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "lexicon/df-stream.h"

/* Texts and names are in the arena; each collection's terms are one array. */
struct df {
    struct arena *arena;
    GPtrArray *collections; /* struct collection, sorted by name */
};

struct collection {
    struct df_collection plain; /* what callers see */
    GArray *terms;              /* struct df_term */
    char **sources;
};

static void collection_free(gpointer data)
{
    struct collection *c = data;
    g_array_free(c->terms, TRUE);
    g_strfreev(c->sources);
    g_free(c);
}

static struct df *df_new(void)
{
    struct df *df = g_new0(struct df, 1);
    df->arena = arena_new();
    df->collections = g_ptr_array_new_with_free_func(collection_free);
    return df;
}

void df_free(struct df **df)
{
    if (!*df)
        return;
    g_ptr_array_free((*df)->collections, TRUE);
    arena_free(&(*df)->arena);
    g_free(*df);
    *df = NULL;
}

static const char *keep_text(struct df *df, const char *text)
{
    return arena_strndup(df->arena, text, strlen(text));
}

static struct collection *collection_new(struct df *df, const char *name)
{
    struct collection *c = g_new0(struct collection, 1);
    c->plain.name = keep_text(df, name);
    c->terms = g_array_new(FALSE, FALSE, sizeof(struct df_term));
    c->sources = g_new0(char *, 1);
    return c;
}

/* The array may have moved. */
static void settle(struct collection *c)
{
    c->plain.terms = (const struct df_term *)(void *)c->terms->data;
    c->plain.n_terms = c->terms->len;
    c->plain.sources = (const char *const *)c->sources;
}

static bool read_terms(struct df *df, struct df_reader *reader, struct collection *c, GError **error)
{
    struct df_term term;
    enum df_status status;
    while ((status = df_reader_term(reader, &term.text, &term.count, error)) == DF_ONE) {
        term.text = keep_text(df, term.text);
        g_array_append_val(c->terms, term);
    }
    settle(c);
    return status == DF_END;
}

static bool read_all(struct df *df, struct df_reader *reader, GError **error)
{
    const struct df_head *head;
    enum df_status status;
    while ((status = df_reader_collection(reader, &head, error)) == DF_ONE) {
        struct collection *c = collection_new(df, head->name);
        g_ptr_array_add(df->collections, c);
        c->plain.documents = head->documents;
        g_strfreev(c->sources);
        c->sources = g_strdupv(head->sources);
        if (!read_terms(df, reader, c, error))
            return false;
    }
    return status == DF_END;
}

struct df *df_read(const char *path, GError **error)
{
    struct df_reader *reader = df_reader_open(path, error);
    if (!reader)
        return NULL;
    struct df *df = df_new();
    if (!read_all(df, reader, error))
        df_free(&df);
    df_reader_close(&reader);
    if (df && !df_collections(df)) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_LEXICON,
                    "%s holds no documents: count some with refrain-lexicon count", path);
        df_free(&df);
    }
    return df;
}

static bool add_counts(GArray *out, const char *text, uint64_t count, GError **error)
{
    if (count > UINT32_MAX) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_LEXICON,
                    "a term is in more than %u documents: merge fewer files", UINT32_MAX);
        return false;
    }
    struct df_term term = { .text = text, .count = (uint32_t)count };
    g_array_append_val(out, term);
    return true;
}

static bool add_terms(struct df *df, struct collection *to, const struct df_collection *from, GError **error)
{
    GArray *sum = g_array_sized_new(FALSE, FALSE, sizeof(struct df_term), to->terms->len);
    const struct df_term *a = to->plain.terms, *a_end = a + to->plain.n_terms;
    const struct df_term *b = from->terms, *b_end = b + from->n_terms;
    bool good = true;
    while (good && (a < a_end || b < b_end)) {
        int order = a == a_end ? 1 : b == b_end ? -1 : strcmp(a->text, b->text);
        const char *text = order <= 0 ? a->text : keep_text(df, b->text);
        uint64_t count = 0;
        if (order <= 0)
            count += a++->count;
        if (order >= 0)
            count += b++->count;
        good = add_counts(sum, text, count, error);
    }
    g_array_free(to->terms, TRUE);
    to->terms = sum;
    settle(to);
    return good;
}

/* The collection of this name, made in its place if there is none. */
static struct collection *find_or_add(struct df *df, const char *name)
{
    guint i = 0;
    while (i < df->collections->len) {
        struct collection *c = df->collections->pdata[i];
        int order = strcmp(c->plain.name, name);
        if (order == 0)
            return c;
        if (order > 0)
            break;
        i++;
    }
    struct collection *c = collection_new(df, name);
    settle(c);
    g_ptr_array_insert(df->collections, (gint)i, c);
    return c;
}

bool df_merge(struct df *df, const struct df *other, GError **error)
{
    for (size_t i = 0; i < df_collections(other); i++) {
        const struct df_collection *from = df_collection(other, i);
        struct collection *to = find_or_add(df, from->name);
        to->plain.documents += from->documents;
        char **both = df_sources_union(to->sources, (char *const *)from->sources);
        g_strfreev(to->sources);
        to->sources = both;
        if (!add_terms(df, to, from, error))
            return false;
    }
    return true;
}

bool df_write(const struct df *df, const char *path, uint32_t min_count, GError **error)
{
    struct df_writer *writer = df_writer_open(path, min_count, error);
    if (!writer)
        return false;
    for (size_t i = 0; i < df_collections(df); i++) {
        const struct collection *c = df->collections->pdata[i];
        struct df_head head = { .name = (char *)c->plain.name,
                                .documents = c->plain.documents,
                                .sources = c->sources };
        df_writer_collection(writer, &head);
        for (size_t j = 0; j < c->plain.n_terms; j++)
            df_writer_term(writer, c->plain.terms[j].text, c->plain.terms[j].count);
    }
    return df_writer_commit(&writer, error);
}

size_t df_collections(const struct df *df)
{
    return df->collections->len;
}

const struct df_collection *df_collection(const struct df *df, size_t i)
{
    const struct collection *c = df->collections->pdata[i];
    return &c->plain;
}
