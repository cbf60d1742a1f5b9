#include "base/arena.h"

#include <glib.h>
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

/*
 *   struct arena ──▶ block ──▶ block ──▶ first block (kept by arena_reset)
 *                    [ header | used ......| free ]
 *
 * Blocks double up to MAX_BLOCK, so that a small mail costs one malloc and a large one a handful.
 */
#define FIRST_BLOCK 16384u
#define MAX_BLOCK   (1u << 20)
#define ALIGNMENT   alignof(max_align_t)

struct block {
    struct block *next;
    size_t size;
    size_t used;
    alignas(max_align_t) unsigned char bytes[];
};

struct cleanup {
    struct cleanup *next;
    void (*release)(void *);
    void *object;
};

struct arena {
    struct block *blocks;
    struct cleanup *cleanups;
    size_t handed_out;
};

static struct block *block_new(size_t size, struct block *next)
{
    struct block *block = g_malloc(sizeof *block + size);
    block->next = next;
    block->size = size;
    block->used = 0;
    return block;
}

struct arena *arena_new(void)
{
    struct arena *arena = g_new0(struct arena, 1);
    arena->blocks = block_new(FIRST_BLOCK, NULL);
    return arena;
}

static void run_cleanups(struct arena *arena)
{
    /* The list itself lives in the arena: read on before the object goes. */
    for (struct cleanup *c = arena->cleanups; c; c = c->next)
        c->release(c->object);
    arena->cleanups = NULL;
}

static void free_blocks_above(struct arena *arena, const struct block *keep)
{
    while (arena->blocks && arena->blocks != keep) {
        struct block *gone = arena->blocks;
        arena->blocks = gone->next;
        g_free(gone);
    }
}

void arena_reset(struct arena *arena)
{
    run_cleanups(arena);
    const struct block *first = arena->blocks;
    while (first->next)
        first = first->next;
    free_blocks_above(arena, first);
    arena->blocks->used = 0;
    arena->handed_out = 0;
}

void arena_free(struct arena **arena)
{
    if (!*arena)
        return;
    run_cleanups(*arena);
    free_blocks_above(*arena, NULL);
    g_free(*arena);
    *arena = NULL;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        g_error("arena: %zu bytes asked for at once", size);
    size = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    struct block *block = arena->blocks;
    if (block->size - block->used < size) {
        size_t room = MIN(block->size * 2, (size_t)MAX_BLOCK);
        block = arena->blocks = block_new(MAX(room, size), block);
    }
    void *memory = block->bytes + block->used;
    block->used += size;
    arena->handed_out += size;
    return memory;
}

void *arena_calloc(struct arena *arena, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / 2 / size)
        g_error("arena: %zu × %zu bytes asked for at once", n, size);
    return memset(arena_alloc(arena, n * size), 0, n * size);
}

char *arena_strndup(struct arena *arena, const char *bytes, size_t n)
{
    char *copy = arena_alloc(arena, n + 1);
    if (n)
        memcpy(copy, bytes, n);
    copy[n] = '\0';
    return copy;
}

void arena_defer(struct arena *arena, void (*release)(void *), void *object)
{
    struct cleanup *c = arena_alloc(arena, sizeof *c);
    *c = (struct cleanup) { .next = arena->cleanups, .release = release, .object = object };
    arena->cleanups = c;
}

size_t arena_used(const struct arena *arena)
{
    return arena->handed_out;
}
