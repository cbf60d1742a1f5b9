/*
 * The log. Daemons write to the journal, syslog (mail facility) or stderr; message text never gets here.
 * Control characters are cleaned from every line, so that no sender can forge one.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <glib.h>
#include <stdbool.h>

/* Auto: the journal when systemd connected stderr to it, else stderr. */
enum log_target { LOG_TARGET_STDERR, LOG_TARGET_SYSLOG, LOG_TARGET_JOURNAL, LOG_TARGET_AUTO };

/* Ordered: a level shows itself and those before it. */
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* The program's name goes before each line on stderr. May be called again (a reload). */
void log_open(const char *program, enum log_target target, enum log_level level);

/* Any thread. */
void log_write(enum log_level level, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Would a line of this level be written? Saves the work of building one that nobody reads. */
bool log_shows(enum log_level level);

#define log_error(...)   log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Replaces control characters by '?', in place. Returns its argument. */
char *log_clean(char *text);

#endif
