#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/units.h"
#include "lexicon/cli.h"
#include "lexicon/count.h"
#include "message/message.h"

struct options {
    char *out, *collection, *memory;
    int min_count, threads, group;
    gboolean lines, text, quiet;
};

static void summarise(const struct options *o, const struct count_result *r, gint64 started)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    char documents[CLI_NUMBER], terms[CLI_NUMBER], empty[CLI_NUMBER], memory[UNITS_MAX];
    printf("%s: %s documents, %s terms", o->out, cli_number(r->total.documents, documents),
           cli_number(r->total.terms, terms));
    if (o->min_count > 1)
        printf(" in %d documents or more", o->min_count);
    if (r->empty)
        printf(", %s empty documents left out", cli_number(r->empty, empty));
    printf("\n%.1f seconds, %s of memory at most, %u sorted run%s\n",
           (double)(g_get_monotonic_time() - started) / G_USEC_PER_SEC,
           units_format_size((uint64_t)usage.ru_maxrss << 10, memory), r->runs, r->runs == 1 ? "" : "s");
}

static bool count(char **paths, const struct options *o, uint64_t memory, GError **error)
{
    char *beside = g_path_get_dirname(o->out);
    const char *elsewhere = g_getenv("TMPDIR");
    struct count_plan plan = {
        .paths = paths,
        .form = o->lines  ? MESSAGE_SOURCE_LINES
                : o->text ? MESSAGE_SOURCE_TEXT
                          : MESSAGE_SOURCE_MAIL,
        .group = (unsigned)o->group,
        .collection = o->collection ? o->collection : "default",
        .out = o->out,
        .folder = elsewhere && *elsewhere ? elsewhere : beside,
        .memory = memory,
        .min_count = (uint32_t)o->min_count,
        .threads = (unsigned)o->threads,
        .quiet = o->quiet,
        .stopped = cli_stopped,
    };
    struct count_result result;
    gint64 started = g_get_monotonic_time();
    message_init();
    bool good = count_run(&plan, &result, error);
    if (good && !o->quiet)
        summarise(o, &result, started);
    g_free(beside);
    return good;
}

static bool good_name(const char *name)
{
    if (!*name || !g_utf8_validate(name, -1, NULL))
        return false;
    for (; *name; name++)
        if ((unsigned char)*name <= ' ' || *name == 0x7f)
            return false;
    return true;
}

static bool check(const struct cli_command *command, char **paths, const struct options *o,
                  uint64_t *memory_out, GError **error)
{
    *memory_out = UINT64_C(1) << 30;
    if (!paths[0])
        return cli_misused(command, error, "nothing to count is named");
    if (!o->out)
        return cli_misused(command, error, "no output is named: add -o FILE");
    if (o->lines && o->text)
        return cli_misused(command, error, "--lines and --text exclude each other");
    if (o->group != 1 && !o->lines)
        return cli_misused(command, error, "--group goes with --lines");
    if (o->group < 1 || o->min_count < 1)
        return cli_misused(command, error, "--group and --min-count are 1 or more");
    if (o->threads < 0 || o->threads > 1024)
        return cli_misused(command, error, "--threads is from 1 to 1024");
    if (o->collection && !good_name(o->collection))
        return cli_misused(command, error, "a collection's name is one word");
    if (o->memory && (!units_parse_size(o->memory, memory_out) || *memory_out < 1 << 20))
        return cli_misused(command, error, "\"%s\" is no amount of memory: write 64M or 2G, at least 1M",
                           o->memory);
    return true;
}

static bool run(const struct cli_command *command, int argc, char **argv, GError **error)
{
    struct options o = { .min_count = 1, .group = 1 };
    char **paths = NULL;
    const GOptionEntry entries[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &o.out, "write the frequencies here", "FILE" },
        { "collection", 0, 0, G_OPTION_ARG_STRING, &o.collection, "name of the collection (default)",
          "NAME" },
        { "text", 0, 0, G_OPTION_ARG_NONE, &o.text, "plain text: a file is a document", NULL },
        { "lines", 0, 0, G_OPTION_ARG_NONE, &o.lines, "plain text: a line is a document", NULL },
        { "group", 0, 0, G_OPTION_ARG_INT, &o.group, "with --lines: N lines are a document", "N" },
        { "memory", 0, 0, G_OPTION_ARG_STRING, &o.memory, "use about this much memory (1G)", "SIZE" },
        { "min-count", 0, 0, G_OPTION_ARG_INT, &o.min_count, "leave out terms in fewer documents (1)", "N" },
        { "threads", 'j', 0, G_OPTION_ARG_INT, &o.threads, "work on N threads (one per core)", "N" },
        { "quiet", 'q', 0, G_OPTION_ARG_NONE, &o.quiet, "no progress bar, no summary", NULL },
        { 0 },
    };
    uint64_t memory;
    bool good = cli_parse(command, entries, argc, argv, &paths, error) &&
                check(command, paths, &o, &memory, error) && count(paths, &o, memory, error);
    g_strfreev(paths);
    g_free(o.out);
    g_free(o.collection);
    g_free(o.memory);
    return good;
}

const struct cli_command cli_count = {
    .name = "count",
    .usage = "PATH... -o FILE.df",
    .summary = "count in how many documents each word is, in mail or text",
    .run = run,
};
