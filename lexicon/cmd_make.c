#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/units.h"
#include "lexicon/cli.h"
#include "lexicon/lexicon.h"
#include "lexicon/report.h"

/* Members of one set of the store: fewer cost memory, more cost reply size. */
#define SET_MEMBERS 10

struct options {
    char *out, *scheme, *nidf, *seed_file;
    int lexicons, keep, min_count, min_signature, campaigns;
    double drop, common;
    gboolean no_secondary, quiet;
};

/* What the number of campaigns asks for: enough terms that few strangers are proposed, sets of a good size.
 */
static void suit_campaigns(struct lexicon_plan *plan, uint64_t campaigns)
{
    plan->keep = campaigns <= 10000 ? 2 : campaigns <= 200000 ? 3 : 4;
    uint64_t members = campaigns * MAX(plan->k, 1u);
    plan->bucket_bits = 4;
    while (plan->bucket_bits < 31 && (members >> plan->bucket_bits) >= SET_MEMBERS)
        plan->bucket_bits++;
}

static bool read_range(const char *text, double *low, double *high)
{
    char *end;
    *low = g_ascii_strtod(text, &end);
    if (end == text || *end != ':')
        return false;
    const char *second = end + 1;
    *high = g_ascii_strtod(second, &end);
    return end != second && !*end;
}

static bool check_numbers(const struct cli_command *command, const struct options *o, GError **error)
{
    if (o->lexicons < 0 || o->keep < 0 || o->min_count < 1 || o->min_signature < 1)
        return cli_misused(command, error, "a number of lexicons, terms or documents cannot be negative");
    if (o->campaigns < 1)
        return cli_misused(command, error, "--campaigns is 1 or more");
    return true;
}

static bool choose_plan(const struct cli_command *command, const struct options *o, struct lexicon_plan *plan,
                        GError **error)
{
    *plan = lexicon_default_plan;
    if (!check_numbers(command, o, error))
        return false;
    if (o->scheme && strcmp(o->scheme, "dropout") == 0)
        plan->scheme = LEXICON_DROPOUT;
    else if (o->scheme && strcmp(o->scheme, "adaptive") != 0)
        return cli_misused(command, error, "there is no scheme \"%s\": choose adaptive or dropout",
                           o->scheme);
    if (plan->scheme == LEXICON_ADAPTIVE && (o->nidf || o->drop != lexicon_default_plan.drop))
        return cli_misused(command, error, "--drop and --nidf are for --scheme dropout");
    if (o->nidf && !read_range(o->nidf, &plan->nidf_low, &plan->nidf_high))
        return cli_misused(command, error, "\"%s\" is no nidf range: write LOW:HIGH, for instance 0.2:0.3",
                           o->nidf);
    plan->k = (unsigned)o->lexicons;
    plan->drop = o->drop;
    plan->secondary = !o->no_secondary;
    plan->min_signature = (unsigned)o->min_signature;
    plan->common = o->common;
    plan->min_count = (uint32_t)o->min_count;
    suit_campaigns(plan, (uint64_t)o->campaigns);
    if (o->keep)
        plan->keep = (unsigned)o->keep;
    return lexicon_plan_check(plan, error);
}

/* The seed is the SHA-256 of the file: any file will do that nobody can guess. */
static bool seed_from_file(const char *path, uint8_t seed[LEXICON_SEED], GError **error)
{
    char *bytes;
    gsize n;
    GError *why = NULL;
    if (!g_file_get_contents(path, &bytes, &n, &why)) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "%s: check --seed-file", why->message);
        g_error_free(why);
        return false;
    }
    if (n < 16) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT,
                    "%s is too short for a secret: make one with head -c 32 /dev/urandom", path);
        g_free(bytes);
        return false;
    }
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_checksum_update(sum, (const guchar *)bytes, (gssize)n);
    gsize length = LEXICON_SEED;
    g_checksum_get_digest(sum, seed, &length);
    g_checksum_free(sum);
    explicit_bzero(bytes, n);
    g_free(bytes);
    return true;
}

static bool draw_seed(const char *file, uint8_t seed[LEXICON_SEED], GError **error)
{
    if (file)
        return seed_from_file(file, seed, error);
    if (getrandom(seed, LEXICON_SEED, 0) == LEXICON_SEED)
        return true;
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT,
                "the system gives no random bytes: use --seed-file");
    return false;
}

static char **default_frequencies(void)
{
    const char *folder = g_getenv("REFRAIN_DATADIR");
    if (!folder)
        folder = PKGDATADIR;
    char **paths = g_new0(char *, 3);
    paths[0] = g_build_filename(folder, "english.df.xz", NULL);
    paths[1] = g_build_filename(folder, "languages.df.xz", NULL);
    return paths;
}

