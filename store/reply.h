/*
 * Replies in one piece: a look-up gets hundreds of small strings, and hiredis would make two allocations for
 * each. Here a reply and all that is in it share a few blocks; it looks the same as hiredis' own.
 */
#ifndef STORE_REPLY_H
#define STORE_REPLY_H

#include "store/resp.h"

/* Makes the replies of a connection so; those that come from it must be freed with reply_free(). */
void reply_use(redisContext *context);

/* A whole reply, never a part of one. */
void reply_free(redisReply *reply);

#endif
