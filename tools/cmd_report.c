/* refrain report: these are spam. */
#include <stdio.h>

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

struct report {
    struct context *context;
    struct reporting who;
    char *archive;
    uint64_t counts[RESULTS];
    GError *error; /* ends the run */
};

static void print(const struct report *report, const struct each_mail *mail, unsigned result,
                  uint64_t campaign, const char *reason)
{
    if (report->context->json) {
        struct json *json = json_new();
        json_open(json, NULL, '{');
        json_string(json, "path", mail->path);
        json_string(json, "result", result_names[result]);
        json_hex(json, "campaign", campaign);
        json_string(json, "reason", reason);
        json_close(json, '}');
        json_print(&json);
        return;
    }
    char id[CAMPAIGN_ID] = "-";
    g_autofree char *path = output_safe(mail->path);
    if (campaign)
        campaign_id_print(campaign, id);
    printf("%s\t%s\t%s", result_names[result], id, path);
    if (reason)
        printf(" (%s)", reason);
    putchar('\n');
}

/* What a campaign has learnt anew is a prototype; what was only counted is not. */
static bool archive(struct report *report, const struct each_mail *mail, enum store_outcome outcome,
                    uint64_t campaign)
{
    bool learnt = outcome == STORE_NEW || outcome == STORE_MERGED || outcome == STORE_PENDING;
    if (!report->archive || !learnt)
        return true;
    struct store_report details = reporting_report(&report->who);
    return archive_keep(report->archive, report->context->lexicon, campaign, mail->bytes, mail->n_bytes,
                        &details, &report->error);
}

static bool report_done(struct each_mail *mail, void *user)
{
    struct report *report = user;
    if (report->error)
        return false;
    if (mail->unscannable) {
        report->counts[RESULT_UNSCANNABLE]++;
        print(report, mail, RESULT_UNSCANNABLE, 0, mail->unscannable);
        return true;
    }
    struct store_report details = reporting_report(&report->who);
    enum store_outcome outcome;
    uint64_t campaign = 0;
    if (!store_report(report->context->store, &mail->signatures, &report->context->rule, &details, &outcome,
                      &campaign, &report->error))
        return false;
    report->counts[outcome]++;
    print(report, mail, outcome, outcome == STORE_REFUSED ? 0 : campaign,
          outcome == STORE_REFUSED ? "it resembles something allowed" : NULL);
    return archive(report, mail, outcome, campaign);
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

static int report_mail(struct report *report)
{
    struct each_mail_totals totals = each_mail_run(&(struct each_mail_plan) {
        .context = report->context,
        .paths = report->context->arguments,
        .prototypes = true,
        .unwrap = report->who.unwrap,
        .done = report_done,
        .user = report,
    });
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
        { "archive", 0, 0, G_OPTION_ARG_FILENAME, &report.archive,
          "keep what was learnt here, for refrain resign", "DIR" },
        { NULL, 0, 0, 0, NULL, NULL, NULL },
    };
    GError *error = NULL;
    int code;
    if (!context_parse(context, self, options, argc, argv, &error) ||
        !context_arguments(context, self, 1, 0, &error) || !reporting_complete(&report.who, &error) ||
        (report.archive && !archive_prepare(report.archive, &error)) ||
        !context_open(context, CONTEXT_WRITE, &error))
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
