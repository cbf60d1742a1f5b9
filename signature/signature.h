/*
 * signature/ turns terms and a lexicon into a signature: K exact lexicon hashes that propose candidates,
 * and a 512-bit simhash (the sketch) that verifies them.
 *
 * Everything here is a pure function of its arguments; any thread.
 */
#ifndef SIGNATURE_SIGNATURE_H
#define SIGNATURE_SIGNATURE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/term.h"
#include "lexicon/lexicon.h"
#include "message/message.h"

#define SIGNATURE_WORDS   8 /* of the sketch */
#define SIGNATURE_BITS    (SIGNATURE_WORDS * 64)
#define SIGNATURE_MAX_LEX (LEXICON_MAX_K + 1) /* dropout has the original lexicon too */

/*
 * Odd words are those of the body that the lexicon does not know: coinages, brands, names, and the gibberish
 * that is to throw filters off. As gibberish never comes twice they count for nothing when they differ; but
 * strangers hardly ever have two of them in common, so they count when they agree.
 */
#define SIGNATURE_ODD      8 /* kept of a message */
#define SIGNATURE_ODD_KEYS 2 /* of them that propose, like a lexicon hash */

/*
 * A value: copied, compared, printed; owns nothing. The same terms and the same lexicon give the same
 * signature on every machine, whatever the order of the terms.
 */
struct signature {
    uint64_t lexicon; /* id: signatures of different lexicons have nothing in common */
    enum message_view view;
    uint16_t n_lex;                  /* K, or K + 1 with dropout; 1 in the part view */
    uint16_t terms;                  /* distinct terms that went into the sketch, at most 65535 */
    uint64_t lex[SIGNATURE_MAX_LEX]; /* 0: too few terms for this lexicon */
    uint64_t sketch[SIGNATURE_WORDS];
    uint32_t odd[SIGNATURE_ODD]; /* 24 bits of each odd word, those that propose first; 0 behind the last */
};

/* All views of one message, in the order of enum message_view; those it has. */
struct signature_set {
    unsigned n;
    struct signature v[MESSAGE_VIEWS];
};

/* Fewer distinct terms than this: unscannable, never matched, never stored. */
#define SIGNATURE_MIN_TERMS 5

/* Signs the terms of one view. False when there are too few. */
bool signature_make(const struct lexicon *lexicon, enum message_view view, struct terms terms,
                    struct signature *out);

/*
 * Signs a message. n = 0: unscannable. A text without a footer of which the lexicon knows fewer than half of
 * the terms has a full view too, of all its terms: its language may be one that the lexicon does not know.
 */
void signature_make_all(const struct lexicon *lexicon, const struct message *message, unsigned min_terms,
                        struct signature_set *out);

/*
 * Can it serve as a prototype? The full view alone cannot: what is nearly all footer resembles everybody
 * with the same provider.
 */
bool signature_set_is_prototype(const struct signature_set *set);

bool signature_equal(const struct signature *a, const struct signature *b);

/* Bits that differ between the sketches: 0 … 512. */
unsigned signature_hamming(const struct signature *a, const struct signature *b);

/* How many odd words it has. */
unsigned signature_n_odd(const struct signature *signature);

/* How many lexicon hashes agree, and how many odd words. */
unsigned signature_shared(const struct signature *a, const struct signature *b);
unsigned signature_shared_odd(const struct signature *a, const struct signature *b);

/* The similarity that so many odd words in common are worth. */
double signature_odd_credit(unsigned shared);

/*
 * cos(π d / 512), never below 0; and the largest distance with at least that similarity. Users see two
 * decimals, so two decimals are what counts: 0.53 allows 165 bits, 0.71 allows 128.
 */
double signature_similarity(unsigned distance);
unsigned signature_distance(double similarity);

/* The thresholds: [match] in refrain.conf. */
struct signature_rule {
    double tag, reject;  /* similarities */
    unsigned min_shared; /* lexicon hashes or odd words that must agree */
};

extern const struct signature_rule signature_default_rule;

enum signature_level { SIGNATURE_STRANGER, SIGNATURE_TAG, SIGNATURE_REJECT };

struct signature_likeness {
    enum signature_level level;
    unsigned distance; /* of the sketches */
    unsigned shared;   /* lexicon hashes that agree */
    unsigned odd;      /* odd words that agree */
    double similarity; /* after the penalty for short texts and the credit for odd words: what users see and
                          set */
};

/*
 * The accept rule, with n the smaller and N the larger number of terms and T the distance of a threshold:
 *
 *      distance + max(0, 40 − n) ≤ T     and     n / N ≥ cos²(π T / 512)
 *
 * Short texts need more evidence, and very different lengths cannot be the same mail. Two or more odd words
 * that agree are evidence of their own, each worth 0.04 of similarity, four at most; they can make a stranger
 * a match, but never a match a reject. In the short view a bit counts 1 / 0.78, which makes every threshold
 * stricter by as much. The full view speaks only at the reject threshold, the part view only at the tag
 * threshold. Signatures of different lexicons or views are strangers.
 */
struct signature_likeness signature_compare(const struct signature *a, const struct signature *b,
                                            const struct signature_rule *rule);

/* Is the first one the closer likeness? By level, then similarity, distance, shared lexicons. */
bool signature_closer(const struct signature_likeness *a, const struct signature_likeness *b);

/*
 * A message with a prototype: each view with the same view, and the full view, where only one of the two
 * has a footer, with the body of the other, which is all of its text. What strangers share is footers, so
 * a prototype that is more than a third footer has no say in the full view, and one without a footer may tag
 * there too, a message of 40 terms or more. Fills the pair that is closest.
 */
struct signature_pair {
    const struct signature *message, *prototype; /* NULL: no view in common */
    enum message_view view;
};
struct signature_likeness signature_compare_sets(const struct signature_set *message,
                                                 const struct signature_set *prototype,
                                                 const struct signature_rule *rule,
                                                 struct signature_pair *pair_out);

/*
 * Lexicon hashes of views in the same family are the same keys in a store: body and full view are both
 * made of words, and may meet.
 */
unsigned signature_family(enum message_view view);

/* --- to explain an answer ---------------------------------------------------------------------- */

enum signature_use {
    SIGNATURE_UNUSED, /* not in the lexicon: a hash-buster, a typo, a name */
    SIGNATURE_USED,
    SIGNATURE_COMMON, /* in the sketch; in a lexicon hash only when nothing else is left */
};

/* How each term of a view is used: fills terms.n values. Returns how many are used. */
uint32_t signature_uses(const struct lexicon *lexicon, struct terms terms, enum signature_use *use_out);

/* What a word would be among the odd ones of a signature. */
uint32_t signature_odd_of(const struct lexicon *lexicon, uint64_t term_hash);

/*
 * The terms (as indices) that make lexicon hash i of a view, at most `max`. 0: too few for this lexicon.
 */
uint32_t signature_signers(const struct lexicon *lexicon, struct terms terms, unsigned i, uint32_t *index_out,
                           uint32_t max);

/*
 * One line of text and back, for tests, logs and exports:
 *      view terms lex,lex,-,lex sketch odd,odd     (hex; - where there are too few terms, or none)
 */
char *signature_print(const struct signature *signature);
bool signature_parse(const char *text, uint64_t lexicon, struct signature *out, GError **error);

#endif
