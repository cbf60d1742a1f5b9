#include "store/redis_keys.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"

/* So many records share a hash when there is one campaign a bucket, as with 20 lexicons and 20 members. */
#define RECORDS_BITS 6

void redis_names_init(struct redis_names *names, uint64_t lexicon, unsigned bucket_bits)
{
    names->n_prefix =
        (size_t)g_snprintf(names->prefix, sizeof names->prefix, "rf:%016" G_GINT64_MODIFIER "x:", lexicon);
    names->part_bits = bucket_bits > RECORDS_BITS ? bucket_bits - RECORDS_BITS : 0;
}

static char *put_hex(char *at, uint32_t value)
{
    char digits[8];
    unsigned n = 0;
    do
        digits[n++] = "0123456789abcdef"[value & 15];
    while (value >>= 4);
    while (n > 0)
        *at++ = digits[--n];
    *at = '\0';
    return at;
}

/* The kind must not be a hex digit: a set has none, and the rest could be its number. */
static const char *make_key(const struct redis_names *names, struct arena *arena, char kind, uint32_t value)
{
    char *key = arena_alloc(arena, names->n_prefix + 10), *at = key + names->n_prefix;
    memcpy(key, names->prefix, names->n_prefix);
    if (kind)
        *at++ = kind;
    put_hex(at, value);
    return key;
}

const char *redis_set_key(const struct redis_names *names, struct arena *arena, uint32_t bucket)
{
    return make_key(names, arena, bucket & BACKEND_TABLES ? 't' : 0, bucket & ~BACKEND_TABLES);
}

const char *redis_part_key(const struct redis_names *names, struct arena *arena, uint32_t part)
{
    return make_key(names, arena, 'r', part);
}

const char *redis_day_key(const struct redis_names *names, struct arena *arena, uint32_t day)
{
    return make_key(names, arena, 'n', day);
}

static uint32_t low_mask(const struct redis_names *names)
{
    return names->part_bits ? UINT32_MAX >> names->part_bits : UINT32_MAX;
}

const char *redis_record_key(const struct redis_names *names, struct arena *arena, uint32_t number)
{
    return redis_part_key(names, arena, names->part_bits ? number >> (32 - names->part_bits) : 0);
}

const char *redis_record_field(const struct redis_names *names, struct arena *arena, uint32_t number)
{
    char *field = arena_alloc(arena, 10);
    put_hex(field, number & low_mask(names));
    return field;
}

bool redis_record_number(const struct redis_names *names, uint32_t part, const char *field,
                         uint32_t *number_out)
{
    char *end;
    guint64 low = g_ascii_strtoull(field, &end, 16);
    *number_out = (uint32_t)low | (names->part_bits ? part << (32 - names->part_bits) : 0);
    return *field && *end == '\0' && low <= low_mask(names);
}

void redis_batch_init(struct redis_batch *batch, struct arena *arena)
{
    *batch = (struct redis_batch) { .arena = arena };
}

/* Twice the room, in the arena; what was there before stays behind. */
static void *grow(struct arena *arena, const void *old, unsigned n, unsigned room, size_t size)
{
    void *larger = arena_alloc(arena, room * size);
    if (n > 0)
        memcpy(larger, old, n * size);
    return larger;
}

void redis_bytes(struct redis_batch *batch, const void *bytes, size_t n)
{
    if (batch->n_words == batch->words_room) {
        batch->words_room = MAX(8, batch->words_room * 2);
        batch->words =
            grow(batch->arena, batch->words, batch->n_words, batch->words_room, sizeof *batch->words);
        batch->lengths =
            grow(batch->arena, batch->lengths, batch->n_words, batch->words_room, sizeof *batch->lengths);
    }
    batch->words[batch->n_words] = bytes;
    batch->lengths[batch->n_words++] = n;
}

void redis_word(struct redis_batch *batch, const char *text)
{
    redis_bytes(batch, text, strlen(text));
}

void redis_number(struct redis_batch *batch, uint64_t number)
{
    char digits[20], *at = digits + sizeof digits;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    size_t n = (size_t)(digits + sizeof digits - at);
    redis_bytes(batch, memcpy(arena_alloc(batch->arena, n), at, n), n);
}

void redis_end(struct redis_batch *batch, const char *key)
{
    unsigned n = batch->n_words;
    if (batch->n == batch->room) {
        batch->room = MAX(32, batch->room * 2);
        batch->commands = grow(batch->arena, batch->commands, batch->n, batch->room, sizeof *batch->commands);
    }
    batch->commands[batch->n++] = (struct link_command) {
        .argc = (int)n,
        .argv = grow(batch->arena, batch->words, n, n, sizeof *batch->words),
        .argvlen = grow(batch->arena, batch->lengths, n, n, sizeof *batch->lengths),
        .key = key,
        .key_length = key ? strlen(key) : 0,
    };
    batch->n_words = 0;
}

void redis_script_init(struct redis_script *script, const char *text)
{
    g_autofree char *name = g_compute_checksum_for_string(G_CHECKSUM_SHA1, text, -1);
    script->text = text;
    g_strlcpy(script->name, name, sizeof script->name);
}

void redis_script_begin(struct redis_batch *batch, const struct redis_script *script, bool with_text)
{
    redis_word(batch, with_text ? "EVAL" : "EVALSHA");
    redis_word(batch, with_text ? script->text : script->name);
}

void redis_command(struct redis_batch *batch, ...)
{
    va_list words;
    const char *key = NULL;
    va_start(words, batch);
    for (const char *word; (word = va_arg(words, const char *));) {
        if (batch->n_words == 1)
            key = word;
        redis_word(batch, word);
    }
    va_end(words);
    redis_end(batch, key);
}
