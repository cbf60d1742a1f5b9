#include "tools/context.h"

#include <stdio.h>

#include "autoconfig.h"
#include "base/error.h"
#include "tools/command.h"

static void add_common(GOptionContext *options, struct context *context)
{
    const GOptionEntry common[] = {
        { "config", 'c', 0, G_OPTION_ARG_FILENAME, &context->config_path, "read this configuration", "FILE" },
        { "store", 0, 0, G_OPTION_ARG_STRING, &context->store_url, "use this store", "URL" },
        { "lexicon", 0, 0, G_OPTION_ARG_FILENAME, &context->lexicon_path, "use this lexicon", "FILE" },
        { "json", 0, 0, G_OPTION_ARG_NONE, &context->json, "print one JSON object a line", NULL },
        { "quiet", 'q', 0, G_OPTION_ARG_NONE, &context->quiet, "no progress bar and no totals", NULL },
        { "jobs", 'j', 0, G_OPTION_ARG_INT, &context->jobs, "work on N threads (default: one per core)",
          "N" },
        { "version", 0, 0, G_OPTION_ARG_NONE, &context->version, "print the version", NULL },
        { "help", 'h', 0, G_OPTION_ARG_NONE, &context->help, "print this help", NULL },
        { NULL, 0, 0, 0, NULL, NULL, NULL },
    };
    g_option_context_add_main_entries(options, common, NULL);
    g_option_context_set_help_enabled(options, FALSE);
}

/* GLib's sentence begins with a capital and ends without advice. */
static void usage_error(GError **error, GError *from, const char *command)
{
    from->message[0] = g_ascii_tolower(from->message[0]);
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE, "%s: see refrain %s%s--help", from->message,
                command, *command ? " " : "");
    g_error_free(from);
}

bool context_parse_first(struct context *context, int *argc, char ***argv, GError **error)
{
    GOptionContext *options = g_option_context_new(NULL);
    add_common(options, context);
    g_option_context_set_strict_posix(options, TRUE);
    GError *wrong = NULL;
    bool ok = g_option_context_parse(options, argc, argv, &wrong);
    g_option_context_free(options);
    if (!ok)
        usage_error(error, wrong, "");
    return ok;
}

bool context_parse(struct context *context, const struct command *command, const GOptionEntry *own, int argc,
                   char **argv, GError **error)
{
    const GOptionEntry rest[] = {
        { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &context->arguments, NULL, NULL },
        { NULL, 0, 0, 0, NULL, NULL, NULL },
    };
    g_autofree char *arguments = g_strdup_printf("%s", command->arguments);
    GOptionContext *options = g_option_context_new(arguments);
    const char *end = g_str_has_suffix(command->summary, "?") ? "" : ".";
    g_autofree char *summary =
        g_strdup_printf("%c%s%s", g_ascii_toupper(command->summary[0]), command->summary + 1, end);
    g_option_context_set_summary(options, summary);
    g_option_context_set_description(options, command->more);
    if (own)
        g_option_context_add_main_entries(options, own, NULL);
    add_common(options, context);
    g_option_context_add_main_entries(options, rest, NULL);

    g_autofree char *program = g_strdup_printf("refrain %s", command->name);
    g_set_prgname(program); /* the usage line of the help */
    GError *wrong = NULL;
    bool ok = g_option_context_parse(options, &argc, &argv, &wrong);
    if (!ok) {
        usage_error(error, wrong, command->name);
    } else if (context->help) {
        g_autofree char *text = g_option_context_get_help(options, TRUE, NULL);
        puts(g_strchomp(text));
        ok = false;
    } else if (context->version) {
        puts(PACKAGE " " VERSION);
        ok = false;
    } else if (context->jobs < 0 || context->jobs > 1024) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE, "--jobs %d is not possible: give 1 to 1024",
                    context->jobs);
        ok = false;
    }
    g_set_prgname("refrain");
    g_option_context_free(options);
    if (!context->arguments)
        context->arguments = g_new0(char *, 1);
    return ok;
}

