#include "base/units.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit times[] = {
    { "ms", 1 }, { "s", 1000 }, { "m", 60 * 1000 }, { "h", 3600 * 1000 }, { "d", 86400 * 1000 }, { NULL, 0 },
};

static const struct unit sizes[] = {
    { "", 1 }, { "K", 1 << 10 }, { "M", 1 << 20 }, { "G", 1 << 30 }, { NULL, 0 },
};

static bool parse(const char *text, const struct unit *units, bool fold_case, uint64_t max, uint64_t *out)
{
    if (!g_ascii_isdigit(text[0]))
        return false;
    char *end;
    errno = 0;
    uint64_t number = g_ascii_strtoull(text, &end, 10);
    if (errno)
        return false;
    for (const struct unit *u = units; u->name; u++) {
        bool same = fold_case ? g_ascii_strcasecmp(end, u->name) == 0 : strcmp(end, u->name) == 0;
        if (same && number <= max / u->factor) {
            *out = number * u->factor;
            return true;
        }
    }
    return false;
}

bool units_parse_time(const char *text, int64_t *milliseconds_out)
{
    uint64_t value;
    if (!parse(text, times, false, INT64_MAX, &value))
        return false;
    *milliseconds_out = (int64_t)value;
    return true;
}

bool units_parse_size(const char *text, uint64_t *bytes_out)
{
    return parse(text, sizes, true, UINT64_MAX, bytes_out);
}

char *units_format_age(int64_t seconds, char out[UNITS_MAX])
{
    static const struct {
        int64_t length;
        char letter;
    } steps[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' } };
    seconds = MAX(seconds, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        if (seconds >= steps[i].length) {
            g_snprintf(out, UNITS_MAX, "%" G_GINT64_FORMAT "%c", seconds / steps[i].length, steps[i].letter);
            return out;
        }
    }
    g_snprintf(out, UNITS_MAX, "%" G_GINT64_FORMAT "s", seconds);
    return out;
}

char *units_format_size(uint64_t bytes, char out[UNITS_MAX])
{
    static const char *const names[] = { "B", "KB", "MB", "GB", "TB" };
    double value = (double)bytes;
    size_t i = 0;
    while (value >= 1024 && i + 1 < G_N_ELEMENTS(names)) {
        value /= 1024;
        i++;
    }
    g_snprintf(out, UNITS_MAX, i > 0 && value < 9.95 ? "%.1f %s" : "%.0f %s", value, names[i]);
    return out;
}
