/*
 * The offline program: counts words in collections, and makes lexicons from the counts.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "autoconfig.h"
#include "base/error.h"
#include "base/log.h"
#include "lexicon/cli.h"

enum { DONE = 0, FAILED = 2 };

static const struct cli_command *const commands[] = { &cli_count, &cli_merge, &cli_make, &cli_info,
                                                      &cli_show };

static void print_help(FILE *out)
{
    fputs("Usage:\n  refrain-lexicon COMMAND [OPTION...] ...\n\n"
          "Counts words in collections of mail or text, and makes lexicons from the counts.\n\nCommands:\n",
          out);
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        fprintf(out, "  %-6s %-32s %s\n", commands[i]->name, commands[i]->usage, commands[i]->summary);
    fputs("\nrefrain-lexicon COMMAND --help shows the options of a command. More in refrain-lexicon(1).\n",
          out);
}

static const struct cli_command *find(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    GError *error = NULL;
    if (!command->run(command, argc, argv, &error)) {
        cli_complain(error);
        return FAILED;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("refrain-lexicon: cannot write to standard output: is the disk full?\n", stderr);
        return FAILED;
    }
    return DONE;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* numbers stay with a point */
    g_set_prgname("refrain-lexicon");
    cli_catch_signals();
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(argc < 2 ? stderr : stdout);
        return argc < 2 ? FAILED : DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("refrain-lexicon " VERSION);
        return DONE;
    }
    const struct cli_command *command = find(argv[1]);
    if (!command) {
        cli_complain(g_error_new(REFRAIN_ERROR, REFRAIN_ERROR_USAGE,
                                 "there is no command \"%s\": see refrain-lexicon --help", argv[1]));
        return FAILED;
    }
    return run(command, argc - 1, argv + 1);
}
