#include "store/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/cluster.h"
#include "store/fault.h"
#include "store/reply.h"
#include "store/server.h"

#define DETOURS_MAX                                                                                          \
    16                /* rounds with redirections: two nodes that point at each other must not keep us busy */
#define RETRIES_MAX 2 /* after a lost connection */
#define PAUSE       10 /* milliseconds before a slot on its way is asked for again */

/* Where one command stands. A unit is one command, or all from MULTI to EXEC; its first one decides. */
struct step {
    size_t unit;           /* the index of the unit's first command */
    struct server *server; /* NULL: to be found */
    bool asking;           /* goes with ASKING before it */
    bool done;             /* the reply is there to stay */
};

/* The commands of one round that go to one server, and what came back. */
struct group {
    struct server *server;
    struct wire *wire;
    ptrdiff_t *origins; /* of each reply: the command's index, or one of those below */
    redisReply **replies;
    size_t n;
    GError *error;
};
enum { ORIGIN_ASKING = -1, ORIGIN_WAIT = -2 };

struct run {
    struct route *route;
    const struct link_request *request;
    struct deadline deadline;
    redisReply **replies;
    struct step *steps;
    struct group *groups;
    size_t n_groups;
    unsigned retries, detours;
    bool redirected; /* in this round */
    bool pause;      /* before the next round */
    GError *reason;  /* why there is another round: the error, when the time is over */
    struct pipeline_tally *tally;
    enum breaker_result result; /* of what the round saw last */
};

static bool is_word(const struct link_command *command, const char *word)
{
    size_t length = command->argvlen ? command->argvlen[0] : strlen(command->argv[0]);
    return length == strlen(word) && g_ascii_strncasecmp(command->argv[0], word, length) == 0;
}

static void find_units(struct run *run)
{
    size_t open = SIZE_MAX;
    for (size_t i = 0; i < run->request->n; i++) {
        const struct link_command *command = &run->request->commands[i];
        if (open == SIZE_MAX && is_word(command, "MULTI"))
            open = i;
        run->steps[i].unit = open == SIZE_MAX ? i : open;
        if (is_word(command, "EXEC"))
            open = SIZE_MAX;
    }
}

static struct server *find_server(struct run *run, const struct link_command *command, GError **error)
{
    if (command->server) {
        struct server *server = route_at(run->route, command->server);
        if (!server)
            g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                        "redis %s: it is not one of the store's servers any more: try again",
                        command->server);
        return server;
    }
    int slot = command->key && route_kind(run->route) == URL_CLUSTER
                   ? (int)cluster_slot(command->key, command->key_length)
                   : ROUTE_ANY;
    return route_find(run->route, slot, run->deadline, error);
}

static bool find_servers(struct run *run, GError **error)
{
    for (size_t i = 0; i < run->request->n; i++) {
        struct step *step = &run->steps[i], *head = &run->steps[step->unit];
        if (step->done || step->server)
            continue;
        step->server = step == head ? find_server(run, &run->request->commands[i], error) : head->server;
        if (!step->server)
            return false;
    }
    return true;
}

/* One group for each server that has something to do, in the order in which wires must be taken. */
static void make_groups(struct run *run)
{
    size_t n = run->request->n;
    g_autofree struct server **servers = g_new(struct server *, n);
    size_t n_servers = 0;
    for (size_t i = 0; i < n; i++)
        if (!run->steps[i].done && (n_servers == 0 || servers[n_servers - 1] != run->steps[i].server))
            servers[n_servers++] = run->steps[i].server;
    qsort(servers, n_servers, sizeof *servers, server_compare);
    run->n_groups = 0;
    run->groups = g_new0(struct group, n_servers);
    for (size_t i = 0; i < n_servers; i++)
        if (i == 0 || servers[i] != servers[i - 1])
            run->groups[run->n_groups++].server = servers[i];
}

