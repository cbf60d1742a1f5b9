#include "tools/output.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/units.h"

bool output_terminal(void)
{
    return isatty(STDOUT_FILENO);
}

unsigned output_width(void)
{
    struct winsize size;
    if (!output_terminal())
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    unsigned long n = columns ? strtoul(columns, NULL, 10) : 0;
    return n >= 20 && n < 10000 ? (unsigned)n : 80;
}

static bool coloured(void)
{
    const char *terminal = getenv("TERM"), *refused = getenv("NO_COLOR");
    return output_terminal() && !(refused && *refused) && terminal && strcmp(terminal, "dumb") != 0;
}

const char *output_colour(enum output_colour colour)
{
    static const char *const sequences[] = { "", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m" };
    return coloured() ? sequences[colour] : "";
}

const char *output_plain(void)
{
    return coloured() ? "\033[0m" : "";
}

char *output_safe(const char *text)
{
    GString *out = g_string_sized_new(strlen(text) + 8);
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '\n')
            g_string_append(out, "\\n");
        else if (c == '\t')
            g_string_append(out, "\\t");
        else if (c == '\\')
            g_string_append(out, "\\\\");
        else if (c < 0x20 || c == 0x7f)
            g_string_append_printf(out, "\\x%02x", c);
        else if (c == 0xc2 && (unsigned char)at[1] >= 0x80 && (unsigned char)at[1] < 0xa0)
            g_string_append_printf(out, "\\x%02x", (unsigned char)*++at); /* C1 controls in UTF-8 */
        else
            g_string_append_c(out, *at);
    }
    return g_string_free(out, FALSE);
}

static bool utf8(void)
{
    return g_get_charset(NULL);
}

/* Columns that a text takes on a terminal. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    if (!g_utf8_validate(text, -1, NULL))
        return strlen(text);
    for (; *text; text = g_utf8_next_char(text)) {
        gunichar c = g_utf8_get_char(text);
        if (!g_unichar_iszerowidth(c))
            width += g_unichar_iswide(c) ? 2 : 1;
    }
    return width;
}

/* Cuts a text to a width, with a mark where something is missing. */
static void cut_to(GString *text, size_t width)
{
    if (width_of(text->str) <= width)
        return;
    const char *mark = utf8() ? "…" : ">";
    while (text->len > 0 && width_of(text->str) + 1 > width) {
        char *last = g_utf8_find_prev_char(text->str, text->str + text->len);
        g_string_truncate(text, last ? (gsize)(last - text->str) : text->len - 1);
    }
    if (width > 0)
        g_string_append(text, mark);
}

static void print_cell(const struct output_column *column, GString *text, size_t width, bool last)
{
    if (column->elastic)
        cut_to(text, width);
    size_t taken = width_of(text->str), room = width > taken ? width - taken : 0;
    if (column->right)
        printf("%*s%s", (int)room, "", text->str);
    else
        printf("%s%*s", text->str, last ? 0 : (int)room, "");
    fputs(last ? "\n" : "  ", stdout);
}

#define NARROW 16 /* an elastic column is not cut below this */
#define GONE   SIZE_MAX

static size_t total_width(const size_t *widths, unsigned n)
{
    size_t total = 0;
    for (unsigned i = 0; i < n; i++)
        if (widths[i] != GONE)
            total += widths[i] + (total ? 2 : 0);
    return total;
}

/* The widest elastic column that can still be cut, or else the next one to leave out; n: none. */
static unsigned next_victim(const struct output_column *columns, unsigned n, const size_t *widths, bool cut)
{
    unsigned victim = n;
    for (unsigned i = 0; i < n; i++) {
        if (widths[i] == GONE || (cut ? !columns[i].elastic || widths[i] <= NARROW : columns[i].drop == 0))
            continue;
        if (victim == n || (cut ? widths[i] > widths[victim] : columns[i].drop > columns[victim].drop))
            victim = i;
    }
    return victim;
}

/* Cuts what may be cut; false when that is not enough. */
static bool cut_columns(const struct output_column *columns, unsigned n, size_t *widths, size_t limit)
{
    while (total_width(widths, n) > limit) {
        unsigned victim = next_victim(columns, n, widths, true);
        if (victim == n)
            return false;
        widths[victim]--;
    }
    return true;
}

