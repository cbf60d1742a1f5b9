/*
 * The .df reader with any bytes: an error, or frequencies that are sorted and make sense.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lexicon/df.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct df *df)
{
    for (size_t i = 0; i < df_collections(df); i++) {
        const struct df_collection *c = df_collection(df, i);
        for (size_t j = 0; j < c->n_terms; j++)
            if (!c->terms[j].count || c->terms[j].count > c->documents ||
                (j && strcmp(c->terms[j - 1].text, c->terms[j].text) >= 0))
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("df", MFD_CLOEXEC);
    char path[64];
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    g_snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    GError *error = NULL;
    struct df *df = df_read(path, &error);
    if (df)
        check(df);
    else if (!error)
        abort();
    g_clear_error(&error);
    df_free(&df);
    close(fd);
    return 0;
}