static void free_groups(struct run *run)
{
    for (size_t i = 0; i < run->n_groups; i++) {
        struct group *group = &run->groups[i];
        for (size_t j = 0; j < group->n; j++)
            if (group->replies[j])
                reply_free(group->replies[j]);
        g_free(group->origins);
        g_free(group->replies);
        g_clear_error(&group->error);
    }
    g_clear_pointer(&run->groups, g_free);
    run->n_groups = 0;
}

/* All wires or none. */
static bool take_wires(struct run *run, struct server **failed_out, GError **error)
{
    for (size_t i = 0; i < run->n_groups; i++) {
        struct group *group = &run->groups[i];
        enum server_result result = server_take(group->server, run->deadline, &group->wire, error);
        if (result == SERVER_READY)
            continue;
        run->result = result == SERVER_EXHAUSTED ? BREAKER_NEUTRAL : BREAKER_BAD;
        *failed_out = result == SERVER_EXHAUSTED ? NULL : group->server;
        while (i-- > 0)
            server_give(run->groups[i].server, run->groups[i].wire);
        return false;
    }
    return true;
}

static void append(struct group *group, ptrdiff_t origin, int argc, const char **argv, const size_t *argvlen)
{
    wire_append(group->wire, argc, argv, argvlen);
    group->origins[group->n++] = origin;
}

static void append_wait(struct run *run, struct group *group)
{
    char replicas[16], milliseconds[16];
    /* It must answer before our own deadline, and looks at its clock ten times a second. 0 is for ever. */
    int left = deadline_left(run->deadline);
    g_snprintf(replicas, sizeof replicas, "%u", run->request->wait_replicas);
    g_snprintf(milliseconds, sizeof milliseconds, "%d", MAX(left > 400 ? left - 200 : left / 2, 1));
    const char *argv[] = { "WAIT", replicas, milliseconds };
    append(group, ORIGIN_WAIT, 3, argv, NULL);
}

static void fill_group(struct run *run, struct group *group)
{
    size_t n = run->request->n;
    group->origins = g_new(ptrdiff_t, 2 * n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct step *step = &run->steps[i];
        const struct link_command *command = &run->request->commands[i];
        if (step->done || step->server != group->server)
            continue;
        const char *asking[] = { "ASKING" };
        if (step->asking && step->unit == i)
            append(group, ORIGIN_ASKING, 1, asking, NULL);
        append(group, (ptrdiff_t)i, command->argc, command->argv, command->argvlen);
    }
    if (run->request->wait_replicas > 0)
        append_wait(run, group);
    group->replies = g_new0(redisReply *, group->n);
}

static void exchange(struct run *run)
{
    g_autofree struct wire_job *jobs = g_new0(struct wire_job, run->n_groups);
    for (size_t i = 0; i < run->n_groups; i++) {
        fill_group(run, &run->groups[i]);
        jobs[i] = (struct wire_job) { .wire = run->groups[i].wire,
                                      .replies = run->groups[i].replies,
                                      .n = run->groups[i].n };
    }
    wire_exchange(jobs, run->n_groups, run->deadline);
    run->tally->round_trips += run->n_groups;
    for (size_t i = 0; i < run->n_groups; i++) {
        struct group *group = &run->groups[i];
        group->error = jobs[i].error;
        (group->error ? server_drop : server_give)(group->server, g_steal_pointer(&group->wire));
    }
}

/* What a unit's replies say as a whole: the first that is not the command's own business. */
static enum fault_kind judge_unit(const struct run *run, const struct group *group, size_t first, size_t unit,
                                  const redisReply **reply_out)
{
    for (size_t j = first; j < group->n; j++) {
        if (group->origins[j] < 0 || run->steps[group->origins[j]].unit != unit)
            break;
        enum fault_kind kind = fault_kind(group->replies[j]);
        *reply_out = group->replies[j];
        if (kind != FAULT_NONE && kind != FAULT_COMMAND)
            return kind;
    }
    return FAULT_NONE;
}

