/*
 * What a message costs: GMime's parser alone, and then all of message/ (bytes to terms) and
 * signature/ (to the signature), over the same messages on one core.
 *
 *      REFRAIN_CORPUS=DIR   a tree of mail (.txt and .eml files), read before the clock starts
 */
#include <gmime/gmime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <glib/gstdio.h>

#include "base/arena.h"
#include "signature/signature.h"

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

struct job {
    struct arena *arena;
    struct lexicon *lexicon;
};

static void only_parse(const void *bytes, size_t n, struct job *job)
{
    (void)job;
    parse(bytes, n);
}

static void to_terms(const void *bytes, size_t n, struct job *job)
{
    message_read(job->arena, bytes, n, lexicon_key(job->lexicon), &message_default_limits);
    arena_reset(job->arena);
}

static void to_signature(const void *bytes, size_t n, struct job *job)
{
    struct signature_set signatures;
    struct message *message =
        message_read(job->arena, bytes, n, lexicon_key(job->lexicon), &message_default_limits);
    signature_make_all(job->lexicon, message, SIGNATURE_MIN_TERMS, &signatures);
    arena_reset(job->arena);
}

/* Of this thread: other work on the machine does not count. */
static double cpu_microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* The best of some rounds, in microseconds a message. */
static double measure(const GPtrArray *mails, void (*work)(const void *, size_t, struct job *),
                      struct job *job)
{
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double start = cpu_microseconds();
        for (guint i = 0; i < mails->len; i++) {
            gsize n;
            const void *bytes = g_bytes_get_data(mails->pdata[i], &n);
            work(bytes, n, job);
        }
        double took = (cpu_microseconds() - start) / mails->len;
        if (!round || took < best)
            best = took;
    }
    return best;
}

/* The shipped frequencies, with a fixed seed. */
static struct lexicon *make_lexicon(void)
{
    static const uint8_t seed[LEXICON_SEED] = { 1 };
    const char *source = getenv("SRCDIR");
    char *dir = g_dir_make_tmp("refrain-bench-XXXXXX", NULL),
         *path = g_build_filename(dir, "bench.lex", NULL);
    struct lexicon *lexicon = NULL;
    struct df *df = NULL;
    GError *error = NULL;
    const char *const names[] = { "english.df.xz", "languages.df.xz" };
    for (unsigned i = 0; i < 2 && !error; i++) {
        char *file = g_build_filename(source ? source : ".", "lexicon", names[i], NULL);
        struct df *more = df_read(file, &error);
        if (more && df && df_merge(df, more, &error))
            df_free(&more);
        else if (more && !df)
            df = more;
        g_free(file);
    }
    if (!error && lexicon_make(df, &lexicon_default_plan, seed, path, &error))
        lexicon = lexicon_open(path, &error);
    if (error)
        fprintf(stderr, "%s\n", error->message);
    g_clear_error(&error);
    g_unlink(path);
    g_rmdir(dir);
    df_free(&df);
    g_free(path);
    g_free(dir);
    return lexicon;
}

static void print_ratio(const char *what, double took, double gmime, const char *limit)
{
    printf("  %-22s %7.1f µs a message   %.2f × GMime%s\n", what, took, took / gmime, limit);
}

int main(void)
{
    const char *corpus = getenv("REFRAIN_CORPUS");
    if (!corpus) {
        printf("skipped: set REFRAIN_CORPUS to a folder of mail (.txt, .eml); tests/fetch-corpus gets one\n");
        return 0;
    }
    g_mime_init(); /* GMime as it comes: message_init() changes how it parses messages inside messages */
    GPtrArray *mails = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    load(mails, corpus);
    if (!mails->len) {
        printf("skipped: no .txt or .eml file below %s\n", corpus);
        return 0;
    }
    struct job job = { arena_new(), make_lexicon() };
    if (!job.lexicon)
        return 1;
    double gmime = measure(mails, only_parse, &job);
    message_init();
    double terms = measure(mails, to_terms, &job), signature = measure(mails, to_signature, &job);
    printf("%u messages below %s, one core\n", mails->len, corpus);
    printf("  %-22s %7.1f µs a message\n", "GMime parses", gmime);
    print_ratio("bytes to terms", terms, gmime, "");
    print_ratio("bytes to signature", signature, gmime, "   (limit 5, aim 3)");
    printf("  %-22s %7.0f messages/s\n", "", 1e6 / signature);
    arena_free(&job.arena);
    lexicon_unref(job.lexicon);
    g_ptr_array_free(mails, TRUE);
    return 0;
}
