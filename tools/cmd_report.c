/* refrain report: these are spam. */
#include <stdatomic.h>
#include <stdio.h>

#include "base/lane.h"
#include "tools/archive.h"
#include "tools/campaign.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/output.h"
#include "tools/reporting.h"

enum { RESULT_UNSCANNABLE = STORE_REFUSED + 1, RESULTS };

static const char *const result_names[RESULTS] = {
    [STORE_NEW] = "new",           [STORE_MERGED] = "merged",   [STORE_DUPLICATE] = "duplicate",
    [STORE_PENDING] = "candidate", [STORE_REFUSED] = "refused", [RESULT_UNSCANNABLE] = "unscannable",
};

/* A message that waits for its turn in the store. */
struct pending {
    char *path;
    const char *unscannable;
    char *refused; /* why, where it is not that something is allowed */
    struct signature_set signatures;
    const void *bytes; /* for the archive, which takes messages one by one */
    size_t n_bytes;
    unsigned result;
    uint64_t campaign;
};

#define BATCH 1024 /* reports that are flushed to the disk together */

/*
 * Mail is read and signed on all cores, and collected in batches. Another thread stores these, in the order
 * of the input: nobody waits for the disk but this one.
 */
struct report {
    struct context *context;
    struct reporting who;
    char *archive;
    gboolean force;
    GArray *pending; /* of struct pending: the batch that is being collected */
    guint batch;
    struct lane *storing; /* NULL: each message is stored before the next one is looked at */
    /* Of who stores. */
    uint64_t counts[RESULTS];
    GError *error;      /* ends the run */
    atomic_bool failed; /* there is one */
};

static const char *reason_of(const struct pending *pending)
{
    if (pending->result == RESULT_UNSCANNABLE)
        return pending->unscannable;
    if (pending->refused)
        return pending->refused;
    return pending->result == STORE_REFUSED ? "it resembles something allowed" : NULL;
}

static void print(const struct report *report, const struct pending *pending)
{
    const char *reason = reason_of(pending), *name = result_names[pending->result];
    if (report->context->json) {
        struct json *json = json_new();
        json_open(json, NULL, '{');
        json_string(json, "path", pending->path);
        json_string(json, "result", name);
        json_hex(json, "campaign", pending->campaign);
        json_string(json, "reason", reason);
        json_close(json, '}');
        json_print(&json);
        return;
    }
    char id[CAMPAIGN_ID] = "-";
    g_autofree char *path = output_safe(pending->path);
    if (pending->campaign)
        campaign_id_print(pending->campaign, id);
    printf("%s\t%s\t%s", name, id, path);
    if (reason)
        printf(" (%s)", reason);
    putchar('\n');
}

/* "it resembles 3.1 % of the clean mail on 5 of the last 7 days: --force stores it" */
static bool why_refused(struct report *report, struct pending *pending)
{
    struct store_commonness commonness;
    if (!store_commonness(report->context->store, &pending->signatures, &commonness, &report->error))
        return false;
    g_free(pending->refused);
    pending->refused = g_strdup_printf("it resembles %.1f %% of the clean mail on %u of the last %d days: "
                                       "--force stores it",
                                       commonness.share * 100, commonness.days, STORE_CLEAN_DAYS);
    return true;
}

static bool store_one(struct report *report, struct pending *pending)
{
    if (pending->unscannable) {
        pending->result = RESULT_UNSCANNABLE;
        return true;
    }
    struct store_report details = reporting_report(&report->who);
    details.force = report->force;
    enum store_outcome outcome;
    if (!store_report(report->context->store, &pending->signatures, &report->context->rule, &details,
                      &outcome, &pending->campaign, &report->error))
        return false;
    pending->result = outcome;
    if (outcome != STORE_REFUSED)
        return true;
    if (pending->campaign == 0)
        return why_refused(report, pending);
    pending->campaign = 0;
    return true;
}

/* What a campaign has learnt anew is a prototype; what was only counted is not. */
static void archive(struct report *report, const struct pending *pending)
{
    bool learnt =
        pending->result == STORE_NEW || pending->result == STORE_MERGED || pending->result == STORE_PENDING;
    struct store_report details = reporting_report(&report->who);
    if (report->archive && learnt && !report->error)
        archive_keep(report->archive, report->context->lexicon, pending->campaign, pending->bytes,
                     pending->n_bytes, &details, &report->error);
}

/* Both return how many of a batch were stored, the first ones; report->error says why not all. */
static guint store_in_order(struct report *report, GArray *batch)
{
    guint stored = 0;
    while (stored < batch->len && store_one(report, &g_array_index(batch, struct pending, stored)))
        stored++;
    return stored;
}

