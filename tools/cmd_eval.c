/* refrain eval: how well would this work on my own mail? */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tools/command.h"
#include "tools/eval/compare.h"
#include "tools/eval/plot.h"
#include "tools/eval/survival.h"
#include "tools/json.h"
#include "tools/output.h"

struct options {
    char **spam, **ham;
    double share, stream;
    int seed, mutated;
    char *plot;
    gboolean show_ham_hits, compare, paper;
};

/* P1 of the paper, for K copies. */
struct paper_row {
    unsigned k;
    double recall, recall_secondary;
    size_t queries;
};

static const unsigned paper_k[] = { 0, 2, 5, 10 };

struct findings {
    struct eval_result sampled, all;
    struct eval_score stream;
    struct eval_score *survival;                   /* one a mutation; NULL: not asked for */
    struct eval_comparison *comparison;            /* one a classical method; NULL: not asked for */
    struct paper_row paper[G_N_ELEMENTS(paper_k)]; /* queries = 0: not asked for */
};

static double percent(size_t part, size_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_row(const char *name, const struct eval_score *score)
{
    printf("  %-42s %6.2f %%  %6.2f %%   of %s\n", name, percent(score->tagged, score->n),
           percent(score->rejected, score->n), output_count(score->n));
}

static void print_ham(const char *name, const struct eval_score *score)
{
    printf("  %-42s %6zu    %6zu     of %s\n", name, score->tagged, score->rejected, output_count(score->n));
}

static void print_title(const char *title)
{
    printf("\n%s%s%s\n", output_colour(OUTPUT_BOLD), title, output_plain());
}

static void print_findings(const struct findings *found, const struct options *options)
{
    g_autofree char *title =
        g_strdup_printf("%.0f %% of the spam reported, the rest checked", options->share * 100);
    printf("  %-42s %8s  %8s\n", "", "tag", "reject");
    print_title(title);
    print_row("caught", &found->sampled.caught);
    print_row("caught, no trivial copies", &found->sampled.nontrivial);
    print_ham("ham hit", &found->sampled.ham);
    print_title("All spam reported");
    print_ham("ham hit", &found->all.ham);
    printf("  %-42s %8.2f\n", "candidates per ham message", found->all.proposed);
    g_autofree char *stream =
        g_strdup_printf("In order, each reported with probability %.2f", options->stream);
    print_title(stream);
    print_row("caught on arrival", &found->stream);
    if (found->survival)
        print_title("Mutated copies of reported spam");
    for (unsigned m = 0; found->survival && m < eval_n_mutations; m++)
        print_row(eval_mutations[m].name, &found->survival[m]);
}

static void print_method(const char *name, const struct eval_comparison *found)
{
    /* ł and ≤ are longer in bytes than on the screen. */
    int width = 34 + (int)(strlen(name) - (size_t)g_utf8_strlen(name, -1));
    printf("  %-*s %6.2f %%  %9.2f %%  %7zu  %9zu\n", width, name, percent(found->caught, found->of),
           percent(found->nontrivial, found->nontrivial_of), found->ham, found->ham_all);
}

static void print_comparison(const struct findings *found)
{
    print_title("The classical methods on the same terms");
    printf("  %-34s %8s  %11s  %7s  %9s\n", "", "caught", "nontrivial", "ham", "ham, all");
    for (unsigned m = 0; m < classic_n_methods; m++)
        print_method(classic_name(classic_methods[m]), &found->comparison[m]);
    struct eval_comparison ours = { found->sampled.caught.tagged,
                                    found->sampled.caught.n,
                                    found->sampled.nontrivial.tagged,
                                    found->sampled.nontrivial.n,
                                    found->sampled.ham.tagged,
                                    found->all.ham.tagged,
                                    found->all.ham.n };
    print_method("this lexicon, verified, at tag", &ours);
}

static void print_paper(const struct findings *found)
{
    print_title("Recall of randomised lexicons against cosine 0.9 (Kołcz 2004)");
    printf("  %-10s %10s  %14s   queries\n", "K", "recall", "with secondary");
    for (unsigned i = 0; i < G_N_ELEMENTS(paper_k); i++)
        printf("  %-10u %10.2f  %14.2f   %zu\n", found->paper[i].k, found->paper[i].recall,
               found->paper[i].recall_secondary, found->paper[i].queries);
}

static void json_score(struct json *json, const char *key, const struct eval_score *score)
{
    json_open(json, key, '{');
    json_uint(json, "of", score->n);
    json_uint(json, "tag", score->tagged);
    json_uint(json, "reject", score->rejected);
    json_close(json, '}');
}

static void json_comparison(struct json *json, const struct findings *found)
{
    json_open(json, "classical", '[');
    for (unsigned m = 0; found->comparison && m < classic_n_methods; m++) {
        const struct eval_comparison *row = &found->comparison[m];
        json_open(json, NULL, '{');
        json_string(json, "name", classic_name(classic_methods[m]));
        json_uint(json, "of", row->of);
        json_uint(json, "caught", row->caught);
        json_uint(json, "ham", row->ham);
        json_uint(json, "ham_all", row->ham_all);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "paper", '[');
    for (unsigned i = 0; found->paper[i].queries && i < G_N_ELEMENTS(paper_k); i++) {
        json_open(json, NULL, '{');
        json_uint(json, "k", found->paper[i].k);
        json_real(json, "recall", found->paper[i].recall, 4);
        json_real(json, "recall_secondary", found->paper[i].recall_secondary, 4);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_ham_hits(struct json *json, const struct eval_result *result)
{
    json_open(json, "ham_hits", '[');
    for (guint i = 0; i < result->ham_hits->len; i++) {
        const struct eval_hit *hit = &g_array_index(result->ham_hits, struct eval_hit, i);
        json_open(json, NULL, '{');
        json_string(json, "ham", hit->mail->path);
        json_string(json, "spam", hit->answer.prototype->path);
        json_string(json, "view", message_view_name(hit->answer.view));
        json_real(json, "similarity", hit->answer.likeness.similarity, 2);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void print_json(const struct findings *found, const struct options *options,
                       const struct context *context)
{
    struct json *json = json_new();
    json_open(json, NULL, '{');
    json_hex(json, "lexicon", lexicon_id(context->lexicon));
    json_int(json, "seed", options->seed);
    json_real(json, "share", options->share, 3);
    json_score(json, "caught", &found->sampled.caught);
    json_score(json, "nontrivial", &found->sampled.nontrivial);
    json_score(json, "ham", &found->sampled.ham);
    json_score(json, "ham_all", &found->all.ham);
    json_real(json, "proposed", found->all.proposed, 2);
    json_score(json, "stream", &found->stream);
    json_open(json, "curve", '[');
    for (unsigned step = 0; step < EVAL_STEPS; step++) {
        json_open(json, NULL, '{');
        json_real(json, "similarity", step / 100.0, 2);
        json_uint(json, "caught", found->sampled.caught_at[step]);
        json_uint(json, "ham", found->sampled.ham_at[step]);
        json_uint(json, "ham_all", found->all.ham_at[step]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "mutations", '[');
    for (unsigned m = 0; found->survival && m < eval_n_mutations; m++) {
        json_open(json, NULL, '{');
        json_string(json, "name", eval_mutations[m].name);
        json_score(json, "score", &found->survival[m]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_comparison(json, found);
    if (options->show_ham_hits)
        json_ham_hits(json, &found->all);
    json_close(json, '}');
    json_print(&json);
}

static void print_ham_hits(const struct eval_result *result)
{
    print_title("Ham that resembles reported spam");
    if (result->ham_hits->len == 0)
        puts("  none");
    for (guint i = 0; i < result->ham_hits->len; i++) {
        const struct eval_hit *hit = &g_array_index(result->ham_hits, struct eval_hit, i);
        g_autofree char *ham = output_safe(hit->mail->path), *spam = output_safe(hit->answer.prototype->path);
        printf("  %.2f %-5s  %s\n              %s\n", hit->answer.likeness.similarity,
               message_view_name(hit->answer.view), ham, spam);
    }
}

/* The lowest setting, from where it stands up, that no ham reaches when all spam is reported. */
static double safe_setting(const struct eval_result *all, double from)
{
    for (unsigned step = (unsigned)(from * 100 + 0.5); step < EVAL_STEPS; step++)
        if (all->ham_at[step] == 0)
            return step / 100.0;
    return 1.0;
}

static void print_suggestion(const struct findings *found, const struct signature_rule *rule)
{
    double tag = safe_setting(&found->all, 0.45);
    double reject = MIN(MAX(rule->reject, tag + 0.15), 1.0);
    print_title("Suggestion for refrain.conf");
    printf("  tag-similarity = %.2f     the lowest from 0.45 up that hits no ham here\n", tag);
    printf("  reject-similarity = %.2f\n", reject);
    if (found->all.ham.tagged > 0)
        puts("  Look at the ham that was hit first (--show-ham-hits): a wrong label needs no other setting.");
}

static bool read_mail(struct context *context, const struct options *options, struct eval_collection *spam,
                      struct eval_collection *ham, GError **error)
{
    if (!eval_collection_read(context, options->spam, spam) ||
        !eval_collection_read(context, options->ham, ham))
        return false;
    if (spam->n < 10 || ham->n < 1) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT,
                    "%zu spam and %zu ham messages are too few to tell anything: give at least 10 and 1",
                    spam->n, ham->n);
        return false;
    }
    return true;
}

static void compare(const struct context *context, const struct options *options,
                    const struct eval_settings *settings, const struct eval_collection *spam,
                    const struct eval_collection *ham, struct findings *found)
{
    found->comparison = g_new0(struct eval_comparison, classic_n_methods);
    for (unsigned m = 0; m < classic_n_methods; m++)
        found->comparison[m] =
            eval_compare(settings, classic_methods[m], context->lexicon, spam, ham, options->share);
}

static void repeat_paper(const struct context *context, const struct eval_settings *settings,
                         const struct eval_collection *spam, struct findings *found)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(paper_k); i++) {
        struct paper_row *row = &found->paper[i];
        row->k = paper_k[i];
        row->recall = classic_p1(context->lexicon, spam, row->k, false, settings->seed, settings->threads,
                                 &row->queries);
        row->recall_secondary = classic_p1(context->lexicon, spam, row->k, true, settings->seed,
                                           settings->threads, &row->queries);
    }
}

static bool evaluate(struct context *context, const struct options *options, struct eval_collection *spam,
                     struct eval_collection *ham, struct findings *found, GError **error)
{
    struct eval_settings settings = { .rule = context->rule,
                                      .seed = (uint32_t)options->seed,
                                      .threads = (unsigned)context->jobs };
    if (!read_mail(context, options, spam, ham, error))
        return false;
    command_stop_at_once(); /* it only computes from here on */
    found->sampled = eval_reported(&settings, spam, ham, options->share);
    found->all = eval_reported(&settings, spam, ham, 1.0);
    found->stream = eval_stream(&settings, spam, options->stream);
    if (options->compare)
        compare(context, options, &settings, spam, ham, found);
    if (options->paper)
        repeat_paper(context, &settings, spam, found);
    if (options->mutated == 0)
        return true;
    GArray *samples;
    if (!eval_samples_read(context, &settings, options->spam, spam, options->ham, ham,
                           (size_t)options->mutated, &samples))
        return false;
    found->survival = g_new0(struct eval_score, eval_n_mutations);
    eval_survival(context, &settings, samples, found->survival);
    eval_samples_free(&samples);
    return true;
}

static bool options_make_sense(const struct options *options, GError **error)
{
    const char *wrong = NULL;
    if (!options->spam || !options->ham)
        wrong = "eval needs --spam PATH and --ham PATH";
    else if (options->share <= 0 || options->share >= 1)
        wrong = "--share is a number between 0 and 1";
    else if (options->stream < 0 || options->stream > 1)
        wrong = "--stream is a probability from 0 to 1";
    else if (options->mutated < 0)
        wrong = "--mutate is a number of messages";
    if (wrong)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE, "%s: see refrain eval --help", wrong);
    return wrong == NULL;
}

static bool write_plot(const struct context *context, const struct options *options,
                       const struct findings *found, GError **error)
{
    struct eval_plot plot = { &found->sampled, &found->all, found->survival, &context->rule };
    return !options->plot || eval_plot_write(&plot, options->plot, error);
}

static void print_all(const struct context *context, const struct options *options,
                      const struct findings *found)
{
    if (context->json) {
        print_json(found, options, context);
        return;
    }
    print_findings(found, options);
    if (found->comparison)
        print_comparison(found);
    if (options->paper)
        print_paper(found);
    if (options->show_ham_hits)
        print_ham_hits(&found->all);
    print_suggestion(found, &context->rule);
}

static int eval_run(const struct command *self, struct context *context, int argc, char **argv)
{
    struct options options = { .share = 0.1, .stream = 0.1, .seed = 1, .mutated = 2000 };
    const GOptionEntry entries[] = {
        { "spam", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.spam, "spam messages; may be given again",
          "PATH" },
        { "ham", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.ham, "innocent messages; may be given again",
          "PATH" },
        { "share", 0, 0, G_OPTION_ARG_DOUBLE, &options.share, "share of the spam that is reported (0.1)",
          "X" },
        { "stream", 0, 0, G_OPTION_ARG_DOUBLE, &options.stream,
          "chance that a passing spam is reported (0.1)", "P" },
        { "mutate", 0, 0, G_OPTION_ARG_INT, &options.mutated, "messages to mutate (2000; 0: none)", "N" },
        { "seed", 0, 0, G_OPTION_ARG_INT, &options.seed, "of everything random (1)", "N" },
        { "show-ham-hits", 0, 0, G_OPTION_ARG_NONE, &options.show_ham_hits,
          "list them beside what they resemble", NULL },
        { "compare", 0, 0, G_OPTION_ARG_NONE, &options.compare, "the classical methods on the same mail",
          NULL },
        { "paper", 0, 0, G_OPTION_ARG_NONE, &options.paper,
          "recall by K, as Kołcz, Chowdhury and Alspector had it", NULL },
        { "plot", 0, 0, G_OPTION_ARG_FILENAME, &options.plot, "write the curves there, as SVG", "FILE" },
        { NULL },
    };
    GError *error = NULL;
    struct eval_collection spam = { 0 }, ham = { 0 };
    struct findings found = { 0 };
    int code = EXIT_DONE;
    if (!context_parse(context, self, entries, argc, argv, &error) ||
        !context_no_arguments(context, self, &error) || !options_make_sense(&options, &error) ||
        !context_open(context, CONTEXT_LEXICON, &error))
        code = command_fail(error);
    else if (!evaluate(context, &options, &spam, &ham, &found, &error) ||
             !write_plot(context, &options, &found, &error))
        code = error ? command_fail(error) : EXIT_ERROR; /* what could not be read was said */
    else
        print_all(context, &options, &found);
    if (found.sampled.ham_hits) {
        eval_result_clear(&found.sampled);
        eval_result_clear(&found.all);
    }
    g_free(found.survival);
    g_free(found.comparison);
    g_free(options.plot);
    eval_collection_clear(&spam);
    eval_collection_clear(&ham);
    g_strfreev(options.spam);
    g_strfreev(options.ham);
    return code;
}

const struct command cmd_eval = {
    .name = "eval",
    .arguments = "--spam PATH --ham PATH",
    .summary = "how well would this work on my own mail?",
    .more = "Reports a random share of the spam and checks the rest and all ham; then reports all spam and\n"
            "checks all ham; then mutates reported spam as spammers do. No store is touched.\n",
    .run = eval_run,
};
