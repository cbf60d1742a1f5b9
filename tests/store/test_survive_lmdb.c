#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/store/fixture.h"

struct world {
    char *folder, *path, *url;
    struct lexicon *lexicon;
    struct store *store;
};

static struct store *open_url(struct world *w, const char *url, bool read_only, GError **error)
{
    struct store_options options = store_default_options;
    options.url = url;
    options.read_only = read_only;
    return store_open(&options, w->lexicon, error);
}

static struct store *open_or_fail(struct world *w, const char *url)
{
    GError *error = NULL;
    struct store *store = open_url(w, url, false, &error);
    if (!store)
        fail_msg("%s", error->message);
    return store;
}

static int set_up(void **state)
{
    struct world *w = g_new0(struct world, 1);
    w->folder = fixture_folder();
    w->path = g_build_filename(w->folder, "store", NULL);
    w->url = g_strconcat("lmdb:", w->path, NULL);
    w->lexicon = fixture_lexicon(w->folder, 1, 10);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    store_close(&w->store);
    lexicon_unref(w->lexicon);
    fixture_remove(w->folder);
    g_free(w->path);
    g_free(w->url);
    g_free(w);
    return 0;
}

static bool report(struct world *w, struct store *store, uint64_t seed, uint64_t *id_out, GError **error)
{
    struct signature_set set = fixture_set(fixture_signature(w->lexicon, MESSAGE_BODY, seed));
    struct store_report by = { .reporter = "anna" };
    return store_report(store, &set, &signature_default_rule, &by, NULL, id_out, error);
}

static bool is_found(struct world *w, struct store *store, uint64_t seed)
{
    struct signature_set set = fixture_set(fixture_signature(w->lexicon, MESSAGE_BODY, seed));
    struct store_match match;
    GError *error = NULL;
    if (!store_lookup(store, &set, &signature_default_rule, &match, &error))
        fail_msg("%s", error->message);
    return match.level == SIGNATURE_REJECT && match.likeness.shared == 20;
}

static void assert_found(struct world *w, struct store *store, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_true(is_found(w, store, i));
}

static uint64_t count(struct store *store)
{
    struct store_stats stats;
    assert_true(store_stats(store, &stats, NULL));
    return stats.campaigns;
}

/* The child reports for ever, and says so after each one. */
static pid_t start_reporter(struct world *w, int *said_out)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]); /* so that it ends with the test, however that does */
        struct store *store = open_url(w, w->url, false, NULL);
        for (uint64_t i = 0; store && report(w, store, i, NULL, NULL); i++)
            if (write(ends[1], "+", 1) != 1)
                break;
        _exit(1);
    }
    close(ends[1]);
    *said_out = ends[0];
    return child;
}

static void kill_in_the_middle_of_writes_loses_nothing(void **state)
{
    struct world *w = *state;
    for (unsigned round = 0; round < 5; round++) {
        int said;
        char byte;
        unsigned acknowledged = 0;
        pid_t child = start_reporter(w, &said);
        while (acknowledged < 100 + 37 * round && read(said, &byte, 1) == 1)
            acknowledged++;
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while (read(said, &byte, 1) == 1)
            acknowledged++;
        close(said);
        struct store *store = open_or_fail(w, w->url);
        uint64_t dropped;
        GError *error = NULL;
        assert_found(w, store, acknowledged);
        uint64_t before = count(store);
        assert_true(before >= acknowledged);
        if (!store_expire(store, &dropped, &error))
            fail_msg("%s", error->message);
        assert_int_equal(dropped, 0);
        assert_int_equal(count(store), before);
        store_close(&store);
    }
}

static unsigned fill(struct world *w, struct store *store, GError **error)
{
    unsigned n = 0;
    while (n < 100000 && report(w, store, n, NULL, error))
        n++;
    return n;
}

