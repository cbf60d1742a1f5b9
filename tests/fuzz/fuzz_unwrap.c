/* Any bytes -> the messages inside a report; what comes out is read as a message too. */
#include <stdint.h>
#include <stdlib.h>

#include "message/unwrap.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static struct arena *arena;
    if (!arena) {
        message_init();
        arena = arena_new();
    }
    struct message_unwrapped inside = message_unwrap(arena, bytes, n, &message_default_limits);
    bool usable = inside.wrapping != MESSAGE_PLAIN && inside.wrapping != MESSAGE_DOUBTFUL;
    if (inside.n > MESSAGE_UNWRAP_MAX || (inside.n > 0 && !usable))
        abort();
    for (unsigned i = 0; i < inside.n; i++)
        message_read(arena, inside.v[i].bytes, inside.v[i].n, 1, &message_default_limits);
    arena_reset(arena);
    return 0;
}