static guint store_together(struct report *report, GArray *batch)
{
    struct store *store = report->context->store;
    if (report->error || !store_batch_begin(store, &report->error))
        return 0;
    guint stored = store_in_order(report, batch);
    if (store_batch_end(store, NULL))
        return stored;
    /* Nothing of it is stored: as much as fits, and the reason from the first that does not. */
    g_clear_error(&report->error);
    return store_in_order(report, batch);
}

/* Stores a batch, then says so: a line that was printed is true, whatever happens next. Frees it. */
static void store_batch(void *item, void *user)
{
    struct report *report = user;
    GArray *batch = item;
    guint stored = store_together(report, batch);
    for (guint i = 0; i < batch->len; i++) {
        struct pending *pending = &g_array_index(batch, struct pending, i);
        if (i < stored) {
            report->counts[pending->result]++;
            print(report, pending);
            archive(report, pending);
        }
        g_free(pending->path);
        g_free(pending->refused);
    }
    g_array_free(batch, TRUE);
    atomic_store(&report->failed, report->error != NULL);
}

static void hand_over(struct report *report)
{
    GArray *batch = report->pending;
    report->pending = g_array_new(FALSE, FALSE, sizeof(struct pending));
    if (report->storing)
        lane_put(report->storing, batch);
    else
        store_batch(batch, report);
}

static bool report_done(struct each_mail *mail, void *user)
{
    struct report *report = user;
    if (atomic_load(&report->failed))
        return false;
    struct pending pending = { .path = g_strdup(mail->path),
                               .unscannable = mail->unscannable,
                               .signatures = mail->signatures,
                               .bytes = mail->bytes,
                               .n_bytes = mail->n_bytes };
    g_array_append_val(report->pending, pending);
    if (report->pending->len >= report->batch)
        hand_over(report);
    return !atomic_load(&report->failed);
}

static void print_totals(const struct report *report)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < RESULTS; i++)
        total += report->counts[i];
    fflush(stdout);
    fprintf(stderr, "reported %" G_GUINT64_FORMAT ":", total);
    for (unsigned i = 0; i < RESULTS; i++)
        fprintf(stderr, "%s %s %" G_GUINT64_FORMAT, i ? "," : "", result_names[i], report->counts[i]);
    fputc('\n', stderr);
}

/* Standard input may make us wait with the next message: nothing waits for it. */
static guint batch_size(const struct report *report)
{
    bool waits = g_strv_contains((const char *const *)report->context->arguments, "-");
    return waits || report->archive ? 1 : BATCH;
}

static int report_mail(struct report *report)
{
    report->batch = batch_size(report);
    report->pending = g_array_new(FALSE, FALSE, sizeof(struct pending));
    report->storing = report->batch > 1 ? lane_new(store_batch, report) : NULL;
    struct each_mail_totals totals = each_mail_run(&(struct each_mail_plan) {
        .context = report->context,
        .paths = report->context->arguments,
        .prototypes = true,
        .unwrap = report->who.unwrap,
        .done = report_done,
        .user = report,
    });
    hand_over(report);
    lane_end(&report->storing);
    g_array_free(report->pending, TRUE);
    int code = each_mail_exit(&totals);
    if (report->error)
        code = command_fail(g_steal_pointer(&report->error));
    if (!report->context->quiet)
        print_totals(report);
    return code;
}

static int report_run(const struct command *self, struct context *context, int argc, char **argv)
{
    struct report report = { .context = context };
    const GOptionEntry options[] = {
        REPORTING_OPTIONS(report.who),
        { "force", 0, 0, G_OPTION_ARG_NONE, &report.force, "store it, however much clean mail looks like it",
          NULL },
        { "archive", 0, 0, G_OPTION_ARG_FILENAME, &report.archive,
          "keep what was learnt here, for refrain resign", "DIR" },
        { NULL, 0, 0, 0, NULL, NULL, NULL },
    };
    GError *error = NULL;
    int code;
    if (!context_parse(context, self, options, argc, argv, &error) ||
        !context_arguments(context, self, 1, 0, &error) || !reporting_complete(&report.who, &error) ||
        (report.archive && !archive_prepare(report.archive, &error)) ||
        !context_open(context, CONTEXT_MAKE, &error))
        code = command_fail(error);
    else
        code = report_mail(&report);
    reporting_clear(&report.who);
    g_free(report.archive);
    return code;
}

const struct command cmd_report = {
    .name = "report",
    .arguments = "PATH...",
    .summary = "these are spam: recognise their near-duplicates",
    .more = "A message forwarded as an attachment, an abuse report (ARF) and a clear inline forward are "
            "unwrapped:\n"
            "what is inside is reported. Prints a line a message, tab-separated: new, merged, duplicate, "
            "candidate,\n"
            "refused or unscannable; the campaign; the path, and a reason where nothing was stored.\n",
    .run = report_run,
};
