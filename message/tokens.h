/*
 * The tokeniser: text -> distinct terms. There is one, and every program uses it; MESSAGE_TOKENISER is
 * its version.
 *
 * A term is a run of letters and digits of at least 4 characters with at most one digit (Kołcz 2004);
 * character n-grams in scripts without spaces. Case, width, accents, zero-width characters, look-alike
 * letters, digits that stand for letters and s p a c e d letters fold away first.
 */
#ifndef MESSAGE_TOKENS_H
#define MESSAGE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/term.h"

/* Collects the distinct terms of one view. */
struct tokens;

struct tokens *tokens_new(struct arena *arena, uint64_t key, unsigned max_terms);

/* Adds the terms of a text, in UTF-8 (bad bytes separate words). A word never spans two calls. */
void tokens_add_text(struct tokens *tokens, const char *text, size_t n);

/* Adds the host of a link, as written there: folded to lower case, without user, port and "www.". */
void tokens_add_host(struct tokens *tokens, const char *host, size_t n);

/* Adds a term as it is. */
void tokens_add(struct tokens *tokens, enum term_kind kind, const char *text, size_t n);

/* Adds the terms of another collector. */
void tokens_add_all(struct tokens *tokens, const struct tokens *other);

/* What was collected; stays valid until more is added. */
struct terms tokens_terms(const struct tokens *tokens);

/* The limit was reached: later terms were dropped. */
bool tokens_full(const struct tokens *tokens);

/* Builds the tables that ICU gives us; called by message_init(). */
void tokens_init(void);

#endif
