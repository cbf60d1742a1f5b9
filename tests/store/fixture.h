/*
 * Lexicons and signatures for the tests of store/: made up, no message needed.
 */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include "store/store.h"

/* A folder of this test run; fixture_remove() deletes it with all that is in it. */
char *fixture_folder(void);
void fixture_remove(char *folder);

/* A lexicon with its own id for each seed. */
struct lexicon *fixture_lexicon(const char *folder, unsigned seed, unsigned bucket_bits);

/* The signature of an imaginary text: different seeds have nothing in common. */
struct signature fixture_signature(const struct lexicon *lexicon, enum message_view view, uint64_t seed);

/* The same text with `bits` of the sketch flipped and the first `hashes` lexicon hashes changed. */
struct signature fixture_changed(const struct signature *signature, unsigned bits, unsigned hashes, uint64_t seed);

/* A message with the one view. */
struct signature_set fixture_set(struct signature signature);

#endif
