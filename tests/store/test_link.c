#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/store/servers.h"
#include "tests/store/talk.h"

#define UNAVAILABLE REFRAIN_ERROR_UNAVAILABLE
#define REFUSED     REFRAIN_ERROR_REFUSED

static struct servers_redis *common; /* for tests that leave it as it was */

static int start_common(void **state)
{
    (void)state;
    common = servers_start("enable-debug-command yes\ndatabases 4");
    return 0;
}

static int stop_common(void **state)
{
    (void)state;
    servers_stop(&common);
    return 0;
}

/* --- the plain case ------------------------------------------------------------------------------ */

static void echo_many(const char *url, int n)
{
    struct link *link = talk_open(url);
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
    link_close(&link);
}

static void a_pipeline_comes_back_in_order_over_tcp_and_unix_sockets(void **state)
{
    (void)state;
    echo_many(common->url, 20);
    echo_many(common->unix_url, 20);
}

static void a_pipeline_larger_than_all_buffers_does_not_lock_up(void **state)
{
    (void)state;
    echo_many(common->url, 300000);
    echo_many(common->unix_url, 300000);
}

static void arguments_and_replies_are_binary_safe(void **state)
{
    (void)state;
    struct link *link = talk_open(common->url);
    const char *argv[] = { "ECHO", "a\0b\r\n$5\r\n" };
    const size_t lengths[] = { 4, 9 };
    const struct link_command command = { .argc = 2, .argv = argv, .argvlen = lengths };
    const struct link_request request = { .commands = &command, .n = 1, .timeout = 5000 };
    redisReply *reply;
    assert_true(link_run(link, &request, &reply, NULL));
    assert_int_equal(reply->len, 9);
    assert_memory_equal(reply->str, argv[1], 9);
    reply_free(reply);
    link_close(&link);
}

static void a_localhost_name_is_resolved(void **state)
{
    (void)state;
    g_autofree char *url = g_strdup_printf("redis://localhost:%u", common->port);
    struct link *link = talk_open(url);
    talk_expect(link, "PING", "PONG");
    link_close(&link);
}

static void the_database_is_selected_on_every_connection(void **state)
{
    (void)state;
    g_autofree char *url = g_strdup_printf("%s/3", common->url);
    g_autofree char *unix_url = g_strdup_printf("%s?db=3", common->unix_url);
    g_autofree char *missing = g_strdup_printf("%s/4", common->url);
    struct link *in_3 = talk_open(url), *in_3_too = talk_open(unix_url), *in_0 = talk_open(common->url),
                *in_4 = talk_open(missing);
    talk_expect(in_3, "SET where three", "OK");
    talk_expect(in_3_too, "GET where", "three");
    talk_expect(in_0, "GET where", "(nil)");
    talk_expect_error(in_4, 5000, "GET where", REFUSED, "does not have that database");
    link_close(&in_3);
    link_close(&in_3_too);
    link_close(&in_0);
    link_close(&in_4);
}

static void the_only_server_is_named(void **state)
{
    (void)state;
    struct link *link = talk_open(common->url);
    char **servers = link_servers(link, 1000, NULL);
    assert_int_equal(g_strv_length(servers), 1);
    const char *argv[] = { "DBSIZE" };
    const struct link_command command = { .argc = 1, .argv = argv, .server = servers[0] };
    const struct link_request request = { .commands = &command, .n = 1, .timeout = 5000 };
    redisReply *reply;
    assert_true(link_run(link, &request, &reply, NULL));
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    reply_free(reply);
    g_strfreev(servers);
    link_close(&link);
}

/* --- what the server may say --------------------------------------------------------------------- */

static void a_wrong_type_is_the_commands_own_error(void **state)
{
    (void)state;
    struct link *link = talk_open(common->url);
    talk_expect(link, "SET text x", "OK");
    talk_expect(link, "SMEMBERS text", "WRONGTYPE");
    struct talk_line lines[] = { talk_parse("MULTI"), talk_parse("SADD text 1"), talk_parse("EXEC") };
    struct link_command commands[] = { lines[0].command, lines[1].command, lines[2].command };
    redisReply *replies[3];
    const struct link_request request = { .commands = commands, .n = 3, .timeout = 5000 };
    assert_true(link_run(link, &request, replies, NULL));
    GError *error = NULL;
    assert_true(link_check(replies, 2, NULL));
    assert_false(link_check(replies, 3, &error));
    assert_int_equal(error->code, REFUSED);
    assert_non_null(strstr(error->message, "foreign type"));
    g_error_free(error);
    link_free_replies(replies, 3);
    for (int i = 0; i < 3; i++)
        g_strfreev(lines[i].words);
    talk_expect(link, "DEL text", "1");
    link_close(&link);
}

