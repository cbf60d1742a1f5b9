/*
 * Real Redis servers for tests: each in a folder of its own, on free loopback ports, ended with the test.
 *
 * Everything that cannot be done fails the test (cmocka's fail_msg) or, outside of one, the program.
 * Servers that a failed test left are stopped at exit, and die with the program whatever happens to it.
 */
#ifndef TESTS_STORE_SERVERS_H
#define TESTS_STORE_SERVERS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/resp.h"

struct servers_redis {
    pid_t pid; /* 0: not running */
    uint16_t port, tls_port; /* 0: no TLS */
    char *folder, *socket;
    char *url, *unix_url; /* without a password */
    char *tls_url;        /* rediss://localhost:…; NULL: no TLS */
    char *config;         /* what restarts use */
    bool sentinel;
    char *password;       /* for servers_ask() */
};

/*
 * Starts redis-server on a port and on a UNIX socket, and waits until it answers. Lines are of redis.conf;
 * %BUS% in them is one more free port, %TLS% another one, the tls_port.
 */
struct servers_redis *servers_start(const char *lines);
/* The same as a sentinel. */
struct servers_redis *servers_start_sentinel(const char *lines);

/* The same, without waiting for more than that it listens: for servers that load for long. */
struct servers_redis *servers_start_loading(const char *lines, const char *rdb_folder);

void servers_kill(struct servers_redis *server);    /* SIGKILL, and waits for its end */
void servers_restart(struct servers_redis *server); /* same port, same folder */
void servers_freeze(struct servers_redis *server);
void servers_thaw(struct servers_redis *server);
void servers_stop(struct servers_redis **server);

/* A command over a connection of its own. Free the reply; a lost connection fails the test. */
redisReply *servers_ask(struct servers_redis *server, const char *format, ...);
/* The same, thrown away; an error reply fails the test. */
void servers_do(struct servers_redis *server, const char *format, ...);
/* How often a command, in lower case, was asked for since the server started or CONFIG RESETSTAT. */
unsigned servers_calls(struct servers_redis *server, const char *command);
/* A number from INFO. */
long long servers_info(struct servers_redis *server, const char *field);

/* A condition for servers_await(): a client waits in a blocking command of the server. */
bool servers_is_blocked_on(void *server);

/* Waits until condition(user) holds; after some seconds the test fails with the description. */
void servers_await(bool (*condition)(void *user), void *user, const char *description);

/* A primary, replicas that follow it, and three sentinels that notice its end after 500 ms. */
#define SERVERS_REPLICAS  2
#define SERVERS_SENTINELS 3
struct servers_family {
    struct servers_redis *primary, *replicas[SERVERS_REPLICAS], *sentinels[SERVERS_SENTINELS];
    char *url; /* redis-sentinel://…/refrain */
};
struct servers_family *servers_start_family(const char *lines);
void servers_stop_family(struct servers_family **family);

/* Three primaries without replicas. */
#define SERVERS_NODES 3
struct servers_cluster {
    struct servers_redis *nodes[SERVERS_NODES];
    char *url;
};
struct servers_cluster *servers_start_cluster(const char *lines);
void servers_stop_cluster(struct servers_cluster **cluster);
/* The node that owns the slot, by its own word. */
struct servers_redis *servers_owner(struct servers_cluster *cluster, unsigned slot);
/* One more node, which follows one of the three and takes its place when it dies. */
struct servers_redis *servers_add_replica(struct servers_cluster *cluster, struct servers_redis *of);
/* Moves a slot with all its keys to another node, one key at a time, and waits until all nodes know. */
void servers_move_slot(struct servers_cluster *cluster, unsigned slot);
char *servers_node_id(struct servers_redis *node);

/* A port on which nobody listens. */
uint16_t servers_free_port(void);

#endif
