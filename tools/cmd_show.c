/* refrain show: all that is known of a campaign. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "tools/campaign.h"
#include "tools/command.h"
#include "tools/output.h"

struct show {
    struct store_campaign campaign;
    struct signature_set *variants;
    unsigned n_variants;
};

/* Of a reporter; NULL: one of those that are not told apart. */
static const char *source_of(const struct store_campaign *campaign, unsigned reporter)
{
    unsigned source = campaign->reporter[reporter].source;
    return source == 0 ? campaign->source : source <= campaign->n_also ? campaign->also[source - 1] : NULL;
}

static void print_json(const struct show *show)
{
    struct campaign_row row = campaign_row_of(&show->campaign);
    struct json *json = json_new();
    json_open(json, NULL, '{');
    campaign_row_json(json, &row);
    json_open(json, "sources", '[');
    for (unsigned i = 0; i <= show->campaign.n_also; i++)
        json_string(json, NULL, i ? show->campaign.also[i - 1] : show->campaign.source);
    json_close(json, ']');
    json_open(json, "reported_by", '[');
    for (unsigned i = 0; i < show->campaign.n_reporter; i++) {
        json_open(json, NULL, '{');
        json_string(json, "name", show->campaign.reporter[i].name);
        json_string(json, "source", source_of(&show->campaign, i));
        json_uint(json, "reports", show->campaign.reporter[i].reports);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "signatures", '[');
    for (unsigned i = 0; i < show->n_variants; i++) {
        json_open(json, NULL, '[');
        for (unsigned k = 0; k < show->variants[i].n; k++) {
            json_open(json, NULL, '{');
            json_string(json, "view", message_view_name(show->variants[i].v[k].view));
            json_uint(json, "terms", show->variants[i].v[k].terms);
            json_close(json, '}');
        }
        json_close(json, ']');
    }
    json_close(json, ']');
    json_close(json, '}');
    json_print(&json);
}

/* "2026-11-18 09:30 (3d ago)", in local time. */
static void print_time(const char *name, int64_t when)
{
    g_autoptr(GString) age = g_string_new(NULL);
    time_t seconds = (time_t)when;
    struct tm parts;
    char text[40] = "";
    if (when > 0 && localtime_r(&seconds, &parts))
        strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
    output_age(age, when, g_get_real_time() / G_USEC_PER_SEC);
    bool ago = g_ascii_isdigit(age->str[0]);
    output_pair(name, "%s (%s%s)", text, age->str, ago ? " ago" : "");
}

static void print_sources(const struct store_campaign *campaign)
{
    g_autoptr(GString) sources = g_string_new(*campaign->source ? campaign->source : "-");
    for (unsigned i = 0; i < campaign->n_also; i++)
        g_string_append_printf(sources, ", %s", campaign->also[i]);
    g_autofree char *safe = output_safe(sources->str);
    output_pair(campaign->n_also ? "sources" : "source", "%s", safe);
}

static void print_reporters(const struct store_campaign *campaign)
{
    for (unsigned i = 0; i < campaign->n_reporter; i++) {
        const char *source = source_of(campaign, i);
        g_autofree char *name = output_safe(campaign->reporter[i].name),
                        *from = output_safe(source ? source : "another");
        bool plain = campaign->n_also == 0 || strcmp(name, from) == 0; /* a trap is its own reporter */
        output_pair(i ? "" : "reported by", "%s%s%s (%s)", name, plain ? "" : " through ", plain ? "" : from,
                    output_count(campaign->reporter[i].reports));
    }
    if (campaign->reporters > campaign->n_reporter)
        output_pair("", "and %s more", output_count(campaign->reporters - campaign->n_reporter));
}

static void print_variants(const struct show *show)
{
    for (unsigned i = 0; i < show->n_variants; i++) {
        g_autoptr(GString) views = g_string_new(NULL);
        for (unsigned k = 0; k < show->variants[i].n; k++)
            g_string_append_printf(views, "%s%s %u terms", k ? ", " : "",
                                   message_view_name(show->variants[i].v[k].view),
                                   show->variants[i].v[k].terms);
        g_autofree char *name = g_strdup_printf("variant %u", i + 1);
        output_pair(name, "%s", views->str);
    }
}

static void print_text(const struct show *show)
{
    static const enum output_colour colours[] = { OUTPUT_RED, OUTPUT_YELLOW, OUTPUT_GREEN, OUTPUT_DIM };
    const struct store_campaign *campaign = &show->campaign;
    char id[CAMPAIGN_ID];
    g_autofree char *label = output_safe(*campaign->label ? campaign->label : "-");
    g_autoptr(GString) days = g_string_new(NULL);
    output_sparkline(days, campaign->days, STORE_DAYS);
    output_pair("campaign", "%s%s%s", output_colour(OUTPUT_BOLD), campaign_id_print(campaign->id, id),
                output_plain());
    output_pair("state", "%s%s%s", output_colour(colours[campaign->state]), store_state_name(campaign->state),
                output_plain());
    output_pair("label", "%s", label);
    print_sources(campaign);
    print_time("first seen", campaign->first);
    print_time("last seen", campaign->last);
    output_pair("reports", "%s", output_count(campaign->reports));
    print_reporters(campaign);
    output_pair("hits", "%s  %s  (14 days, today %s)", output_count(campaign->hits), days->str,
                output_count(campaign->days[0]));
    print_variants(show);
}

static bool read_campaign(struct store *store, const char *name, struct show *out, GError **error)
{
    uint64_t id;
    return campaign_find(store, name, &id, error) && store_show(store, id, &out->campaign, error) &&
           store_variants(store, id, &out->variants, &out->n_variants, error);
}

static int show_run(const struct command *self, struct context *context, int argc, char **argv)
{
    GError *error = NULL;
    if (!context_parse(context, self, NULL, argc, argv, &error) ||
        !context_arguments(context, self, 1, 0, &error) || !context_open(context, CONTEXT_READ, &error))
        return command_fail(error);
    int code = EXIT_DONE;
    for (char **name = context->arguments; *name; name++) {
        struct show show = { 0 };
        if (!read_campaign(context->store, *name, &show, &error)) {
            code = command_fail(g_steal_pointer(&error));
            continue;
        }
        if (context->json)
            print_json(&show);
        else
            print_text(&show);
        if (!context->json && name[1])
            putchar('\n');
        g_free(show.variants);
    }
    return code;
}

const struct command cmd_show = {
    .name = "show",
    .arguments = "CAMPAIGN...",
    .summary = "all that is known of a campaign",
    .run = show_run,
};
