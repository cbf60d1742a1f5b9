/* refrain import: takes what another site exported. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/progress.h"
#include "tools/command.h"
#include "tools/campaign.h"
#include "tools/exchange.h"
#include "tools/output.h"

#define BATCH 128 /* campaigns that are flushed to the disk together */

struct import {
    struct context *context;
    char *source;
    gboolean strict, trust;
    bool trusted; /* by name, or --trust */
    bool active;  /* its campaigns act at once: it is trusted, or the first report is enough here */
    const char *path;
    FILE *file;
    uint64_t line, bad, counts[STORE_REFUSED + 1];
    uint64_t batched[STORE_REFUSED + 1], in_batch; /* not durable yet */
    GString *lines;                                /* of the batch */
    GError *error;                                 /* ends the run */
};

static bool is_trusted(const struct import *import)
{
    return import->trust ||
           g_strv_contains((const char *const *)import->context->config->report.trusted, import->source);
}

/* A line without its end, at most EXCHANGE_LINE_MAX of it. False at the end of the file. */
static bool read_line(FILE *file, GString *line)
{
    int c;
    g_string_truncate(line, 0);
    while ((c = getc_unlocked(file)) != EOF && c != '\n')
        if (line->len <= EXCHANGE_LINE_MAX)
            g_string_append_c(line, (char)c);
    return c != EOF || line->len > 0;
}

/* Says what was wrong with a line; with --strict that is the end. */
static bool bad_line(struct import *import, GError *wrong)
{
    GError *error = NULL;
    g_set_error(&error, REFRAIN_ERROR, wrong->code, "%s, line %" G_GUINT64_FORMAT ": %s", import->path,
                import->line, wrong->message);
    g_error_free(wrong);
    import->bad++;
    if (import->strict)
        import->error = error;
    else
        command_fail(error);
    return !import->strict;
}

/* Printed when the batch is stored. */
static void print(struct import *import, uint64_t id, enum store_outcome outcome)
{
    static const char *const names[] = { "new", "merged", "duplicate", "candidate", "refused" };
    if (import->context->json) {
        struct json *json = json_new();
        json_open(json, NULL, '{');
        json_uint(json, "line", import->line);
        json_string(json, "result", names[outcome]);
        json_hex(json, "campaign", id);
        json_close(json, '}');
        g_string_append_printf(import->lines, "%s\n", json_text(json));
        json_free(&json);
    } else if (!import->context->quiet) {
        g_string_append_printf(import->lines, "%s\t%016" G_GINT64_MODIFIER "x\n", names[outcome], id);
    }
}

/* An "allowed" of a stranger would shield his spam. */
static bool acceptable(const struct import *import, const struct store_campaign *campaign, GError **error)
{
    if (campaign->state == STORE_ALLOWED && !import->trusted) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_REFUSED,
                    "allowed by another site: taken only from a source in [report] trusted, or with --trust");
        return false;
    }
    return true;
}

static bool import_line(struct import *import, struct arena *arena, const GString *line)
{
    struct store_campaign campaign;
    struct signature_set *variants = NULL;
    unsigned n = 0;
    GError *error = NULL;
    if (line->len > EXCHANGE_LINE_MAX) {
        g_set_error(&error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT,
                    "longer than 1 MB: not a line of refrain export");
        return bad_line(import, error);
    }
    if (!exchange_read(arena, line->str, line->len, lexicon_id(import->context->lexicon), &campaign,
                       &variants, &n, &error) ||
        !acceptable(import, &campaign, &error))
        return bad_line(import, error);
    enum store_outcome outcome;
    if (!store_import(import->context->store, &campaign, variants, n, import->source, import->active,
                      &outcome, &import->error))
        return false;
    import->batched[outcome]++;
    import->in_batch++;
    print(import, campaign.id, outcome);
    return true;
}

/* Makes the batch durable, and says so. */
static bool end_batch(struct import *import)
{
    GError *lost = NULL;
    bool ok = store_batch_end(import->context->store, &lost);
    for (unsigned i = 0; i <= STORE_REFUSED; i++) {
        import->counts[i] += ok ? import->batched[i] : 0;
        import->batched[i] = 0;
    }
    import->in_batch = 0;
    if (ok)
        fputs(import->lines->str, stdout);
    g_string_truncate(import->lines, 0);
    if (!ok && !import->error)
        import->error = g_steal_pointer(&lost);
    g_clear_error(&lost);
    return ok;
}

