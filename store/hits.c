#include <pthread.h>
#include <string.h>

#include "store/deadline.h"
#include "store/internal.h"

/*
 * Hits are counted in a table and written by a thread of their own, at most once a second, so that a
 * campaign under fire costs one write a second and the mail's path none. When the store is down they wait
 * in the table, which is bounded.
 */
#define PAUSE     G_USEC_PER_SEC
#define CAMPAIGNS 65536 /* that may wait */
#define BATCH     128   /* records read and written at once */

struct hits {
    struct store *store;
    GThread *thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake; /* by the monotonic clock */
    GHashTable *waiting; /* number -> hits */
    bool stop;
};

/* With the mutex held. */
static void add(struct hits *hits, uint32_t number, uint32_t count)
{
    gpointer key = GUINT_TO_POINTER(number);
    uint32_t before = GPOINTER_TO_UINT(g_hash_table_lookup(hits->waiting, key));
    if (before || g_hash_table_size(hits->waiting) < CAMPAIGNS)
        g_hash_table_insert(hits->waiting, key, GUINT_TO_POINTER(before + count));
}

/* A campaign that is gone meanwhile has no use for its hits. */
static unsigned make_changes(struct store *store, struct arena *arena, const struct backend_record *records,
                             unsigned n, const uint32_t *counts, struct backend_change *changes)
{
    struct campaign *campaign = ARENA_NEW(arena, struct campaign);
    unsigned made = 0;
    for (unsigned i = 0; i < n; i++) {
        if (!records[i].bytes ||
            !campaign_decode(records[i].bytes, records[i].size, store->lexicon_id, campaign))
            continue;
        struct backend_change *change = &changes[made++];
        *change = (struct backend_change) { .number = records[i].number, .revision = campaign->revision };
        campaign_count_hits(campaign, counts[i], store_now());
        campaign->revision = campaign->revision == UINT32_MAX ? 1 : campaign->revision + 1;
        change->record = campaign_encode(arena, campaign, &change->size);
    }
    return made;
}

/* What could not be written waits for the next time. False when the store does not answer. */
static bool write_batch(struct hits *hits, const uint32_t *numbers, const uint32_t *counts, unsigned n)
{
    struct store *store = hits->store;
    struct arena *arena = arena_new();
    struct backend_record records[BATCH];
    struct backend_change changes[BATCH];
    unsigned made = 0;
    for (unsigned i = 0; i < n; i++)
        records[i] = (struct backend_record) { .number = numbers[i] };
    bool read = store->backend->ops->records(store->backend, arena, BACKEND_READ_LAST, records, n,
                                             store->patience, NULL);
    if (read)
        made = make_changes(store, arena, records, n, counts, changes);
    bool wrote =
        made > 0 && store->backend->ops->commit(store->backend, changes, made, store->patience, NULL);
    pthread_mutex_lock(&hits->mutex);
    for (unsigned i = 0, j = 0; i < n; i++) {
        bool changed = j < made && changes[j].number == numbers[i];
        if (!read || (changed && !(wrote && changes[j].done)))
            add(hits, numbers[i], counts[i]);
        j += changed;
    }
    pthread_mutex_unlock(&hits->mutex);
    arena_free(&arena);
    return read && (wrote || made == 0);
}

static bool write_all(struct hits *hits, GHashTable *table)
{
    bool ok = true;
    uint32_t numbers[BATCH], counts[BATCH];
    unsigned n = 0;
    GHashTableIter iter;
    gpointer key, value;
    g_hash_table_iter_init(&iter, table);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        numbers[n] = GPOINTER_TO_UINT(key);
        counts[n++] = GPOINTER_TO_UINT(value);
        if (n == BATCH) {
            ok &= write_batch(hits, numbers, counts, n);
            n = 0;
        }
    }
    return (n == 0 || write_batch(hits, numbers, counts, n)) && ok;
}

/* Sleeps until there is something, and then until a second has passed since the last write. */
static GHashTable *wait_for_some(struct hits *hits, gint64 last)
{
    pthread_mutex_lock(&hits->mutex);
    while (!hits->stop && g_hash_table_size(hits->waiting) == 0)
        pthread_cond_wait(&hits->wake, &hits->mutex);
    const struct deadline next = { .end = last + PAUSE };
    while (!hits->stop && deadline_wait(next, &hits->wake, &hits->mutex))
        ;
    GHashTable *table = hits->waiting;
    hits->waiting = g_hash_table_new(NULL, NULL);
    pthread_mutex_unlock(&hits->mutex);
    return table;
}

static gpointer run(gpointer data)
{
    struct hits *hits = data;
    gint64 last = 0;
    for (bool stop = false, ok = true; !stop;) {
        GHashTable *table = wait_for_some(hits, last);
        last = g_get_monotonic_time();
        ok = write_all(hits, table);
        g_hash_table_unref(table);
        pthread_mutex_lock(&hits->mutex);
        /* At the end go on while others get in the way, but not when the store is down. */
        stop = hits->stop && (!ok || g_hash_table_size(hits->waiting) == 0);
        pthread_mutex_unlock(&hits->mutex);
    }
    return NULL;
}

struct hits *hits_start(struct store *store)
{
    struct hits *hits = g_new0(struct hits, 1);
    hits->store = store;
    hits->waiting = g_hash_table_new(NULL, NULL);
    pthread_mutex_init(&hits->mutex, NULL);
    deadline_cond_init(&hits->wake);
    return hits;
}

void hits_add(struct hits *hits, uint32_t number)
{
    pthread_mutex_lock(&hits->mutex);
    bool first = g_hash_table_size(hits->waiting) == 0;
    add(hits, number, 1);
    /* Started by the first hit: tools that only report never have the thread. */
    if (!hits->thread)
        hits->thread = g_thread_new("store-hits", run, hits);
    if (first)
        pthread_cond_signal(&hits->wake);
    pthread_mutex_unlock(&hits->mutex);
}

void hits_stop(struct hits **hits)
{
    struct hits *gone = *hits;
    *hits = NULL;
    if (!gone)
        return;
    pthread_mutex_lock(&gone->mutex);
    gone->stop = true;
    pthread_cond_signal(&gone->wake);
    pthread_mutex_unlock(&gone->mutex);
    if (gone->thread)
        g_thread_join(gone->thread);
    g_hash_table_unref(gone->waiting);
    pthread_mutex_destroy(&gone->mutex);
    pthread_cond_destroy(&gone->wake);
    g_free(gone);
}