/* What a column that was left out has freed, the others get back. */
static void fit(const struct output_column *columns, unsigned n, size_t *widths)
{
    size_t limit = output_width();
    g_autofree size_t *wanted = g_memdup2(widths, n * sizeof *widths);
    while (limit && !cut_columns(columns, n, widths, limit)) {
        unsigned victim = next_victim(columns, n, widths, false);
        if (victim == n)
            return;
        wanted[victim] = GONE;
        memcpy(widths, wanted, n * sizeof *widths);
    }
}

static void print_row(const struct output_column *columns, unsigned n, const size_t *widths, GString **cells)
{
    unsigned last = n;
    while (last > 0 && widths[last - 1] == GONE)
        last--;
    for (unsigned i = 0; i < last; i++)
        if (widths[i] != GONE)
            print_cell(&columns[i], cells[i], widths[i], i + 1 == last);
}

static void read_row(unsigned n, size_t row, output_cell cell, void *user, GString **cells)
{
    for (unsigned i = 0; i < n; i++) {
        g_string_truncate(cells[i], 0);
        cell(user, row, i, cells[i]);
    }
}

void output_table(const struct output_column *columns, unsigned n, size_t n_rows, output_cell cell,
                  void *user)
{
    g_autofree GString **cells = g_new(GString *, n);
    g_autofree size_t *widths = g_new0(size_t, n);
    for (unsigned i = 0; i < n; i++) {
        cells[i] = g_string_new(NULL);
        widths[i] = strlen(columns[i].title);
    }
    for (size_t row = 0; row < n_rows; row++) {
        read_row(n, row, cell, user, cells);
        for (unsigned i = 0; i < n; i++)
            widths[i] = MAX(widths[i], width_of(cells[i]->str));
    }
    fit(columns, n, widths);

    for (unsigned i = 0; i < n; i++)
        g_string_assign(cells[i], columns[i].title);
    fputs(output_colour(OUTPUT_DIM), stdout);
    print_row(columns, n, widths, cells);
    fputs(output_plain(), stdout);
    for (size_t row = 0; row < n_rows && !output_broken(); row++) {
        read_row(n, row, cell, user, cells);
        print_row(columns, n, widths, cells);
    }
    for (unsigned i = 0; i < n; i++)
        g_string_free(cells[i], TRUE);
}

void output_pair(const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%-12s ", name);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

const char *output_count(uint64_t n)
{
    static char ring[4][32];
    static unsigned turn;
    char digits[24], *out = ring[turn++ % 4];
    int length = g_snprintf(digits, sizeof digits, "%" G_GUINT64_FORMAT, n), at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
    return out;
}

void output_age(GString *out, int64_t when, int64_t now)
{
    char text[UNITS_MAX];
    if (when <= 0)
        g_string_append_c(out, '-');
    else if (when >= now)
        g_string_append(out, "now");
    else
        g_string_append(out, units_format_age(now - when, text));
}

void output_sparkline(GString *out, const uint32_t *days, unsigned n)
{
    static const char *const blocks[] = { "·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    uint32_t most = 0;
    for (unsigned i = 0; i < n; i++)
        most = MAX(most, days[i]);
    for (unsigned i = n; i-- > 0;) {
        /* No hit is a dot; the least of hits is visible. */
        unsigned height = days[i] ? 1 + (unsigned)((uint64_t)days[i] * 7 / most) : 0;
        if (utf8())
            g_string_append(out, blocks[height]);
        else
            g_string_append_c(out, height ? (char)('0' + height) : '.');
    }
}

bool output_broken(void)
{
    return ferror(stdout) != 0;
}

/* A reader that has gone away (head, less) is no error to talk about. */
static bool reader_gone(void)
{
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

bool output_finish(void)
{
    errno = 0;
    bool failed = fflush(stdout) != 0 || output_broken();
    if (failed && !reader_gone())
        fprintf(stderr, "refrain: cannot write the output: %s\n",
                errno ? g_strerror(errno) : "is the disk full?");
    return !failed;
}
