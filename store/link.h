/*
 * A link to one logical Redis: a server, a primary behind Sentinel, or a Cluster.
 *
 * The one operation is a request: a pipeline of commands that goes out in one write and comes back in one
 * round trip per server involved, within one deadline for all of it (name, connect, AUTH, SELECT, write,
 * read). In a Cluster the commands are sorted by the node that owns their key, sent to all nodes first, and
 * then read from all; MOVED, ASK, TRYAGAIN and CLUSTERDOWN are followed or waited for within the deadline.
 * Behind Sentinel the primary is asked for, and its ROLE checked, whenever it is lost or turns read-only.
 *
 *      link_run ─▶ breaker ─▶ route (who owns the key?) ─▶ server (pool) ─▶ wire (one connection)
 *                                 │
 *                                 ├─ sentinel: SENTINEL get-master-addr-by-name
 *                                 └─ cluster:  CLUSTER SLOTS
 *
 * A link may be used by any number of threads. Each server has a bounded pool of connections; who finds
 * none free waits, within the deadline. A connection that saw any error or time-out is closed and never
 * used again, so that a late reply can never answer the next question.
 *
 * hiredis writes without MSG_NOSIGNAL: link_open() sets SIGPIPE to be ignored, unless the program has a
 * handler of its own for it.
 */
#ifndef STORE_LINK_H
#define STORE_LINK_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/resp.h"
#include "store/url.h"

struct link;

struct link_options {
    unsigned connections; /* at most so many to each server */
    /* The breaker: opens after so many failures in a row, tries again after a pause that doubles. */
    unsigned breaker_failures;
    int64_t breaker_pause, breaker_pause_max; /* milliseconds */
    /* Called when the breaker opens or closes, once each, from the thread that saw it. May be NULL. */
    void (*changed)(bool open, const char *why, void *user);
    void *user;
};

/* 16 connections; 3 failures, 1 s to 10 s. */
extern const struct link_options link_default_options;

/*
 * Opens nothing yet: a server that is down is the first request's error. Takes a copy of the URL, which
 * must be one of the Redis kinds. options may be NULL.
 */
struct link *link_open(const struct url *url, const struct link_options *options);

/* No request may be under way. Sets NULL. */
void link_close(struct link **link);

const char *link_name(const struct link *link);

struct link_command {
    int argc;
    const char **argv;
    const size_t *argvlen; /* NULL: strings */
    /*
     * What routes it in a Cluster: a key (it need not be among the arguments), or the address of a server
     * as link_servers() names it (for SCAN, DBSIZE, INFO), or neither: any server.
     */
    const char *key;
    size_t key_length;
    const char *server;
};

/*
 * Commands for one server keep their order. MULTI … EXEC with one routing key stay together: when the slot
 * moves meanwhile, the whole of them is sent again to its new owner.
 */
struct link_request {
    const struct link_command *commands;
    size_t n;
    int64_t timeout;        /* milliseconds, for everything */
    bool repeatable;        /* may be sent again when a connection breaks under it: reads are */
    unsigned wait_replicas; /* then WAIT for so many, on each connection that was written to; fewer: error */
};

/*
 * Fills replies[n], all of them or none; free with link_free_replies() (not hiredis' own function). False with
 *
 *      REFRAIN_ERROR_UNAVAILABLE  no answer in time, connection refused or lost, LOADING, BUSY,
 *                                 CLUSTERDOWN, no primary, too few replicas, breaker open
 *      REFRAIN_ERROR_REFUSED      NOAUTH, WRONGPASS, NOPERM, READONLY, OOM, MISCONF, protected mode
 *
 * in which case commands may have been executed or not. Other error replies (WRONGTYPE, NOSCRIPT, ERR…)
 * are replies: see link_check().
 */
bool link_run(struct link *link, const struct link_request *request, redisReply **replies, GError **error);

void link_free_replies(redisReply **replies, size_t n);

/* True when no reply, nor any inside the array of an EXEC, is an error; else that error as a sentence. */
bool link_check(redisReply *const *replies, size_t n, GError **error);

/* The addresses of all primaries, NULL-ended; free with g_strfreev(). One, except in a Cluster. */
char **link_servers(struct link *link, int64_t timeout, GError **error);

struct link_health {
    uint64_t requests, failures, timeouts; /* requests that the breaker answered are failures too */
    uint64_t round_trips;                  /* writes of a pipeline to one server */
    uint64_t redirects;                    /* MOVED and ASK followed */
    uint64_t refreshes;                    /* times that the sentinels or the slot table were asked */
    uint64_t breaker_opened;
    bool breaker_open;
    unsigned connections; /* open now */
};
void link_health(struct link *link, struct link_health *out);

#endif