static struct df *read_all(char *const *paths, GError **error)
{
    struct df *df = df_read(paths[0], error);
    for (size_t i = 1; df && paths[i]; i++) {
        struct df *next = df_read(paths[i], error);
        if (!next || !df_merge(df, next, error))
            df_free(&df);
        df_free(&next);
    }
    return df;
}

static bool make(char **paths, const struct lexicon_plan *plan, const struct options *o, GError **error)
{
    char **defaults = paths[0] ? NULL : default_frequencies();
    uint8_t seed[LEXICON_SEED];
    struct df *df =
        draw_seed(o->seed_file, seed, error) ? read_all(defaults ? defaults : paths, error) : NULL;
    g_strfreev(defaults);
    bool good = df && lexicon_make(df, plan, seed, o->out, error);
    explicit_bzero(seed, sizeof seed);
    df_free(&df);
    struct lexicon *lexicon = good ? lexicon_open(o->out, error) : NULL; /* what was written can be read */
    if (lexicon && !o->quiet)
        report_choice(lexicon, o->out, (uint64_t)o->campaigns);
    lexicon_unref(lexicon);
    return lexicon;
}

static bool run(const struct cli_command *command, int argc, char **argv, GError **error)
{
    struct options o = { .lexicons = (int)lexicon_default_plan.k,
                         .min_count = (int)lexicon_default_plan.min_count,
                         .min_signature = (int)lexicon_default_plan.min_signature,
                         .campaigns = 10000,
                         .drop = lexicon_default_plan.drop,
                         .common = lexicon_default_plan.common };
    char **paths = NULL;
    const GOptionEntry entries[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &o.out, "write the lexicon here", "FILE" },
        { "campaigns", 0, 0, G_OPTION_ARG_INT, &o.campaigns, "make it for this many campaigns (10000)", "N" },
        { "lexicons", 0, 0, G_OPTION_ARG_INT, &o.lexicons, "how many randomised lexicons (20)", "K" },
        { "scheme", 0, 0, G_OPTION_ARG_STRING, &o.scheme, "adaptive (the default) or dropout", "NAME" },
        { "keep", 0, 0, G_OPTION_ARG_INT, &o.keep, "adaptive: terms in a signature (2; follows --campaigns)",
          "R" },
        { "drop", 0, 0, G_OPTION_ARG_DOUBLE, &o.drop, "dropout: share that each lexicon misses (0.33)", "P" },
        { "nidf", 0, 0, G_OPTION_ARG_STRING, &o.nidf, "dropout: range of the primary lexicon (0.2:0.3)",
          "LO:HI" },
        { "no-secondary", 0, 0, G_OPTION_ARG_NONE, &o.no_secondary,
          "dropout: never take terms above the range", NULL },
        { "secondary", 0, G_OPTION_FLAG_REVERSE, G_OPTION_ARG_NONE, &o.no_secondary,
          "dropout: take terms above the range where too few are in it (the default)", NULL },
        { "min-signature", 0, 0, G_OPTION_ARG_INT, &o.min_signature,
          "dropout: fewest terms that make a signature (5)", "N" },
        { "common", 0, 0, G_OPTION_ARG_DOUBLE, &o.common,
          "a word in a larger share of the documents is common (0.02)", "SHARE" },
        { "min-count", 0, 0, G_OPTION_ARG_INT, &o.min_count, "leave out terms in fewer documents (2)", "N" },
        { "seed-file", 0, 0, G_OPTION_ARG_FILENAME, &o.seed_file,
          "a secret file; without one a random seed is drawn", "FILE" },
        { "quiet", 'q', 0, G_OPTION_ARG_NONE, &o.quiet, "do not explain the choice", NULL },
        { 0 },
    };
    struct lexicon_plan plan;
    bool good = cli_parse(command, entries, argc, argv, &paths, error);
    if (good && !o.out)
        good = cli_misused(command, error, "no output is named: add -o FILE");
    good = good && choose_plan(command, &o, &plan, error) && make(paths, &plan, &o, error);
    g_strfreev(paths);
    g_free(o.out);
    g_free(o.scheme);
    g_free(o.nidf);
    g_free(o.seed_file);
    return good;
}

const struct cli_command cli_make = {
    .name = "make",
    .usage = "[WORDS.df ...] -o FILE.lex",
    .summary = "make a lexicon, from the shipped frequencies if none are named",
    .run = run,
};
