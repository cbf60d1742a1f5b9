#include "lexicon/count.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/progress.h"
#include "lexicon/counter.h"
#include "message/message.h"
#include "message/tokens.h"

/*
 *   source ─▶ batch ─▶ worker { arena, counter } ─▶ runs ┐
 *                  └─▶ worker { arena, counter } ─▶ runs ┴─▶ df_merge_files ─▶ the file
 *
 * Counters are per thread, so nothing is shared while counting. What is left in them at the end is a run
 * like any other: the file does not depend on which thread saw which document.
 */
#define BATCH_BYTES (128u << 10)
#define BATCH_ITEMS 256u
#define WINDOW      4u /* batches alive for each thread */

/* Counting needs this much beside the tables: code, Unicode data, batches, arenas. */
#define OVERHEAD (UINT64_C(24) << 20)

struct job {
    const struct count_plan *plan;
    struct counter_place place;
    uint64_t memory; /* of one counter */
    struct message_source *source;
    struct progress *progress;

    GMutex lock; /* what follows is touched by all threads */
    unsigned workers;
    uint64_t documents, empty;
    GPtrArray *runs;
    GError *error;
};

struct worker {
    struct job *job;
    struct arena *arena;
    struct counter *counter;
    uint64_t documents, empty;
    GError *error;
};

static void job_fail(struct job *job, GError *error)
{
    g_mutex_lock(&job->lock);
    if (job->error)
        g_error_free(error);
    else
        job->error = error;
    g_mutex_unlock(&job->lock);
}

static bool job_goes_on(struct job *job)
{
    g_mutex_lock(&job->lock);
    bool good = !job->error;
    g_mutex_unlock(&job->lock);
    return good && !(job->plan->stopped && job->plan->stopped());
}

static void *next_batch(void *user)
{
    struct job *job = user;
    GPtrArray *batch = g_ptr_array_new_with_free_func((GDestroyNotify)message_source_item_free);
    size_t bytes = 0;
    struct message_source_item *item;
    while (bytes < BATCH_BYTES && batch->len < BATCH_ITEMS && job_goes_on(job) &&
           (item = message_source_next(job->source))) {
        if (item->error)
            job_fail(job, g_error_copy(item->error));
        else
            bytes += g_bytes_get_size(item->data);
        g_ptr_array_add(batch, item);
    }
    if (batch->len && job_goes_on(job))
        return batch;
    g_ptr_array_free(batch, TRUE);
    return NULL;
}

static void *worker_new(void *user)
{
    struct job *job = user;
    struct worker *w = g_new0(struct worker, 1);
    g_mutex_lock(&job->lock);
    unsigned number = job->workers++;
    g_mutex_unlock(&job->lock);
    w->job = job;
    w->arena = arena_new();
    w->counter = counter_new(&job->place, number, job->memory);
    return w;
}

static void append_runs(GPtrArray *to, GPtrArray *from)
{
    for (guint i = 0; i < from->len; i++)
        g_ptr_array_add(to, g_strdup(from->pdata[i]));
    g_ptr_array_free(from, TRUE);
}

static void worker_free(void *data)
{
    struct worker *w = data;
    struct job *job = w->job;
    if (!w->error && job_goes_on(job))
        counter_spill(w->counter, &w->error);
    if (w->error)
        job_fail(job, w->error);
    g_mutex_lock(&job->lock);
    append_runs(job->runs, counter_take_runs(w->counter));
    job->documents += w->documents;
    job->empty += w->empty;
    g_mutex_unlock(&job->lock);
    counter_free(&w->counter);
    arena_free(&w->arena);
    g_free(w);
}

static void count_document(struct worker *w, struct terms terms)
{
    if (w->error)
        return;
    if (terms.n == 0)
        w->empty++;
    else if (counter_add(w->counter, terms, &w->error))
        w->documents++;
    arena_reset(w->arena);
}

/* All that can be seen: words of footers must be known as common, too. */
static struct terms mail_terms(struct arena *arena, const void *bytes, size_t n)
{
    const struct message *message = message_read(arena, bytes, n, 0, &message_default_limits);
    return message->view[message->view[MESSAGE_FULL].n ? MESSAGE_FULL : MESSAGE_BODY];
}

