#include "tools/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "tools/json.h"

#define ABOUT "about.json"

static bool cannot(const char *what, const char *path, GError **error)
{
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_OUTPUT, "cannot %s %s: %s", what, path,
                g_strerror(errno));
    return false;
}

static bool make_folder(const char *path, GError **error)
{
    return g_mkdir_with_parents(path, 0700) == 0 || cannot("make the folder", path, error);
}

bool archive_prepare(const char *dir, GError **error)
{
    return make_folder(dir, error) && (access(dir, W_OK | X_OK) == 0 || cannot("write into", dir, error));
}

static char *folder_of(const char *dir, uint32_t number)
{
    return g_strdup_printf("%s/%08x", dir, number);
}

/* Writes a file that is there wholly or not at all, and only for its owner. */
static bool write_file(const char *path, const void *bytes, size_t n, GError **error)
{
    GError *wrong = NULL;
    if (g_file_set_contents_full(path, bytes, (gssize)n, G_FILE_SET_CONTENTS_CONSISTENT, 0600, &wrong))
        return true;
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_OUTPUT, "cannot write %s: %s", path, wrong->message);
    g_error_free(wrong);
    return false;
}

static bool keep_about(const char *folder, uint64_t campaign, const struct store_report *details,
                       GError **error)
{
    g_autofree char *path = g_build_filename(folder, ABOUT, NULL);
    if (g_file_test(path, G_FILE_TEST_EXISTS))
        return true;
    int64_t when = details->when ? details->when : g_get_real_time() / G_USEC_PER_SEC;
    struct json *json = json_new();
    json_open(json, NULL, '{');
    json_hex(json, "campaign", campaign);
    json_string(json, "label", details->label);
    json_string(json, "source", details->source);
    json_string(json, "reporter", details->reporter);
    json_int(json, "when", when);
    json_close(json, '}');
    bool ok = write_file(path, json_text(json), strlen(json_text(json)), error);
    json_free(&json);
    return ok;
}

bool archive_keep(const char *dir, const struct lexicon *lexicon, uint64_t campaign, const void *bytes,
                  size_t n, const struct store_report *details, GError **error)
{
    g_autofree char *folder = folder_of(dir, store_campaign_number(lexicon, campaign));
    g_autofree char *path =
        g_strdup_printf("%s/%016" G_GINT64_MODIFIER "x.eml", folder, hash_bytes(bytes, n, 0));
    if (!make_folder(folder, error) || !keep_about(folder, campaign, details, error))
        return false;
    return g_file_test(path, G_FILE_TEST_EXISTS) || write_file(path, bytes, n, error);
}

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

GArray *archive_campaigns(const char *dir, GError **error)
{
    GDir *folder = g_dir_open(dir, 0, NULL);
    if (!folder) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "cannot read the archive %s: %s", dir,
                    g_strerror(errno));
        return NULL;
    }
    GArray *numbers = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (const char *name; (name = g_dir_read_name(folder));)
        if (strlen(name) == 8 && strspn(name, "0123456789abcdef") == 8) {
            uint32_t number = (uint32_t)g_ascii_strtoull(name, NULL, 16);
            g_array_append_val(numbers, number);
        }
    g_dir_close(folder);
    g_array_sort(numbers, compare_numbers);
    return numbers;
}

bool archive_has(const GArray *numbers, uint32_t number)
{
    return bsearch(&number, numbers->data, numbers->len, sizeof number, compare_numbers) != NULL;
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **archive_prototypes(const char *dir, uint32_t number)
{
    g_autofree char *path = folder_of(dir, number);
    GPtrArray *names = g_ptr_array_new();
    GDir *folder = g_dir_open(path, 0, NULL);
    for (const char *name; folder && (name = g_dir_read_name(folder));)
        if (g_str_has_suffix(name, ".eml"))
            g_ptr_array_add(names, g_build_filename(path, name, NULL));
    if (folder)
        g_dir_close(folder);
    g_ptr_array_sort(names, compare_names);
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(names, FALSE);
}

static void copy_name(char out[STORE_NAME_MAX], const char *text)
{
    g_strlcpy(out, text ? text : "", STORE_NAME_MAX);
    char *end;
    if (!g_utf8_validate(out, -1, (const char **)&end))
        *end = 0;
}

void archive_about(const char *dir, uint32_t number, struct store_campaign *out)
{
    g_autofree char *folder = folder_of(dir, number), *path = g_build_filename(folder, ABOUT, NULL),
                    *text = NULL;
    gsize n = 0;
    struct arena *arena = arena_new();
    *out = (struct store_campaign) { .state = STORE_ACTIVE, .reports = 1, .reporters = 1 };
    const struct json_value *about =
        g_file_get_contents(path, &text, &n, NULL) ? json_read(arena, text, n, NULL) : NULL;
    copy_name(out->label, json_member_text(about, "label"));
    copy_name(out->source, json_member_text(about, "source"));
    out->first = out->last = (int64_t)json_member_uint(about, "when", 0);
    arena_free(&arena);
}
