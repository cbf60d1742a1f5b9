#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

/*
 * The one state of the process that every room may reach without being handed it. Single words, read and
 * written atomically: a reload never disturbs a thread that is about to write.
 */
static const char *program_name = "refrain";
static gint current_target = LOG_TARGET_STDERR;
static gint current_level = LOG_LEVEL_INFO;

static const int priorities[] = {
    [LOG_LEVEL_ERROR] = LOG_ERR,
    [LOG_LEVEL_WARNING] = LOG_WARNING,
    [LOG_LEVEL_INFO] = LOG_INFO,
    [LOG_LEVEL_DEBUG] = LOG_DEBUG,
};

/* systemd names the device and inode of the stream that it connected: stderr may be another one by now. */
static bool stderr_is_journal(void)
{
    const char *stream = g_getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;
    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
           st.st_dev == device && st.st_ino == inode;
}

void log_open(const char *program, enum log_target target, enum log_level level)
{
    const char *name = g_intern_string(program);
    if (target == LOG_TARGET_AUTO)
        target = stderr_is_journal() ? LOG_TARGET_JOURNAL : LOG_TARGET_STDERR;
    if (target == LOG_TARGET_JOURNAL && access("/run/systemd/journal/socket", W_OK) != 0)
        target = LOG_TARGET_STDERR; /* sd_journal_send() drops lines in silence where no journal runs */
    if (target == LOG_TARGET_SYSLOG)
        openlog(name, LOG_PID | LOG_NDELAY, LOG_MAIL);
    g_atomic_pointer_set(&program_name, name);
    g_atomic_int_set(&current_target, (gint)target);
    g_atomic_int_set(&current_level, (gint)level);
}

bool log_shows(enum log_level level)
{
    return (gint)level <= g_atomic_int_get(&current_level);
}

char *log_clean(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
        else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* the C1 controls in UTF-8 */
            c[0] = c[1] = '?';
    }
    return text;
}

static void emit(enum log_level level, const char *line)
{
    const char *program = g_atomic_pointer_get(&program_name);
    switch ((enum log_target)g_atomic_int_get(&current_target)) {
    case LOG_TARGET_JOURNAL:
        sd_journal_send("MESSAGE=%s", line, "PRIORITY=%i", priorities[level], "SYSLOG_FACILITY=%i",
                        LOG_FAC(LOG_MAIL), "SYSLOG_IDENTIFIER=%s", program, NULL);
        return;
    case LOG_TARGET_SYSLOG:
        syslog(priorities[level], "%s", line);
        return;
    case LOG_TARGET_STDERR:
    case LOG_TARGET_AUTO:
        break;
    }
    /* In one write, so that lines never mix, and without stdio's lock, which threads would queue for. */
    g_autofree char *text = g_strconcat(program, ": ", line, "\n", NULL);
    size_t length = strlen(text);
    ssize_t written;
    for (const char *at = text; length > 0; at += written, length -= (size_t)written)
        if ((written = write(STDERR_FILENO, at, length)) < 0)
            return;
}

void log_write(enum log_level level, const char *format, ...)
{
    if (!log_shows(level))
        return;
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    emit(level, log_clean(line));
}