/* The child begins a batch, so that it is the writer, and stops. */
static pid_t start_frozen_writer(struct world *w)
{
    pid_t child = fork();
    if (child == 0) {
        struct store *store = open_url(w, w->url, false, NULL);
        bool writing = store && store_batch_begin(store, NULL) && report(w, store, 1000, NULL, NULL);
        raise(SIGSTOP);
        _exit(writing && store_batch_end(store, NULL) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    return child;
}

/* No write within the deadline, and a sentence that has the process in it. */
static void assert_says_who_writes(struct world *w, pid_t writer)
{
    g_autofree char *name = g_strdup_printf("process %d (", (int)writer);
    GError *error = NULL;
    int64_t begin = g_get_monotonic_time();
    assert_false(report(w, w->store, 2000, NULL, &error));
    int64_t took = g_get_monotonic_time() - begin;
    assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE));
    if (!strstr(error->message, name) || !strstr(error->message, "kill -CONT"))
        fail_msg("%s", error->message);
    g_error_free(error);
    assert_in_range(took, 4 * G_USEC_PER_SEC, 8 * G_USEC_PER_SEC);
}

static void assert_looks_up_at_once(struct world *w, uint64_t campaign)
{
    int64_t begin = g_get_monotonic_time();
    for (unsigned i = 0; i < 100; i++) {
        assert_true(is_found(w, w->store, 0));
        store_hit(w->store, campaign);
    }
    assert_true(g_get_monotonic_time() - begin < G_USEC_PER_SEC);
}

static gpointer say_who_writes(gpointer user)
{
    struct world *w = user;
    GError *error = NULL;
    bool wrote = report(w, w->store, 3000, NULL, &error);
    g_clear_error(&error);
    return GINT_TO_POINTER(wrote);
}

static void a_frozen_writer_holds_up_no_one_for_long(void **state)
{
    struct world *w = *state;
    uint64_t campaign;
    struct store *first = open_or_fail(w, w->url);
    assert_true(report(w, first, 0, &campaign, NULL));
    store_close(&first);
    pid_t writer = start_frozen_writer(w);
    w->store = open_or_fail(w, w->url); /* what is there already is opened without writing */
    assert_looks_up_at_once(w, campaign);
    /* Threads wait for each other and for the process, all in the same time. */
    GThread *thread = g_thread_new("report", say_who_writes, w);
    assert_says_who_writes(w, writer);
    assert_false(GPOINTER_TO_INT(g_thread_join(thread)));
    assert_looks_up_at_once(w, campaign);
    kill(writer, SIGCONT);
    int status;
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
    assert_true(report(w, w->store, 2000, NULL, NULL));
    assert_true(is_found(w, w->store, 1000));
    assert_true(is_found(w, w->store, 2000));
}

/* The child writes batch after batch, as `refrain report` does with an archive of mail. */
static pid_t start_busy_writer(struct world *w)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        struct store *store = open_url(w, w->url, false, NULL);
        for (uint64_t i = 10000; store && store_batch_begin(store, NULL);) {
            for (unsigned n = 0; n < 1000; n++, i++)
                report(w, store, 10000 + i % 2000, NULL, NULL);
            if (!store_batch_end(store, NULL) || (i == 11000 && write(ends[1], "+", 1) != 1))
                break;
        }
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return child;
}

static void who_writes_without_a_pause_lets_others_in(void **state)
{
    struct world *w = *state;
    w->store = open_or_fail(w, w->url);
    pid_t writer = start_busy_writer(w);
    int64_t longest = 0;
    for (unsigned i = 0; i < 10; i++) {
        GError *error = NULL;
        int64_t begin = g_get_monotonic_time();
        bool stored = report(w, w->store, i, NULL, &error);
        longest = MAX(longest, g_get_monotonic_time() - begin);
        if (!stored) {
            kill(writer, SIGKILL);
            fail_msg("%s", error->message);
        }
    }
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    assert_true(longest < 2 * G_USEC_PER_SEC);
}

