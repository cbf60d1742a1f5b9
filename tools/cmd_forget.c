/* refrain forget: takes back campaigns, the variant that a message made, or all that came from a source. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tools/campaign.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/output.h"
#include "tools/reporting.h"

struct forget {
    struct context *context;
    struct reporting how; /* as-is, forwarded */
    char **messages;
    char *source;
    gboolean dry_run;
    uint64_t forgotten, reduced;
    GError *error;
};

/* One line of what was (or would be) removed. `path` is NULL unless it was asked by message. */
static void print(const struct forget *forget, const char *result, const struct campaign_row *row,
                  const char *path, const char *reason)
{
    if (forget->context->json) {
        struct json *json = json_new();
        json_open(json, NULL, '{');
        json_string(json, "result", result);
        json_bool(json, "dry_run", forget->dry_run);
        if (row)
            campaign_row_json(json, row);
        else
            json_null(json, "campaign");
        if (path)
            json_string(json, "path", path);
        json_string(json, "reason", reason);
        json_close(json, '}');
        json_print(&json);
        return;
    }
    char id[CAMPAIGN_ID] = "-";
    g_autofree char *what = output_safe(path ? path : row && *row->label ? row->label : "-");
    if (row)
        campaign_id_print(row->id, id);
    printf("%s\t%s\t%s", result, id, what);
    if (row && !path)
        printf(" (%s; variants %u, reports %" G_GUINT64_FORMAT ", hits %" G_GUINT64_FORMAT ")",
               store_state_name(row->state), row->variants, row->reports, row->hits);
    if (reason)
        printf(" (%s)", reason);
    putchar('\n');
}

static bool forget_one(struct forget *forget, uint64_t id)
{
    struct store_campaign campaign;
    if (!store_show(forget->context->store, id, &campaign, &forget->error))
        return false;
    if (!forget->dry_run && !store_forget(forget->context->store, id, &forget->error))
        return false;
    struct campaign_row row = campaign_row_of(&campaign);
    print(forget, forget->dry_run ? "would forget" : "forgotten", &row, NULL, NULL);
    forget->forgotten++;
    return true;
}

/* All names are looked up before the first one goes, so that a typing error changes nothing. */
static void forget_named(struct forget *forget)
{
    char **names = forget->context->arguments;
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    for (; *names; names++) {
        uint64_t id;
        struct store_campaign campaign;
        if (!campaign_find(forget->context->store, *names, &id, &forget->error) ||
            !store_show(forget->context->store, id, &campaign, &forget->error))
            return;
        g_array_append_val(ids, id);
    }
    for (guint i = 0; i < ids->len && !command_interrupted(); i++)
        if (!forget_one(forget, g_array_index(ids, uint64_t, i)))
            return;
}

/* What the source gave goes; a campaign that others reported too stays with what they gave. */
static bool forget_source_of(struct forget *forget, uint64_t id)
{
    struct store *store = forget->context->store;
    struct store_campaign before, left;
    if (!store_show(store, id, &before, &forget->error) ||
        !store_forget_source(store, id, forget->source, forget->dry_run, &left, &forget->error))
        return false;
    static const char *const results[2][2] = { { "reduced", "would reduce" },
                                               { "forgotten", "would forget" } };
    bool gone = left.variants == 0;
    struct campaign_row row = campaign_row_of(gone ? &before : &left);
    print(forget, results[gone][forget->dry_run], &row, NULL, gone ? NULL : "others reported it too");
    *(gone ? &forget->forgotten : &forget->reduced) += 1;
    return true;
}

static void forget_source(struct forget *forget)
{
    struct campaign_filter filter = { .source = forget->source, .state = -1, .sort = CAMPAIGN_BY_FIRST };
    struct campaign_list list;
    if (!campaign_list_read(forget->context->store, &filter, &list, &forget->error))
        return;
    for (guint i = 0; i < list.rows->len && !command_interrupted() && !forget->error; i++) {
        forget_source_of(forget, g_array_index(list.rows, struct campaign_row, i).id);
        /* It expired, or another admin was faster: what was wanted is so. */
        if (g_error_matches(forget->error, REFRAIN_ERROR, REFRAIN_ERROR_MISSING))
            g_clear_error(&forget->error);
    }
    campaign_list_clear(&list);
}

/* The campaign whose variant the message made: within the bits that make a report a duplicate. */
static uint64_t nearest(struct forget *forget, const struct each_mail *mail)
{
    struct signature_rule rule = { .tag = signature_similarity(64),
                                   .reject = signature_similarity(64),
                                   .min_shared = 1 };
    struct store_match match = { 0 };
    if (!store_lookup(forget->context->store, &mail->signatures, &rule, &match, &forget->error))
        return 0;
    return match.campaign && match.likeness.distance <= 64 ? match.campaign : 0;
}

