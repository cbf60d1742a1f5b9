#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "store/deadline.h"
#include "store/internal.h"

/*
 * Which texts are common in clean mail? A report of one would hurt.
 *
 * Clean messages are counted by the day in BACKEND_COUNTERS counters: number 0 counts messages, and each
 * lexicon hash of a message adds one to a counter that it chooses. So the K hashes are the rows of a
 * count-min sketch. Half of the hashes of similar texts agree, and a few of them are those of common words or
 * share a counter with somebody else's: what a quarter of the hashes say, the highest quarter, is believed.
 *
 *      counters of the hashes, highest first      97 61 43 40 38 35 12 9 4 2 …
 *                                                                 ▲ n / 4: 35 messages looked like this
 *
 * Counts wait in memory and are written by a thread of their own, so that the mail's path costs some
 * additions. They go after STORE_CLEAN_DAYS days.
 */
#define PAUSE     (30 * G_USEC_PER_SEC)
#define DAY       86400
#define LEAST     3                       /* messages a day that are called common, however small the site */
#define PART_ROWS 4                       /* counters of the one hash of an attached part */
#define AGREEING  4                       /* hashes, of a text that has few */
#define ROWS_MAX  (SIGNATURE_MAX_LEX + 1) /* of a view, with the counter of messages */

G_STATIC_ASSERT(STORE_CLEAN_DAYS == BACKEND_COUNT_DAYS);

struct clean {
    struct store *store;
    bool running, stop;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake; /* by the monotonic clock */
    gint64 asked;        /* when the store had `total` clean messages; 0: not known */
    uint64_t total;
    uint32_t waiting[BACKEND_COUNTERS];
};

static uint32_t counter_of(uint64_t hash)
{
    return 1 + (uint32_t)(hash % (BACKEND_COUNTERS - 1));
}

/* The counters of one view; returns how many. Who has the same footer has not the same text: none for that.
 */
static unsigned rows_of(const struct signature *signature, uint32_t *out)
{
    struct members_key key;
    unsigned n = 0;
    if (signature->view == MESSAGE_FULL)
        return 0;
    if (signature->view == MESSAGE_PART) {
        for (uint64_t x = signature->lex[0]; n < PART_ROWS; n++)
            out[n] = counter_of(x = hash_mix(x + 1));
        return n;
    }
    for (unsigned i = 0; i < signature->n_lex; i++)
        if (members_key_of(signature->lex[i], signature->view, 0, &key))
            out[n++] = counter_of(key.tag);
    return n;
}

/* --- counting ----------------------------------------------------------------------------------- */

static void add(struct clean *clean, uint32_t counter, uint32_t n)
{
    uint32_t before = clean->waiting[counter];
    clean->waiting[counter] = before + MIN(n, UINT32_MAX - before);
}

/* Takes what waits; returns how many counters. */
static unsigned take(struct clean *clean, struct backend_count *out)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < BACKEND_COUNTERS; i++)
        if (clean->waiting[i])
            out[n++] = (struct backend_count) { i, clean->waiting[i] };
    memset(clean->waiting, 0, sizeof clean->waiting);
    return n;
}

/* With the mutex held, which it lets go meanwhile. What could not be written waits for the next time. */
static void write_some(struct clean *clean)
{
    struct store *store = clean->store;
    struct backend_count *counts = g_new(struct backend_count, BACKEND_COUNTERS);
    unsigned n = take(clean, counts);
    pthread_mutex_unlock(&clean->mutex);
    bool wrote = n == 0 || store->backend->ops->count(store->backend, (uint32_t)(store_now() / DAY), counts,
                                                      n, store->patience, NULL);
    pthread_mutex_lock(&clean->mutex);
    for (unsigned i = 0; i < n && !wrote; i++)
        add(clean, counts[i].counter, counts[i].n);
    clean->asked = 0;
    g_free(counts);
}

static void *run(void *data)
{
    struct clean *clean = data;
    pthread_mutex_lock(&clean->mutex);
    for (bool last = false; !last;) {
        const struct deadline next = { .end = g_get_monotonic_time() + PAUSE };
        while (!clean->stop && deadline_wait(next, &clean->wake, &clean->mutex))
            ;
        last = clean->stop;
        write_some(clean);
    }
    pthread_mutex_unlock(&clean->mutex);
    return NULL;
}

