#include "tests/store/servers.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE (60 * G_USEC_PER_SEC) /* on a machine that does much else */

static GPtrArray *alive;

void servers_await(bool (*condition)(void *user), void *user, const char *description)
{
    for (int64_t end = g_get_monotonic_time() + PATIENCE; !condition(user); poll(NULL, 0, 5))
        if (g_get_monotonic_time() > end)
            fail_msg("waited in vain: %s", description);
}

uint16_t servers_free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        fail_msg("no free port: %s", g_strerror(errno));
    close(fd);
    return ntohs(address.sin_port);
}

/* --- one process --------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status, (void)type, (void)ftw;
    (void)remove(path); /* what is gone already is fine */
    return 0;
}

static void end_process(struct servers_redis *server)
{
    if (server->pid == 0)
        return;
    kill(-server->pid, SIGKILL); /* with the child that may be saving or sending a snapshot */
    while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    server->pid = 0;
}

static void free_server(struct servers_redis *server)
{
    end_process(server);
    nftw(server->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    g_free(server->folder);
    g_free(server->socket);
    g_free(server->url);
    g_free(server->unix_url);
    g_free(server->tls_url);
    g_free(server->config);
    g_free(server->password);
    g_free(server);
}

static void stop_all(void)
{
    g_ptr_array_free(g_steal_pointer(&alive), TRUE);
}

static void spawn(struct servers_redis *server)
{
    g_autofree char *log = g_build_filename(server->folder, "output", NULL);
    pid_t parent = getpid();
    server->pid = fork();
    if (server->pid < 0)
        fail_msg("fork: %s", g_strerror(errno));
    if (server->pid > 0) {
        setpgid(server->pid, server->pid); /* whoever of the two is first */
        return;
    }
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, 1);
    dup2(fd, 2);
    execlp("redis-server", "redis-server", server->config, server->sentinel ? "--sentinel" : NULL, NULL);
    _exit(127);
}

/* 1: answers, 0: not yet, -1: it ended. */
static int try_ping(struct servers_redis *server, bool loading_will_do)
{
    int status;
    if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
        server->pid = 0;
        return -1;
    }
    redisContext *context = redisConnectWithTimeout("127.0.0.1", server->port, (struct timeval) { 1, 0 });
    int answer = 0;
    if (context && !context->err) {
        redisSetTimeout(context, (struct timeval) { 1, 0 });
        redisReply *reply = redisCommand(context, "PING");
        answer = reply && (loading_will_do || reply->type != REDIS_REPLY_ERROR ||
                           !g_str_has_prefix(reply->str, "LOADING"));
        if (reply)
            freeReplyObject(reply);
    }
    if (context)
        redisFree(context);
    return answer;
}

static bool await_answer(struct servers_redis *server, bool loading_will_do)
{
    for (int64_t end = g_get_monotonic_time() + PATIENCE; g_get_monotonic_time() < end; poll(NULL, 0, 5)) {
        int answer = try_ping(server, loading_will_do);
        if (answer != 0)
            return answer > 0;
    }
    return false;
}

static void write_config(struct servers_redis *server, const char *lines)
{
    g_autofree char *text = g_strdup_printf("port %u\nbind 127.0.0.1\ndir %s\nunixsocket %s\ndaemonize no\n"
                                            "protected-mode no\nsave \"\"\nappendonly no\n%s\n",
                                            server->port, server->folder, server->socket, lines ? lines : "");
    g_free(server->config);
    server->config = g_build_filename(server->folder, "redis.conf", NULL);
    if (!g_file_set_contents(server->config, text, -1, NULL))
        fail_msg("cannot write %s", server->config);
}

static char *fill_in(const char *lines, const char *name, uint16_t port)
{
    g_autofree char *number = g_strdup_printf("%u", port);
    g_auto(GStrv) parts = g_strsplit(lines, name, -1);
    return g_strjoinv(number, parts);
}