static void wrong_and_missing_passwords_are_told_apart_and_never_shown(void **state)
{
    (void)state;
    struct servers_redis *server =
        servers_start("requirepass hushpuppy\nuser reader on >terrier ~* +get +auth\n");
    static const struct {
        const char *user_info, *part;
    } rows[] = {
        { "", "wants a password" },
        { ":basset@", "wrong user or password" },
        { "reader:basset@", "wrong user or password" },
        { "nobody:basset@", "wrong user or password" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *url = g_strdup_printf("redis://%s127.0.0.1:%u", rows[i].user_info, server->port);
        struct link *link = talk_open(url);
        GError *error = NULL;
        assert_null(talk_try(link, 5000, true, "GET a", &error));
        assert_int_equal(error->code, REFUSED);
        assert_non_null(strstr(error->message, rows[i].part));
        assert_null(strstr(error->message, "basset"));
        assert_null(strstr(link_name(link), "basset"));
        g_error_free(error);
        link_close(&link);
    }
    g_autofree char *good = g_strdup_printf("redis://:hushpuppy@127.0.0.1:%u", server->port);
    g_autofree char *reader = g_strdup_printf("redis://reader:terrier@127.0.0.1:%u", server->port);
    struct link *link = talk_open(good), *limited = talk_open(reader);
    talk_expect(link, "SET a 1", "OK");
    talk_expect(limited, "GET a", "1");
    talk_expect_error(limited, 5000, "SET a 2", REFUSED, "may not do this");
    link_close(&link);
    link_close(&limited);
    servers_stop(&server);
}

static void a_password_that_nobody_wants_is_refused(void **state)
{
    (void)state;
    g_autofree char *url = g_strdup_printf("redis://:hushpuppy@127.0.0.1:%u", common->port);
    struct link *link = talk_open(url);
    talk_expect_error(link, 5000, "GET a", REFUSED, "has no password");
    link_close(&link);
}

/* Some servers quote the arguments of a command that they do not know. */
static void a_reply_that_quotes_the_password_is_not_shown(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start("rename-command AUTH \"\"");
    g_autofree char *url = g_strdup_printf("redis://:hushpuppy@127.0.0.1:%u", server->port);
    struct link *link = talk_open(url);
    GError *error = NULL;
    assert_null(talk_try(link, 5000, true, "GET a", &error));
    assert_null(strstr(error->message, "hushpuppy"));
    assert_non_null(strstr(error->message, "does not accept the password"));
    g_error_free(error);
    link_close(&link);
    servers_stop(&server);
}

static void a_full_memory_refuses_writes_and_leaves_reads_alone(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start("maxmemory 100kb\nmaxmemory-policy noeviction");
    struct link_options options = link_default_options;
    struct link *link = talk_open_with(server->url, options);
    for (int i = 0; i < 10; i++)
        talk_expect_error(link, 5000, "SET a 1", REFUSED, "memory is full");
    talk_expect(link, "GET a", "(nil)");
    link_close(&link);
    servers_stop(&server);
}

static void a_replica_refuses_writes(void **state)
{
    (void)state;
    g_autofree char *lines = g_strdup_printf("replicaof 127.0.0.1 %u", servers_free_port());
    g_autofree char *strict = g_strdup_printf("%s\nreplica-serve-stale-data no", lines);
    struct servers_redis *replica = servers_start(lines), *lost = servers_start(strict);
    struct link *link = talk_open(replica->url), *lost_link = talk_open(lost->url);
    talk_expect_error(link, 5000, "SET a 1", REFUSED, "read-only replica");
    talk_expect(link, "GET a", "(nil)");
    talk_expect_error(lost_link, 5000, "GET a", UNAVAILABLE, "lost its primary");
    link_close(&link);
    link_close(&lost_link);
    servers_stop(&replica);
    servers_stop(&lost);
}

static void a_loading_server_is_unavailable(void **state)
{
    (void)state;
    struct servers_redis *source = servers_start("enable-debug-command yes");
    servers_do(source, "DEBUG POPULATE 20000");
    servers_do(source, "SAVE");
    struct servers_redis *server = servers_start_loading(
        "key-load-delay 1000\nloading-process-events-interval-bytes 1024", source->folder);
    struct link *link = talk_open(server->url);
    talk_expect_error(link, 5000, "GET a", UNAVAILABLE, "loading");
    link_close(&link);
    servers_stop(&server);
    servers_stop(&source);
}

static bool is_busy(void *user)
{
    redisReply *reply = servers_ask(user, "GET a");
    bool busy = reply->type == REDIS_REPLY_ERROR && g_str_has_prefix(reply->str, "BUSY");
    freeReplyObject(reply);
    return busy;
}

static bool is_not_busy(void *user)
{
    return !is_busy(user);
}

static void a_server_busy_with_a_script_is_unavailable_until_it_ends(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start("lua-time-limit 20");
    struct link *link = talk_open(server->url);
    talk_expect(link, "SET a 1", "OK");
    redisContext *script = redisConnect("127.0.0.1", server->port);
    redisAppendCommand(script, "EVAL %s 0", "while true do end");
    int done = 0;
    redisBufferWrite(script, &done);
    servers_await(is_busy, server, "the script makes the server busy");
    talk_expect_error(link, 5000, "GET a", UNAVAILABLE, "script");
    servers_do(server, "SCRIPT KILL");
    servers_await(is_not_busy, server, "the script ends");
    talk_expect(link, "GET a", "1");
    redisFree(script);
    link_close(&link);
    servers_stop(&server);
}

static void too_many_clients_are_said_so(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start("maxclients 1");
    redisContext *first = NULL;
    /* The connection of the start may not be gone yet. */
    redisReply *reply = NULL;
    while (!reply) {
        first = redisConnect("127.0.0.1", server->port);
        reply = redisCommand(first, "PING");
        if (!reply || reply->type == REDIS_REPLY_ERROR) {
            redisFree(first);
            if (reply)
                freeReplyObject(reply);
            reply = NULL;
        }
    }
    freeReplyObject(reply);
    struct link *link = talk_open(server->url);
    talk_expect_error(link, 5000, "GET a", UNAVAILABLE, "too many clients");
    redisFree(first);
    link_close(&link);
    servers_stop(&server);
}

static void too_few_replicas_fail_a_write_that_waits_for_them(void **state)
{
    (void)state;
    struct link *link = talk_open(common->url);
    struct talk_line line = talk_parse("SET awaited 1");
    struct link_request request = { .commands = &line.command, .n = 1, .timeout = 1000, .wait_replicas = 1 };
    redisReply *reply;
    GError *error = NULL;
    assert_false(link_run(link, &request, &reply, &error));
    assert_int_equal(error->code, UNAVAILABLE);
    assert_non_null(strstr(error->message, "0 of 1 replicas"));
    assert_null(reply);
    g_error_free(error);
    g_strfreev(line.words);
    link_close(&link);
}

/* --- connections that fail ----------------------------------------------------------------------- */

static void a_server_that_is_not_there_is_named(void **state)
{
    (void)state;
    g_autofree char *refused = g_strdup_printf("redis://127.0.0.1:%u", servers_free_port());
    static const char *const parts[] = { "connection refused", "no such socket", "unknown host" };
    const char *urls[] = { refused, "redis+unix:/nonexistent/redis.sock", "redis://no-such-host.invalid" };
    for (size_t i = 0; i < G_N_ELEMENTS(urls); i++) {
        struct link *link = talk_open(urls[i]);
        talk_expect_error(link, 20000, "GET a", UNAVAILABLE, parts[i]);
        link_close(&link);
    }
}

/* A listener that is not Redis, and does what its function does with each connection. */
struct impostor {
    int listener;
    uint16_t port;
    pthread_t thread;
    void (*serve)(int fd);
};

static void *run_impostor(void *user)
{
    struct impostor *impostor = user;
    int fd;
    while ((fd = accept(impostor->listener, NULL, NULL)) >= 0) {
        impostor->serve(fd);
        close(fd);
    }
    return NULL;
}

static void start_impostor(struct impostor *impostor, void (*serve)(int fd))
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    impostor->serve = serve;
    impostor->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(impostor->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(impostor->listener, 8), 0);
    assert_int_equal(getsockname(impostor->listener, (struct sockaddr *)&address, &length), 0);
    impostor->port = ntohs(address.sin_port);
    pthread_create(&impostor->thread, NULL, run_impostor, impostor);
}

