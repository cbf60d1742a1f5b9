/* The scanner inside the tokeniser: finds the words and n-grams of a text and gives them to a collector. */
#ifndef MESSAGE_WORDS_H
#define MESSAGE_WORDS_H

#include <stddef.h>

#include "message/tokens.h"

void words_scan(struct tokens *tokens, const char *text, size_t n);

/* Once per process. */
void words_init(void);

#endif
