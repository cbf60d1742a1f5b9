/*
 * What report, allow and forget have in common: who says so, and how the message is wrapped.
 */
#ifndef TOOLS_REPORTING_H
#define TOOLS_REPORTING_H

#include "tools/context.h"
#include "tools/each_mail.h"

struct reporting {
    char *label, *source, *reporter;
    gboolean as_is, forwarded;
    enum each_mail_unwrap unwrap;
};

/* Fills in what was not given: the source is "admin", the reporter who runs the program. */
bool reporting_complete(struct reporting *reporting, GError **error);

struct store_report reporting_report(const struct reporting *reporting);

void reporting_clear(struct reporting *reporting);

#define REPORTING_WRAP_OPTIONS(r)                                                                            \
    {                                                                                                        \
        "as-is",    0,                                                                                       \
        0,          G_OPTION_ARG_NONE,                                                                       \
        &(r).as_is, "take each message itself, never what is forwarded in it",                               \
        NULL                                                                                                 \
    },                                                                                                       \
    {                                                                                                        \
        "forwarded", 0, 0, G_OPTION_ARG_NONE, &(r).forwarded, "take only what is forwarded in a message",    \
            NULL                                                                                             \
    }

#define REPORTING_OPTIONS(r)                                                                                      \
    { "label", 0, 0, G_OPTION_ARG_STRING, &(r).label, "what to call a new campaign", "TEXT" },                    \
        { "source", 0, 0, G_OPTION_ARG_STRING, &(r).source, "the way by which it came (default: admin)",          \
          "NAME" },                                                                                               \
        { "reporter", 0, 0, G_OPTION_ARG_STRING, &(r).reporter, "who says so (default: your user name)", "WHO" }, \
        REPORTING_WRAP_OPTIONS(r)

#endif
