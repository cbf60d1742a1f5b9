/*
 * Campaigns as sites exchange them: one JSON object a line, signatures and metadata only. No text of a
 * message is in it, and no name of a reporter.
 *
 *      {"refrain":1,"lexicon":"16 hex","campaign":"16 hex","state":"active","label":"…","source":"…",
 *       "first":"2026-11-18T09:30:00Z","last":"…","reports":3,"reporters":2,"hits":41,
 *       "variants":[["body 83 lex,lex,… sketch","full 97 … …"],…]}
 *
 * Both sites must use the same lexicon: signatures of different ones have nothing in common.
 */
#ifndef TOOLS_EXCHANGE_H
#define TOOLS_EXCHANGE_H

#include "base/arena.h"
#include "store/store.h"
#include "tools/json.h"

#define EXCHANGE_VERSION  1
#define EXCHANGE_LINE_MAX (1024 * 1024) /* longer lines are not ours */

struct json *exchange_write(const struct store_campaign *campaign, uint64_t lexicon,
                            const struct signature_set *variants, unsigned n);

/* Reads a line. `variants_out` lives in the arena. */
bool exchange_read(struct arena *arena, const char *line, size_t n, uint64_t lexicon,
                   struct store_campaign *out, struct signature_set **variants_out, unsigned *n_out,
                   GError **error);

#endif
