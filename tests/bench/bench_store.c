/*
 * The store under load: memory a campaign, look-ups and reports a second, on LMDB and on a redis-server of
 * its own behind a UNIX socket, with the server's own figure for the same commands beside it.
 *
 *      bench_store [--campaigns N] [--buckets BITS] [--seconds S]      100,000 campaigns unless told
 *
 * Signatures are made up. One lexicon hash in twenty comes from a small pool, so that look-ups propose
 * strangers as they do with real mail.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "tests/store/fixture.h"

#define THREADS     4
#define K           20
#define COMMON_POOL 20000

static gint campaigns = 100000, bucket_bits = 18, seconds = 3;

struct bench {
    struct store *store;
    struct lexicon *lexicon;
    unsigned first, n; /* campaigns to report, or that there are */
    gint64 end;
    gint next, done, failed, matched, round_trips, verified;
    gint64 slowest[THREADS];
};

struct result {
    double trips;    /* a look-up */
    double verified; /* candidates of a look-up */
    double cpu;      /* seconds of ours for a look-up */
    int done;
};

static double now(void)
{
    return (double)g_get_monotonic_time() / G_USEC_PER_SEC;
}

static struct signature_set message(const struct lexicon *lexicon, uint64_t seed)
{
    struct signature s = fixture_signature(lexicon, MESSAGE_BODY, seed);
    for (unsigned i = 0; i < K; i++)
        if (hash_mix(seed * K + i) % 20 == 0)
            s.lex[i] = hash_mix(hash_mix(seed * K + i + 77) % COMMON_POOL + 1) & ~UINT64_C(0xffff);
    return fixture_set(s);
}

/* Runs work(bench, thread) on all threads; the seconds it took. */
struct job {
    struct bench *bench;
    void (*work)(struct bench *bench, unsigned thread);
    unsigned thread;
};

static gpointer start_work(gpointer data)
{
    struct job *job = data;
    job->work(job->bench, job->thread);
    return NULL;
}

static double run(struct bench *bench, void (*work)(struct bench *, unsigned), unsigned threads)
{
    struct job jobs[THREADS];
    GThread *running[THREADS];
    double before = now();
    for (unsigned i = 0; i < threads; i++) {
        jobs[i] = (struct job) { bench, work, i };
        running[i] = g_thread_new("bench", start_work, &jobs[i]);
    }
    for (unsigned i = 0; i < threads; i++)
        g_thread_join(running[i]);
    return now() - before;
}

static void report_some(struct bench *bench, unsigned thread)
{
    struct store_report report = { .label = "bench", .source = "trap", .reporter = "anna" };
    (void)thread;
    for (;;) {
        unsigned i = (unsigned)g_atomic_int_add(&bench->next, 1);
        if (i >= bench->n)
            return;
        struct signature_set set = message(bench->lexicon, bench->first + i);
        GError *error = NULL;
        if (!store_report(bench->store, &set, &signature_default_rule, &report, NULL, NULL, &error)) {
            if (g_atomic_int_add(&bench->failed, 1) == 0)
                fprintf(stderr, "bench_store: %s\n", error->message);
            g_error_free(error);
        }
    }
}

/* Nine of ten look-ups are for strangers. */
static void look_up_some(struct bench *bench, unsigned thread)
{
    uint64_t x = hash_mix(thread + 1);
    while (g_get_monotonic_time() < bench->end) {
        x = hash_mix(x + 1);
        bool known = x % 10 == 0;
        struct signature_set set = message(bench->lexicon, known ? x / 16 % bench->n : x | UINT64_C(1) << 40);
        if (known)
            set.v[0] = fixture_changed(&set.v[0], 60, 8, x);
        struct store_match match;
        gint64 before = g_get_monotonic_time();
        if (!store_lookup(bench->store, &set, &signature_default_rule, &match, NULL)) {
            g_atomic_int_inc(&bench->failed);
            continue;
        }
        bench->slowest[thread] = MAX(bench->slowest[thread], g_get_monotonic_time() - before);
        g_atomic_int_inc(&bench->done);
        g_atomic_int_add(&bench->round_trips, (gint)match.round_trips);
        g_atomic_int_add(&bench->verified, (gint)match.verified);
        if (known != (match.level != SIGNATURE_STRANGER))
            g_atomic_int_inc(&bench->failed);
        g_atomic_int_add(&bench->matched, match.level != SIGNATURE_STRANGER);
    }
}

static double load(struct bench *bench, unsigned upto, unsigned threads)
{
    bench->first = bench->n ? bench->first + bench->n : 0;
    bench->n = upto - bench->first;
    bench->next = 0;
    double took = run(bench, report_some, threads);
    return bench->n / took;
}