static void stop_impostor(struct impostor *impostor)
{
    shutdown(impostor->listener, SHUT_RDWR);
    pthread_join(impostor->thread, NULL);
    close(impostor->listener);
}

static void greet_like_smtp(int fd)
{
    char buffer[64];
    if (send(fd, "220 mail.example ESMTP\r\n", 24, MSG_NOSIGNAL) > 0)
        while (recv(fd, buffer, sizeof buffer, 0) > 0)
            ;
}

static void promise_too_much(int fd)
{
    char buffer[64];
    if (send(fd, "*2147483647\r\n", 13, MSG_NOSIGNAL) > 0)
        while (recv(fd, buffer, sizeof buffer, 0) > 0)
            ;
}

/* Always something new, never a whole reply: no single read() waits for long. */
static void trickle(int fd)
{
    char byte = '$';
    while (send(fd, &byte, 1, MSG_NOSIGNAL) == 1) {
        byte = '1';
        poll(NULL, 0, 20);
    }
}

static void talk_to_impostor(void (*serve)(int fd), const char *part)
{
    struct impostor impostor;
    start_impostor(&impostor, serve);
    g_autofree char *url = g_strdup_printf("redis://127.0.0.1:%u", impostor.port);
    struct link *link = talk_open(url);
    int64_t begin = g_get_monotonic_time();
    talk_expect_error(link, 300, "GET a", UNAVAILABLE, part);
    assert_true(g_get_monotonic_time() - begin < 2 * G_USEC_PER_SEC);
    link_close(&link);
    stop_impostor(&impostor);
}