static void a_frozen_writer_that_is_killed_leaves_its_place_at_once(void **state)
{
    struct world *w = *state;
    w->store = open_or_fail(w, w->url);
    assert_true(report(w, w->store, 0, NULL, NULL));
    store_close(&w->store);
    pid_t writer = start_frozen_writer(w);
    w->store = open_or_fail(w, w->url);
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    int64_t begin = g_get_monotonic_time();
    assert_true(report(w, w->store, 2000, NULL, NULL));
    assert_true(g_get_monotonic_time() - begin < 2 * G_USEC_PER_SEC);
    assert_false(is_found(w, w->store, 1000));
    assert_true(is_found(w, w->store, 2000));
}

static void at_the_limit_nothing_is_lost_and_forgetting_helps(void **state)
{
    struct world *w = *state;
    g_autofree char *url = g_strconcat(w->url, "?max=1M", NULL);
    GError *error = NULL;
    w->store = open_or_fail(w, url);
    unsigned n = fill(w, w->store, &error);
    assert_true(n > 100 && n < 5000);
    assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_REFUSED));
    assert_non_null(strstr(error->message, "limit of 1"));
    g_clear_error(&error);
    assert_found(w, w->store, n);
    for (unsigned i = 0; i < 100; i++) {
        struct signature_set set = fixture_set(fixture_signature(w->lexicon, MESSAGE_BODY, i));
        uint64_t removed;
        if (!store_forget_variant(w->store, &set, &removed, &error))
            fail_msg("%s", error->message);
        assert_true(removed != 0);
    }
    for (unsigned i = 0; i < 20; i++)
        if (!report(w, w->store, i, NULL, &error))
            fail_msg("%s", error->message);
    assert_int_equal(count(w->store), n - 80);
}

static void a_batch_that_does_not_fit_leaves_nothing_behind(void **state)
{
    struct world *w = *state;
    g_autofree char *url = g_strconcat(w->url, "?max=1M", NULL);
    GError *error = NULL;
    unsigned n = 0, fitting = 0;
    w->store = open_or_fail(w, url);
    assert_true(report(w, w->store, 1000000, NULL, &error));
    assert_true(store_batch_begin(w->store, &error));
    while (report(w, w->store, n, NULL, &error))
        n++;
    assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_REFUSED));
    g_clear_error(&error);
    assert_false(store_batch_end(w->store, &error));
    assert_non_null(strstr(error->message, "limit of 1.0 MB"));
    g_clear_error(&error);
    for (unsigned i = 0; i < n; i++)
        assert_false(is_found(w, w->store, i));
    assert_true(is_found(w, w->store, 1000000));
    /* One by one, what fits is stored. */
    while (fitting < n && report(w, w->store, fitting, NULL, &error))
        fitting++;
    g_clear_error(&error);
    assert_true(fitting > n / 4);
    assert_found(w, w->store, fitting);
}

/* The file may not grow beyond some size: as good as a full disk, without one. */
static void a_full_disk_is_an_error_and_loses_nothing(void **state)
{
    struct world *w = *state;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit small = { 600000, 600000 };
        GError *error = NULL;
        signal(SIGXFSZ, SIG_IGN);
        struct store *store = open_url(w, w->url, false, &error);
        setrlimit(RLIMIT_FSIZE, &small);
        unsigned n = store ? fill(w, store, &error) : 0;
        bool ok = n > 100 && n < 5000 && g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_REFUSED) &&
                  strstr(error->message, "free some space");
        for (unsigned i = 0; ok && i < n; i++)
            ok = is_found(w, store, i);
        _exit(ok ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    w->store = open_or_fail(w, w->url);
    uint64_t before = count(w->store);
    assert_true(before > 100);
    assert_found(w, w->store, (unsigned)before);
    assert_true(report(w, w->store, 1000000, NULL, NULL));
}

