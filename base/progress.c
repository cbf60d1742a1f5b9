#include "base/progress.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

#define BAR_WIDTH 24
#define QUIET_US  (G_USEC_PER_SEC / 2)
#define REDRAW_US (G_USEC_PER_SEC / 10)

struct progress {
    const char *unit;
    uint64_t total;
    bool shown, silent;
    gint64 started, drawn;
};

struct progress *progress_new(const char *unit, uint64_t total, bool quiet)
{
    struct progress *progress = g_new0(struct progress, 1);
    progress->unit = unit;
    progress->total = total;
    progress->silent = quiet || !isatty(STDERR_FILENO);
    progress->started = g_get_monotonic_time();
    return progress;
}

void progress_total(struct progress *progress, uint64_t total)
{
    progress->total = total;
}

static void draw(struct progress *progress, uint64_t n, gint64 now)
{
    double seconds = (double)(now - progress->started) / G_USEC_PER_SEC;
    double rate = (double)n / seconds;
    if (progress->total == 0) {
        fprintf(stderr, "\r%" G_GUINT64_FORMAT " %s  %.0f/s\033[K", n, progress->unit, rate);
        return;
    }
    double share = MIN((double)n / (double)progress->total, 1.0);
    char bar[BAR_WIDTH + 1], left[UNITS_MAX];
    size_t full = (size_t)(share * BAR_WIDTH);
    memset(bar, '#', full);
    memset(bar + full, '.', BAR_WIDTH - full);
    bar[BAR_WIDTH] = '\0';
    units_format_age((int64_t)((double)(progress->total - MIN(n, progress->total)) / MAX(rate, 1e-9)), left);
    fprintf(stderr, "\r[%s] %3.0f %%  %" G_GUINT64_FORMAT " %s  %.0f/s  %s left\033[K", bar, share * 100, n,
            progress->unit, rate, left);
}

void progress_set(struct progress *progress, uint64_t n)
{
    if (progress->silent)
        return;
    gint64 now = g_get_monotonic_time();
    if (now - progress->started < QUIET_US || now - progress->drawn < REDRAW_US)
        return;
    progress->drawn = now;
    progress->shown = true;
    draw(progress, n, now);
}

void progress_end(struct progress **progress)
{
    if (!*progress)
        return;
    if ((*progress)->shown)
        fputs("\r\033[K", stderr);
    g_free(*progress);
    *progress = NULL;
}