static void a_server_that_is_not_redis_is_noticed(void **state)
{
    (void)state;
    talk_to_impostor(greet_like_smtp, "not Redis'");
    talk_to_impostor(promise_too_much, "not Redis'");
}

static void a_server_that_trickles_does_not_stretch_the_deadline(void **state)
{
    (void)state;
    talk_to_impostor(trickle, "no answer within 300 ms");
}

static void a_frozen_server_ends_at_the_deadline_and_never_mixes_replies(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct link *links[] = { talk_open(server->url), talk_open(server->unix_url) };
    for (int i = 0; i < 2; i++) {
        struct link *link = links[i];
        talk_expect(link, "ECHO before", "before");
        servers_freeze(server);
        for (int j = 0; j < 3; j++) {
            int64_t begin = g_get_monotonic_time();
            talk_expect_error(link, 100, "ECHO frozen", UNAVAILABLE, "no answer within 100 ms");
            assert_true(g_get_monotonic_time() - begin < G_USEC_PER_SEC);
        }
        servers_thaw(server);
        for (int j = 0; j < 50; j++) {
            g_autofree char *word = g_strdup_printf("after-%d", j), *line = g_strdup_printf("ECHO %s", word);
            talk_expect(link, line, word);
        }
        link_close(&link);
    }
    servers_stop(&server);
}

static void a_late_reply_never_answers_the_next_question(void **state)
{
    (void)state;
    struct link *link = talk_open(common->url);
    talk_expect(link, "ECHO first", "first");
    talk_expect_error(link, 50, "BLPOP nothing 0.1", UNAVAILABLE, "no answer");
    for (int j = 0; j < 200; j++) {
        g_autofree char *word = g_strdup_printf("next-%d", j), *line = g_strdup_printf("ECHO %s", word);
        talk_expect(link, line, word);
        poll(NULL, 0, 1);
    }
    link_close(&link);
}

