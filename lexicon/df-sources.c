#include <string.h>

#include "lexicon/df-stream.h"

#define MORE "..."

static gint by_bytes(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts, leaves out repetitions, and cuts the list at its limit. Takes the strings. */
static char **finish(GPtrArray *names, bool more)
{
    g_ptr_array_sort(names, by_bytes);
    GPtrArray *out = g_ptr_array_new();
    for (guint i = 0; i < names->len; i++) {
        char *name = names->pdata[i];
        bool again = out->len && strcmp(out->pdata[out->len - 1], name) == 0;
        if (!again && out->len == DF_MAX_SOURCES)
            more = true;
        if (again || out->len == DF_MAX_SOURCES)
            g_free(name);
        else
            g_ptr_array_add(out, name);
    }
    if (more)
        g_ptr_array_add(out, g_strdup(MORE));
    g_ptr_array_add(out, NULL);
    g_ptr_array_free(names, TRUE);
    return (char **)g_ptr_array_free(out, FALSE);
}

static bool take(GPtrArray *names, char *const *list)
{
    bool more = false;
    for (; *list; list++) {
        if (strcmp(*list, MORE) == 0)
            more = true;
        else if (**list)
            g_ptr_array_add(names, g_strdup(*list));
    }
    return more;
}

char **df_sources_union(char *const *a, char *const *b)
{
    GPtrArray *names = g_ptr_array_new();
    bool more = take(names, a);
    more = take(names, b) || more;
    return finish(names, more);
}

/* The last part of a path, in one printable word. */
static char *source_name(const char *path)
{
    if (strcmp(path, "-") == 0)
        return g_strdup("stdin");
    char *base = g_path_get_basename(path);
    char *name = g_utf8_make_valid(base, -1);
    g_free(base);
    for (char *c = name; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            *c = '_';
    return name;
}

char **df_sources_of_paths(char *const *paths)
{
    GPtrArray *names = g_ptr_array_new();
    for (; *paths; paths++)
        g_ptr_array_add(names, source_name(*paths));
    return finish(names, false);
}
