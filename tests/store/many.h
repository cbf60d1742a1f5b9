/*
 * Short forms for tests of a Cluster: keys in many slots, asked for in one request.
 */
#ifndef TESTS_STORE_MANY_H
#define TESTS_STORE_MANY_H

#include <stdlib.h>

#include "store/cluster.h"
#include "tests/store/talk.h"

static inline unsigned slot_of(const char *key)
{
    return cluster_slot(key, strlen(key));
}

#define MANY 60

/* "SET many-7 7" … for all, or "GET many-7" …, in one request. */
static inline void run_many(struct link *link, const char *verb, int64_t timeout, redisReply **replies,
                            GError **error)
{
    struct talk_line lines[MANY];
    struct link_command commands[MANY];
    for (int i = 0; i < MANY; i++) {
        g_autofree char *line = strcmp(verb, "SET") == 0 ? g_strdup_printf("SET many-%d %d", i, i)
                                                         : g_strdup_printf("%s many-%d", verb, i);
        lines[i] = talk_parse(line);
        commands[i] = lines[i].command;
    }
    const struct link_request request = { .commands = commands, .n = MANY, .timeout = timeout };
    link_run(link, &request, replies, error);
    for (int i = 0; i < MANY; i++)
        g_strfreev(lines[i].words);
}

static inline void expect_many(struct link *link)
{
    redisReply *replies[MANY];
    GError *error = NULL;
    run_many(link, "GET", 5000, replies, &error);
    if (error)
        fail_msg("%s", error->message);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(replies[i]->type, REDIS_REPLY_STRING);
        assert_int_equal(atoi(replies[i]->str), i);
    }
    link_free_replies(replies, MANY);
}

static inline void store_many(struct link *link)
{
    redisReply *replies[MANY];
    GError *error = NULL;
    run_many(link, "SET", 5000, replies, &error);
    if (error)
        fail_msg("%s", error->message);
    assert_true(link_check(replies, MANY, NULL));
    link_free_replies(replies, MANY);
}

static inline struct link_health health_of(struct link *link)
{
    struct link_health health;
    link_health(link, &health);
    return health;
}

#endif