static void a_restarted_server_is_found_again_without_an_error(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct link *link = talk_open(server->url), *over_unix = talk_open(server->unix_url);
    for (int i = 0; i < 3; i++) {
        talk_expect(link, "ECHO here", "here");
        talk_expect(over_unix, "ECHO here", "here");
        servers_kill(server);
        talk_expect_error(link, 1000, "ECHO gone", UNAVAILABLE, "connection refused");
        talk_expect_error(over_unix, 1000, "ECHO gone", UNAVAILABLE, "connection refused");
        servers_restart(server);
        servers_do(server, "CLIENT KILL TYPE normal SKIPME yes");
    }
    talk_expect(link, "ECHO here", "here");
    servers_kill(server);
    servers_restart(server);
    /* Not repeatable, on a connection of the last life: it must have been seen before it was used. */
    GError *error = NULL;
    redisReply *reply = talk_try(link, 1000, false, "ECHO again", &error);
    assert_non_null(reply);
    reply_free(reply);
    link_close(&link);
    link_close(&over_unix);
    servers_stop(&server);
}

struct killing {
    struct servers_redis *server;
    pthread_t thread;
};

static bool somebody_blocks(void *user)
{
    return servers_info(user, "blocked_clients") > 0;
}

static void *kill_the_blocked(void *user)
{
    struct servers_redis *server = user;
    while (!somebody_blocks(server))
        poll(NULL, 0, 1);
    freeReplyObject(servers_ask(server, "CLIENT KILL TYPE normal"));
    freeReplyObject(servers_ask(server, "RPUSH list late"));
    return NULL;
}

static void only_repeatable_requests_are_sent_again_when_a_connection_breaks(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct link *link = talk_open(server->url);
    for (int repeatable = 0; repeatable < 2; repeatable++) {
        pthread_t thread;
        pthread_create(&thread, NULL, kill_the_blocked, server);
        GError *error = NULL;
        redisReply *reply = talk_try(link, 5000, repeatable, "BLPOP list 4", &error);
        pthread_join(thread, NULL);
        if (repeatable) {
            assert_non_null(reply);
            assert_string_equal(reply->element[1]->str, "late");
            reply_free(reply);
        } else {
            assert_null(reply);
            assert_int_equal(error->code, UNAVAILABLE);
            assert_non_null(strstr(error->message, "closed the connection"));
            g_error_free(error);
            talk_expect(link, "DEL list", "1");
        }
    }
    link_close(&link);
    servers_stop(&server);
}

/* --- many threads -------------------------------------------------------------------------------- */

static void *echo_own_words(void *user)
{
    struct link *link = user;
    for (int i = 0; i < 300; i++) {
        g_autofree char *word = g_strdup_printf("%p-%d", (void *)&link, i);
        const char *argv[] = { "ECHO", word };
        const struct link_command command = { .argc = 2, .argv = argv };
        const struct link_request request = { .commands = &command, .n = 1, .timeout = 10000 };
        redisReply *reply;
        if (!link_run(link, &request, &reply, NULL))
            return "failed";
        bool own = strcmp(reply->str, word) == 0;
        reply_free(reply);
        if (!own)
            return "mixed up";
    }
    return NULL;
}

static void many_threads_share_a_bounded_pool(void **state)
{
    (void)state;
    struct link_options options = link_default_options;
    options.connections = 3;
    long long before = servers_info(common, "total_connections_received");
    struct link *link = talk_open_with(common->url, options);
    pthread_t threads[16];
    for (int i = 0; i < 16; i++)
        pthread_create(&threads[i], NULL, echo_own_words, link);
    for (int i = 0; i < 16; i++) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        assert_null(complaint);
    }
    struct link_health health;
    link_health(link, &health);
    assert_in_range(health.connections, 1, 3);
    /* One is the question itself. */
    assert_in_range(servers_info(common, "total_connections_received") - before, 2, 4);
    assert_int_equal(health.requests, 16 * 300);
    assert_int_equal(health.failures, 0);
    link_close(&link);
}

static void *block_a_while(void *user)
{
    redisReply *reply = talk_try(user, 5000, false, "BLPOP never 1", NULL);
    if (reply)
        reply_free(reply);
    return NULL;
}

static void who_finds_no_free_connection_waits_no_longer_than_the_deadline(void **state)
{
    (void)state;
    struct link_options options = link_default_options;
    options.connections = 1;
    struct link *link = talk_open_with(common->url, options);
    pthread_t thread;
    pthread_create(&thread, NULL, block_a_while, link);
    servers_await(somebody_blocks, common, "the only connection is in use");
    for (int i = 0; i < 5; i++)
        talk_expect_error(link, 20, "PING", UNAVAILABLE, "connections were busy");
    struct link_health health;
    link_health(link, &health);
    assert_false(health.breaker_open); /* it says nothing of the server */
    talk_expect(link, "PING", "PONG");
    pthread_join(thread, NULL);
    link_close(&link);
}

