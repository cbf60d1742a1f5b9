/*
 * Runs the seeds of a fuzz target through it, as a test: every build, with any compiler. SEEDS names the
 * folder below tests/fuzz/seeds; files that are named on the command line are run instead.
 */
#include <glib.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static GPtrArray *list_seeds(void)
{
    const char *source = g_getenv("SRCDIR");
    g_autofree char *folder = g_build_filename(source ? source : ".", "tests", "fuzz", "seeds", SEEDS, NULL);
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
    GDir *dir = g_dir_open(folder, 0, NULL);
    const char *name;
    while (dir && (name = g_dir_read_name(dir)))
        g_ptr_array_add(paths, g_build_filename(folder, name, NULL));
    if (dir)
        g_dir_close(dir);
    return paths;
}

int main(int argc, char **argv)
{
    GPtrArray *paths = list_seeds();
    if (argc > 1)
        g_ptr_array_set_size(paths, 0);
    for (int i = 1; i < argc; i++)
        g_ptr_array_add(paths, g_strdup(argv[i]));
    printf("1..%u\n", MAX(paths->len, 1));
    if (!paths->len)
        printf("not ok 1 - there are no seeds in tests/fuzz/seeds/%s\n", SEEDS);
    for (guint i = 0; i < paths->len; i++) {
        g_autofree char *name = g_path_get_basename(paths->pdata[i]), *bytes = NULL;
        gsize n;
        gboolean read = g_file_get_contents(paths->pdata[i], &bytes, &n, NULL);
        if (read)
            LLVMFuzzerTestOneInput((const uint8_t *)bytes, n);
        printf("%sok %u - %s\n", read ? "" : "not ", i + 1, name);
        fflush(stdout);
    }
    g_ptr_array_free(paths, TRUE);
    return 0;
}
