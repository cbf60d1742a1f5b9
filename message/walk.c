#include "message/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"

/* A folder on the way down, with the names in it that are still to come. */
struct folder {
    char *path;
    GPtrArray *names;
    guint next;
};

struct walk {
    char **paths;
    guint next_path;
    GArray *folders;  /* struct folder, the innermost last */
    GHashTable *seen; /* "device:inode" of folders below the present path */
    guint64 total;
    bool mail, endless;
};

static bool is_standard_input(const char *path)
{
    return !strcmp(path, "-");
}

struct walk *walk_new(char *const *paths, bool mail)
{
    struct walk *walk = g_new0(struct walk, 1);
    walk->paths = g_strdupv((char **)paths);
    walk->folders = g_array_new(FALSE, FALSE, sizeof(struct folder));
    walk->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    walk->mail = mail;
    for (char **path = walk->paths; *path; path++) {
        struct stat status;
        if (is_standard_input(*path))
            walk->endless = true;
        else if (stat(*path, &status) == 0 && S_ISREG(status.st_mode))
            walk->total += (guint64)status.st_size;
        else if (stat(*path, &status) == 0 && !S_ISDIR(status.st_mode))
            walk->endless = true;
    }
    return walk;
}

static void set_error(const char *path, int number, GError **error)
{
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "cannot read %s: %s", path, g_strerror(number));
}

static bool is_number(const char *name)
{
    return *name && name[strspn(name, "0123456789")] == '\0';
}

/* Numbers by value and before other names, which go by their bytes. */
static gint by_name(gconstpointer a, gconstpointer b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    bool x_number = is_number(x), y_number = is_number(y);
    if (x_number != y_number)
        return x_number ? -1 : 1;
    if (x_number) {
        const char *x_digits = x + strspn(x, "0"), *y_digits = y + strspn(y, "0");
        size_t x_length = strlen(x_digits), y_length = strlen(y_digits);
        if (x_length != y_length)
            return x_length < y_length ? -1 : 1;
        int order = strcmp(x_digits, y_digits);
        if (order)
            return order;
    }
    return strcmp(x, y);
}

/* MH renames a removed message 12 to ,12 or #12. */
static bool is_wanted(const char *name)
{
    return *name != '.' && !((*name == ',' || *name == '#') && is_number(name + 1));
}

static bool is_folder_in(int fd, const char *name)
{
    struct stat status;
    return fstatat(fd, name, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

static void add_name(struct walk *walk, GPtrArray *names, int fd, const char *name)
{
    struct stat status;
    if (fstatat(fd, name, &status, 0) == 0 && S_ISREG(status.st_mode))
        walk->total += (guint64)status.st_size;
    g_ptr_array_add(names, g_strdup(name));
}

static GPtrArray *names_in(struct walk *walk, DIR *stream)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    int fd = dirfd(stream);
    if (walk->mail && is_folder_in(fd, "cur") && is_folder_in(fd, "new")) {
        g_ptr_array_add(names, g_strdup("cur"));
        g_ptr_array_add(names, g_strdup("new"));
        return names;
    }
    for (const struct dirent *entry; (entry = readdir(stream));)
        if (is_wanted(entry->d_name))
            add_name(walk, names, fd, entry->d_name);
    g_ptr_array_sort(names, by_name);
    return names;
}

/* Goes into a folder; takes the path. */
static bool enter(struct walk *walk, char *path, const struct stat *status, GError **error)
{
    char *identity =
        g_strdup_printf("%llu:%llu", (unsigned long long)status->st_dev, (unsigned long long)status->st_ino);
    if (!g_hash_table_add(walk->seen, identity)) {
        g_free(path);
        return true;
    }
    DIR *stream = opendir(path);
    if (!stream) {
        set_error(path, errno, error);
        return false;
    }
    struct folder folder = { .path = path, .names = names_in(walk, stream) };
    closedir(stream);
    g_array_append_val(walk->folders, folder);
    return true;
}

static void folder_clear(struct folder *folder)
{
    g_ptr_array_free(folder->names, TRUE);
    g_free(folder->path);
}

/* The next path, whatever it is: from the innermost folder, else from the command line; NULL at the end. */
static char *next_path(struct walk *walk, bool *named_by_user_out)
{
    *named_by_user_out = false;
    while (walk->folders->len) {
        struct folder *folder = &g_array_index(walk->folders, struct folder, walk->folders->len - 1);
        if (folder->next < folder->names->len)
            return g_build_filename(folder->path, g_ptr_array_index(folder->names, folder->next++), NULL);
        folder_clear(folder);
        g_array_set_size(walk->folders, walk->folders->len - 1);
    }
    g_hash_table_remove_all(walk->seen);
    *named_by_user_out = true;
    return walk->paths[walk->next_path] ? g_strdup(walk->paths[walk->next_path++]) : NULL;
}

char *walk_next(struct walk *walk, GError **error)
{
    bool named_by_user;
    for (char *path; (path = next_path(walk, &named_by_user));) {
        struct stat status;
        if (named_by_user && is_standard_input(path))
            return path;
        if (stat(path, &status) < 0) {
            set_error(path, errno, error);
            return path;
        }
        if (S_ISREG(status.st_mode))
            return path;
        if (S_ISDIR(status.st_mode)) {
            if (!enter(walk, path, &status, error))
                return path;
        } else if (named_by_user) {
            return path; /* a pipe, as of <(...) */
        } else {
            g_free(path);
        }
    }
    return NULL;
}

guint64 walk_total(const struct walk *walk)
{
    return walk->endless ? 0 : walk->total;
}

void walk_free(struct walk **walk)
{
    if (!*walk)
        return;
    for (guint i = 0; i < (*walk)->folders->len; i++)
        folder_clear(&g_array_index((*walk)->folders, struct folder, i));
    g_array_free((*walk)->folders, TRUE);
    g_hash_table_destroy((*walk)->seen);
    g_strfreev((*walk)->paths);
    g_free(*walk);
    *walk = NULL;
}
