/*
 * What the commands of refrain-lexicon share. A command is one file, cmd_NAME.c, and one line in the table
 * of refrain-lexicon.c.
 */
#ifndef LEXICON_CLI_H
#define LEXICON_CLI_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct cli_command {
    const char *name, *usage, *summary; /* "count", "PATH... -o FILE.df", "count words in mail or text" */
    bool (*run)(const struct cli_command *command, int argc, char **argv, GError **error);
};

extern const struct cli_command cli_count, cli_info, cli_make, cli_merge, cli_show;

/*
 * Parses the options of a command; what is left are its arguments, NULL-ended, that the caller frees with
 * g_strfreev(). `--help` and `--version` print and exit.
 */
bool cli_parse(const struct cli_command *command, const GOptionEntry *entries, int argc, char **argv,
               char ***arguments_out, GError **error);

/* An error about the command line: "what is wrong: see refrain-lexicon NAME --help". Returns false. */
bool cli_misused(const struct cli_command *command, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* The lexicon that a refrain.conf names; the caller frees. */
bool cli_configured_lexicon(const char *config, char **path_out, GError **error);

/* "refrain-lexicon: what went wrong: what to do" on stderr, in one line. Frees the error. */
void cli_complain(GError *error);

/* SIGINT or SIGTERM came. */
void cli_catch_signals(void);
bool cli_stopped(void);

/* 1234567 as "1,234,567". Returns the buffer. */
#define CLI_NUMBER 32
char *cli_number(uint64_t n, char out[CLI_NUMBER]);

/* A JSON string with its quotes. The caller frees. */
char *cli_json_string(const char *text);

/* Terms by nidf, as a bar chart of ten rows. */
struct cli_histogram {
    uint64_t rows[10];
};
void cli_histogram_add(struct cli_histogram *histogram, double nidf);
void cli_histogram_print(const struct cli_histogram *histogram);

#endif