static bool launch(struct servers_redis *server, const char *lines, bool loading_will_do)
{
    lines = lines ? lines : "";
    server->port = servers_free_port();
    server->tls_port = strstr(lines, "%TLS%") ? servers_free_port() : 0;
    g_autofree char *half = fill_in(lines, "%BUS%", servers_free_port());
    g_autofree char *filled = fill_in(half, "%TLS%", server->tls_port);
    write_config(server, filled);
    spawn(server);
    return await_answer(server, loading_will_do);
}

static void name_server(struct servers_redis *server)
{
    server->url = g_strdup_printf("redis://127.0.0.1:%u", server->port);
    server->unix_url = g_strdup_printf("redis+unix:%s", server->socket);
    if (server->tls_port)
        server->tls_url = g_strdup_printf("rediss://localhost:%u", server->tls_port);
    if (!alive) {
        alive = g_ptr_array_new_with_free_func((GDestroyNotify)free_server);
        atexit(stop_all);
    }
    g_ptr_array_add(alive, server);
}

static struct servers_redis *start(const char *lines, const char *rdb_folder, bool sentinel)
{
    struct servers_redis *server = g_new0(struct servers_redis, 1);
    server->folder = g_dir_make_tmp("refrain-redis-XXXXXX", NULL);
    server->socket = g_build_filename(server->folder, "redis.sock", NULL);
    server->sentinel = sentinel;
    if (rdb_folder) {
        g_autofree char *from = g_build_filename(rdb_folder, "dump.rdb", NULL);
        g_autofree char *to = g_build_filename(server->folder, "dump.rdb", NULL);
        if (g_rename(from, to) != 0)
            fail_msg("no %s", from);
    }
    /* Somebody else may take the port before the server does: then with another one. */
    bool running = false;
    for (int i = 0; i < 5 && !running; i++) {
        end_process(server);
        running = launch(server, lines, rdb_folder != NULL);
    }
    if (!running) {
        g_autofree char *log = g_build_filename(server->folder, "output", NULL), *text = NULL;
        g_file_get_contents(log, &text, NULL, NULL);
        fail_msg("redis-server does not start (is it installed?): %s", text ? text : "no output");
    }
    name_server(server);
    return server;
}

struct servers_redis *servers_start(const char *lines)
{
    return start(lines, NULL, false);
}

struct servers_redis *servers_start_sentinel(const char *lines)
{
    return start(lines, NULL, true);
}

struct servers_redis *servers_start_loading(const char *lines, const char *rdb_folder)
{
    return start(lines, rdb_folder, false);
}

void servers_kill(struct servers_redis *server)
{
    end_process(server);
}

void servers_restart(struct servers_redis *server)
{
    end_process(server);
    spawn(server);
    if (!await_answer(server, false))
        fail_msg("redis-server does not start again on port %u", server->port);
}

void servers_freeze(struct servers_redis *server)
{
    kill(server->pid, SIGSTOP);
    int status;
    waitpid(server->pid, &status, WUNTRACED);
}

void servers_thaw(struct servers_redis *server)
{
    kill(server->pid, SIGCONT);
}

void servers_stop(struct servers_redis **server)
{
    if (*server)
        g_ptr_array_remove(alive, *server);
    *server = NULL;
}

/* --- questions ----------------------------------------------------------------------------------- */

static redisReply *ask_once(struct servers_redis *server, const char *format, va_list arguments, bool last)
{
    redisContext *context = redisConnectWithTimeout("127.0.0.1", server->port, (struct timeval) { 5, 0 });
    if (!context || context->err)
        fail_msg("cannot connect to port %u", server->port);
    redisSetTimeout(context, (struct timeval) { 10, 0 });
    if (server->password)
        freeReplyObject(redisCommand(context, "AUTH %s", server->password));
    redisReply *reply = redisvCommand(context, format, arguments);
    if (!reply && last)
        fail_msg("%s: %s", format, context->errstr);
    redisFree(context);
    return reply;
}

