/* refrain stats: totals, memory, top campaigns, store health. */
#include <stdio.h>

#include "base/units.h"
#include "tools/campaign.h"
#include "tools/command.h"
#include "tools/output.h"

#define TOP 10

static void print_json(const struct context *context, const struct store_stats *stats,
                       const struct campaign_list *top)
{
    struct json *json = json_new();
    json_open(json, NULL, '{');
    json_uint(json, "campaigns", stats->campaigns);
    json_open(json, "by_state", '{');
    for (int state = 0; state < STORE_STATES; state++)
        json_uint(json, store_state_name((enum store_state)state), stats->by_state[state]);
    json_close(json, '}');
    json_uint(json, "variants", stats->variants);
    json_uint(json, "reports", stats->reports);
    json_uint(json, "reports_today", stats->reports_today);
    json_uint(json, "reports_week", stats->reports_week);
    json_uint(json, "hits", stats->hits);
    json_uint(json, "hits_today", stats->hits_today);
    json_uint(json, "hits_week", stats->hits_week);
    json_uint(json, "clean_week", stats->clean_week);
    json_open(json, "lexicon", '{');
    json_hex(json, "id", lexicon_id(context->lexicon));
    json_string(json, "file", context_lexicon_path(context));
    json_uint(json, "terms", lexicon_terms(context->lexicon));
    json_uint(json, "lexicons", lexicon_plan_of(context->lexicon)->k);
    json_uint(json, "other_lexicons", stats->other_lexicons);
    json_close(json, '}');
    json_open(json, "store", '{');
    json_string(json, "url", store_name(context->store));
    json_string(json, "server", stats->server);
    json_uint(json, "memory", stats->memory);
    json_real(json, "latency_ms", stats->latency_ms, 3);
    json_close(json, '}');
    json_open(json, "top", '[');
    for (guint i = 0; i < top->rows->len; i++) {
        json_open(json, NULL, '{');
        campaign_row_json(json, &g_array_index(top->rows, struct campaign_row, i));
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
    json_print(&json);
}

static void print_states(const struct store_stats *stats)
{
    g_autoptr(GString) states = g_string_new(NULL);
    for (int state = 0; state < STORE_STATES; state++)
        if (stats->by_state[state])
            g_string_append_printf(states, "%s%s %s", states->len ? ", " : "",
                                   store_state_name((enum store_state)state),
                                   output_count(stats->by_state[state]));
    output_pair("campaigns", "%s%s%s%s", output_count(stats->campaigns), states->len ? " (" : "", states->str,
                states->len ? ")" : "");
}

static void print_text(const struct context *context, const struct store_stats *stats,
                       const struct campaign_list *top)
{
    char memory[UNITS_MAX];
    const struct lexicon_plan *plan = lexicon_plan_of(context->lexicon);
    print_states(stats);
    output_pair("variants", "%s", output_count(stats->variants));
    output_pair("reports", "%s (today %s, 7 days %s)", output_count(stats->reports),
                output_count(stats->reports_today), output_count(stats->reports_week));
    output_pair("hits", "%s (today %s, 7 days %s)", output_count(stats->hits),
                output_count(stats->hits_today), output_count(stats->hits_week));
    output_pair("clean mail", "%s in 7 days", output_count(stats->clean_week));
    output_pair("store", "%s", store_name(context->store));
    output_pair("", "%s, %s, answers in %.2f ms", stats->server,
                stats->memory ? units_format_size(stats->memory, memory) : "memory not known",
                stats->latency_ms);
    output_pair("lexicon", "%016" G_GINT64_MODIFIER "x, %s terms, %u lexicons", lexicon_id(context->lexicon),
                output_count(lexicon_terms(context->lexicon)), plan->k);
    if (stats->other_lexicons)
        output_pair("", "%s campaigns under other lexicons are not seen with this one",
                    output_count(stats->other_lexicons));
    if (top->rows->len > 0) {
        printf("\n%stop campaigns by hits%s\n", output_colour(OUTPUT_BOLD), output_plain());
        campaign_list_print(top);
    }
}

static int stats_run(const struct command *self, struct context *context, int argc, char **argv)
{
    GError *error = NULL;
    struct store_stats stats;
    struct campaign_list top;
    struct campaign_filter filter = { .state = -1, .sort = CAMPAIGN_BY_HITS, .limit = TOP };
    if (!context_parse(context, self, NULL, argc, argv, &error) ||
        !context_no_arguments(context, self, &error) || !context_open(context, CONTEXT_READ, &error) ||
        !store_stats(context->store, &stats, &error) ||
        !campaign_list_read(context->store, &filter, &top, &error))
        return command_fail(error);
    (context->json ? print_json : print_text)(context, &stats, &top);
    campaign_list_clear(&top);
    return EXIT_DONE;
}

const struct command cmd_stats = {
    .name = "stats",
    .arguments = "",
    .summary = "totals, memory, top campaigns, store health",
    .run = stats_run,
};