static bool forget_mail(struct each_mail *mail, void *user)
{
    struct forget *forget = user;
    uint64_t id = 0;
    if (forget->error)
        return false;
    if (mail->unscannable) {
        print(forget, "unscannable", NULL, mail->path, mail->unscannable);
        return true;
    }
    if (forget->dry_run)
        id = nearest(forget, mail);
    else
        store_forget_variant(forget->context->store, &mail->signatures, &id, &forget->error);
    if (forget->error)
        return false;
    struct campaign_row row = { .id = id, .label = "", .source = "" };
    struct store_campaign campaign;
    bool left = id && store_show(forget->context->store, id, &campaign, NULL);
    if (left)
        row = campaign_row_of(&campaign);
    if (!id)
        print(forget, "unknown", NULL, mail->path, "no campaign was made by this message");
    else
        print(forget, forget->dry_run ? "would forget" : "forgotten", &row, mail->path,
              forget->dry_run ? NULL
              : left          ? "the campaign has other variants"
                              : "the campaign's last variant");
    forget->forgotten += id != 0;
    return true;
}

static int forget_messages(struct forget *forget)
{
    struct each_mail_totals totals = each_mail_run(&(struct each_mail_plan) {
        .context = forget->context,
        .paths = forget->messages,
        .unwrap = forget->how.unwrap,
        .done = forget_mail,
        .user = forget,
    });
    return each_mail_exit(&totals);
}

static bool check_usage(const struct forget *forget, GError **error)
{
    unsigned ways =
        (forget->messages != NULL) + (forget->source != NULL) + (forget->context->arguments[0] != NULL);
    if (ways != 1)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE,
                    "%s: refrain forget CAMPAIGN... | --message PATH | --source NAME",
                    ways ? "only one of these at a time" : "something is missing");
    return ways == 1;
}

static void print_totals(const struct forget *forget)
{
    fprintf(stderr, "%s %" G_GUINT64_FORMAT, forget->dry_run ? "would forget" : "forgotten",
            forget->forgotten);
    if (forget->reduced)
        fprintf(stderr, ", reduce%s %" G_GUINT64_FORMAT, forget->dry_run ? "" : "d", forget->reduced);
    fputc('\n', stderr);
}

static int forget_all(struct forget *forget)
{
    int code = EXIT_DONE;
    if (forget->messages)
        code = forget_messages(forget);
    else if (forget->source)
        forget_source(forget);
    else
        forget_named(forget);
    if (!forget->error && command_interrupted() && code == EXIT_DONE)
        command_interrupted_error(&forget->error);
    bool failed = forget->error != NULL;
    if (failed)
        code = command_fail(g_steal_pointer(&forget->error));
    fflush(stdout);
    if (!forget->context->quiet && (!failed || forget->forgotten + forget->reduced > 0))
        print_totals(forget);
    return code;
}

static int forget_run(const struct command *self, struct context *context, int argc, char **argv)
{
    struct forget forget = { .context = context };
    const GOptionEntry options[] = {
        { "message", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &forget.messages, "take back what this message made",
          "PATH" },
        { "source", 0, 0, G_OPTION_ARG_STRING, &forget.source, "take back all that came from this source",
          "NAME" },
        { "dry-run", 'n', 0, G_OPTION_ARG_NONE, &forget.dry_run, "only say what would be removed", NULL },
        REPORTING_WRAP_OPTIONS(forget.how),
        { NULL, 0, 0, 0, NULL, NULL, NULL },
    };
    GError *error = NULL;
    int code;
    if (!context_parse(context, self, options, argc, argv, &error) || !check_usage(&forget, &error) ||
        !each_mail_mode(forget.how.as_is, forget.how.forwarded, &forget.how.unwrap, &error) ||
        !context_open(context, forget.dry_run ? CONTEXT_READ : CONTEXT_WRITE, &error))
        code = command_fail(error);
    else
        code = forget_all(&forget);
    g_strfreev(forget.messages);
    g_free(forget.source);
    return code;
}

const struct command cmd_forget = {
    .name = "forget",
    .arguments = "CAMPAIGN... | --message PATH | --source NAME",
    .summary = "take it back, wholly",
    .more =
        "Prints what was removed. With --message, only the variant that the message made is taken back, "
        "and the\n"
        "campaign with its last one. With --source, all that only this source reported is; a campaign that "
        "others\n"
        "reported too is reduced to what they gave.\n",
    .run = forget_run,
};