void store_clean(struct store *store, const struct signature_set *signatures)
{
    struct clean *clean = store->clean;
    uint32_t rows[MESSAGE_VIEWS * ROWS_MAX];
    unsigned n = 0;
    if (!clean || signatures->n == 0)
        return;
    for (unsigned i = 0; i < signatures->n; i++)
        n += rows_of(&signatures->v[i], rows + n);
    pthread_mutex_lock(&clean->mutex);
    add(clean, 0, 1);
    for (unsigned i = 0; i < n; i++)
        add(clean, rows[i], 1);
    /* Started by the first message: the tools never have the thread. */
    if (!clean->running)
        clean->running = pthread_create(&clean->thread, NULL, run, clean) == 0;
    pthread_mutex_unlock(&clean->mutex);
}

struct clean *clean_start(struct store *store)
{
    struct clean *clean = g_new0(struct clean, 1);
    clean->store = store;
    pthread_mutex_init(&clean->mutex, NULL);
    deadline_cond_init(&clean->wake);
    return clean;
}

void clean_stop(struct clean **clean)
{
    struct clean *gone = *clean;
    *clean = NULL;
    if (!gone)
        return;
    pthread_mutex_lock(&gone->mutex);
    gone->stop = true;
    pthread_cond_signal(&gone->wake);
    pthread_mutex_unlock(&gone->mutex);
    if (gone->running)
        pthread_join(gone->thread, NULL);
    pthread_mutex_destroy(&gone->mutex);
    pthread_cond_destroy(&gone->wake);
    g_free(gone);
}

/* --- asking ------------------------------------------------------------------------------------- */

static bool read_counts(struct store *store, const uint32_t *rows, unsigned n, uint32_t *out, GError **error)
{
    return store->backend->ops->counts(store->backend, (uint32_t)(store_now() / DAY), rows, n, out,
                                       store->patience, error);
}

bool clean_totals(struct store *store, uint32_t out[STORE_CLEAN_DAYS], GError **error)
{
    return read_counts(store, &(uint32_t) { 0 }, 1, out, error);
}

/*
 * Where there were too few clean messages to say anything a moment ago, as in a store that is being filled, a
 * report need not ask for the counters of its hashes.
 */
static bool was_little(struct clean *clean, uint64_t *total_out)
{
    pthread_mutex_lock(&clean->mutex);
    bool little =
        clean->asked && g_get_monotonic_time() - clean->asked < PAUSE && clean->total < STORE_CLEAN_MIN;
    if (little)
        *total_out = clean->total;
    pthread_mutex_unlock(&clean->mutex);
    return little;
}

static void note_total(struct clean *clean, uint64_t total)
{
    pthread_mutex_lock(&clean->mutex);
    clean->asked = g_get_monotonic_time();
    clean->total = total;
    pthread_mutex_unlock(&clean->mutex);
}

static int highest_first(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* Messages of a day that looked like it. Other mail adds n of BACKEND_COUNTERS a message to any counter. */
static double like_it(uint32_t *counts, unsigned n, uint32_t messages)
{
    qsort(counts, n, sizeof *counts, highest_first);
    double noise = (double)messages * n / BACKEND_COUNTERS;
    return MAX(counts[MIN(MAX(n / 4, AGREEING - 1), n - 1)] - noise, 0);
}

/* By one view. counts: of each day, that of all messages first. */
static struct store_commonness commonness_of(const struct store *store, uint32_t *counts, unsigned n)
{
    struct store_commonness result = { 0 };
    double like = 0, of = 0;
    for (unsigned i = 0; i < STORE_CLEAN_DAYS; i++, counts += n) {
        double alike = like_it(counts + 1, n - 1, counts[0]);
        result.clean += counts[0];
        if (alike < LEAST || alike < store->clean_share * counts[0])
            continue;
        result.days++;
        like += alike;
        of += counts[0];
    }
    result.share = of > 0 ? like / of : 0;
    result.too_common =
        store->clean_share > 0 && result.clean >= STORE_CLEAN_MIN && result.days >= store->clean_days;
    return result;
}

bool store_commonness(struct store *store, const struct signature_set *signatures,
                      struct store_commonness *out, GError **error)
{
    *out = (struct store_commonness) { 0 };
    if (store->clean && was_little(store->clean, &out->clean))
        return true;
    for (unsigned i = 0; i < signatures->n && store->clean_share > 0; i++) {
        uint32_t rows[ROWS_MAX] = { 0 }, counts[STORE_CLEAN_DAYS * ROWS_MAX];
        unsigned n = 1 + rows_of(&signatures->v[i], rows + 1);
        if (n == 1)
            continue;
        if (!read_counts(store, rows, n, counts, error))
            return false;
        struct store_commonness by_view = commonness_of(store, counts, n);
        if (store->clean)
            note_total(store->clean, by_view.clean);
        if (by_view.too_common >= out->too_common && by_view.share >= out->share)
            *out = by_view;
    }
    return true;
}