bool context_arguments(const struct context *context, const struct command *command, unsigned min,
                       unsigned max, GError **error)
{
    unsigned n = g_strv_length(context->arguments);
    if (n >= min && (max == 0 || n <= max))
        return true;
    if (n < min)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE, "something is missing: refrain %s %s",
                    command->name, command->arguments);
    else
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE, "\"%s\" is too much: refrain %s %s",
                    context->arguments[max], command->name, command->arguments);
    return false;
}

bool context_no_arguments(const struct context *context, const struct command *command, GError **error)
{
    if (!context->arguments[0])
        return true;
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE,
                "\"%s\" is too much: refrain %s takes options only", context->arguments[0], command->name);
    return false;
}

bool context_open_config(struct context *context, GError **error)
{
    const char *path = context->config_path ? context->config_path : config_default_path();
    bool absent = !context->config_path && !g_file_test(path, G_FILE_TEST_EXISTS);
    context->config = absent ? config_new() : config_load(path, error);
    if (!context->config)
        return false;
    const struct config *config = context->config;
    context->rule = (struct signature_rule) {
        .tag = config->match.tag_similarity,
        .reject = config->match.reject_similarity,
        .min_shared = config->match.min_shared,
    };
    context->limits = (struct message_limits) {
        .bytes = config->limits.message_bytes,
        .header_bytes = config->limits.header_bytes,
        .parts = config->limits.parts,
        .depth = config->limits.depth,
        .text_bytes = config->limits.text_bytes,
        .terms = config->limits.terms,
    };
    return true;
}

const char *context_lexicon_path(const struct context *context)
{
    return context->lexicon_path ? context->lexicon_path : context->config->lexicon.file;
}

const char *context_store_url(const struct context *context)
{
    return context->store_url ? context->store_url : context->config->store.url;
}

bool context_open_lexicon(struct context *context, GError **error)
{
    context->lexicon = lexicon_open(context_lexicon_path(context), error);
    return context->lexicon != NULL;
}

struct store_options context_store_options(const struct context *context, bool read_only)
{
    struct store_options options = store_configured(context->config);
    options.read_only = read_only;
    if (!read_only)
        options.read_url = NULL;
    if (!context->store_url)
        return options;
    /* The password and the replica of the config belong to the config's URL. */
    options.url = context->store_url;
    options.password_file = options.read_url = NULL;
    /* Those who gave another URL may mean a server without TLS. */
    if (!g_str_has_prefix(context->store_url, "rediss"))
        options.tls_ca = options.tls_cert = options.tls_key = options.tls_name = NULL;
    return options;
}

/* Only what adds campaigns makes a store; to the rest one that is not there is empty, and perhaps a mistake.
 */
bool context_open_store(struct context *context, enum context_needs needs, GError **error)
{
    struct store_options options = context_store_options(context, needs < CONTEXT_WRITE);
    options.must_exist = needs < CONTEXT_MAKE;
    context->store = store_open(&options, context->lexicon, error);
    if (context->store && !store_is_there(context->store) && !context->quiet)
        fprintf(
            stderr,
            "refrain: %s: there is no store yet, so it knows nothing: check the path, or report something\n",
            store_name(context->store));
    return context->store != NULL;
}

bool context_open(struct context *context, enum context_needs needs, GError **error)
{
    if (!context_open_config(context, error))
        return false;
    if (needs >= CONTEXT_LEXICON && !context_open_lexicon(context, error))
        return false;
    return needs < CONTEXT_READ || context_open_store(context, needs, error);
}

void context_close(struct context *context)
{
    store_close(&context->store);
    if (context->lexicon)
        lexicon_unref(context->lexicon);
    if (context->config)
        config_unref(context->config);
    g_free(context->config_path);
    g_free(context->store_url);
    g_free(context->lexicon_path);
    g_strfreev(context->arguments);
    *context = (struct context) { 0 };
}
