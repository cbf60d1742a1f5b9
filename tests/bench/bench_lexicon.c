/*
 * What a lexicon costs: opening the default one with its checksum, a look-up, and counting a collection with
 * one thread and with two (best of several rounds, as other programs may be running).
 */
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "lexicon/count.h"
#include "lexicon/lexicon.h"
#include "message/message.h"

#define ROUNDS    5
#define LOOKUPS   2000000u
#define DOCUMENTS 300000u

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what, GError *error)
{
    fprintf(stderr, "bench_lexicon: %s: %s\n", what, error ? error->message : "");
    exit(1);
}

static void make_lexicon(const char *path)
{
    const char *source = g_getenv("SRCDIR");
    static const uint8_t seed[LEXICON_SEED] = "a seed for measuring";
    GError *error = NULL;
    struct df *df = NULL;
    static const char *const names[] = { "english.df.xz", "languages.df.xz" };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        char *name = g_build_filename(source ? source : ".", "lexicon", names[i], NULL);
        struct df *next = df_read(name, &error);
        if (!next || (df && !df_merge(df, next, &error)))
            die(name, error);
        if (df)
            df_free(&next);
        else
            df = next;
        g_free(name);
    }
    if (!lexicon_make(df, &lexicon_default_plan, seed, path, &error))
        die(path, error);
    df_free(&df);
}

static void bench_open(const char *path)
{
    double best = INFINITY;
    uint64_t terms = 0;
    for (int i = 0; i < ROUNDS * 4; i++) {
        double start = now();
        struct lexicon *lexicon = lexicon_open(path, NULL);
        best = MIN(best, now() - start);
        terms = lexicon_terms(lexicon);
        lexicon_unref(lexicon);
    }
    printf("open, %" G_GUINT64_FORMAT " terms        %8.2f ms\n", terms, best * 1e3);
}

static void bench_find(const char *path)
{
    struct lexicon *lexicon = lexicon_open(path, NULL);
    struct lexicon_entry entry;
    double best = INFINITY;
    unsigned found = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (uint64_t i = 0; i < LOOKUPS; i++)
            found += lexicon_find(lexicon, hash_mix(i + 1), &entry);
        best = MIN(best, now() - start);
    }
    printf("look-up of a strange term     %8.1f ns\n", best / LOOKUPS * 1e9 + 0.0 * found);
    lexicon_unref(lexicon);
}

/* Words by a Zipf-like law: the word of rank exp(u ln 50,000). */
static void write_lines(const char *path)
{
    FILE *file = fopen(path, "w");
    GRand *random = g_rand_new_with_seed(1);
    for (unsigned d = 0; d < DOCUMENTS; d++) {
        for (int w = 0; w < 20; w++) {
            unsigned rank = (unsigned)exp(g_rand_double(random) * log(50000));
            fputs("zip", file);
            for (; rank; rank /= 26)
                putc((int)('a' + rank % 26), file);
            putc(' ', file);
        }
        putc('\n', file);
    }
    g_rand_free(random);
    fclose(file);
}

static double bench_count(char *lines, const char *out, const char *folder, unsigned threads)
{
    double best = INFINITY;
    char *paths[] = { lines, NULL };
    for (int i = 0; i < ROUNDS; i++) {
        struct count_plan plan = { .paths = paths,
                                   .form = MESSAGE_SOURCE_LINES,
                                   .group = 1,
                                   .collection = "c",
                                   .out = out,
                                   .folder = folder,
                                   .memory = 1 << 30,
                                   .min_count = 1,
                                   .threads = threads,
                                   .quiet = true };
        struct count_result result;
        GError *error = NULL;
        double start = now();
        if (!count_run(&plan, &result, &error))
            die(lines, error);
        best = MIN(best, now() - start);
    }
    printf("count, %u thread%s              %8.0f documents/s\n", threads, threads == 1 ? " " : "s",
           DOCUMENTS / best);
    return best;
}

int main(void)
{
    message_init();
    char *folder = g_dir_make_tmp("bench-lexicon-XXXXXX", NULL);
    char *lexicon = g_build_filename(folder, "x.lex", NULL),
         *lines = g_build_filename(folder, "lines.txt", NULL), *df = g_build_filename(folder, "x.df", NULL);
    make_lexicon(lexicon);
    bench_open(lexicon);
    bench_find(lexicon);
    write_lines(lines);
    double one = bench_count(lines, df, folder, 1), two = bench_count(lines, df, folder, 2);
    printf("two threads against one       %8.2f times as fast\n", one / two);
    g_unlink(lexicon);
    g_unlink(lines);
    g_unlink(df);
    g_rmdir(folder);
    return 0;
}
