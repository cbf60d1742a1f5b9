/* refrain ping: config, lexicon, store, socket: all well? For monitoring. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/output.h"

struct ping {
    struct context *context;
    bool failed;
    gboolean milter; /* the daemon must be there */
};

enum state { OK, FAILED, SKIPPED };

static void say(struct ping *ping, const char *what, enum state state, const char *text)
{
    static const char *const names[] = { "ok", "FAILED", "-" };
    static const char *const json_names[] = { "ok", "failed", "skipped" };
    static const enum output_colour colours[] = { OUTPUT_GREEN, OUTPUT_RED, OUTPUT_DIM };
    g_autofree char *safe = output_safe(text);
    ping->failed |= state == FAILED;
    if (ping->context->json) {
        struct json *json = json_new();
        json_open(json, NULL, '{');
        json_string(json, "check", what);
        json_string(json, "result", json_names[state]);
        json_string(json, "detail", text);
        json_close(json, '}');
        json_print(&json);
    } else {
        printf("%-8s %s%-6s%s  %s\n", what, output_colour(colours[state]), names[state], output_plain(),
               safe);
    }
}

static bool say_result(struct ping *ping, const char *what, bool ok, const char *text, GError *error)
{
    say(ping, what, ok ? OK : FAILED, ok ? text : error->message);
    g_clear_error(&error);
    return ok;
}

static bool ping_config(struct ping *ping)
{
    GError *error = NULL;
    struct context *context = ping->context;
    bool ok = context_open_config(context, &error);
    const char *path = context->config_path ? context->config_path : config_default_path();
    bool there = context->config_path || g_file_test(path, G_FILE_TEST_EXISTS);
    g_autofree char *text =
        there ? g_strdup(path) : g_strdup_printf("%s is not there: built-in defaults", path);
    return say_result(ping, "config", ok, text, error);
}

static bool ping_lexicon(struct ping *ping)
{
    GError *error = NULL;
    struct context *context = ping->context;
    bool ok = context_open_lexicon(context, &error);
    g_autofree char *text =
        ok ? g_strdup_printf("%016" G_GINT64_MODIFIER "x, %s terms: %s", lexicon_id(context->lexicon),
                             output_count(lexicon_terms(context->lexicon)), context_lexicon_path(context))
           : NULL;
    return say_result(ping, "lexicon", ok, text, error);
}

static void ping_store(struct ping *ping)
{
    GError *error = NULL;
    struct context *context = ping->context;
    struct store_stats stats = { 0 };
    bool ok = context_open_store(context, CONTEXT_WRITE, &error) && store_ping(context->store, &error) &&
              store_stats(context->store, &stats, &error);
    g_autofree char *text =
        ok ? g_strdup_printf("%s: %s, %s campaign%s, %.2f ms", store_name(context->store), stats.server,
                             output_count(stats.campaigns), stats.campaigns == 1 ? "" : "s", stats.latency_ms)
           : NULL;
    say_result(ping, "store", ok, text, error);
}

static bool connect_unix(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (g_strlcpy(address.sun_path, path, sizeof address.sun_path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool ok = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return ok;
}

/* No socket: no daemon on this host, which may be as it should be. A socket that nobody answers is wrong. */
static void ping_socket(struct ping *ping)
{
    const char *where = ping->context->config->milter.socket;
    const char *path = g_str_has_prefix(where, "unix:") ? where + 5 : where;
    struct stat about;
    if (*path != '/') {
        g_autofree char *text = g_strdup_printf("%s: only looked at on UNIX sockets", where);
        say(ping, "socket", SKIPPED, text);
    } else if (stat(path, &about) != 0 && errno == ENOENT && !ping->milter) {
        g_autofree char *text = g_strdup_printf("%s is not there: refrain-milter does not run here", path);
        say(ping, "socket", SKIPPED, text);
    } else if (connect_unix(path)) {
        say(ping, "socket", OK, path);
    } else {
        g_autofree char *text =
            g_strdup_printf("%s does not answer (%s): start refrain-milter", path, g_strerror(errno));
        say(ping, "socket", FAILED, text);
    }
}

static int ping_run(const struct command *self, struct context *context, int argc, char **argv)
{
    GError *error = NULL;
    struct ping ping = { .context = context };
    const GOptionEntry options[] = {
        { "milter", 0, 0, G_OPTION_ARG_NONE, &ping.milter, "refrain-milter must run on this host", NULL },
        { NULL, 0, 0, 0, NULL, NULL, NULL },
    };
    if (!context_parse(context, self, options, argc, argv, &error) ||
        !context_no_arguments(context, self, &error))
        return command_fail(error);
    if (ping_config(&ping)) {
        if (ping_lexicon(&ping))
            ping_store(&ping);
        else
            say(&ping, "store", SKIPPED, "not looked at without a lexicon");
        ping_socket(&ping);
    }
    return ping.failed ? EXIT_ERROR : EXIT_DONE;
}

const struct command cmd_ping = {
    .name = "ping",
    .arguments = "",
    .summary = "config, lexicon, store, socket: all well? (for monitoring)",
    .more = "Prints a line for each. Exit: 0 all well, 2 something is not.\n",
    .run = ping_run,
};
