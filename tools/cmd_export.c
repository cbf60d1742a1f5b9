/* refrain export: signatures and metadata, never text; newline JSON. */
#include <stdio.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/units.h"
#include "tools/command.h"
#include "tools/exchange.h"
#include "tools/output.h"

struct export
{
    struct context *context;
    int64_t since; /* seconds since 1970 */
    GArray *ids;
    GHashTable *seen;
    uint64_t written;
};

/* "7d": so long ago; or a day or a time as ISO 8601 writes it. */
static bool parse_since(const char *text, int64_t *out, GError **error)
{
    int64_t milliseconds;
    *out = 0;
    if (!text)
        return true;
    if (units_parse_time(text, &milliseconds)) {
        *out = g_get_real_time() / G_USEC_PER_SEC - milliseconds / 1000;
        return true;
    }
    g_autoptr(GTimeZone) here = g_time_zone_new_local();
    g_autofree char *midnight = g_strdup_printf("%sT00:00:00", text);
    g_autoptr(GDateTime) when = g_date_time_new_from_iso8601(text, here);
    if (!when)
        when = g_date_time_new_from_iso8601(midnight, here);
    if (when)
        *out = g_date_time_to_unix(when);
    else
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE,
                    "--since %s is not understood: write 7d, 2026-11-18 or 2026-11-18T09:30:00Z", text);
    return when != NULL;
}

/* Ids first, records afterwards: the walk over the store stays short, and eight bytes a campaign are little.
 */
static bool collect(const struct store_campaign *campaign, void *user)
{
    struct export *export = user;
    if (campaign->last >= export->since &&
        g_hash_table_add(export->seen, GSIZE_TO_POINTER((gsize)campaign->id)))
        g_array_append_val(export->ids, campaign->id);
    return !command_interrupted();
}

/* A campaign that went away since then is left out. */
static bool write_one(struct export *export, uint64_t id, GError **error)
{
    struct store *store = export->context->store;
    struct store_campaign campaign;
    g_autofree struct signature_set *variants = NULL;
    unsigned n = 0;
    GError *wrong = NULL;
    if (store_show(store, id, &campaign, &wrong) && store_variants(store, id, &variants, &n, &wrong)) {
        struct json *json = exchange_write(&campaign, lexicon_id(export->context->lexicon), variants, n);
        json_print(&json);
        export->written++;
    } else if (g_error_matches(wrong, REFRAIN_ERROR, REFRAIN_ERROR_MISSING)) {
        g_clear_error(&wrong);
    }
    if (wrong)
        g_propagate_error(error, wrong);
    return wrong == NULL;
}

static bool write_all(struct export *export, GError **error)
{
    bool ok = store_each(export->context->store, collect, export, error);
    struct progress *progress =
        progress_new("campaigns", export->ids->len, export->context->quiet || output_terminal());
    for (guint i = 0; ok && i < export->ids->len && !output_broken() && !command_interrupted(); i++) {
        ok = write_one(export, g_array_index(export->ids, uint64_t, i), error);
        progress_set(progress, i + 1);
    }
    progress_end(&progress);
    if (ok && command_interrupted()) {
        command_interrupted_error(error);
        ok = false;
    }
    return ok;
}

static int export_run(const struct command *self, struct context *context, int argc, char **argv)
{
    g_autofree char *since = NULL;
    const GOptionEntry options[] = {
        { "since", 0, 0, G_OPTION_ARG_STRING, &since,
          "only campaigns reported or hit since then: 7d, 2026-11-18", "WHEN" },
        { NULL, 0, 0, 0, NULL, NULL, NULL },
    };
    GError *error = NULL;
    struct export export = { .context = context };
    if (!context_parse(context, self, options, argc, argv, &error) ||
        !context_no_arguments(context, self, &error) || !parse_since(since, &export.since, &error) ||
        !context_open(context, CONTEXT_READ, &error))
        return command_fail(error);
    export.ids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    export.seen = g_hash_table_new(NULL, NULL);
    bool ok = write_all(&export, &error);
    if (ok && !context->quiet && output_finish())
        fprintf(stderr, "exported %" G_GUINT64_FORMAT "\n", export.written);
    g_hash_table_destroy(export.seen);
    g_array_free(export.ids, TRUE);
    return ok ? EXIT_DONE : command_fail(error);
}

const struct command cmd_export = {
    .name = "export",
    .arguments = "",
    .summary = "print all campaigns as newline JSON: signatures only, never text",
    .run = export_run,
};
