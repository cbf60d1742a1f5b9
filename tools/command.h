/*
 * A command of the `refrain` program: one file tools/cmd_NAME.c, and one line in the table of refrain.c.
 */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include "tools/context.h"

struct command {
    const char *name;
    const char *arguments; /* "PATH..." */
    const char *summary;   /* one line, for `refrain --help` */
    const char *more;      /* a paragraph for `refrain NAME --help`; may be NULL */

    /* argv[0] is the command's name. Prints its own results; returns the exit code. */
    int (*run)(const struct command *self, struct context *context, int argc, char **argv);
};

extern const struct command cmd_report, cmd_check, cmd_explain, cmd_sign, cmd_allow, cmd_forget, cmd_list,
    cmd_show, cmd_stats, cmd_expire, cmd_export, cmd_import, cmd_resign, cmd_eval, cmd_ping;

/* Prints "refrain: what went wrong" for an error and frees it. Returns EXIT_ERROR. NULL: EXIT_DONE. */
int command_fail(GError *error);

/* Once, at the start. */
void command_catch_signals(void);

/* Set by SIGINT, SIGTERM and SIGHUP: stop at the next message, with nothing half done. */
bool command_interrupted(void);

/* The error for it. */
void command_interrupted_error(GError **error);

/* From here on nothing can be left half done: a signal ends the program, with a line on stderr. */
void command_stop_at_once(void);

#endif