/* A primary that steps down closes all connections, and a question may be on one of them. */
static redisReply *ask(struct servers_redis *server, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    redisReply *reply = ask_once(server, format, arguments, false);
    if (!reply)
        reply = ask_once(server, format, again, true);
    va_end(again);
    return reply;
}

redisReply *servers_ask(struct servers_redis *server, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = ask(server, format, arguments);
    va_end(arguments);
    return reply;
}

void servers_do(struct servers_redis *server, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = ask(server, format, arguments);
    va_end(arguments);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", format, reply->str);
    freeReplyObject(reply);
}

unsigned servers_calls(struct servers_redis *server, const char *command)
{
    redisReply *info = servers_ask(server, "INFO commandstats");
    g_autofree char *name = g_strdup_printf("cmdstat_%s:calls=", command);
    const char *at = strstr(info->str, name);
    unsigned calls = at ? (unsigned)g_ascii_strtoull(at + strlen(name), NULL, 10) : 0;
    freeReplyObject(info);
    return calls;
}

static char *info_text(struct servers_redis *server, const char *field)
{
    redisReply *reply = servers_ask(server, "INFO everything");
    g_autofree char *start = g_strdup_printf("\n%s:", field);
    const char *found = strstr(reply->str, start);
    char *value = found ? g_strndup(found + strlen(start), strcspn(found + strlen(start), "\r\n")) : NULL;
    freeReplyObject(reply);
    return value;
}

long long servers_info(struct servers_redis *server, const char *field)
{
    g_autofree char *value = info_text(server, field);
    if (!value)
        fail_msg("INFO has no %s", field);
    return strtoll(value, NULL, 10);
}

bool servers_is_blocked_on(void *server)
{
    return servers_info(server, "blocked_clients") > 0;
}

/* --- Sentinel ------------------------------------------------------------------------------------ */

static bool replicas_are_linked(void *user)
{
    struct servers_family *family = user;
    for (int i = 0; i < SERVERS_REPLICAS; i++) {
        g_autofree char *state = info_text(family->replicas[i], "master_link_status");
        if (g_strcmp0(state, "up") != 0)
            return false;
    }
    return true;
}

static bool sentinels_know_all(void *user)
{
    struct servers_family *family = user;
    for (int i = 0; i < SERVERS_SENTINELS; i++) {
        g_autofree char *state = info_text(family->sentinels[i], "master0");
        g_autofree char *expected =
            g_strdup_printf("slaves=%d,sentinels=%d", SERVERS_REPLICAS, SERVERS_SENTINELS);
        if (!state || !strstr(state, expected) || !strstr(state, "status=ok"))
            return false;
    }
    return true;
}

struct servers_family *servers_start_family(const char *lines)
{
    struct servers_family *family = g_new0(struct servers_family, 1);
    /* A failover is quick when replicas are told at once that their primary is silent. */
    g_autofree char *common =
        g_strdup_printf("repl-diskless-sync-delay 0\nrepl-ping-replica-period 1\n%s", lines ? lines : "");
    family->primary = servers_start(common);
    g_autofree char *replica = g_strdup_printf("%s\nreplicaof 127.0.0.1 %u\n", common, family->primary->port);
    for (int i = 0; i < SERVERS_REPLICAS; i++)
        family->replicas[i] = servers_start(replica);
    servers_await(replicas_are_linked, family, "replicas follow the primary");
    g_autofree char *sentinel = g_strdup_printf("sentinel monitor refrain 127.0.0.1 %u 2\n"
                                                "sentinel down-after-milliseconds refrain 500\n"
                                                "sentinel failover-timeout refrain 2000\n",
                                                family->primary->port);
    GString *url = g_string_new("redis-sentinel://");
    for (int i = 0; i < SERVERS_SENTINELS; i++) {
        family->sentinels[i] = start(sentinel, NULL, true);
        g_string_append_printf(url, "%s127.0.0.1:%u", i ? "," : "", family->sentinels[i]->port);
    }
    g_string_append(url, "/refrain");
    family->url = g_string_free(url, FALSE);
    servers_await(sentinels_know_all, family, "sentinels know each other and the replicas");
    return family;
}