static void keep_unit(struct run *run, struct group *group, size_t first, size_t unit)
{
    for (size_t j = first; j < group->n; j++) {
        ptrdiff_t origin = group->origins[j];
        if (origin < 0 || run->steps[origin].unit != unit)
            break;
        run->replies[origin] = g_steal_pointer(&group->replies[j]);
        run->steps[origin].done = true;
    }
}

static void send_unit_to(struct run *run, size_t unit, struct server *server, bool asking)
{
    for (size_t i = unit; i < run->request->n && run->steps[i].unit == unit; i++) {
        run->steps[i].server = server;
        run->steps[i].asking = asking;
    }
}

static void set_reason(struct run *run, const struct group *group, const redisReply *reply)
{
    g_clear_error(&run->reason);
    fault_reply(&run->reason, server_address(group->server), reply, false);
}

/* A server that says no is there and answers: reads may well go on. */
static enum breaker_result blame(const GError *error)
{
    return g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_REFUSED) ? BREAKER_GOOD : BREAKER_BAD;
}

static bool follow_redirect(struct run *run, struct group *group, const redisReply *reply,
                            struct server **next)
{
    *next = route_redirect(run->route, reply, group->server, run->deadline);
    run->tally->redirects++;
    run->redirected = true;
    if (*next && run->detours < DETOURS_MAX)
        return true;
    set_reason(run, group, reply);
    if (*next) {
        g_clear_error(&run->reason);
        g_set_error(
            &run->reason, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
            "redis %s: the nodes of the cluster send us round in circles: see redis-cli --cluster check",
            server_address(group->server));
    }
    return false;
}

/* A unit that was not executed and can be tried elsewhere or later. False: it cannot. */
static bool follow(struct run *run, struct group *group, size_t unit, enum fault_kind kind,
                   const redisReply *reply)
{
    const bool cluster = route_kind(run->route) == URL_CLUSTER;
    struct server *next = NULL;
    if (kind != FAULT_MOVED && kind != FAULT_ASK)
        set_reason(run, group, reply);
    switch (kind) {
    case FAULT_MOVED:
    case FAULT_ASK:
        if (!follow_redirect(run, group, reply, &next))
            return false;
        break;
    case FAULT_AGAIN:
        run->pause = true;
        if (!cluster)
            return false;
        if (g_str_has_prefix(reply->str, "CLUSTERDOWN"))
            route_suspect(run->route, group->server);
        break;
    case FAULT_READONLY:
        if (route_kind(run->route) != URL_SENTINEL || ++run->retries > RETRIES_MAX)
            return false;
        route_suspect(run->route, group->server);
        break;
    default:
        return false;
    }
    send_unit_to(run, unit, next, kind == FAULT_ASK);
    return true;
}

/* What was to go there is to be found anew. */
static void forget_server(struct run *run, const struct server *server)
{
    for (size_t i = 0; i < run->request->n; i++)
        if (!run->steps[i].done && run->steps[i].server == server)
            send_unit_to(run, run->steps[i].unit, NULL, false);
}

/* A connection broke under its commands: nobody knows which of them were executed. */
static bool survive_break(struct run *run, struct group *group, GError **error)
{
    route_suspect(run->route, group->server);
    if (!run->request->repeatable || run->retries++ >= RETRIES_MAX || deadline_left(run->deadline) == 0) {
        run->result = blame(group->error);
        g_propagate_error(error, g_steal_pointer(&group->error));
        return false;
    }
    g_clear_error(&run->reason);
    run->reason = g_steal_pointer(&group->error);
    forget_server(run, group->server);
    return true;
}

static bool check_wait(struct run *run, const struct group *group, const redisReply *reply, GError **error)
{
    if (reply->type == REDIS_REPLY_ERROR)
        return fault_reply(error, server_address(group->server), reply, false);
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer >= run->request->wait_replicas)
        return true;
    g_set_error(
        error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
        "redis %s: %lld of %u replicas confirmed the write in time: check them, or lower wait-replicas",
        server_address(group->server), reply->integer, run->request->wait_replicas);
    return false;
}

