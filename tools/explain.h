/*
 * Why a message was or was not recognised: the terms of the view that decides, the lexicons, the rule,
 * and one plain sentence.
 */
#ifndef TOOLS_EXPLAIN_H
#define TOOLS_EXPLAIN_H

#include "tools/context.h"

struct explanation;

/* Reads and signs the message. `path` and `context` must outlive it. */
struct explanation *explain_message(const struct context *context, const char *path, const void *bytes,
                                    size_t n);

/* Compares it with a campaign, or (NULL) with the one that it resembles most, if any. */
bool explain_find(struct explanation *explanation, const char *campaign, GError **error);

void explain_text(const struct explanation *explanation);
void explain_json(const struct explanation *explanation);

void explain_free(struct explanation **explanation);

#endif
