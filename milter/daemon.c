#include "milter/daemon.h"

#include <errno.h>
#include <libmilter/mfapi.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/log.h"
#include "milter/socket.h"

#define WAKE_SECONDS  5  /* how often the file descriptors are counted */
#define DRAIN_SECONDS 20 /* how long messages under way may take after SIGTERM */
#define DRAIN_STEP_MS 20

/*
 * libmilter starts a thread that waits for SIGHUP, SIGTERM and SIGINT and ends everything when one comes,
 * and which of two waiting threads gets a signal is the kernel's choice. libmilter waits by sigwait(), and
 * nothing else in this program does: this definition comes before the C library's, and that thread sleeps
 * for ever. tests/milter/test_daemon.sh sends thousands to be sure.
 */
int sigwait(const sigset_t *set, int *signal)
{
    (void)set;
    (void)signal;
    for (;;)
        pause();
}

static void fill_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
}

void daemon_block_signals(void)
{
    sigset_t set;
    fill_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* The signal, or 0 after the time. */
static int wait_for_signal(int64_t microseconds)
{
    sigset_t set;
    fill_signals(&set);
    struct timespec limit = { .tv_sec = microseconds / G_USEC_PER_SEC,
                              .tv_nsec = microseconds % G_USEC_PER_SEC * 1000 };
    int got = sigtimedwait(&set, NULL, &limit);
    return got < 0 ? 0 : got;
}

static void *run_libmilter(void *ended)
{
    smfi_main();
    atomic_store((atomic_bool *)ended, true);
    kill(getpid(), SIGTERM);
    return NULL;
}

static void reload(struct filter *filter, const struct snapshot_source *source)
{
    g_autoptr(GError) error = NULL;
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" G_GINT64_FORMAT, g_get_monotonic_time());
    struct snapshot *last = snapshot_slot_get(filter->slot);
    struct snapshot *next = snapshot_load(source, last, &error);
    if (next) {
        snapshot_slot_put(filter->slot, next);
        log_open("refrain-milter", next->config->log.target, next->config->log.level);
        log_info("reloaded %s: lexicon %016" G_GINT64_MODIFIER "x, store %s", source->path,
                 lexicon_id(next->lexicon), store_name(next->store));
        snapshot_unref(next);
    } else {
        log_error("reload refused, the old settings stay in force: %s", error->message);
    }
    metrics_reload(filter->metrics, next != NULL);
    snapshot_unref(last);
    sd_notify(0, "READY=1");
}

/* --- file descriptors ------------------------------------------------------------------------------- */

static unsigned count_descriptors(void)
{
    g_autoptr(GDir) folder = g_dir_open("/proc/self/fd", 0, NULL);
    unsigned n = 0;
    while (folder && g_dir_read_name(folder))
        n++;
    return n;
}

static unsigned descriptor_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (unsigned)MIN(limit.rlim_cur, (rlim_t)UINT32_MAX) : 0;
}

static void raise_descriptor_limit(const struct filter *filter)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (descriptor_limit() < filter->max_connections + 64)
        log_warning(
            "%u file descriptors may be open, which is few for %u connections: raise LimitNOFILE or lower "
            "max-connections",
            descriptor_limit(), filter->max_connections);
}

static void watch_descriptors(struct filter *filter, bool *warned)
{
    unsigned open = count_descriptors(), limit = descriptor_limit();
    metrics_descriptors(filter->metrics, open, limit);
    bool scarce = open > limit - limit / 5;
    if (scarce && !*warned)
        log_warning("%u of %u file descriptors are open: raise LimitNOFILE or lower max-connections", open,
                    limit);
    *warned = scarce;
}

/* --- the loop --------------------------------------------------------------------------------------- */

/* Until no mail is under way, or the time is over. A second signal ends the wait: false. */
static bool await_mails(struct filter *filter, int64_t end)
{
    while (atomic_load(&filter->under_way) > 0 && g_get_monotonic_time() < end)
        if (wait_for_signal(DRAIN_STEP_MS * 1000) != 0)
            return false;
    return true;
}

/* Mail that begins meanwhile is judged; then the slot is emptied, and what was quicker is waited for. */
static void drain(struct filter *filter)
{
    int64_t end = g_get_monotonic_time() + DRAIN_SECONDS * G_USEC_PER_SEC;
    sd_notify(0, "STOPPING=1");
    socket_remove();
    log_info("stopping: %d messages under way", atomic_load(&filter->under_way));
    bool patient = await_mails(filter, end);
    snapshot_slot_empty(filter->slot);
    if (patient)
        await_mails(filter, end);
}

static int64_t wake_interval(void)
{
    uint64_t watchdog = 0;
    int64_t interval = WAKE_SECONDS * G_USEC_PER_SEC;
    if (sd_watchdog_enabled(0, &watchdog) > 0)
        interval = MIN(interval, (int64_t)watchdog / 2);
    return interval;
}

int daemon_run(struct filter *filter, const struct snapshot_source *source)
{
    static atomic_bool ended; /* outlives this function: so may libmilter's thread */
    const int64_t interval = wake_interval();
    bool warned = false;
    pthread_t thread;
    raise_descriptor_limit(filter);
    if (pthread_create(&thread, NULL, run_libmilter, &ended) != 0) {
        log_error("cannot start a thread: raise the limit of processes");
        return EX_OSERR;
    }
    sd_notify(0, "READY=1");
    for (int got = 0; got != SIGTERM && got != SIGINT; got = wait_for_signal(interval)) {
        if (got == SIGHUP)
            reload(filter, source);
        watch_descriptors(filter, &warned);
        sd_notify(0, "WATCHDOG=1");
    }
    if (atomic_load(&ended)) {
        log_error("libmilter ended by itself: see its own lines in the mail log");
        socket_remove();
        return EX_SOFTWARE;
    }
    drain(filter);
    return EX_OK;
}
