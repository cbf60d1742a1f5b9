#include "lexicon/cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autoconfig.h"
#include "base/config.h"
#include "base/error.h"
#include "base/log.h"

/* A signal handler can reach nothing but a global. */
static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

void cli_catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

bool cli_stopped(void)
{
    return stopped;
}

static gboolean print_version(const gchar *name, const gchar *value, gpointer data, GError **error)
{
    (void)name, (void)value, (void)data, (void)error;
    puts("refrain-lexicon " VERSION);
    exit(0);
}

bool cli_parse(const struct cli_command *command, const GOptionEntry *entries, int argc, char **argv,
               char ***arguments_out, GError **error)
{
    char **rest = NULL;
    const GOptionEntry common[] = {
        { "version", 0, G_OPTION_FLAG_NO_ARG, G_OPTION_ARG_CALLBACK, (gpointer)print_version,
          "print the version", NULL },
        { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &rest, NULL, NULL },
        { 0 },
    };
    char *name = g_strdup_printf("refrain-lexicon %s", command->name);
    g_set_prgname(name); /* the usage line names the command */
    GOptionContext *context = g_option_context_new(command->usage);
    g_option_context_set_summary(context, command->summary);
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_add_main_entries(context, common, NULL);
    GError *why = NULL;
    bool good = g_option_context_parse(context, &argc, &argv, &why);
    g_option_context_free(context);
    g_set_prgname("refrain-lexicon");
    g_free(name);
    if (!good) {
        cli_misused(command, error, "%s", why->message);
        g_error_free(why);
        return false;
    }
    *arguments_out = rest ? rest : g_new0(char *, 1);
    return true;
}

bool cli_misused(const struct cli_command *command, GError **error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *what = g_strdup_vprintf(format, list);
    va_end(list);
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE, "%s: see refrain-lexicon %s --help", what,
                command->name);
    g_free(what);
    return false;
}

bool cli_configured_lexicon(const char *config, char **path_out, GError **error)
{
    struct config *c = config_load(config, error);
    if (!c)
        return false;
    *path_out = g_strdup(c->lexicon.file);
    config_unref(c);
    return true;
}

void cli_complain(GError *error)
{
    char *line = log_clean(g_strdup(error->message));
    fprintf(stderr, "refrain-lexicon: %s\n", line);
    g_free(line);
    g_error_free(error);
}

char *cli_number(uint64_t n, char out[CLI_NUMBER])
{
    char *p = out + CLI_NUMBER - 1;
    unsigned digits = 0;
    *p = '\0';
    do {
        if (digits && digits % 3 == 0)
            *--p = ',';
        *--p = (char)('0' + n % 10);
        n /= 10;
        digits++;
    } while (n);
    return memmove(out, p, strlen(p) + 1);
}

char *cli_json_string(const char *text)
{
    GString *out = g_string_new("\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            g_string_append_printf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            g_string_append_printf(out, "\\u%04x", (unsigned)*text);
        else
            g_string_append_c(out, *text);
    }
    g_string_append_c(out, '"');
    return g_string_free(out, FALSE);
}

void cli_histogram_add(struct cli_histogram *histogram, double nidf)
{
    histogram->rows[CLAMP((int)(nidf * 10 + 1e-9), 0, 9)]++;
}

void cli_histogram_print(const struct cli_histogram *histogram)
{
    enum { WIDTH = 40 };
    uint64_t most = 1;
    for (int i = 0; i < 10; i++)
        most = MAX(most, histogram->rows[i]);
    printf("\n  nidf             terms\n");
    for (int i = 0; i < 10; i++) {
        uint64_t n = histogram->rows[i];
        int bar = (int)((double)n / (double)most * WIDTH + 0.5);
        char number[CLI_NUMBER];
        printf("  %.1f to %.1f  %10s  %.*s\n", i / 10.0, (i + 1) / 10.0, cli_number(n, number),
               n ? MAX(bar, 1) : 0, "########################################");
    }
}
