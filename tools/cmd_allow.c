/* refrain allow: near-duplicates of these are never acted on. */
#include <stdio.h>

#include "tools/campaign.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/output.h"
#include "tools/reporting.h"

struct allow {
    struct context *context;
    struct reporting who;
    uint64_t allowed, unscannable;
    GError *error;
};

static void print(const struct allow *allow, const struct each_mail *mail, uint64_t campaign)
{
    const char *result = mail->unscannable ? "unscannable" : "allowed";
    if (allow->context->json) {
        struct json *json = json_new();
        json_open(json, NULL, '{');
        json_string(json, "path", mail->path);
        json_string(json, "result", result);
        json_hex(json, "campaign", campaign);
        json_string(json, "reason", mail->unscannable);
        json_close(json, '}');
        json_print(&json);
        return;
    }
    char id[CAMPAIGN_ID] = "-";
    g_autofree char *path = output_safe(mail->path);
    if (campaign)
        campaign_id_print(campaign, id);
    printf("%s\t%s\t%s", result, id, path);
    if (mail->unscannable)
        printf(" (%s)", mail->unscannable);
    putchar('\n');
}

static bool allow_done(struct each_mail *mail, void *user)
{
    struct allow *allow = user;
    uint64_t campaign = 0;
    if (allow->error)
        return false;
    struct store_report details = reporting_report(&allow->who);
    if (!mail->unscannable &&
        !store_allow(allow->context->store, &mail->signatures, &details, &campaign, &allow->error))
        return false;
    *(mail->unscannable ? &allow->unscannable : &allow->allowed) += 1;
    print(allow, mail, campaign);
    return true;
}

static int allow_mail(struct allow *allow)
{
    struct each_mail_totals totals = each_mail_run(&(struct each_mail_plan) {
        .context = allow->context,
        .paths = allow->context->arguments,
        .prototypes = true,
        .unwrap = allow->who.unwrap,
        .done = allow_done,
        .user = allow,
    });
    int code = each_mail_exit(&totals);
    if (allow->error)
        code = command_fail(g_steal_pointer(&allow->error));
    fflush(stdout);
    if (!allow->context->quiet)
        fprintf(stderr, "allowed %" G_GUINT64_FORMAT ", unscannable %" G_GUINT64_FORMAT "\n", allow->allowed,
                allow->unscannable);
    return code;
}

static int allow_run(const struct command *self, struct context *context, int argc, char **argv)
{
    struct allow allow = { .context = context };
    const GOptionEntry options[] = { REPORTING_OPTIONS(allow.who), { NULL, 0, 0, 0, NULL, NULL, NULL } };
    GError *error = NULL;
    int code;
    if (!context_parse(context, self, options, argc, argv, &error) ||
        !context_arguments(context, self, 1, 0, &error) || !reporting_complete(&allow.who, &error) ||
        !context_open(context, CONTEXT_MAKE, &error))
        code = command_fail(error);
    else
        code = allow_mail(&allow);
    reporting_clear(&allow.who);
    return code;
}

const struct command cmd_allow = {
    .name = "allow",
    .arguments = "PATH...",
    .summary = "near-duplicates of these are never acted on (newsletters)",
    .more = "refrain list --state allowed shows them, and refrain forget takes them back.\n",
    .run = allow_run,
};
