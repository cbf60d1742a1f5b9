/*
 * What a message costs: GMime's parser alone, and all of message/ (bytes to terms), over the same messages
 * on one core.
 *
 *      REFRAIN_CORPUS=DIR   a tree of mail (.txt and .eml files), read before the clock starts
 */
#include <gmime/gmime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "message/message.h"

#define ROUNDS 5

static void load(GPtrArray *mails, const char *path)
{
    GDir *dir = g_dir_open(path, 0, NULL);
    const char *name;
    while (dir && (name = g_dir_read_name(dir))) {
        char *child = g_build_filename(path, name, NULL), *bytes;
        gsize n;
        if (g_file_test(child, G_FILE_TEST_IS_DIR))
            load(mails, child);
        else if ((g_str_has_suffix(name, ".txt") || g_str_has_suffix(name, ".eml")) &&
                 g_file_get_contents(child, &bytes, &n, NULL))
            g_ptr_array_add(mails, g_bytes_new_take(bytes, n));
        g_free(child);
    }
    if (dir)
        g_dir_close(dir);
}

static void parse(const void *bytes, size_t n)
{
    GMimeStream *stream = g_mime_stream_mem_new_with_buffer(bytes, n);
    GMimeParser *parser = g_mime_parser_new_with_stream(stream);
    GMimeMessage *message = g_mime_parser_construct_message(parser, NULL);
    if (message)
        g_object_unref(message);
    g_object_unref(parser);
    g_object_unref(stream);
}

/* The best of some rounds, in microseconds a message. */
static double measure(const GPtrArray *mails, struct arena *arena)
{
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        gint64 start = g_get_monotonic_time();
        for (guint i = 0; i < mails->len; i++) {
            gsize n;
            const void *bytes = g_bytes_get_data(mails->pdata[i], &n);
            if (arena) {
                message_read(arena, bytes, n, 1, &message_default_limits);
                arena_reset(arena);
            } else {
                parse(bytes, n);
            }
        }
        double took = (double)(g_get_monotonic_time() - start) / mails->len;
        if (!round || took < best)
            best = took;
    }
    return best;
}

int main(void)
{
    const char *corpus = getenv("REFRAIN_CORPUS");
    if (!corpus) {
        printf("skipped: set REFRAIN_CORPUS to a folder of mail (.txt, .eml)\n");
        return 0;
    }
    g_mime_init(); /* GMime as it comes: message_init() changes how it parses messages inside messages */
    GPtrArray *mails = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    load(mails, corpus);
    if (!mails->len) {
        printf("skipped: no .txt or .eml file below %s\n", corpus);
        return 0;
    }
    struct arena *arena = arena_new();
    double gmime = measure(mails, NULL);
    message_init();
    double message = measure(mails, arena);
    printf("%u messages below %s\n", mails->len, corpus);
    printf("  GMime parses       %7.1f µs a message\n", gmime);
    printf("  bytes to terms     %7.1f µs a message   %.1f × GMime\n", message, message / gmime);
    arena_free(&arena);
    g_ptr_array_free(mails, TRUE);
    return 0;
}
