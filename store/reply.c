#include "store/reply.h"

#include <glib.h>
#include <stddef.h>
#include <string.h>

#define ARRAY_MAX (1 << 20) /* nothing that we ask for is so long: it is no Redis that says so */

#if HIREDIS_MAJOR < 1

/*
 *   root ──▶ block ──▶ block        what is in the reply comes from the newest block; the root itself is in
 *   reply                           the first one
 */
#define BLOCK_MIN   64
#define BLOCK_MAX   65536
#define PER_ELEMENT (sizeof(redisReply) + sizeof(redisReply *) + 24) /* with a number as a string */
#define ALIGNMENT   _Alignof(max_align_t)

struct block {
    struct block *older;
    size_t size, used;
    _Alignas(max_align_t) char bytes[];
};

struct root {
    struct block *newest;
    redisReply reply; /* the first pointer that hiredis and everybody else sees */
};

static struct block *block_new(size_t size, struct block *older)
{
    struct block *block = g_malloc(sizeof *block + size);
    *block = (struct block) { .older = older, .size = size };
    return block;
}

static void *take(struct root *root, size_t size, size_t alignment)
{
    struct block *block = root->newest;
    size_t at = (block->used + alignment - 1) / alignment * alignment;
    if (at + size > block->size) {
        size_t next = MIN(block->size * 2, BLOCK_MAX);
        block = root->newest = block_new(MAX(next, size), block);
        at = 0;
    }
    block->used = at + size;
    return block->bytes + at;
}

static struct root *root_of(redisReply *reply)
{
    return (struct root *)(void *)((char *)reply - offsetof(struct root, reply));
}

/* A reply of its own, or a part of the one under way. `extra` bytes will be wanted with it. */
static redisReply *create(const redisReadTask *task, int type, size_t extra, struct root **root_out)
{
    redisReply *reply;
    if (task->parent) {
        const redisReadTask *top = task->parent;
        while (top->parent)
            top = top->parent;
        *root_out = root_of(top->obj);
        reply = take(*root_out, sizeof *reply, ALIGNMENT);
        ((redisReply *)task->parent->obj)->element[task->idx] = reply;
    } else {
        struct block *block = block_new(sizeof(struct root) + MAX(extra, BLOCK_MIN), NULL);
        *root_out = (struct root *)(void *)block->bytes;
        block->used = sizeof(struct root);
        (*root_out)->newest = block;
        reply = &(*root_out)->reply;
    }
    memset(reply, 0, sizeof *reply);
    reply->type = type;
    return reply;
}

static void *create_string(const redisReadTask *task, char *text, size_t length)
{
    struct root *root;
    redisReply *reply = create(task, task->type, length + 1, &root);
    reply->str = take(root, length + 1, 1);
    memcpy(reply->str, text, length);
    reply->str[length] = '\0';
    reply->len = length;
    return reply;
}

static void *create_array(const redisReadTask *task, int elements)
{
    struct root *root;
    size_t n = elements > 0 ? (size_t)elements : 0;
    if (n > ARRAY_MAX)
        return NULL;
    redisReply *reply = create(task, REDIS_REPLY_ARRAY, MIN(n * PER_ELEMENT, BLOCK_MAX), &root);
    reply->elements = n;
    reply->element = take(root, n * sizeof *reply->element, ALIGNMENT);
    /* It may be freed before all of them have come. */
    memset(reply->element, 0, n * sizeof *reply->element);
    return reply;
}

static void *create_integer(const redisReadTask *task, long long value)
{
    struct root *root;
    redisReply *reply = create(task, REDIS_REPLY_INTEGER, 0, &root);
    reply->integer = value;
    return reply;
}

static void *create_nil(const redisReadTask *task)
{
    struct root *root;
    return create(task, REDIS_REPLY_NIL, 0, &root);
}

static void free_object(void *object)
{
    struct block *block = object ? root_of(object)->newest : NULL;
    while (block) {
        struct block *older = block->older;
        g_free(block);
        block = older;
    }
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

void reply_free(redisReply *reply)
{
    free_object(reply);
}

#else /* later versions have more kinds of replies, and allocate less */

void reply_use(redisContext *context)
{
    context->reader->maxelements = ARRAY_MAX;
}

void reply_free(redisReply *reply)
{
    freeReplyObject(reply);
}

#endif
