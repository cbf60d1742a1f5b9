/* refrain explain: why was this message recognised, or not? Term by term. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "message/source.h"
#include "tools/campaign.h"
#include "tools/command.h"
#include "tools/explain.h"
#include "tools/output.h"

/* "file#3" as other commands print it: the third message of the file. 0: there is no such ending. */
static unsigned split_number(char *path)
{
    char *hash = strrchr(path, '#');
    char *end = NULL;
    unsigned long n = hash ? strtoul(hash + 1, &end, 10) : 0;
    if (n == 0 || n > UINT32_MAX || *end || g_file_test(path, G_FILE_TEST_EXISTS))
        return 0;
    *hash = 0;
    return (unsigned)n;
}

/* The message that a path names: the only one, or the Nth. */
static GBytes *read_message(const char *name, size_t max_bytes, GError **error)
{
    g_autofree char *path = g_strdup(name);
    unsigned wanted = split_number(path), seen = 0;
    char *paths[] = { path, NULL };
    GBytes *found = NULL;
    struct message_source *source = message_source_new(paths, MESSAGE_SOURCE_MAIL, max_bytes);
    struct message_source_item *item;
    while (!*error && (item = message_source_next(source))) {
        seen++;
        if (item->error)
            *error = g_steal_pointer(&item->error);
        else if (seen == (wanted ? wanted : 1))
            found = g_bytes_ref(item->data);
        message_source_item_free(item);
        if (found && (wanted || seen == 2))
            break;
    }
    message_source_free(&source);
    if (!*error && !wanted && seen > 1) {
        bool folder = g_file_test(path, G_FILE_TEST_IS_DIR);
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE,
                    "%s has more than one message: name one of %s%s%s", name,
                    folder ? "its files" : "them, like ", folder ? "" : name, folder ? "" : "#1");
        g_clear_pointer(&found, g_bytes_unref);
    } else if (!*error && !found) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "%s: there is no such message in it", name);
    }
    return found;
}

static bool explain_bytes(struct context *context, const char *path, const char *campaign, GBytes *data,
                          GError **error)
{
    gsize n;
    const void *bytes = g_bytes_get_data(data, &n);
    struct explanation *explanation = explain_message(context, path, bytes, n);
    bool ok = explain_find(explanation, campaign, error);
    if (ok && context->json)
        explain_json(explanation);
    else if (ok)
        explain_text(explanation);
    explain_free(&explanation);
    return ok;
}

static int explain_run(const struct command *self, struct context *context, int argc, char **argv)
{
    GError *error = NULL;
    GBytes *data = NULL;
    if (!context_parse(context, self, NULL, argc, argv, &error) ||
        !context_arguments(context, self, 1, 2, &error) || !context_open(context, CONTEXT_READ, &error))
        return command_fail(error);
    message_init();
    data = read_message(context->arguments[0], context->limits.bytes, &error);
    bool ok = data && explain_bytes(context, context->arguments[0], context->arguments[1], data, &error);
    if (data)
        g_bytes_unref(data);
    return ok ? EXIT_DONE : command_fail(error);
}

const struct command cmd_explain = {
    .name = "explain",
    .arguments = "PATH [CAMPAIGN]",
    .summary = "why, term by term",
    .more = "Compares the message with the campaign, or with the one that it resembles most: the terms that "
            "count and\n"
            "the lexicons that they sign, where both agree, the distance and the thresholds, and why it was "
            "or was not\n"
            "recognised. PATH may name one message of a file as file#N.\n",
    .run = explain_run,
};
