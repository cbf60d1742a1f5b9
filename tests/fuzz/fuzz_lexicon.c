/*
 * The .lex reader with any bytes: an error or a lexicon in which every look-up ends. As a checksum keeps a
 * fuzzer out, the same bytes are tried a second time with the right one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lexicon/layout.h"
#include "lexicon/lexicon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct lexicon *lexicon)
{
    struct lexicon_entry entry;
    for (uint64_t hash = 0; hash < 256; hash++)
        lexicon_find(lexicon, hash * UINT64_C(0x9e3779b97f4a7c15), &entry);
    for (uint64_t i = 0; lexicon_slot(lexicon, i, &entry); i++) {
        double nidf = lexicon_nidf(lexicon, entry.df);
        if (!(nidf >= 0 && nidf <= 1))
            abort();
    }
    const struct lexicon_plan *plan = lexicon_plan_of(lexicon);
    for (unsigned k = 0; k < plan->k; k++)
        lexicon_in_copy(lexicon, k, 42);
}

static void open_bytes(const unsigned char *bytes, size_t n)
{
    int fd = memfd_create("lexicon", MFD_CLOEXEC);
    char path[64];
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        abort();
    g_snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    GError *error = NULL;
    struct lexicon *lexicon = lexicon_open(path, &error);
    if (lexicon)
        use(lexicon);
    else if (!error)
        abort();
    g_clear_error(&error);
    lexicon_unref(lexicon);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_bytes(data, size);
    if (size < LAYOUT_AT_SLOTS)
        return 0;
    unsigned char *copy = g_malloc(size);
    memcpy(copy, data, size);
    layout_put64(copy + LAYOUT_AT_CHECKSUM, layout_checksum(copy, size));
    open_bytes(copy, size);
    g_free(copy);
    return 0;
}
