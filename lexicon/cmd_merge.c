#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "lexicon/cli.h"
#include "lexicon/df-stream.h"

static bool merge(char **paths, const char *out, uint32_t min_count, bool quiet, GError **error)
{
    char *folder = g_path_get_dirname(out);
    struct df_total total;
    bool good =
        df_merge_files(paths, g_strv_length(paths), out, min_count, folder, cli_stopped, &total, error);
    g_free(folder);
    if (!good)
        return false;
    char documents[CLI_NUMBER], terms[CLI_NUMBER];
    if (!quiet)
        printf("%s: %s documents, %s terms\n", out, cli_number(total.documents, documents),
               cli_number(total.terms, terms));
    return true;
}

static bool run(const struct cli_command *command, int argc, char **argv, GError **error)
{
    char *out = NULL, **paths = NULL;
    int min_count = 1;
    gboolean quiet = FALSE;
    const GOptionEntry entries[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &out, "write the sum here", "FILE" },
        { "min-count", 0, 0, G_OPTION_ARG_INT, &min_count, "leave out terms in fewer documents", "N" },
        { "quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet, "print nothing", NULL },
        { 0 },
    };
    bool good = cli_parse(command, entries, argc, argv, &paths, error);
    if (good && !paths[0])
        good = cli_misused(command, error, "no frequency file is named");
    else if (good && !out)
        good = cli_misused(command, error, "no output is named: add -o FILE");
    else if (good && min_count < 1)
        good = cli_misused(command, error, "--min-count is 1 or more");
    good = good && merge(paths, out, (uint32_t)min_count, quiet, error);
    g_strfreev(paths);
    g_free(out);
    return good;
}

const struct cli_command cli_merge = {
    .name = "merge",
    .usage = "A.df B.df ... -o C.df",
    .summary = "add frequency files",
    .run = run,
};
