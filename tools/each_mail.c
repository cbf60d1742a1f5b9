#include "tools/each_mail.h"

#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/progress.h"
#include "message/source.h"
#include "message/unwrap.h"
#include "tools/command.h"
#include "tools/output.h"

/* In memory at once, and then at most one message more. */
#define WINDOW_BYTES (32u << 20)

/* What came from the source: one message, with those inside it. The arena keeps what unwrapping made. */
struct job {
    struct message_source_item *item;
    struct arena *arena;
    struct each_mail *mails;
    unsigned n;
};

struct walk {
    const struct each_mail_plan *plan;
    struct message_source *source;
    struct progress *progress;
    struct each_mail_totals totals;
    size_t bytes; /* of the messages in memory */
    bool stopped;
};

static size_t size_of(const struct message_source_item *item)
{
    return item->data ? g_bytes_get_size(item->data) : 0;
}

static void *next_job(void *user)
{
    struct walk *walk = user;
    if (walk->stopped || output_broken())
        return NULL;
    if (command_interrupted()) {
        walk->totals.interrupted = true;
        return NULL;
    }
    struct message_source_item *item = message_source_next(walk->source);
    if (!item)
        return NULL;
    struct job *job = g_new0(struct job, 1);
    job->item = item;
    walk->bytes += size_of(item);
    return job;
}

static bool is_full(void *user)
{
    return ((struct walk *)user)->bytes >= WINDOW_BYTES;
}

static void *worker_new(void *user)
{
    (void)user;
    return arena_new();
}

static void worker_free(void *worker)
{
    struct arena *arena = worker;
    arena_free(&arena);
}

static const char *why_unscannable(const struct signature_set *signatures, bool prototype)
{
    if (signatures->n == 0)
        return "too few words";
    return prototype && !signature_set_is_prototype(signatures) ? "little more than a footer" : NULL;
}

static void sign(struct each_mail *mail, const struct each_mail_plan *plan, struct arena *arena)
{
    const struct context *context = plan->context;
    struct message *message =
        message_read(arena, mail->bytes, mail->n_bytes, lexicon_key(context->lexicon), &context->limits);
    signature_make_all(context->lexicon, message, context->config->match.min_terms, &mail->signatures);
    mail->terms = message->view[MESSAGE_BODY].n;
    mail->unscannable = why_unscannable(&mail->signatures, plan->prototypes);
    mail->message = message;
}

static void one_mail(struct job *job, const char *unscannable)
{
    gsize n;
    const void *bytes = g_bytes_get_data(job->item->data, &n);
    job->n = 1;
    job->mails = g_new0(struct each_mail, 1);
    job->mails[0] = (struct each_mail) {
        .path = g_strdup(job->item->path), .bytes = bytes, .n_bytes = n, .unscannable = unscannable
    };
}

static void inner_mails(struct job *job, const struct message_unwrapped *inside)
{
    job->n = inside->n;
    job->mails = g_new0(struct each_mail, inside->n);
    for (unsigned i = 0; i < inside->n; i++) {
        job->mails[i].path =
            inside->n == 1 ? g_strdup(job->item->path) : g_strdup_printf("%s/%u", job->item->path, i + 1);
        job->mails[i].bytes = inside->v[i].bytes;
        job->mails[i].n_bytes = inside->v[i].n;
    }
}

static void unwrap(struct job *job, const struct each_mail_plan *plan)
{
    struct message_unwrapped inside = { .wrapping = MESSAGE_PLAIN };
    if (plan->unwrap != EACH_MAIL_AS_IS) {
        gsize n;
        const void *bytes = g_bytes_get_data(job->item->data, &n);
        job->arena = arena_new();
        inside = message_unwrap(job->arena, bytes, n, &plan->context->limits);
    }
    bool wanted = inside.wrapping != MESSAGE_PLAIN || plan->unwrap == EACH_MAIL_FORWARDED;
    if (inside.n > 0)
        inner_mails(job, &inside);
    else
        one_mail(job, wanted ? "no forwarded message found" : NULL);
}

static void work(void *item, void *worker, void *user)
{
    struct job *job = item;
    const struct each_mail_plan *plan = ((struct walk *)user)->plan;
    if (!job->item->data)
        return;
    unwrap(job, plan);
    for (unsigned i = 0; i < job->n; i++) {
        struct each_mail *mail = &job->mails[i];
        if (!mail->unscannable)
            sign(mail, plan, worker);
        if (plan->work)
            mail->result = plan->work(mail, plan->user);
        mail->message = NULL;
        arena_reset(worker);
    }
}

/* The total is not known before the end: estimated from the bytes. */
static void show_progress(struct walk *walk)
{
    guint64 done, total;
    message_source_position(walk->source, &done, &total);
    if (done > 0 && total >= done)
        progress_total(walk->progress,
                       (uint64_t)((double)walk->totals.messages * ((double)total / (double)done)));
    progress_set(walk->progress, walk->totals.messages);
}

static bool done(void *item, void *user)
{
    struct job *job = item;
    struct walk *walk = user;
    if (!job->item->data) {
        walk->totals.unreadable++;
        command_fail(g_error_copy(job->item->error));
    }
    for (unsigned i = 0; i < job->n; i++) {
        struct each_mail *mail = &job->mails[i];
        walk->totals.messages++;
        if (!walk->plan->done(mail, walk->plan->user))
            walk->stopped = true;
        g_free(mail->path);
    }
    show_progress(walk);
    walk->bytes -= size_of(job->item);
    g_free(job->mails);
    arena_free(&job->arena);
    message_source_item_free(job->item);
    g_free(job);
    return !walk->stopped;
}

struct each_mail_totals each_mail_run(const struct each_mail_plan *plan)
{
    struct walk walk = { .plan = plan };
    /* On a terminal the lines of output are the progress. */
    bool quiet = plan->context->quiet || output_terminal();
    message_init();
    walk.source = message_source_new(plan->paths, MESSAGE_SOURCE_MAIL, plan->context->limits.bytes);
    walk.progress = progress_new("messages", 0, quiet);
    pool_run(&(struct pool_plan) { .threads = (unsigned)plan->context->jobs,
                                   .next = next_job,
                                   .full = is_full,
                                   .worker_new = worker_new,
                                   .worker_free = worker_free,
                                   .work = work,
                                   .done = done,
                                   .user = &walk });
    progress_end(&walk.progress);
    message_source_free(&walk.source);
    return walk.totals;
}

int each_mail_exit(const struct each_mail_totals *totals)
{
    if (totals->interrupted) {
        GError *error = NULL;
        command_interrupted_error(&error);
        return command_fail(error);
    }
    return totals->unreadable > 0 ? EXIT_ERROR : EXIT_DONE;
}

bool each_mail_mode(gboolean as_is, gboolean forwarded, enum each_mail_unwrap *out, GError **error)
{
    if (as_is && forwarded) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE,
                    "--as-is and --forwarded exclude each other: give one of them");
        return false;
    }
    *out = as_is ? EACH_MAIL_AS_IS : forwarded ? EACH_MAIL_FORWARDED : EACH_MAIL_AUTO;
    return true;
}
