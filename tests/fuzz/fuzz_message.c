/* Any bytes -> terms, with the usual limits and with very small ones. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "message/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const struct message_limits small = {
    .bytes = 1024, .header_bytes = 64, .parts = 4, .depth = 2, .text_bytes = 256, .terms = 8
};

static void read_with(struct arena *arena, const uint8_t *bytes, size_t n,
                      const struct message_limits *limits)
{
    const struct message *message = message_read(arena, bytes, n, 1, limits);
    for (unsigned view = 0; view < MESSAGE_VIEWS; view++) {
        struct terms terms = message->view[view];
        if (view < MESSAGE_SHORT && terms.n > limits->terms)
            abort();
        for (uint32_t i = 0; i < terms.n; i++)
            if (strlen(terms.v[i].text) != terms.v[i].length)
                abort();
    }
    arena_reset(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static struct arena *arena;
    if (!arena) {
        message_init();
        arena = arena_new();
    }
    read_with(arena, bytes, n, &message_default_limits);
    read_with(arena, bytes, n, &small);
    return 0;
}
