#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "lexicon/cli.h"
#include "lexicon/layout.h"
#include "lexicon/report.h"

static bool is_lexicon(const char *path)
{
    char start[8] = { 0 };
    FILE *file = fopen(path, "rb");
    bool same = file && fread(start, 1, 8, file) == 8 && memcmp(start, LAYOUT_MAGIC, 8) == 0;
    if (file)
        fclose(file);
    return same || g_str_has_suffix(path, ".lex");
}

static void lexicon_json(const struct lexicon *l, const char *path)
{
    const struct lexicon_plan *p = lexicon_plan_of(l);
    struct report_numbers n = report_count(l);
    char *name = cli_json_string(path);
    printf("{\"path\":%s,\"kind\":\"lexicon\",\"id\":\"%016" PRIx64 "\",\"scheme\":\"%s\",\"lexicons\":%u,",
           name, lexicon_id(l), p->scheme == LEXICON_ADAPTIVE ? "adaptive" : "dropout", p->k);
    printf("\"keep\":%u,\"drop\":%g,\"nidf\":[%g,%g],\"secondary\":%s,\"min_signature\":%u,", p->keep,
           p->drop, p->nidf_low, p->nidf_high, p->secondary ? "true" : "false", p->min_signature);
    printf("\"common_share\":%g,\"min_count\":%" PRIu32 ",\"bucket_bits\":%u,\"collections\":%" PRIu64 ",",
           p->common, p->min_count, p->bucket_bits, lexicon_collections(l));
    printf("\"documents\":%" PRIu64 ",\"terms\":%" PRIu64 ",\"common\":%" PRIu64 ",\"primary\":%" PRIu64
           ",\"terms_per_document\":%.1f}\n",
           lexicon_documents(l), lexicon_terms(l), n.common, n.primary, n.mean_known);
    g_free(name);
}

static bool lexicon_info(const char *path, bool json, GError **error)
{
    struct lexicon *l = lexicon_open(path, error);
    if (!l)
        return false;
    if (json) {
        lexicon_json(l, path);
    } else {
        struct cli_histogram histogram = { 0 };
        struct lexicon_entry e;
        for (uint64_t i = 0; lexicon_slot(l, i, &e); i++)
            if (e.df)
                cli_histogram_add(&histogram, lexicon_nidf(l, e.df));
        report_facts(l, path);
        cli_histogram_print(&histogram);
    }
    lexicon_unref(l);
    return true;
}

struct collection_numbers {
    double mean;     /* terms in a document */
    uint64_t common; /* above the usual share */
};

static struct collection_numbers count_collection(const struct df_collection *c,
                                                  struct cli_histogram *histogram)
{
    struct collection_numbers n = { 0 };
    double log_documents = log((double)MAX(c->documents, 2u));
    for (size_t i = 0; i < c->n_terms; i++) {
        n.mean += c->terms[i].count;
        n.common += c->terms[i].count > lexicon_default_plan.common * (double)c->documents &&
                    c->terms[i].count >= LEXICON_COMMON_AT_LEAST;
        cli_histogram_add(histogram, 1 - log((double)c->terms[i].count) / log_documents);
    }
    n.mean /= (double)c->documents;
    return n;
}

static void collection_text(const struct df_collection *c, const struct collection_numbers *n)
{
    char documents[CLI_NUMBER], terms[CLI_NUMBER], common[CLI_NUMBER];
    char *sources = g_strjoinv(" ", (char **)c->sources);
    printf("  %-16s %12s %12s %8.1f %9s  %s\n", c->name, cli_number(c->documents, documents),
           cli_number(c->n_terms, terms), n->mean, cli_number(n->common, common), sources);
    g_free(sources);
}

static void collection_json(const struct df_collection *c, const struct collection_numbers *n,
                            const char *path)
{
    char *file = cli_json_string(path), *name = cli_json_string(c->name);
    printf("{\"path\":%s,\"kind\":\"frequencies\",\"collection\":%s,\"documents\":%" PRIu64
           ",\"terms\":%zu,\"terms_per_document\":%.1f,\"common\":%" PRIu64 "}\n",
           file, name, c->documents, c->n_terms, n->mean, n->common);
    g_free(file);
    g_free(name);
}

static bool frequencies_info(const char *path, bool json, GError **error)
{
    struct df *df = df_read(path, error);
    if (!df)
        return false;
    struct cli_histogram histogram = { 0 };
    if (!json)
        printf("%s\n  %-16s %12s %12s %8s %9s  %s\n", path, "collection", "documents", "terms", "per doc.",
               "common", "sources");
    for (size_t i = 0; i < df_collections(df); i++) {
        struct collection_numbers n = count_collection(df_collection(df, i), &histogram);
        if (json)
            collection_json(df_collection(df, i), &n, path);
        else
            collection_text(df_collection(df, i), &n);
    }
    if (!json)
        cli_histogram_print(&histogram);
    df_free(&df);
    return true;
}

static bool run(const struct cli_command *command, int argc, char **argv, GError **error)
{
    char **paths = NULL, *config = NULL, *file = NULL;
    gboolean json = FALSE;
    const GOptionEntry entries[] = {
        { "config", 'c', 0, G_OPTION_ARG_FILENAME, &config, "the lexicon that this configuration names",
          "FILE" },
        { "lexicon", 0, 0, G_OPTION_ARG_FILENAME, &file, "a lexicon", "FILE" },
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print one JSON object a line", NULL },
        { 0 },
    };
    bool good = cli_parse(command, entries, argc, argv, &paths, error);
    if (good && config && !file)
        good = cli_configured_lexicon(config, &file, error);
    if (good && !paths[0] && !file)
        good = cli_misused(command, error, "no file is named");
    if (good && file)
        good = lexicon_info(file, json, error);
    for (size_t i = 0; good && paths[i]; i++)
        good = is_lexicon(paths[i]) ? lexicon_info(paths[i], json, error)
                                    : frequencies_info(paths[i], json, error);
    g_strfreev(paths);
    g_free(config);
    g_free(file);
    return good;
}

const struct cli_command cli_info = {
    .name = "info",
    .usage = "FILE.lex|FILE.df ...",
    .summary = "what a file is, with a histogram of nidf",
    .run = run,
};
