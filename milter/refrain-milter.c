/*
 * refrain-milter: the daemon.
 */
#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#include "autoconfig.h"
#include "base/error.h"
#include "base/log.h"
#include "milter/daemon.h"
#include "milter/filter.h"
#include "milter/socket.h"

struct options {
    char *config, *store, *lexicon;
    gboolean check, version, help;
};

static int complain(const GError *error, int status)
{
    log_error("%s", error->message);
    return status;
}

static bool parse_options(int *argc, char ***argv, struct options *options, GError **error)
{
    const GOptionEntry entries[] = {
        { "config", 'c', 0, G_OPTION_ARG_FILENAME, &options->config, "the configuration", "FILE" },
        { "store", 0, 0, G_OPTION_ARG_STRING, &options->store, "the store, instead of the configuration's",
          "URL" },
        { "lexicon", 0, 0, G_OPTION_ARG_FILENAME, &options->lexicon,
          "the lexicon, instead of the configuration's", "FILE" },
        { "check-config", 'n', 0, G_OPTION_ARG_NONE, &options->check,
          "check the configuration, the socket's folder, the lexicon and the store, and exit", NULL },
        { "version", 0, 0, G_OPTION_ARG_NONE, &options->version, "print the version and exit", NULL },
        { "help", 'h', 0, G_OPTION_ARG_NONE, &options->help, "print this help and exit", NULL },
        { 0 },
    };
    g_autoptr(GOptionContext) context =
        g_option_context_new("- filter mail that resembles known spam campaigns");
    g_option_context_set_help_enabled(context, FALSE);
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_set_description(
        context,
        "It stays in the foreground. SIGHUP reloads, SIGTERM stops. See refrain-milter(8), refrain.conf(5).");
    g_autoptr(GError) wrong = NULL;
    if (!g_option_context_parse(context, argc, argv, &wrong)) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE, "%s: see refrain-milter --help",
                    wrong->message);
        return false;
    }
    if (*argc > 1) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE, "%s is not an option: see --help", (*argv)[1]);
        return false;
    }
    if (options->help) { /* in UTF-8, which GLib would not print in the C locale */
        g_autofree char *text = g_option_context_get_help(context, TRUE, NULL);
        puts(g_strchomp(text));
    }
    return true;
}

/* An empty file says as much as no file: the name is what people look for when something is wrong. */
static bool write_pid(const char *path, GError **error)
{
    g_autofree char *text = g_strdup_printf("%d\n", (int)getpid());
    g_autoptr(GError) cause = NULL;
    if (!*path || g_file_set_contents(path, text, -1, &cause))
        return true;
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG,
                "the pid-file cannot be written: %s: choose a folder that the daemon's user may write to",
                cause->message);
    return false;
}

static int check_all(const struct snapshot_source *source)
{
    g_autoptr(GError) error = NULL;
    struct snapshot *snapshot = snapshot_load(source, NULL, &error);
    if (!snapshot)
        return complain(error, EX_CONFIG);
    int status = EX_OK;
    if (!socket_check(snapshot->config->milter.socket, &error))
        status = complain(error, EX_CONFIG);
    else if (!store_ping(snapshot->store, &error))
        status = complain(error, EX_UNAVAILABLE);
    else
        printf("%s: all well: lexicon %016" G_GINT64_MODIFIER "x, store %s\n", source->path,
               lexicon_id(snapshot->lexicon), store_name(snapshot->store));
    snapshot_unref(snapshot);
    return status;
}

static int serve(const struct snapshot_source *source, struct snapshot *snapshot)
{
    g_autoptr(GError) error = NULL;
    const struct config *config = snapshot->config;
    /* Sessions hold on to it, and to its slot, until the very end of the process. */
    struct filter *filter = g_new0(struct filter, 1);
    struct metrics_server *server = NULL;
    filter->slot = snapshot_slot_new(snapshot);
    filter->metrics = metrics_new();
    filter->max_connections = config->milter.max_connections;
    if (*config->metrics.listen &&
        !(server = metrics_serve(filter->metrics, filter->slot, config->metrics.listen, &error)))
        return complain(error, EX_CONFIG);
    if (!filter_register(filter) || !socket_open(config, &error))
        return error ? complain(error, EX_CONFIG) : EX_SOFTWARE;
    if (!write_pid(config->milter.pid_file, &error))
        return complain(error, EX_CANTCREAT);
    log_info("%s listens on %s: lexicon %016" G_GINT64_MODIFIER "x, store %s", PACKAGE_STRING,
             config->milter.socket, lexicon_id(snapshot->lexicon), store_name(snapshot->store));
    int status = daemon_run(filter, source);
    if (*config->milter.pid_file)
        unlink(config->milter.pid_file);
    metrics_server_stop(server);
    snapshot_slot_empty(filter->slot); /* also where libmilter ended by itself, and nothing was drained */
    return status;
}

/*
 * libmilter's threads never end: what exit() would take from under them (libmilter destroys its own locks
 * there) stays. A build with AddressSanitizer exits all the same, to look for leaks.
 */
static void leave(int status)
{
#ifndef __SANITIZE_ADDRESS__
    fflush(NULL);
    _exit(status);
#else
    (void)status;
#endif
}

static int run(const struct options *options)
{
    g_autoptr(GError) error = NULL;
    const struct snapshot_source source = {
        .path = options->config ? options->config : config_default_path(),
        .store = options->store,
        .lexicon = options->lexicon,
    };
    struct snapshot *draft = snapshot_draft(&source, &error);
    if (!draft)
        return complain(error, EX_CONFIG);
    bool dropped = socket_drop_privileges(draft->config, &error);
    if (!options->check)
        log_open("refrain-milter", draft->config->log.target, draft->config->log.level);
    snapshot_unref(draft);
    if (!dropped)
        return complain(error, EX_CONFIG);
    daemon_block_signals();
    message_init();
    if (options->check)
        return check_all(&source);
    struct snapshot *snapshot = snapshot_load(&source, NULL, &error);
    if (!snapshot)
        return complain(error, EX_CONFIG);
    int status = serve(&source, snapshot);
    snapshot_unref(snapshot); /* with the last mail gone, this writes the hits that are left */
    leave(status);
    return status;
}

int main(int argc, char **argv)
{
    struct options options = { 0 };
    g_autoptr(GError) error = NULL;
    log_open("refrain-milter", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
    if (!parse_options(&argc, &argv, &options, &error))
        return complain(error, EX_USAGE);
    int status = EX_OK;
    if (options.version)
        printf("refrain-milter %s\n", PACKAGE_VERSION);
    else if (!options.help)
        status = run(&options);
    g_free(options.config);
    g_free(options.store);
    g_free(options.lexicon);
    return status;
}
