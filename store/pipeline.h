/*
 * The rounds of one request: find the servers, send to all, read from all, and again for what was sent
 * elsewhere, until everything is answered or the deadline has passed.
 */
#ifndef STORE_PIPELINE_H
#define STORE_PIPELINE_H

#include "store/breaker.h"
#include "store/deadline.h"
#include "store/link.h"
#include "store/route.h"

struct pipeline_tally {
    uint64_t round_trips, redirects;
};

/*
 * Fills what it can of replies[], which the caller frees when it fails. `result` says what it means for the
 * server's health. The error is not NULL.
 */
bool pipeline_run(struct route *route, const struct link_request *request, struct deadline deadline,
                  redisReply **replies, struct pipeline_tally *tally, enum breaker_result *result_out,
                  GError **error);

#endif
