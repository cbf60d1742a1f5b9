/* refrain list: the campaigns. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tools/campaign.h"
#include "tools/command.h"
#include "tools/output.h"

static bool parse_sort(const char *name, enum campaign_sort *out, GError **error)
{
    static const char *const names[] = { "last", "first", "hits", NULL };
    for (unsigned i = 0; names[i]; i++)
        if (!name || strcmp(names[i], name) == 0) {
            *out = (enum campaign_sort)i;
            return true;
        }
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE,
                "--sort %s is not possible: use hits, last or first", name);
    return false;
}

static bool parse_state(const char *name, int *out, GError **error)
{
    *out = name ? campaign_state_parse(name) : -1;
    if (!name || *out >= 0)
        return true;
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE,
                "--state %s is not possible: use active, candidate, allowed or revoked", name);
    return false;
}

static bool parse_limit(int limit, size_t *out, GError **error)
{
    *out = limit > 0 ? (size_t)limit : 0;
    if (limit >= 0)
        return true;
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE,
                "--limit %d is not possible: give a number, 0 for all", limit);
    return false;
}

static void print_json(const struct campaign_list *list)
{
    for (guint i = 0; i < list->rows->len && !output_broken(); i++) {
        struct json *json = json_new();
        json_open(json, NULL, '{');
        campaign_row_json(json, &g_array_index(list->rows, struct campaign_row, i));
        json_close(json, '}');
        json_print(&json);
    }
}

static void print(const struct campaign_list *list, const struct context *context)
{
    if (context->json) {
        print_json(list);
    } else if (list->rows->len > 0) {
        campaign_list_print(list);
        fflush(stdout);
        if (list->matched > list->rows->len && !context->quiet)
            fprintf(stderr, "%s of %s campaigns\n", output_count(list->rows->len),
                    output_count(list->matched));
    } else if (!context->quiet) {
        fputs("no campaigns\n", stderr);
    }
}

static int list_run(const struct command *self, struct context *context, int argc, char **argv)
{
    g_autofree char *sort = NULL, *label = NULL, *state = NULL, *source = NULL;
    int limit = 0;
    const GOptionEntry options[] = {
        { "sort", 0, 0, G_OPTION_ARG_STRING, &sort, "hits, last or first (default: last)", "BY" },
        { "label", 0, 0, G_OPTION_ARG_STRING, &label, "only those with this in their label", "TEXT" },
        { "state", 0, 0, G_OPTION_ARG_STRING, &state, "only active, candidate, allowed or revoked ones",
          "STATE" },
        { "source", 0, 0, G_OPTION_ARG_STRING, &source, "only those that came from this source", "NAME" },
        { "limit", 0, 0, G_OPTION_ARG_INT, &limit, "print only the first N", "N" },
        { NULL, 0, 0, 0, NULL, NULL, NULL },
    };
    GError *error = NULL;
    struct campaign_filter filter = { 0 };
    struct campaign_list list;
    bool ok = context_parse(context, self, options, argc, argv, &error) &&
              context_no_arguments(context, self, &error) && parse_sort(sort, &filter.sort, &error) &&
              parse_state(state, &filter.state, &error) && parse_limit(limit, &filter.limit, &error) &&
              context_open(context, CONTEXT_READ, &error);
    filter.label = label;
    filter.source = source;
    if (!ok || !campaign_list_read(context->store, &filter, &list, &error))
        return command_fail(error);
    print(&list, context);
    if (list.matched == 0)
        campaign_warn_other_lexicon(context->store);
    campaign_list_clear(&list);
    return EXIT_DONE;
}

const struct command cmd_list = {
    .name = "list",
    .arguments = "",
    .summary = "the campaigns",
    .more = "Ages are like 3d; the little curve shows the hits of the last 14 days, today at the right.\n",
    .run = list_run,
};