static void a_map_that_another_process_grew_is_followed(void **state)
{
    struct world *w = *state;
    w->store = open_or_fail(w, w->url);
    assert_true(report(w, w->store, 0, NULL, NULL));
    int said;
    char byte;
    pid_t child = start_reporter(w, &said);
    for (unsigned i = 0; i < 2000; i++)
        assert_int_equal(read(said, &byte, 1), 1);
    assert_found(w, w->store, 2000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(said);
    assert_true(report(w, w->store, 1000000, NULL, NULL));
    assert_true(is_found(w, w->store, 1000000));
}

static void a_process_opens_a_store_once_however_often_it_is_asked(void **state)
{
    struct world *w = *state;
    w->store = open_or_fail(w, w->url);
    assert_true(report(w, w->store, 1, NULL, NULL));
    g_autofree char *detour = g_strdup_printf("lmdb:%s/../store", w->path);
    struct store *second = open_or_fail(w, detour), *third = open_url(w, w->url, true, NULL);
    assert_non_null(third);
    assert_true(is_found(w, second, 1));
    assert_true(is_found(w, third, 1));
    store_close(&w->store);
    assert_true(report(w, second, 2, NULL, NULL));
    assert_false(report(w, third, 3, NULL, NULL));
    store_close(&second);
    assert_true(is_found(w, third, 2));
    store_close(&third);
}

static void a_store_does_not_go_through_a_fork(void **state)
{
    struct world *w = *state;
    w->store = open_or_fail(w, w->url);
    assert_true(report(w, w->store, 1, NULL, NULL));
    pid_t child = fork();
    if (child == 0) {
        GError *error = NULL;
        bool refused = !report(w, w->store, 2, NULL, &error) && strstr(error->message, "fork");
        struct store *own = open_url(w, w->url, false, NULL);
        _exit(refused && own && is_found(w, own, 1) && report(w, own, 3, NULL, NULL) ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(is_found(w, w->store, 3));
    assert_true(report(w, w->store, 4, NULL, NULL));
}

static gpointer look_up_often(gpointer data)
{
    struct world *w = data;
    for (unsigned i = 0; i < 200; i++)
        if (!is_found(w, w->store, i % 50))
            return GINT_TO_POINTER(1);
    return NULL;
}

static void many_threads_read_while_the_map_grows(void **state)
{
    struct world *w = *state;
    GThread *threads[200];
    w->store = open_or_fail(w, w->url);
    for (unsigned i = 0; i < 50; i++)
        assert_true(report(w, w->store, i, NULL, NULL));
    for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("reader", look_up_often, w);
    for (unsigned i = 50; i < 1500; i++)
        assert_true(report(w, w->store, i, NULL, NULL));
    for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++)
        assert_null(g_thread_join(threads[i]));
}

static gpointer load_in_batches(gpointer data)
{
    struct world *w = data;
    for (unsigned i = 0; i < 2000; i++)
        if (!store_batch_begin(w->store, NULL) || !report(w, w->store, i % 5, NULL, NULL) ||
            !store_batch_end(w->store, NULL))
            return GINT_TO_POINTER(1);
    return NULL;
}

static void batches_of_threads_follow_each_other(void **state)
{
    struct world *w = *state;
    GThread *threads[4];
    struct store_stats stats;
    w->store = open_or_fail(w, w->url);
    for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("load", load_in_batches, w);
    for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++)
        assert_null(g_thread_join(threads[i]));
    assert_true(store_stats(w->store, &stats, NULL));
    assert_int_equal(stats.campaigns, 5);
    assert_int_equal(stats.reports, 4 * 2000);
}

static unsigned mode_of(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void the_group_may_use_what_was_made(void **state)
{
    struct world *w = *state;
    mode_t before = umask(077);
    w->store = open_or_fail(w, w->url);
    umask(before);
    assert_int_equal(mode_of(w->path, ""), 0770);
    assert_int_equal(mode_of(w->path, "data.mdb"), 0660);
    assert_int_equal(mode_of(w->path, "lock.mdb"), 0660);
}

static uid_t owner_of(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_uid;
}

static void what_root_makes_belongs_to_the_owner_of_the_folder_above(void **state)
{
    struct world *w = *state;
    if (geteuid() != 0)
        skip();
    g_autofree char *home = g_build_filename(w->folder, "home", NULL);
    g_autofree char *path = g_build_filename(home, "store", NULL);
    g_autofree char *url = g_strconcat("lmdb:", path, NULL);
    assert_int_equal(mkdir(home, 0755), 0);
    assert_int_equal(chown(home, 65534, 65534), 0);
    w->store = open_or_fail(w, url);
    assert_int_equal(owner_of(path, ""), 65534);
    assert_int_equal(owner_of(path, "data.mdb"), 65534);
    assert_int_equal(owner_of(path, "lock.mdb"), 65534);
    assert_int_equal(owner_of(home, ""), 65534);
}

static void what_cannot_be_opened_is_said(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    g_autofree char *orphan = g_strconcat(w->url, "/no/such", NULL);
    assert_null(open_url(w, orphan, false, &error));
    assert_non_null(strstr(error->message, "make the folder above it first"));
    g_clear_error(&error);
    g_autofree char *bad_limit = g_strconcat(w->url, "?max=lots", NULL);
    assert_null(open_url(w, bad_limit, false, &error));
    assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG));
    g_clear_error(&error);
    g_autofree char *data = g_build_filename(w->path, "data.mdb", NULL);
    char garbage[8192];
    memset(garbage, 'x', sizeof garbage);
    assert_int_equal(g_mkdir(w->path, 0700), 0);
    assert_true(g_file_set_contents(data, garbage, sizeof garbage, NULL));
    assert_null(open_url(w, w->url, false, &error));
    assert_non_null(strstr(error->message, "no store of this program"));
    g_clear_error(&error);
}

