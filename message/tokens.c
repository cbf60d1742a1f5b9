#include "message/tokens.h"

#include <glib.h>
#include <string.h>

#include "base/hash.h"
#include "message/fold.h"
#include "message/message.h"
#include "message/words.h"

#define FIRST_ROOM   256u
#define LONGEST_HOST 253u
#define HOST_PREFIX  "http:"

/*
 *   v      [ term | term | term | ... ]     in the order of first sight
 *   seen   [ hash | 0 | hash | 0 | ... ]    a set of hashes, linear probing, at most half full
 *
 * The hash is keyed with a secret and 64 bits wide, so it alone says whether a term is new: the bytes are
 * looked at once.
 */
struct tokens {
    struct arena *arena;
    uint64_t key;
    struct term *v;
    uint64_t *seen;
    uint32_t n, max, room; /* 2 × room slots in seen */
    bool full;
};

struct tokens *tokens_new(struct arena *arena, uint64_t key, unsigned max_terms)
{
    struct tokens *tokens = ARENA_NEW(arena, struct tokens);
    *tokens = (struct tokens) { .arena = arena,
                                .key = key,
                                .max = max_terms,
                                .room = FIRST_ROOM,
                                .v = arena_alloc(arena, FIRST_ROOM * sizeof *tokens->v),
                                .seen = ARENA_ARRAY(arena, uint64_t, 2 * FIRST_ROOM) };
    return tokens;
}

/* The slot of a hash: where it is, or the empty one where it belongs. */
static uint64_t *slot_of(const struct tokens *tokens, uint64_t hash)
{
    uint32_t mask = 2 * tokens->room - 1;
    uint32_t i = (uint32_t)hash & mask;
    while (tokens->seen[i] && tokens->seen[i] != hash)
        i = (i + 1) & mask;
    return &tokens->seen[i];
}

static void grow(struct tokens *tokens)
{
    const struct term *old = tokens->v;
    tokens->room *= 2;
    tokens->v = arena_alloc(tokens->arena, tokens->room * sizeof *tokens->v);
    memcpy(tokens->v, old, tokens->n * sizeof *old);
    tokens->seen = ARENA_ARRAY(tokens->arena, uint64_t, 2 * (size_t)tokens->room);
    for (uint32_t i = 0; i < tokens->n; i++)
        *slot_of(tokens, tokens->v[i].hash | !tokens->v[i].hash) = tokens->v[i].hash | !tokens->v[i].hash;
}

/* Takes the term in if its hash is new; its text is copied only then, and only when `copy`. */
static void take(struct tokens *tokens, struct term term, bool copy)
{
    uint64_t mark = term.hash | !term.hash; /* 0 is the empty slot */
    uint64_t *slot = slot_of(tokens, mark);
    if (*slot)
        return;
    if (tokens->n >= tokens->max) {
        tokens->full = true;
        return;
    }
    *slot = mark;
    if (copy)
        term.text = arena_strndup(tokens->arena, term.text, term.length);
    tokens->v[tokens->n++] = term;
    if (tokens->n == tokens->room)
        grow(tokens);
}

void tokens_add(struct tokens *tokens, enum term_kind kind, const char *text, size_t n)
{
    take(tokens,
         (struct term) { .hash = hash_bytes(text, n, tokens->key ^ (uint64_t)kind),
                         .text = text,
                         .length = (uint32_t)n,
                         .kind = kind },
         true);
}

void tokens_add_text(struct tokens *tokens, const char *text, size_t n)
{
    if (!tokens->full)
        words_scan(tokens, text, n);
}

void tokens_add_all(struct tokens *tokens, const struct tokens *other)
{
    for (uint32_t i = 0; i < other->n; i++) {
        struct term term = other->v[i];
        if (tokens->key != other->key)
            term.hash = hash_bytes(term.text, term.length, tokens->key ^ (uint64_t)term.kind);
        take(tokens, term, tokens->arena != other->arena);
    }
    tokens->full |= other->full;
}

/* Decodes %41 and lowers ASCII capitals, as browsers do; other bytes stay. Returns the length, 0: too long.
 */
static size_t plain_host(const char *host, size_t n, char out[LONGEST_HOST])
{
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        char c = host[i];
        if (c == '%' && i + 2 < n && g_ascii_isxdigit(host[i + 1]) && g_ascii_isxdigit(host[i + 2])) {
            c = (char)(g_ascii_xdigit_value(host[i + 1]) << 4 | g_ascii_xdigit_value(host[i + 2]));
            i += 2;
        }
        if (length == LONGEST_HOST)
            return 0;
        out[length++] = g_ascii_tolower(c);
    }
    return length;
}

/* What is between "user:password@" and ":port". */
static const char *without_user_and_port(const char *host, size_t *n)
{
    const char *at = g_strrstr_len(host, (gssize)*n, "@");
    if (at) {
        *n -= (size_t)(at + 1 - host);
        host = at + 1;
    }
    const char *bracket = *n && *host == '[' ? memchr(host, ']', *n) : NULL;
    if (bracket) {
        *n = (size_t)(bracket + 1 - host);
        return host;
    }
    const char *colon = memchr(host, ':', *n);
    if (colon)
        *n = (size_t)(colon - host);
    return host;
}

static bool is_address6(const char *host, size_t n)
{
    if (n < 4 || host[0] != '[' || host[n - 1] != ']')
        return false;
    for (size_t i = 1; i < n - 1; i++)
        if (!g_ascii_isxdigit(host[i]) && host[i] != ':' && host[i] != '.')
            return false;
    return true;
}

/* Labels of letters, digits, - and _ (and whatever is not ASCII), none of them empty. */
static bool is_name(const char *host, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (host[i] == '.') {
            if (i == 0 || host[i - 1] == '.')
                return false;
        } else if (!g_ascii_isalnum(host[i]) && host[i] != '-' && host[i] != '_' && !(host[i] & 0x80)) {
            return false;
        }
    }
    return n > 0 && g_utf8_validate(host, (gssize)n, NULL);
}

void tokens_add_host(struct tokens *tokens, const char *host, size_t n)
{
    char buffer[sizeof HOST_PREFIX + LONGEST_HOST] = HOST_PREFIX, *name = buffer + strlen(HOST_PREFIX);
    host = without_user_and_port(host, &n);
    n = plain_host(host, n, name);
    if (n && name[n - 1] == '.')
        n--;
    if (n > 4 && !memcmp(name, "www.", 4) && memchr(name + 4, '.', n - 4)) {
        n -= 4;
        memmove(name, name + 4, n);
    }
    if (is_name(name, n) || is_address6(name, n))
        tokens_add(tokens, TERM_HOST, buffer, strlen(HOST_PREFIX) + n);
}

struct terms tokens_terms(const struct tokens *tokens)
{
    return (struct terms) { .v = tokens->v, .n = tokens->n };
}

bool tokens_full(const struct tokens *tokens)
{
    return tokens->full;
}

void tokens_init(void)
{
    fold_init();
    words_init();
}