/* Lines into the store, a batch at a time; standard input may make us wait, so there each line is one. */
static void import_lines(struct import *import, struct arena *arena, GString *line, struct progress *progress)
{
    uint64_t size = import->file == stdin ? 1 : BATCH;
    bool open = false, going = true;
    while (going && !command_interrupted() && !output_broken() && read_line(import->file, line)) {
        import->line++;
        if (!open)
            going = open = store_batch_begin(import->context->store, &import->error);
        if (going && line->len > 0)
            going = import_line(import, arena, line);
        if (open && import->in_batch >= size) {
            going = end_batch(import) && going;
            open = false;
        }
        arena_reset(arena);
        progress_set(progress, import->line);
    }
    if (open)
        end_batch(import);
}

static void import_all(struct import *import)
{
    struct arena *arena = arena_new();
    GString *line = g_string_sized_new(4096);
    struct progress *progress = progress_new("campaigns", 0, import->context->quiet || output_terminal());
    import->lines = g_string_new(NULL);
    import_lines(import, arena, line, progress);
    progress_end(&progress);
    if (!import->error && ferror(import->file))
        g_set_error(&import->error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "cannot read %s: %s", import->path,
                    g_strerror(errno));
    if (!import->error && command_interrupted())
        command_interrupted_error(&import->error);
    g_string_free(import->lines, TRUE);
    g_string_free(line, TRUE);
    arena_free(&arena);
}

static int finish(struct import *import)
{
    uint64_t total = import->bad;
    for (unsigned i = 0; i <= STORE_REFUSED; i++)
        total += import->counts[i];
    int code = import->bad > 0 ? EXIT_ERROR : EXIT_DONE;
    if (import->error)
        code = command_fail(g_steal_pointer(&import->error));
    fflush(stdout);
    if (!import->context->quiet)
        fprintf(stderr,
                "imported %" G_GUINT64_FORMAT ": new %" G_GUINT64_FORMAT ", merged %" G_GUINT64_FORMAT
                ", duplicate %" G_GUINT64_FORMAT ", candidate %" G_GUINT64_FORMAT
                ", refused %" G_GUINT64_FORMAT ", bad lines %" G_GUINT64_FORMAT "\n",
                total, import->counts[STORE_NEW], import->counts[STORE_MERGED],
                import->counts[STORE_DUPLICATE], import->counts[STORE_PENDING], import->counts[STORE_REFUSED],
                import->bad);
    return code;
}

static bool open_file(struct import *import, GError **error)
{
    import->path = import->context->arguments[0];
    struct stat about;
    bool standard = strcmp(import->path, "-") == 0;
    import->file = standard ? stdin : fopen(import->path, "re");
    if (import->file && fstat(fileno(import->file), &about) == 0 && S_ISDIR(about.st_mode)) {
        errno = EISDIR;
        fclose(import->file);
        import->file = NULL;
    }
    if (!import->file)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "cannot read %s: %s", import->path,
                    g_strerror(errno));
    return import->file != NULL;
}

static int import_run(const struct command *self, struct context *context, int argc, char **argv)
{
    struct import import = { .context = context };
    const GOptionEntry options[] = {
        { "source", 0, 0, G_OPTION_ARG_STRING, &import.source,
          "the site that it comes from (default: import)", "NAME" },
        { "trust", 0, 0, G_OPTION_ARG_NONE, &import.trust, "as if the source were in [report] trusted",
          NULL },
        { "strict", 0, 0, G_OPTION_ARG_NONE, &import.strict, "stop at the first bad line", NULL },
        { NULL, 0, 0, 0, NULL, NULL, NULL },
    };
    GError *error = NULL;
    int code = EXIT_ERROR;
    if (!context_parse(context, self, options, argc, argv, &error) ||
        !context_arguments(context, self, 1, 1, &error) || !open_file(&import, &error) ||
        !context_open(context, CONTEXT_MAKE, &error)) {
        code = command_fail(error);
    } else {
        if (!import.source)
            import.source = g_strdup("import");
        import.trusted = is_trusted(&import);
        import.active = import.trusted || context->config->report.quorum <= 1;
        import_all(&import);
        code = finish(&import);
    }
    if (import.file && import.file != stdin)
        fclose(import.file);
    g_free(import.source);
    return code;
}

const struct command cmd_import = {
    .name = "import",
    .arguments = "FILE",
    .summary = "take what another site exported",
    .more =
        "FILE is what refrain export wrote, or - for standard input. Twice is once. A bad line is said and\n"
        "skipped. Take it all back with refrain forget --source NAME.\n",
    .run = import_run,
};
