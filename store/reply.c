#include "store/reply.h"

#include <glib.h>
#include <stddef.h>
#include <string.h>

#define ARRAY_MAX (1 << 20) /* nothing that we ask for is so long: it is no Redis that says so */

#if HIREDIS_MAJOR < 1

/*
 *   reader ──┐
 *   root ────┼──▶ pool ──▶ block ──▶ block
 *   root ────┘
 *
 * What is in replies comes from the newest block. The pool goes with the last who holds it: a root, which is
 * a whole reply, or the reader while an exchange is under way.
 */
#define BLOCK_MIN 4096
#define BLOCK_MAX 65536
#define ALIGNMENT _Alignof(max_align_t)

struct block {
    struct block *older;
    size_t size, used;
    _Alignas(max_align_t) char bytes[];
};

struct pool {
    struct block *newest;
    unsigned holders;
};

struct root {
    struct pool *pool;
    redisReply reply; /* the first pointer that hiredis and everybody else sees */
};

static struct block *block_new(size_t size, struct block *older)
{
    struct block *block = g_malloc(sizeof *block + size);
    *block = (struct block) { .older = older, .size = size };
    return block;
}

static void *take(struct pool *pool, size_t size, size_t alignment)
{
    struct block *block = pool->newest;
    size_t at = (block->used + alignment - 1) / alignment * alignment;
    if (at + size > block->size) {
        size_t next = MIN(block->size * 2, BLOCK_MAX);
        block = pool->newest = block_new(MAX(next, size), block);
        at = 0;
    }
    block->used = at + size;
    return block->bytes + at;
}

/* A pool is in its own first block. */
static struct pool *pool_new(void)
{
    struct block *block = block_new(BLOCK_MIN, NULL);
    struct pool *pool = (struct pool *)(void *)block->bytes;
    *pool = (struct pool) { .newest = block, .holders = 1 };
    block->used = sizeof *pool;
    return pool;
}

static void pool_drop(struct pool *pool)
{
    if (--pool->holders > 0)
        return;
    for (struct block *block = pool->newest, *older; block; block = older) {
        older = block->older;
        g_free(block);
    }
}

static struct root *root_of(redisReply *reply)
{
    return (struct root *)(void *)((char *)reply - offsetof(struct root, reply));
}

/* A reply of its own, or a part of the one under way. */
static redisReply *create(const redisReadTask *task, int type)
{
    struct pool *pool = task->privdata;
    redisReply *reply;
    if (task->parent) {
        reply = take(pool, sizeof *reply, ALIGNMENT);
        ((redisReply *)task->parent->obj)->element[task->idx] = reply;
    } else {
        struct root *root = take(pool, sizeof *root, ALIGNMENT);
        root->pool = pool;
        pool->holders++;
        reply = &root->reply;
    }
    memset(reply, 0, sizeof *reply);
    reply->type = type;
    return reply;
}

static void *create_string(const redisReadTask *task, char *text, size_t length)
{
    redisReply *reply = create(task, task->type);
    reply->str = take(task->privdata, length + 1, 1);
    memcpy(reply->str, text, length);
    reply->str[length] = '\0';
    reply->len = length;
    return reply;
}

static void *create_array(const redisReadTask *task, int elements)
{
    size_t n = elements > 0 ? (size_t)elements : 0;
    if (n > ARRAY_MAX)
        return NULL;
    redisReply *reply = create(task, REDIS_REPLY_ARRAY);
    reply->elements = n;
    reply->element = take(task->privdata, n * sizeof *reply->element, ALIGNMENT);
    /* It may be freed before all of them have come. */
    memset(reply->element, 0, n * sizeof *reply->element);
    return reply;
}

static void *create_integer(const redisReadTask *task, long long value)
{
    redisReply *reply = create(task, REDIS_REPLY_INTEGER);
    reply->integer = value;
    return reply;
}

static void *create_nil(const redisReadTask *task)
{
    return create(task, REDIS_REPLY_NIL);
}

static void free_object(void *object)
{
    if (object)
        pool_drop(root_of(object)->pool);
}

static redisReplyObjectFunctions functions = {
    .createString = create_string,
    .createArray = create_array,
    .createInteger = create_integer,
    .createNil = create_nil,
    .freeObject = free_object,
};

void reply_use(redisContext *context)
{
    context->reader->fn = &functions;
}

void reply_begin(redisContext *context)
{
    context->reader->privdata = pool_new();
}

void reply_end(redisContext *context)
{
    pool_drop(context->reader->privdata);
    context->reader->privdata = NULL;
}

void reply_free(redisReply *reply)
{
    free_object(reply);
}

#else /* later versions have more kinds of replies, and allocate less */

void reply_use(redisContext *context)
{
    context->reader->maxelements = ARRAY_MAX;
}

void reply_begin(redisContext *context)
{
    (void)context;
}

void reply_end(redisContext *context)
{
    (void)context;
}

void reply_free(redisReply *reply)
{
    freeReplyObject(reply);
}

#endif
