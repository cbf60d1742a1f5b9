/*
 * Short forms for tests of the link: commands written as they are typed.
 */
#ifndef TESTS_STORE_TALK_H
#define TESTS_STORE_TALK_H

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "store/link.h"
#include "store/reply.h"
#include "store/url.h"

/* A link whose breaker stays out of the way. */
static inline struct link *talk_open_with(const char *url_text, struct link_options options)
{
    GError *error = NULL;
    struct url *url = url_parse(url_text, NULL, &error);
    if (!url)
        fail_msg("%s", error->message);
    struct link *link = link_open(url, &options);
    url_free(&url);
    return link;
}

static inline struct link *talk_open(const char *url_text)
{
    struct link_options options = link_default_options;
    options.breaker_failures = 1000000;
    return talk_open_with(url_text, options);
}

/* One command, its words parted by blanks; the second word is the key. */
struct talk_line {
    char **words;
    struct link_command command;
};

static inline struct talk_line talk_parse(const char *line)
{
    struct talk_line parsed = { .words = g_strsplit(line, " ", -1) };
    parsed.command.argc = (int)g_strv_length(parsed.words);
    parsed.command.argv = (const char **)parsed.words;
    parsed.command.key = parsed.command.argc > 1 ? parsed.words[1] : NULL;
    parsed.command.key_length = parsed.command.key ? strlen(parsed.command.key) : 0;
    return parsed;
}

/* NULL with the error; a reply that is an error is a reply. */
static inline redisReply *talk_try(struct link *link, int64_t timeout, bool repeatable, const char *line,
                                   GError **error)
{
    struct talk_line parsed = talk_parse(line);
    redisReply *reply = NULL;
    const struct link_request request = {
        .commands = &parsed.command, .n = 1, .timeout = timeout, .repeatable = repeatable
    };
    bool fine = link_run(link, &request, &reply, error);
    g_strfreev(parsed.words);
    return fine ? reply : NULL;
}

/* The reply as text: "OK", "42", "(nil)", "WRONGTYPE …"; an error fails the test. */
static inline char *talk_text(const redisReply *reply)
{
    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        return g_strdup_printf("%lld", reply->integer);
    case REDIS_REPLY_NIL:
        return g_strdup("(nil)");
    case REDIS_REPLY_ARRAY:
        return g_strdup_printf("(array of %zu)", reply->elements);
    default:
        return g_strdup(reply->str);
    }
}

static inline void talk_expect(struct link *link, const char *line, const char *expected)
{
    GError *error = NULL;
    redisReply *reply = talk_try(link, 5000, true, line, &error);
    if (!reply)
        fail_msg("%s: %s", line, error->message);
    g_autofree char *text = talk_text(reply);
    reply_free(reply);
    if (!g_str_has_prefix(text, expected))
        fail_msg("%s: got %s, expected %s", line, text, expected);
}

/* The request fails with this code and a sentence that has this part. */
static inline void talk_expect_error(struct link *link, int64_t timeout, const char *line, int code,
                                     const char *part)
{
    GError *error = NULL;
    redisReply *reply = talk_try(link, timeout, false, line, &error);
    if (reply)
        fail_msg("%s: got a reply, expected: %s", line, part);
    if (error->code != code || !strstr(error->message, part))
        fail_msg("%s: got \"%s\" (code %d), expected \"%s\" (%d)", line, error->message, error->code, part, code);
    g_error_free(error);
}

#endif
