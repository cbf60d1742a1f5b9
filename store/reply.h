/*
 * Replies in one piece: a look-up gets hundreds of small strings, and hiredis would make two allocations for
 * each. Here all replies of an exchange, with all that is in them, share a few blocks, which go with the last
 * of them; they look the same as hiredis' own, and belong to one thread.
 */
#ifndef STORE_REPLY_H
#define STORE_REPLY_H

#include "store/resp.h"

/* Makes the replies of a connection so; those that come from it must be freed with reply_free(). */
void reply_use(redisContext *context);

/* Around all reading of one exchange. */
void reply_begin(redisContext *context);
void reply_end(redisContext *context);

/* A whole reply, never a part of one. */
void reply_free(redisReply *reply);

#endif
