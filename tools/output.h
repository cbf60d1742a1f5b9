/*
 * What people read: columns, colours, ages, sparklines. Colour and the terminal's width are for
 * terminals; a pipe gets plain text.
 */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Stdout is a terminal. */
bool output_terminal(void);

/* Columns of the terminal, 0: no limit. */
unsigned output_width(void);

enum output_colour { OUTPUT_PLAIN, OUTPUT_BOLD, OUTPUT_DIM, OUTPUT_RED, OUTPUT_GREEN, OUTPUT_YELLOW };

/* The sequences that begin and end a colour; empty where there is none (a pipe, NO_COLOR, TERM=dumb). */
const char *output_colour(enum output_colour colour);
const char *output_plain(void);

/*
 * Text that came from outside (paths, labels), safe for a terminal and for a line of tab-separated
 * fields: control characters are written \n, \t, \x1b, a backslash \\. Free it with g_free().
 */
char *output_safe(const char *text);

/*
 * A column of a table. Where a line would not fit the terminal, the cells of elastic columns are cut, then
 * columns are left out: those with the largest `drop` first, those with 0 never.
 */
struct output_column {
    const char *title;
    bool right, elastic;
    unsigned drop;
};

/* Appends the text of a cell. */
typedef void (*output_cell)(void *user, size_t row, unsigned column, GString *out);

/* Prints a table: two passes over the cells, no copy of them. */
void output_table(const struct output_column *columns, unsigned n_columns, size_t n_rows, output_cell cell,
                  void *user);

/* One name and its value, aligned: "campaigns      1,234". */
void output_pair(const char *name, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* "1,234,567". A static ring of four: for use within one printf. */
const char *output_count(uint64_t n);

/* "3d" ago, "now", or "-" when it is not known. */
void output_age(GString *out, int64_t when, int64_t now);

/* Oldest first, one character a day; blocks in UTF-8, otherwise digits. */
void output_sparkline(GString *out, const uint32_t *days_today_first, unsigned n);

/* Writes what is left. False when stdout could not be written, having said so (silent for a closed pipe). */
bool output_finish(void);

/* Stdout has failed: no use to go on. */
bool output_broken(void);

#endif