static void count_lines(struct worker *w, const struct message_source_item *item)
{
    const char *line;
    size_t at = 0, n;
    unsigned group = w->job->plan->group, lines = 0;
    struct tokens *tokens = NULL;
    while (!w->error && message_source_line(item, &at, &line, &n)) {
        if (!tokens)
            tokens = tokens_new(w->arena, 0, message_default_limits.terms);
        tokens_add_text(tokens, line, n);
        if (++lines == group) {
            count_document(w, tokens_terms(tokens));
            tokens = NULL;
            lines = 0;
        }
    }
    if (tokens)
        count_document(w, tokens_terms(tokens));
}

static void count_item(struct worker *w, const struct message_source_item *item)
{
    if (w->job->plan->form == MESSAGE_SOURCE_LINES) {
        count_lines(w, item);
        return;
    }
    size_t n;
    const void *bytes = g_bytes_get_data(item->data, &n);
    if (w->job->plan->form == MESSAGE_SOURCE_MAIL)
        count_document(w, mail_terms(w->arena, bytes, n));
    else
        count_document(w, message_terms_of_text(w->arena, bytes, n, 0, &message_default_limits));
}

static void count_batch(void *item, void *worker, void *user)
{
    (void)user;
    GPtrArray *batch = item;
    struct worker *w = worker;
    for (guint i = 0; i < batch->len && !w->error; i++) {
        const struct message_source_item *one = batch->pdata[i];
        if (!one->error)
            count_item(w, one);
    }
    if (w->error) {
        job_fail(w->job, g_error_copy(w->error));
    }
}

static bool batch_done(void *item, void *user)
{
    struct job *job = user;
    guint64 done, total;
    g_ptr_array_free(item, TRUE);
    message_source_position(job->source, &done, &total);
    progress_total(job->progress, total >> 10);
    progress_set(job->progress, done >> 10);
    return job_goes_on(job);
}

static void count_all(struct job *job)
{
    const struct count_plan *plan = job->plan;
    unsigned threads = plan->threads ? plan->threads : pool_cores();
    uint64_t tables = plan->memory - MIN(plan->memory / 2, OVERHEAD);
    job->memory = tables / threads;
    job->source = message_source_new(plan->paths, plan->form, message_default_limits.bytes);
    job->progress = progress_new("KB", 0, plan->quiet);
    pool_run(&(struct pool_plan) {
        .threads = threads,
        .window = threads * WINDOW,
        .next = next_batch,
        .worker_new = worker_new,
        .worker_free = worker_free,
        .work = count_batch,
        .done = batch_done,
        .user = job,
    });
    progress_end(&job->progress);
    message_source_free(&job->source);
}

static bool job_succeeded(struct job *job, GError **error)
{
    if (job->error)
        g_propagate_error(error, g_steal_pointer(&job->error));
    else if (job->plan->stopped && job->plan->stopped())
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INTERRUPTED, "interrupted: nothing was written");
    else if (!job->documents)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT,
                    "no document with a word in it was found: check the paths, and --text or --lines for "
                    "what is not mail");
    else
        return true;
    return false;
}

static void remove_runs(struct job *job)
{
    for (guint i = 0; i < job->runs->len; i++)
        g_unlink(job->runs->pdata[i]);
    g_ptr_array_free(job->runs, TRUE);
    g_rmdir(job->place.folder);
}

bool count_run(const struct count_plan *plan, struct count_result *result_out, GError **error)
{
    char *folder = g_build_filename(plan->folder, "refrain-count-XXXXXX", NULL);
    if (!g_mkdtemp(folder)) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_OUTPUT,
                    "cannot make a temporary folder in %s: make it writable, or set TMPDIR", plan->folder);
        g_free(folder);
        return false;
    }
    struct job job = { .plan = plan };
    char **sources = df_sources_of_paths(plan->paths);
    job.place =
        (struct counter_place) { .folder = folder, .collection = plan->collection, .sources = sources };
    job.runs = g_ptr_array_new_with_free_func(g_free);
    g_mutex_init(&job.lock);
    count_all(&job);
    struct count_result result = { .empty = job.empty, .runs = job.runs->len };
    bool good = job_succeeded(&job, error) &&
                df_merge_files((char *const *)job.runs->pdata, job.runs->len, plan->out, plan->min_count,
                               folder, plan->stopped, &result.total, error);
    remove_runs(&job);
    g_clear_error(&job.error);
    g_mutex_clear(&job.lock);
    g_strfreev(sources);
    g_free(folder);
    *result_out = result;
    return good;
}