void servers_stop_family(struct servers_family **family)
{
    struct servers_family *f = *family;
    if (!f)
        return;
    for (int i = 0; i < SERVERS_SENTINELS; i++)
        servers_stop(&f->sentinels[i]);
    for (int i = 0; i < SERVERS_REPLICAS; i++)
        servers_stop(&f->replicas[i]);
    servers_stop(&f->primary);
    g_free(f->url);
    g_free(f);
    *family = NULL;
}

/* --- Cluster ------------------------------------------------------------------------------------- */

static bool cluster_is_ready(void *user)
{
    struct servers_cluster *cluster = user;
    for (int i = 0; i < SERVERS_NODES; i++) {
        redisReply *reply = servers_ask(cluster->nodes[i], "CLUSTER INFO");
        bool ready = strstr(reply->str, "cluster_state:ok") && strstr(reply->str, "cluster_slots_ok:16384") &&
                     strstr(reply->str, "cluster_known_nodes:3");
        freeReplyObject(reply);
        if (!ready)
            return false;
    }
    return true;
}

static struct servers_redis *start_node(const char *lines)
{
    g_autofree char *config = g_strdup_printf("cluster-enabled yes\ncluster-config-file nodes.conf\n"
                                              "cluster-node-timeout 2000\ncluster-port %%BUS%%\n"
                                              "repl-diskless-sync-delay 0\n%s",
                                              lines ? lines : "");
    return servers_start(config);
}

static void meet(struct servers_redis *node, struct servers_redis *other)
{
    redisReply *bus = servers_ask(other, "CONFIG GET cluster-port");
    servers_do(node, "CLUSTER MEET 127.0.0.1 %d %s", (int)other->port, bus->element[1]->str);
    freeReplyObject(bus);
}

struct servers_cluster *servers_start_cluster(const char *lines)
{
    struct servers_cluster *cluster = g_new0(struct servers_cluster, 1);
    GString *url = g_string_new("redis-cluster://");
    for (int i = 0; i < SERVERS_NODES; i++) {
        struct servers_redis *node = cluster->nodes[i] = start_node(lines);
        int first = 16384 * i / SERVERS_NODES, last = 16384 * (i + 1) / SERVERS_NODES - 1;
        servers_do(node, "CLUSTER ADDSLOTSRANGE %d %d", first, last);
        servers_do(node, "CLUSTER SET-CONFIG-EPOCH %d", i + 1);
        g_string_append_printf(url, "%s127.0.0.1:%u", i ? "," : "", node->port);
    }
    cluster->url = g_string_free(url, FALSE);
    for (int i = 1; i < SERVERS_NODES; i++)
        meet(cluster->nodes[0], cluster->nodes[i]);
    servers_await(cluster_is_ready, cluster, "the cluster is complete");
    return cluster;
}

struct following {
    struct servers_cluster *cluster;
    struct servers_redis *replica;
    char *primary_id, *replica_id;
};

/* It may follow once it has heard of its primary. */
static bool follows(void *user)
{
    struct following *following = user;
    redisReply *reply = servers_ask(following->replica, "CLUSTER REPLICATE %s", following->primary_id);
    bool done = reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return done;
}

static bool is_in_step(void *user)
{
    struct following *following = user;
    g_autofree char *status = info_text(following->replica, "master_link_status");
    bool known = g_strcmp0(status, "up") == 0;
    for (int i = 0; i < SERVERS_NODES && known; i++) {
        redisReply *reply =
            servers_ask(following->cluster->nodes[i], "CLUSTER REPLICAS %s", following->primary_id);
        known = reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 &&
                strstr(reply->element[0]->str, following->replica_id) &&
                strstr(reply->element[0]->str, " connected");
        freeReplyObject(reply);
    }
    return known;
}

