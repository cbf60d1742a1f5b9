#include "store/link.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "store/breaker.h"
#include "store/fault.h"
#include "store/pipeline.h"
#include "store/reply.h"
#include "store/route.h"

struct link {
    struct url *url;
    struct link_options options;
    struct route *route;
    struct breaker *breaker;
    atomic_uint_fast64_t requests, failures, timeouts, round_trips, redirects;
};

const struct link_options link_default_options = {
    .connections = 16,
    .breaker_failures = 3,
    .breaker_pause = 1000,
    .breaker_pause_max = 10000,
};

static void ignore_sigpipe(void)
{
    struct sigaction action;
    if (sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL) {
        action.sa_handler = SIG_IGN;
        sigaction(SIGPIPE, &action, NULL);
    }
}

struct link *link_open(const struct url *url, const struct link_options *options)
{
    g_return_val_if_fail(url->kind != URL_LMDB, NULL);
    ignore_sigpipe();
    struct link *link = g_new0(struct link, 1);
    link->url = url_copy(url);
    link->options = options ? *options : link_default_options;
    link->route = route_new(link->url, link->options.connections);
    link->breaker = breaker_new(link->options.breaker_failures, link->options.breaker_pause,
                                link->options.breaker_pause_max);
    return link;
}

void link_close(struct link **link)
{
    if (!*link)
        return;
    route_free(&(*link)->route);
    breaker_free(&(*link)->breaker);
    url_free(&(*link)->url);
    g_free(*link);
    *link = NULL;
}

const char *link_name(const struct link *link)
{
    return link->url->name;
}

static void tell(struct link *link, enum breaker_change change, const char *why)
{
    if (change != BREAKER_SAME && link->options.changed)
        link->options.changed(change == BREAKER_OPENED, why, link->options.user);
}

bool link_run(struct link *link, const struct link_request *request, redisReply **replies, GError **error)
{
    GError *failure = NULL;
    bool trial;
    memset(replies, 0, request->n * sizeof *replies);
    atomic_fetch_add(&link->requests, 1);
    if (!breaker_enter(link->breaker, g_get_monotonic_time(), &trial, error)) {
        atomic_fetch_add(&link->failures, 1);
        return false;
    }
    struct deadline deadline = deadline_in(request->timeout);
    struct pipeline_tally tally = { 0 };
    enum breaker_result result;
    bool fine = pipeline_run(link->route, request, deadline, replies, &tally, &result, &failure);
    atomic_fetch_add(&link->round_trips, tally.round_trips);
    atomic_fetch_add(&link->redirects, tally.redirects);
    const char *why = failure ? failure->message : link->url->name;
    tell(link, breaker_leave(link->breaker, trial, result, why, g_get_monotonic_time()), why);
    if (!fine) {
        atomic_fetch_add(&link->failures, 1);
        if (deadline_left(deadline) == 0)
            atomic_fetch_add(&link->timeouts, 1);
        link_free_replies(replies, request->n);
        g_propagate_error(error, failure);
    }
    return fine;
}

void link_free_replies(redisReply **replies, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (replies[i])
            reply_free(replies[i]);
        replies[i] = NULL;
    }
}

bool link_check(redisReply *const *replies, size_t n, GError **error)
{
    for (size_t i = 0; i < n; i++) {
        if (replies[i]->type == REDIS_REPLY_ERROR)
            return fault_reply(error, NULL, replies[i], false);
        if (replies[i]->type == REDIS_REPLY_ARRAY)
            for (size_t j = 0; j < replies[i]->elements; j++)
                if (replies[i]->element[j]->type == REDIS_REPLY_ERROR)
                    return fault_reply(error, NULL, replies[i]->element[j], false);
    }
    return true;
}

char **link_servers(struct link *link, int64_t timeout, GError **error)
{
    return route_addresses(link->route, deadline_in(timeout), error);
}

void link_health(struct link *link, struct link_health *out)
{
    *out = (struct link_health) { .requests = atomic_load(&link->requests),
                                  .failures = atomic_load(&link->failures),
                                  .timeouts = atomic_load(&link->timeouts),
                                  .round_trips = atomic_load(&link->round_trips),
                                  .redirects = atomic_load(&link->redirects) };
    out->breaker_open = breaker_is_open(link->breaker, &out->breaker_opened);
    out->connections = route_connections(link->route, &out->refreshes);
}
