/*
 * Short forms for tests of the link: commands written as they are typed.
 */
#ifndef TESTS_STORE_TALK_H
#define TESTS_STORE_TALK_H

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
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

/* A pipeline of so many commands comes back in order, in one round trip of one connection. */
static inline void talk_echo(struct link *link, int n)
{
    struct link_command *commands = g_new0(struct link_command, n);
    redisReply **replies = g_new0(redisReply *, n);
    char(*values)[32] = g_malloc0_n((gsize)n, sizeof *values);
    const char **argv = g_new0(const char *, 2 * n);
    for (int i = 0; i < n; i++) {
        snprintf(values[i], sizeof values[i], "value %d", i);
        argv[2 * i] = "ECHO";
        argv[2 * i + 1] = values[i];
        commands[i] = (struct link_command) { .argc = 2, .argv = argv + 2 * i };
    }
    const struct link_request request = { .commands = commands, .n = (size_t)n, .timeout = 30000 };
    GError *error = NULL;
    if (!link_run(link, &request, replies, &error))
        fail_msg("%s", error->message);
    for (int i = 0; i < n; i++)
        assert_string_equal(replies[i]->str, values[i]);
    struct link_health health;
    link_health(link, &health);
    assert_int_equal(health.round_trips, 1);
    assert_int_equal(health.connections, 1);
    link_free_replies(replies, (size_t)n);
    assert_null(replies[0]);
    g_free(commands);
    g_free(replies);
    g_free(values);
    g_free(argv);
}

#endif
