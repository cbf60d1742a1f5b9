#include "tools/eval/plot.h"

#include <math.h>

#include "base/error.h"

/*
 *   ┌ left panel ────────────┐  ┌ right panel ───────────┐
 *   │ caught % and ham hits  │  │ a bar a mutation,      │
 *   │ over tag-similarity    │  │ tag and reject         │
 *   └────────────────────────┘  └────────────────────────┘
 */
#define WIDTH   980
#define HEIGHT  380
#define TOP     48
#define BOTTOM  330
#define LEFT    60
#define RIGHT   440
#define BARS    730 /* where the bars of the right panel begin */
#define BARS_TO 950
#define FROM    0.30
#define TO      0.90

#define INK  "#222"
#define SPAM "#1f6fb4"
#define HAM  "#c0392b"
#define GRID "#ddd"

static double x_of(double similarity)
{
    return LEFT + (similarity - FROM) / (TO - FROM) * (RIGHT - LEFT);
}

static double y_of(double share)
{
    return BOTTOM - share * (BOTTOM - TOP);
}

static void text(GString *svg, double x, double y, const char *anchor, const char *colour, const char *words)
{
    g_string_append_printf(svg, "<text x='%.1f' y='%.1f' text-anchor='%s' fill='%s'>%s</text>\n", x, y,
                           anchor, colour, words);
}

static void line(GString *svg, double x1, double y1, double x2, double y2, const char *colour)
{
    g_string_append_printf(svg, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s'/>\n", x1, y1, x2,
                           y2, colour);
}

static void grid(GString *svg)
{
    for (unsigned percent = 0; percent <= 100; percent += 20) {
        g_autofree char *label = g_strdup_printf("%u %%", percent);
        line(svg, LEFT, y_of(percent / 100.0), RIGHT, y_of(percent / 100.0), GRID);
        text(svg, LEFT - 6, y_of(percent / 100.0) + 4, "end", SPAM, label);
    }
    for (unsigned step = (unsigned)(FROM * 100 + 0.5); step <= TO * 100 + 0.5; step += 10) {
        g_autofree char *label = g_strdup_printf("%.1f", step / 100.0);
        text(svg, x_of(step / 100.0), BOTTOM + 18, "middle", INK, label);
    }
    text(svg, (LEFT + RIGHT) / 2.0, BOTTOM + 38, "middle", INK, "tag-similarity");
}

static void curve(GString *svg, const size_t at[EVAL_STEPS], double whole, const char *colour)
{
    g_string_append_printf(svg, "<polyline fill='none' stroke='%s' stroke-width='2' points='", colour);
    for (unsigned step = (unsigned)(FROM * 100 + 0.5); step <= TO * 100 + 0.5; step++)
        g_string_append_printf(svg, "%.1f,%.1f ", x_of(step / 100.0), y_of(MIN((double)at[step] / whole, 1)));
    g_string_append(svg, "'/>\n");
}

/* Ham on its own scale: the count at the left edge fills the panel. */
static void trade_off(GString *svg, const struct eval_plot *plot)
{
    size_t most = plot->all->ham_at[(unsigned)(FROM * 100 + 0.5)];
    g_autofree char *ham =
        g_strdup_printf("ham hit, all spam reported (top: %zu of %zu)", most, plot->all->ham.n);
    text(svg, LEFT, 20, "start", SPAM, "caught, a sample of the spam reported");
    text(svg, LEFT, 38, "start", HAM, ham);
    grid(svg);
    line(svg, x_of(plot->rule->tag), TOP, x_of(plot->rule->tag), BOTTOM, INK);
    line(svg, x_of(plot->rule->reject), TOP, x_of(plot->rule->reject), BOTTOM, INK);
    text(svg, x_of(plot->rule->tag) + 4, TOP + 12, "start", INK, "tag");
    text(svg, x_of(plot->rule->reject) + 4, TOP + 12, "start", INK, "reject");
    curve(svg, plot->sampled->caught_at, (double)MAX(plot->sampled->caught.n, 1), SPAM);
    curve(svg, plot->all->ham_at, (double)MAX(most, 1), HAM);
}

static void bar(GString *svg, double y, double height, double share, const char *colour)
{
    g_string_append_printf(svg, "<rect x='%d' y='%.1f' width='%.1f' height='%.1f' fill='%s'/>\n", BARS, y,
                           share * (BARS_TO - BARS), height, colour);
}

static void survival(GString *svg, const struct eval_plot *plot)
{
    double step = (double)(BOTTOM - TOP) / eval_n_mutations;
    text(svg, BARS, 20, "start", SPAM, "mutated copies recognised at tag");
    text(svg, BARS, 38, "start", HAM, "and at reject");
    for (unsigned m = 0; m < eval_n_mutations; m++) {
        const struct eval_score *score = &plot->survival[m];
        double y = TOP + m * step, whole = (double)MAX(score->n, 1);
        g_autofree char *label = g_strdup_printf("%.0f", 100 * (double)score->tagged / whole);
        text(svg, BARS - 8, y + step / 2 + 4, "end", INK, eval_mutations[m].name);
        bar(svg, y + 3, step / 2 - 2, (double)score->tagged / whole, SPAM);
        bar(svg, y + step / 2 + 2, step / 2 - 5, (double)score->rejected / whole, HAM);
        text(svg, BARS_TO + 6, y + step / 2 + 4, "start", INK, label);
    }
}

bool eval_plot_write(const struct eval_plot *plot, const char *path, GError **error)
{
    GString *svg = g_string_new(NULL);
    g_string_append_printf(
        svg,
        "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' "
        "font-size='12'>\n<rect width='100%%' height='100%%' fill='white'/>\n",
        WIDTH, HEIGHT);
    trade_off(svg, plot);
    if (plot->survival)
        survival(svg, plot);
    g_string_append(svg, "</svg>\n");
    GError *failure = NULL;
    bool ok = g_file_set_contents(path, svg->str, (gssize)svg->len, &failure);
    if (!ok) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_OUTPUT, "the plot could not be written: %s",
                    failure->message);
        g_error_free(failure);
    }
    g_string_free(svg, TRUE);
    return ok;
}