/* Puts the replies of one server where they belong. False: the request has failed. */
static bool sort_out(struct run *run, struct group *group, GError **error)
{
    if (group->error)
        return survive_break(run, group, error);
    bool all_kept = true;
    for (size_t j = 0; j < group->n; j++) {
        ptrdiff_t origin = group->origins[j];
        if (origin == ORIGIN_WAIT && all_kept && !check_wait(run, group, group->replies[j], error))
            return false;
        if (origin < 0 || run->steps[origin].unit != (size_t)origin || run->steps[origin].done)
            continue;
        const redisReply *reply = NULL;
        enum fault_kind kind = judge_unit(run, group, j, (size_t)origin, &reply);
        if (kind == FAULT_NONE) {
            keep_unit(run, group, j, (size_t)origin);
        } else if (!follow(run, group, (size_t)origin, kind, reply)) {
            run->result = blame(run->reason);
            g_propagate_error(error, g_steal_pointer(&run->reason));
            return false;
        } else {
            all_kept = false;
        }
    }
    return true;
}

/* After a failed take: in a cluster and behind sentinels, somebody else may be in charge by now. */
static bool survive_take(struct run *run, struct server *failed, GError **failure, GError **error)
{
    enum url_kind kind = route_kind(run->route);
    if (failed)
        route_suspect(run->route, failed);
    if (!failed || (kind != URL_SENTINEL && kind != URL_CLUSTER) || run->retries++ >= RETRIES_MAX ||
        deadline_left(run->deadline) == 0) {
        g_propagate_error(error, g_steal_pointer(failure));
        return false;
    }
    g_clear_error(&run->reason);
    run->reason = g_steal_pointer(failure);
    forget_server(run, failed);
    return true;
}

/* One round: to every server that is involved and back. False: the request has failed. */
static bool run_round(struct run *run, GError **error)
{
    GError *failure = NULL;
    struct server *failed = NULL;
    run->result = BREAKER_BAD;
    if (!find_servers(run, error))
        return false;
    make_groups(run);
    if (!take_wires(run, &failed, &failure))
        return survive_take(run, failed, &failure, error);
    run->result = BREAKER_GOOD;
    exchange(run);
    bool fine = true;
    for (size_t i = 0; i < run->n_groups && fine; i++)
        fine = sort_out(run, &run->groups[i], error);
    return fine;
}

static bool is_done(const struct run *run)
{
    for (size_t i = 0; i < run->request->n; i++)
        if (!run->steps[i].done)
            return false;
    return true;
}

static bool run_rounds(struct run *run, GError **error)
{
    find_units(run);
    while (!is_done(run)) {
        if (run->pause && !deadline_pause(run->deadline, PAUSE)) {
            run->result = BREAKER_BAD;
            g_propagate_error(error, g_steal_pointer(&run->reason));
            return false;
        }
        run->detours += run->redirected;
        run->pause = run->redirected = false;
        bool fine = run_round(run, error);
        free_groups(run);
        /* That the time is over tells less than what it was spent on. */
        if (!fine && run->reason && deadline_left(run->deadline) == 0) {
            g_clear_error(error);
            g_propagate_error(error, g_steal_pointer(&run->reason));
        }
        if (!fine)
            return false;
    }
    return true;
}

bool pipeline_run(struct route *route, const struct link_request *request, struct deadline deadline,
                  redisReply **replies, struct pipeline_tally *tally, enum breaker_result *result_out,
                  GError **error)
{
    struct run run = { .route = route,
                       .request = request,
                       .deadline = deadline,
                       .replies = replies,
                       .steps = g_new0(struct step, request->n),
                       .tally = tally,
                       .result = BREAKER_NEUTRAL };
    bool fine = run_rounds(&run, error);
    *result_out = run.result;
    g_clear_error(&run.reason);
    g_free(run.steps);
    return fine;
}
