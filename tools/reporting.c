#include "tools/reporting.h"

#include <string.h>

#include "base/error.h"

/* Names are kept in the store and printed in columns: a line break or a tab in one helps nobody. */
static bool check_name(const char *option, const char *text, GError **error)
{
    if (!text)
        return true;
    if (!g_utf8_validate(text, -1, NULL)) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE, "the text of --%s is not UTF-8: write it so",
                    option);
        return false;
    }
    for (const char *at = text; *at; at = g_utf8_next_char(at))
        if (g_unichar_iscntrl(g_utf8_get_char(at))) {
            g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE,
                        "--%s has a control character in it: use letters, digits, spaces", option);
            return false;
        }
    return true;
}

bool reporting_complete(struct reporting *reporting, GError **error)
{
    if (!check_name("label", reporting->label, error) || !check_name("source", reporting->source, error) ||
        !check_name("reporter", reporting->reporter, error))
        return false;
    if (!reporting->source || !*reporting->source) {
        g_free(reporting->source);
        reporting->source = g_strdup("admin");
    }
    if (!reporting->reporter || !*reporting->reporter) {
        g_free(reporting->reporter);
        reporting->reporter = g_strdup(g_get_user_name());
    }
    return each_mail_mode(reporting->as_is, reporting->forwarded, &reporting->unwrap, error);
}

struct store_report reporting_report(const struct reporting *reporting)
{
    return (struct store_report) { .label = reporting->label,
                                   .source = reporting->source,
                                   .reporter = reporting->reporter };
}

void reporting_clear(struct reporting *reporting)
{
    g_free(reporting->label);
    g_free(reporting->source);
    g_free(reporting->reporter);
    *reporting = (struct reporting) { 0 };
}