static void assert_empty_and_absent(struct world *w)
{
    GError *error = NULL;
    struct store_stats stats;
    struct store *store = open_url(w, w->url, true, &error);
    assert_non_null(store);
    assert_false(store_is_there(store));
    assert_true(store_stats(store, &stats, NULL));
    assert_int_equal(stats.campaigns, 0);
    assert_false(store_ping(store, &error));
    assert_non_null(strstr(error->message, "there is no store"));
    g_clear_error(&error);
    store_close(&store);
}

static void what_is_not_there_is_empty_and_stays_away(void **state)
{
    struct world *w = *state;
    assert_empty_and_absent(w);
    assert_false(g_file_test(w->path, G_FILE_TEST_EXISTS));
    assert_int_equal(g_mkdir(w->path, 0700), 0);
    assert_empty_and_absent(w);
    assert_int_equal(g_rmdir(w->path), 0); /* not even a lock file was left */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(kill_in_the_middle_of_writes_loses_nothing),
        TEST(a_frozen_writer_holds_up_no_one_for_long),
        TEST(a_frozen_writer_that_is_killed_leaves_its_place_at_once),
        TEST(who_writes_without_a_pause_lets_others_in),
        TEST(at_the_limit_nothing_is_lost_and_forgetting_helps),
        TEST(a_batch_that_does_not_fit_leaves_nothing_behind),
        TEST(a_full_disk_is_an_error_and_loses_nothing),
        TEST(a_map_that_another_process_grew_is_followed),
        TEST(a_process_opens_a_store_once_however_often_it_is_asked),
        TEST(a_store_does_not_go_through_a_fork),
        TEST(many_threads_read_while_the_map_grows),
        TEST(batches_of_threads_follow_each_other),
        TEST(the_group_may_use_what_was_made),
        TEST(what_root_makes_belongs_to_the_owner_of_the_folder_above),
        TEST(what_cannot_be_opened_is_said),
        TEST(what_is_not_there_is_empty_and_stays_away),
    };
    return cmocka_run_group_tests_name("LMDB survives", tests, NULL, NULL);
}