struct servers_redis *servers_add_replica(struct servers_cluster *cluster, struct servers_redis *of)
{
    struct following following = { cluster, start_node(NULL), servers_node_id(of), NULL };
    following.replica_id = servers_node_id(following.replica);
    meet(cluster->nodes[0], following.replica);
    servers_await(follows, &following, "the replica hears of its primary");
    servers_await(is_in_step, &following, "all nodes know the replica, and it is in step");
    g_free(following.primary_id);
    g_free(following.replica_id);
    return following.replica;
}

void servers_stop_cluster(struct servers_cluster **cluster)
{
    if (!*cluster)
        return;
    for (int i = 0; i < SERVERS_NODES; i++)
        servers_stop(&(*cluster)->nodes[i]);
    g_free((*cluster)->url);
    g_free(*cluster);
    *cluster = NULL;
}

char *servers_node_id(struct servers_redis *node)
{
    redisReply *reply = servers_ask(node, "CLUSTER MYID");
    char *id = g_strdup(reply->str);
    freeReplyObject(reply);
    return id;
}

struct servers_redis *servers_owner(struct servers_cluster *cluster, unsigned slot)
{
    redisReply *reply = servers_ask(cluster->nodes[0], "CLUSTER SLOTS");
    struct servers_redis *owner = NULL;
    for (size_t i = 0; i < reply->elements; i++) {
        redisReply *range = reply->element[i];
        if (range->element[0]->integer <= slot && slot <= range->element[1]->integer)
            for (int n = 0; n < SERVERS_NODES; n++)
                if (cluster->nodes[n]->port == range->element[2]->element[1]->integer)
                    owner = cluster->nodes[n];
    }
    freeReplyObject(reply);
    return owner;
}

struct handover {
    struct servers_cluster *cluster;
    unsigned slot;
    struct servers_redis *to;
};

static bool all_nodes_know(void *user)
{
    struct handover *handover = user;
    bool known = true;
    for (int i = 0; i < SERVERS_NODES && known; i++) {
        redisReply *reply = servers_ask(handover->cluster->nodes[i], "CLUSTER SLOTS");
        known = false;
        for (size_t j = 0; j < reply->elements; j++) {
            redisReply *range = reply->element[j];
            if (range->element[0]->integer <= handover->slot && handover->slot <= range->element[1]->integer)
                known = range->element[2]->element[1]->integer == handover->to->port;
        }
        freeReplyObject(reply);
    }
    return known;
}

static void hand_over_keys(struct servers_redis *from, struct servers_redis *to, unsigned slot)
{
    for (bool more = true; more;) {
        redisReply *keys = servers_ask(from, "CLUSTER GETKEYSINSLOT %u 10", slot);
        more = keys->elements > 0;
        for (size_t i = 0; i < keys->elements; i++)
            servers_do(from, "MIGRATE 127.0.0.1 %d %b 0 5000", (int)to->port, keys->element[i]->str,
                       keys->element[i]->len);
        freeReplyObject(keys);
    }
}

void servers_move_slot(struct servers_cluster *cluster, unsigned slot)
{
    struct servers_redis *from = servers_owner(cluster, slot);
    struct servers_redis *to = cluster->nodes[0] == from ? cluster->nodes[1] : cluster->nodes[0];
    g_autofree char *from_id = servers_node_id(from), *to_id = servers_node_id(to);
    servers_do(to, "CLUSTER SETSLOT %u IMPORTING %s", slot, from_id);
    servers_do(from, "CLUSTER SETSLOT %u MIGRATING %s", slot, to_id);
    hand_over_keys(from, to, slot);
    servers_do(to, "CLUSTER SETSLOT %u NODE %s", slot, to_id);
    servers_do(from, "CLUSTER SETSLOT %u NODE %s", slot, to_id);
    for (int i = 0; i < SERVERS_NODES; i++)
        servers_do(cluster->nodes[i], "CLUSTER SETSLOT %u NODE %s", slot, to_id);
    struct handover handover = { cluster, slot, to };
    servers_await(all_nodes_know, &handover, "all nodes know the new owner");
}
