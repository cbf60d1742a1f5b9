/*
 * An arena: memory for one job (one message, one command), freed at once.
 *
 * Nothing in it is freed by hand. Objects of other libraries hang on its clean-up list and are released,
 * last one first, when the arena is reset or freed. An arena belongs to one thread at a time. Running out
 * of memory aborts, as everywhere with GLib.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_new(void);

/* Runs the clean-ups and forgets everything, but keeps the first block for the next job. */
void arena_reset(struct arena *arena);

/* Frees all, sets the pointer to NULL. NULL is fine. */
void arena_free(struct arena **arena);

/* Memory aligned for any type, not initialised; never NULL. */
void *arena_alloc(struct arena *arena, size_t size);

/* The same, filled with zeros; an array of n members of a size, checked for overflow. */
void *arena_calloc(struct arena *arena, size_t n, size_t size);

/* A copy of n bytes with a NUL behind. */
char *arena_strndup(struct arena *arena, const char *bytes, size_t n);

/* Calls release(object) when the arena ends. */
void arena_defer(struct arena *arena, void (*release)(void *object), void *object);

/* Bytes handed out since the last reset: what a message costs. */
size_t arena_used(const struct arena *arena);

#define ARENA_NEW(arena, type)      ((type *)arena_calloc((arena), 1, sizeof(type)))
#define ARENA_ARRAY(arena, type, n) ((type *)arena_calloc((arena), (n), sizeof(type)))

#endif
