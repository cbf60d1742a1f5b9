/*
 * What Unicode says about one character, for the tokeniser: is it part of a word, and what does it fold to?
 *
 * ICU answers once, at start; after that a character costs one look into a table:
 *
 *      pages[c >> 8] ──▶ [ 256 × struct fold ]      ideographs and Hangul syllables share one page each
 *
 * Folding is NFKC case folding (width, ligatures, mathematical and circled letters, ignorable characters),
 * then accents and vowel points off where they are only decoration: Latin, Greek, Cyrillic, Arabic, Hebrew.
 * Latin letters that Unicode calls confusable with an ASCII one (ı, ø, ł, small capitals) become that one.
 */
#ifndef MESSAGE_FOLD_H
#define MESSAGE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fold_kind {
    FOLD_SEPARATOR, /* ends a word */
    FOLD_NOTHING,   /* zero-width, soft hyphen, accent: as if it were not there */
    FOLD_DIGIT,
    FOLD_LETTER,    /* a letter of an alphabet or abugida, or a mark that is part of one */
    FOLD_CONSONANT, /* Arabic, Hebrew: short vowels are not written, so words are shorter */
    FOLD_SYLLABLE,  /* Ethiopic, Cherokee: a character is a syllable */
    FOLD_HANGUL,
    FOLD_HAN, /* from here on: written without spaces */
    FOLD_KANA,
    FOLD_THAI, /* and Lao, Khmer, Myanmar */
};

/* Scripts whose letters pass for one another. */
enum fold_family { FOLD_OTHER, FOLD_LATIN, FOLD_CYRILLIC, FOLD_GREEK, FOLD_ALIEN };

struct fold {
    uint32_t to;    /* the folded character (0: itself), or where the folded string begins */
    uint8_t length; /* of what it folds to, in characters */
    uint8_t kind;   /* enum fold_kind */
    uint8_t family; /* enum fold_family */
    uint8_t latin;  /* the ASCII letter (lower case) that a reader takes it for, or 0 */
    bool compose;   /* it may join with a neighbour (jamo, vowel sign): the word needs NFC */
};

#define FOLD_PAGES 1024 /* up to U+3FFFF; behind that there are no letters */

extern const struct fold *fold_pages[FOLD_PAGES];
extern const struct fold fold_none, fold_ignored;

/* c is a valid code point. */
static inline const struct fold *fold_of(uint32_t c)
{
    if (c < FOLD_PAGES << 8)
        return &fold_pages[c >> 8][c & 0xff];
    return c >> 12 == 0xe0 ? &fold_ignored : &fold_none; /* U+E0000: tags and variation selectors */
}

/* Writes what c folds to (at most FOLD_LONGEST characters); returns how many there are. */
#define FOLD_LONGEST 18
unsigned fold_apply(uint32_t c, const struct fold *fold, uint32_t *out);

/* The letter of a family that looks like an ASCII letter, as a folded character; 0: there is none. */
uint32_t fold_double(enum fold_family family, uint32_t ascii);

/* NFC of a word in place; room is for the result. Returns the new length. */
unsigned fold_compose(uint32_t *word, unsigned n, unsigned room);

/* Once per process. */
void fold_init(void);

#endif
