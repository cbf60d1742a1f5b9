/*
 * The tokeniser: text -> distinct terms. There is one, and every program uses it; MESSAGE_TOKENISER is
 * its version.
 *
 * A term is a run of letters and digits with at most one digit (Kołcz 2004), 4 to 64 characters long. Where a
 * character says more than a Latin letter does, fewer are enough:
 *
 *      alphabets, Indic scripts       4    vowel signs count as characters
 *      Arabic, Hebrew, Ethiopic       3    short vowels are not written; a character is a syllable
 *      Hangul                         2    syllables, written with spaces
 *      Chinese, Japanese              each 2 ideographs, and each 3 characters where kana is among them
 *      Thai, Lao, Khmer, Myanmar      each 4 characters
 *
 * N-grams rather than ICU's dictionary of words, which changes with its version: the same mail gives the same
 * terms on every machine. With these lengths, strangers' texts in Chinese and Japanese resemble each other as
 * little as in German.
 *
 * First, what only hides a word folds away:
 *
 *      case, width, accents           ＣＡＦÉ -> cafe      also harakat, niqqud, and letters in circles or boxes
 *      nothing to see                 via<soft hyphen>gra -> viagra
 *      look-alikes                    pаypal with a Cyrillic а -> paypal; a word of one script stays as it is
 *      digits                         v1agra -> viagra, 0rder -> order; not at the end: windows8
 *      symbols between letters        ca$h -> cash, v!agra, vi@gra; not in joe@example.org, nor in Great!Now
 *      s p a c e d   l e t t e r s    4 or more, with the same single separator: space . - _ *
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
