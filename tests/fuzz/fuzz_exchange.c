/* A line of another site's export -> a campaign; what was read can be written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#define LEXICON UINT64_C(0x9c75bbcf423a6054) /* of the seeds */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct arena *arena = arena_new();
    struct store_campaign campaign, again;
    struct signature_set *variants = NULL, *same = NULL;
    unsigned n_variants = 0, n_same = 0;
    if (exchange_read(arena, (const char *)bytes, n, LEXICON, &campaign, &variants, &n_variants, NULL)) {
        struct json *json = exchange_write(&campaign, LEXICON, variants, n_variants);
        if (!exchange_read(arena, json_text(json), strlen(json_text(json)), LEXICON, &again, &same, &n_same,
                           NULL) ||
            n_same != n_variants || again.id != campaign.id || again.state != campaign.state)
            abort();
        json_free(&json);
    }
    arena_free(&arena);
    return 0;
}