/* --- the breaker --------------------------------------------------------------------------------- */

struct changes {
    int opened, closed;
    char *why;
};

static void note_change(bool open, const char *why, void *user)
{
    struct changes *changes = user;
    if (open) {
        changes->opened++;
        g_free(changes->why);
        changes->why = g_strdup(why);
    } else {
        changes->closed++;
    }
}

static bool link_answers(void *user)
{
    redisReply *reply = talk_try(user, 1000, true, "PING", NULL);
    if (reply)
        reply_free(reply);
    return reply != NULL;
}

static void the_breaker_spares_a_server_that_is_down_and_finds_it_again(void **state)
{
    (void)state;
    struct servers_redis *server = servers_start(NULL);
    struct changes changes = { 0 };
    struct link_options options = link_default_options;
    options.breaker_pause = 1000;
    options.breaker_pause_max = 1000;
    options.changed = note_change;
    options.user = &changes;
    struct link *link = talk_open_with(server->url, options);
    talk_expect(link, "PING", "PONG");
    servers_freeze(server);
    for (int i = 0; i < 3; i++)
        talk_expect_error(link, 50, "PING", UNAVAILABLE, "no answer within");
    assert_int_equal(changes.opened, 1);
    assert_non_null(strstr(changes.why, "no answer within"));
    int64_t begin = g_get_monotonic_time();
    for (int i = 0; i < 100; i++)
        talk_expect_error(link, 10000, "PING", UNAVAILABLE, "not asked again");
    assert_true(g_get_monotonic_time() - begin < 900000);
    servers_thaw(server);
    servers_await(link_answers, link, "the breaker closes");
    assert_int_equal(changes.opened, 1);
    assert_int_equal(changes.closed, 1);
    struct link_health health;
    link_health(link, &health);
    assert_false(health.breaker_open);
    assert_int_equal(health.breaker_opened, 1);
    g_free(changes.why);
    link_close(&link);
    servers_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_comes_back_in_order_over_tcp_and_unix_sockets),
        cmocka_unit_test(a_pipeline_larger_than_all_buffers_does_not_lock_up),
        cmocka_unit_test(arguments_and_replies_are_binary_safe),
        cmocka_unit_test(a_localhost_name_is_resolved),
        cmocka_unit_test(the_database_is_selected_on_every_connection),
        cmocka_unit_test(the_only_server_is_named),
        cmocka_unit_test(a_wrong_type_is_the_commands_own_error),
        cmocka_unit_test(wrong_and_missing_passwords_are_told_apart_and_never_shown),
        cmocka_unit_test(a_password_that_nobody_wants_is_refused),
        cmocka_unit_test(a_reply_that_quotes_the_password_is_not_shown),
        cmocka_unit_test(a_full_memory_refuses_writes_and_leaves_reads_alone),
        cmocka_unit_test(a_replica_refuses_writes),
        cmocka_unit_test(a_loading_server_is_unavailable),
        cmocka_unit_test(a_server_busy_with_a_script_is_unavailable_until_it_ends),
        cmocka_unit_test(too_many_clients_are_said_so),
        cmocka_unit_test(too_few_replicas_fail_a_write_that_waits_for_them),
        cmocka_unit_test(a_server_that_is_not_there_is_named),
        cmocka_unit_test(a_server_that_is_not_redis_is_noticed),
        cmocka_unit_test(a_server_that_trickles_does_not_stretch_the_deadline),
        cmocka_unit_test(a_frozen_server_ends_at_the_deadline_and_never_mixes_replies),
        cmocka_unit_test(a_late_reply_never_answers_the_next_question),
        cmocka_unit_test(a_restarted_server_is_found_again_without_an_error),
        cmocka_unit_test(only_repeatable_requests_are_sent_again_when_a_connection_breaks),
        cmocka_unit_test(many_threads_share_a_bounded_pool),
        cmocka_unit_test(who_finds_no_free_connection_waits_no_longer_than_the_deadline),
        cmocka_unit_test(the_breaker_spares_a_server_that_is_down_and_finds_it_again),
    };
    return cmocka_run_group_tests(tests, start_common, stop_common);
}