/* Seconds of processor time that this process has used: unlike the clock it does not mind a busy machine. */
static double used_cpu(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double look_up(struct bench *bench, unsigned upto, unsigned threads, struct result *out)
{
    struct bench b = { .store = bench->store, .lexicon = bench->lexicon, .n = upto };
    b.end = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
    double before = used_cpu(), took = run(&b, look_up_some, threads);
    if (b.failed)
        printf("  %d look-ups FAILED or were wrong\n", b.failed);
    out->trips = b.done ? (double)b.round_trips / b.done : 0;
    out->verified = b.done ? (double)b.verified / b.done : 0;
    out->cpu = b.done ? (used_cpu() - before) / b.done : 0;
    out->done = b.done;
    return b.done / took;
}

static uint64_t memory(struct store *store)
{
    struct store_stats stats;
    return store_stats(store, &stats, NULL) ? stats.memory : 0;
}

/* Sizes on the way up: 1,000, 10,000 … campaigns. */
static void climb(struct bench *bench, uint64_t empty, unsigned reporters)
{
    struct result result;
    printf("  %9s %12s %14s %16s %12s %10s %12s\n", "campaigns", "reports/s", "look-ups/s", "one thread, us",
           "bytes each", "trips", "candidates");
    for (unsigned upto = 1000; upto <= (unsigned)campaigns; upto *= 10) {
        double reports = load(bench, upto, reporters);
        uint64_t used = memory(bench->store) - empty;
        double many = look_up(bench, upto, THREADS, &result), one = look_up(bench, upto, 1, &result);
        printf("  %9u %12.0f %14.0f %16.1f %12.0f %10.2f %12.1f\n", upto, reports, many, 1e6 / one,
               (double)used / upto, result.trips, result.verified);
        fflush(stdout);
    }
}

/* --- LMDB --------------------------------------------------------------------------------------- */

static void look_up_strangers(struct bench *bench, unsigned thread)
{
    (void)thread;
    for (unsigned i = 0; i < 100000; i++) {
        struct signature_set set =
            fixture_set(fixture_signature(bench->lexicon, MESSAGE_BODY, UINT64_C(1) << 41 | i));
        struct store_match match;
        store_lookup(bench->store, &set, &signature_default_rule, &match, NULL);
    }
}

static void bench_lmdb(const char *folder, struct lexicon *lexicon)
{
    g_autofree char *url = g_strdup_printf("lmdb:%s/store", folder);
    struct store_options options = store_default_options;
    options.url = url;
    GError *error = NULL;
    struct bench bench = { .store = store_open(&options, lexicon, &error), .lexicon = lexicon };
    if (!bench.store)
        g_error("%s", error->message);
    printf("LMDB, %u sets, %u threads\n", 1u << bucket_bits, THREADS);
    climb(&bench, memory(bench.store), 1);
    printf("  a miss takes %.1f us (at most 50)\n\n", run(&bench, look_up_strangers, 1) * 10);
    store_close(&bench.store);
}

/* --- Redis -------------------------------------------------------------------------------------- */

static GPid start_redis(const char *folder, char **socket_out)
{
    *socket_out = g_build_filename(folder, "redis.sock", NULL);
    char *argv[] = { "redis-server", "--port",       "0",          "--unixsocket", *socket_out, "--save", "",
                     "--dir",        (char *)folder, "--loglevel", "warning",      NULL };
    GError *error = NULL;
    GPid pid;
    if (!g_spawn_async(folder, argv, NULL,
                       G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                       NULL, &pid, &error))
        g_error("%s", error->message);
    return pid;
}

#define BENCHMARK_REQUESTS 2000000 /* it looks at its clock four times a second */
#define TURNS              3

static double server_cpu(const char *socket)
{
    g_autofree char *command = g_strdup_printf("redis-cli -s %s info cpu", socket);
    char line[256];
    double sum = 0;
    FILE *pipe = popen(command, "r");
    while (pipe && fgets(line, sizeof line, pipe))
        if (g_str_has_prefix(line, "used_cpu_sys:") || g_str_has_prefix(line, "used_cpu_user:"))
            sum += g_ascii_strtod(strchr(line, ':') + 1, NULL);
    if (pipe)
        pclose(pipe);
    return sum;
}

/*
 * redis-benchmark can only ask for keys with decimal names: the sets are copied to such, so that it reads
 * sets of the same sizes as we do, as scattered.
 */
static bool copy_sets(const char *socket, const struct lexicon *lexicon)
{
    g_autofree char *copy = g_strdup_printf(
        "redis-cli -s %s eval 'for i = 0, tonumber(ARGV[1]) - 1 do redis.call(\"COPY\", ARGV[2] .. "
        "string.format(\"%%x\", i), "
        "string.format(\"copy:%%012d\", i)) end' 0 %u rf:%016" G_GINT64_MODIFIER "x: >/dev/null",
        socket, 1u << bucket_bits, lexicon_id(lexicon));
    return system(copy) == 0;
}

/* Look-ups a second of redis-benchmark: the commands for K sets, as we send them, in one pipeline. */
static double ask_redis_benchmark(const char *socket, double *cpu_out)
{
    g_autofree char *ask =
        g_strdup_printf("redis-benchmark -s %s -c %u -P %u --threads 2 -n %u -r %u --csv SRANDMEMBER "
                        "copy:__rand_int__ 1024 2>/dev/null | tail -1",
                        socket, THREADS, K, BENCHMARK_REQUESTS, 1u << bucket_bits);
    char line[512] = "";
    double before = server_cpu(socket);
    FILE *pipe = popen(ask, "r");
    if (!pipe || !fgets(line, sizeof line, pipe))
        line[0] = '\0';
    if (pipe)
        pclose(pipe);
    *cpu_out = (server_cpu(socket) - before) / (BENCHMARK_REQUESTS / K);
    const char *value = strstr(line, "\",\"");
    return value ? g_ascii_strtod(value + 3, NULL) / K : 0;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* In turns, as the machine is not as fast from one minute to the next; the medians count. */
static void compare(struct bench *bench, const char *socket)
{
    double ours[TURNS], ratio[TURNS];
    struct result result;
    printf("  %20s %16s %6s   %s\n", "look-ups/s, 4 threads", "redis-benchmark", "ratio",
           "processor a look-up: ours, its server's; of redis-benchmark's");
    /* The copies made the server's table grow, which it does bit by bit as it is used. */
    look_up(bench, (unsigned)campaigns, THREADS, &result);
    for (unsigned i = 0; i < TURNS; i++) {
        double before = server_cpu(socket), theirs_cpu;
        ours[i] = look_up(bench, (unsigned)campaigns, THREADS, &result);
        double ours_cpu = (server_cpu(socket) - before) / result.done;
        double theirs = ask_redis_benchmark(socket, &theirs_cpu);
        ratio[i] = theirs > 0 ? ours[i] / theirs : 0;
        printf("  %20.0f %16.0f %6.2f   %.1f us, %.1f us; %.1f us\n", ours[i], theirs, ratio[i],
               result.cpu * 1e6, ours_cpu * 1e6, theirs_cpu * 1e6);
        fflush(stdout);
    }
    qsort(ours, TURNS, sizeof *ours, by_size);
    qsort(ratio, TURNS, sizeof *ratio, by_size);
    printf("  at %d campaigns: %.0f look-ups/s, %.2f of redis-benchmark's %u SRANDMEMBER, %.2f round trips\n",
           campaigns, ours[TURNS / 2], ratio[TURNS / 2], K, result.trips);
    puts("  (at 100000: at least 15000, at least 0.60, at most 2)\n");
}

static void bench_redis(const char *folder, struct lexicon *lexicon)
{
    g_autofree char *socket = NULL;
    GPid pid = start_redis(folder, &socket);
    g_autofree char *url = g_strdup_printf("redis+unix:%s", socket);
    struct store_options options = store_default_options;
    options.url = url;
    options.timeout = 5000;
    GError *error = NULL;
    struct bench bench = { .store = store_open(&options, lexicon, &error), .lexicon = lexicon };
    if (!bench.store)
        g_error("%s", error->message);
    for (gint64 end = g_get_monotonic_time() + 10 * G_USEC_PER_SEC; !store_ping(bench.store, &error);) {
        if (g_get_monotonic_time() > end)
            g_error("%s", error->message);
        g_clear_error(&error);
        g_usleep(20000);
    }
    printf("Redis, UNIX socket, %u sets, %u threads\n", 1u << bucket_bits, THREADS);
    climb(&bench, memory(bench.store), THREADS);
    if (copy_sets(socket, lexicon))
        compare(&bench, socket);
    store_close(&bench.store);
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    gboolean only_redis = FALSE, only_lmdb = FALSE;
    const GOptionEntry entries[] = {
        { "campaigns", 0, 0, G_OPTION_ARG_INT, &campaigns, "How many campaigns", "N" },
        { "buckets", 0, 0, G_OPTION_ARG_INT, &bucket_bits, "2^BITS sets", "BITS" },
        { "seconds", 0, 0, G_OPTION_ARG_INT, &seconds, "Look up for so long", "S" },
        { "redis", 0, 0, G_OPTION_ARG_NONE, &only_redis, "Only Redis", NULL },
        { "lmdb", 0, 0, G_OPTION_ARG_NONE, &only_lmdb, "Only LMDB", NULL },
        { NULL, 0, 0, 0, NULL, NULL, NULL },
    };
    GError *error = NULL;
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error))
        g_error("%s", error->message);
    char *folder = fixture_folder();
    struct lexicon *lexicon = fixture_lexicon(folder, 1, (unsigned)bucket_bits);
    if (!only_redis)
        bench_lmdb(folder, lexicon);
    if (!only_lmdb)
        bench_redis(folder, lexicon);
    lexicon_unref(lexicon);
    fixture_remove(folder);
    return 0;
}
