/*
 * The admin's program. A command is one file, tools/cmd_NAME.c, and one line in the table below.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "autoconfig.h"
#include "base/log.h"
#include "tools/command.h"
#include "tools/output.h"

static const struct command *const commands[] = {
    &cmd_report, &cmd_check,  &cmd_explain, &cmd_sign,   &cmd_allow,  &cmd_forget, &cmd_list, &cmd_show,
    &cmd_stats,  &cmd_expire, &cmd_export,  &cmd_import, &cmd_resign, &cmd_eval,   &cmd_ping,
};

static void print_help(FILE *out)
{
    fputs("Usage:\n  refrain COMMAND [OPTION...] ...\n\n"
          "Recognises near-duplicates of reported spam campaigns.\n\nCommands:\n",
          out);
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nOptions of every command:\n"
          "  -c, --config=FILE   read this configuration\n"
          "  --store=URL         use this store\n"
          "  --lexicon=FILE      use this lexicon\n"
          "  --json              print one JSON object a line\n"
          "  -q, --quiet         no progress bar and no totals\n"
          "  -j, --jobs=N        work on N threads (default: one per core)\n"
          "  --version           print the version\n"
          "  -h, --help          print this help, or that of a command\n"
          "\nPATH is a message, an mbox, a Maildir, an MH folder, a tree of them (each also compressed),\n"
          "or - for standard input. More in refrain(1).\n",
          out);
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown(const char *name)
{
    g_autofree char *clean = log_clean(g_strdup(name));
    fprintf(stderr, "refrain: there is no command \"%s\": see refrain --help\n", clean);
    return EXIT_ERROR;
}

/* "-j1", as everybody types it and GLib does not read it; it would take the next word instead. */
static void spell_out_jobs(char **argv)
{
    for (; *argv && strcmp(*argv, "--") != 0; argv++) {
        if (g_str_has_prefix(*argv, "-j") && (*argv)[2]) {
            g_autofree char *text = g_strconcat("--jobs=", *argv + 2, NULL);
            *argv = (char *)(uintptr_t)g_intern_string(text);
        }
    }
}

static int run(struct context *context, int argc, char **argv)
{
    GError *error = NULL;
    spell_out_jobs(argv);
    if (!context_parse_first(context, &argc, &argv, &error))
        return command_fail(error);
    if (context->version) {
        puts(PACKAGE " " VERSION);
        return EXIT_DONE;
    }
    bool help = context->help || (argc > 1 && strcmp(argv[1], "help") == 0);
    if (argc > 1 && strcmp(argv[1], "help") == 0) {
        argc--;
        argv++;
    }
    if (argc < 2) {
        print_help(help ? stdout : stderr);
        return help ? EXIT_DONE : EXIT_ERROR;
    }
    const struct command *command = find(argv[1]);
    if (!command)
        return unknown(argv[1]);
    context->help = help;
    return command->run(command, context, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* widths of characters; numbers stay with a point */
    g_set_prgname("refrain");
    log_open("refrain", LOG_TARGET_STDERR, LOG_LEVEL_WARNING);
    command_catch_signals();

    struct context context = { 0 };
    int code = run(&context, argc, argv);
    context_close(&context);
    return output_finish() ? code : EXIT_ERROR;
}
