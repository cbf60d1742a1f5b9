#include "message/words.h"

#include <glib.h>
#include <string.h>
#include <unicode/utf8.h>

#include "message/block.h"
#include "message/fold.h"

/*
 * Three ways to the same terms. Plain ASCII words are found 64 bytes at a time (scan_block). One at the edge
 * of that or with a symbol in it takes the narrow path, byte by byte; one with a character in it or beside it
 * that is not ASCII takes the wide path, character by character.
 */
#define SHORTEST  4  /* letters of a word, 3 where short vowels are not written or a letter is a syllable */
#define LONGEST   64 /* longer runs are base64, hashes and other garbage */
#define SPACED    4  /* single letters in a row that make a word: f r e e */
#define CARRY     3  /* characters of a full buffer that the next n-grams begin with */
#define THAI_GRAM 4
#define KANA_GRAM 3
#define HAN_GRAM  2

/* Classes of bytes; a letter's or digit's class is the byte in lower case. */
enum { BYTE_BREAK, BYTE_SYMBOL, BYTE_WIDE, BYTE_WORD = '0' };

static unsigned char byte_class[256];

/* Characters of a word or of a run without spaces, as written, with what is known about each. */
struct run {
    unsigned n;
    bool too_long;
    uint32_t c[LONGEST];
    const struct fold *fold[LONGEST];
};

/* Single letters seen so far, each with the same one separator behind it. */
struct spaced {
    struct run run;
    size_t end;             /* of the last letter */
    size_t gap, gap_length; /* the separator */
};

struct scan {
    struct tokens *tokens;
    const unsigned char *text;
    size_t n;
    struct spaced spaced;
};

void words_init(void)
{
    memset(byte_class, BYTE_BREAK, 128);
    memset(byte_class + 128, BYTE_WIDE, 128);
    for (int c = 0; c < 128; c++)
        if (g_ascii_isalnum((char)c))
            byte_class[c] = (unsigned char)g_ascii_tolower((char)c);
    byte_class['@'] = byte_class['$'] = byte_class['!'] = BYTE_SYMBOL;
}

static bool is_ascii_letter(unsigned char c)
{
    return byte_class[c] > '9';
}

static bool is_word_byte(unsigned char c)
{
    return byte_class[c] >= BYTE_WORD;
}

static bool one_of(unsigned char c, const char *set)
{
    return c && strchr(set, c);
}

/* joe@example, jo.e@host, joe@example.org: an address, or may be one. */
static bool is_address(const struct scan *s, size_t word, size_t at)
{
    if (word >= 2 && one_of(s->text[word - 1], "._-+%") && is_word_byte(s->text[word - 2]))
        return true;
    size_t i = at + 1;
    while (i < s->n && is_word_byte(s->text[i]))
        i++;
    return i + 1 < s->n && one_of(s->text[i], ".-_@") && is_word_byte(s->text[i + 1]);
}

/* A letter comes next, perhaps behind more @ and $ that stand for letters: p@$$word. */
static bool letter_follows(const struct scan *s, size_t i)
{
    size_t end = MIN(s->n, i + 4);
    for (i++; i < end && one_of(s->text[i], "@$"); i++)
        ;
    return i < end && is_ascii_letter(s->text[i]);
}

/*
 * vi@gra, ca$h, v!agra: the letter that a symbol stands for, or 0. Only inside a word; never where an address
 * may be, and not where a sentence ends without a space: "Great!Now".
 */
static unsigned char symbol_letter(const struct scan *s, size_t word, size_t i)
{
    bool behind_letter = i > word && (is_ascii_letter(s->text[i - 1]) || one_of(s->text[i - 1], "@$"));
    if (!behind_letter || !letter_follows(s, i))
        return 0;
    bool new_sentence = g_ascii_islower((char)s->text[i - 1]) && g_ascii_isupper((char)s->text[i + 1]);
    switch (s->text[i]) {
    case '$':
        return 's';
    case '!':
        return new_sentence ? 0 : 'i';
    case '@':
        return is_address(s, word, i) ? 0 : 'a';
    default:
        return 0;
    }
}

/* A digit stands for a letter between letters (v1agra) and before three of them (0rder), never at the end. */
static bool digit_stands_for_letter(unsigned at, unsigned n)
{
    return at + 1 < n && (at > 0 || n >= SHORTEST);
}

static uint32_t letter_of_digit(uint32_t digit, enum fold_family family)
{
    static const char latin[] = "oizeasgtbg";
    static const uint32_t cyrillic[] = { 0x43e, 0, 0, 0x437, 0x447, 0, 0x431, 0, 0, 0 }; /* о з ч б */
    uint32_t letter = family == FOLD_LATIN      ? (uint32_t)latin[digit - '0']
                      : family == FOLD_CYRILLIC ? cyrillic[digit - '0']
                                                : 0;
    return letter ? letter : digit;
}

static void add_narrow(struct scan *s, char *word, unsigned n, unsigned digits)
{
    for (unsigned i = 0; digits && i < n; i++)
        if (g_ascii_isdigit(word[i]) && digit_stands_for_letter(i, n))
            word[i] = (char)letter_of_digit((unsigned char)word[i], FOLD_LATIN);
    tokens_add(s->tokens, TERM_WORD, word, n);
}

static void add_characters(struct scan *s, const uint32_t *c, unsigned n)
{
    char utf8[LONGEST * 4];
    size_t length = 0;
    for (unsigned i = 0; i < n; i++)
        U8_APPEND_UNSAFE(utf8, length, c[i]);
    tokens_add(s->tokens, TERM_WORD, utf8, length);
}

static void run_append(struct run *run, uint32_t c, const struct fold *fold)
{
    if (run->n == LONGEST) {
        run->too_long = true;
        return;
    }
    run->c[run->n] = c;
    run->fold[run->n++] = fold;
}

/* How many letters of each family. */
static void count_families(const struct run *run, unsigned count[FOLD_ALIEN + 1])
{
    memset(count, 0, (FOLD_ALIEN + 1) * sizeof *count);
    for (unsigned i = 0; i < run->n; i++)
        if (run->fold[i]->kind != FOLD_DIGIT)
            count[run->fold[i]->family]++;
}

/* Rewrites the letters of other families as the Latin ones they look like, if all of them do. */
static bool all_latin(struct run *run)
{
    for (unsigned i = 0; i < run->n; i++)
        if (run->fold[i]->family > FOLD_LATIN && !run->fold[i]->latin)
            return false;
    for (unsigned i = 0; i < run->n; i++)
        if (run->fold[i]->family > FOLD_LATIN) {
            run->c[i] = run->fold[i]->latin;
            run->fold[i] = fold_of(run->c[i]);
        }
    return true;
}

/* The other way round, for a few Latin letters in a Cyrillic or Greek word. */
static bool no_latin(struct run *run, enum fold_family family)
{
    for (unsigned i = 0; i < run->n; i++)
        if (run->fold[i]->family == FOLD_LATIN && !fold_double(family, run->c[i]))
            return false;
    for (unsigned i = 0; i < run->n; i++)
        if (run->fold[i]->family == FOLD_LATIN) {
            run->c[i] = fold_double(family, run->c[i]);
            run->fold[i] = fold_of(run->c[i]);
        }
    return true;
}

/*
 * A word of one script stays what it is; a mixed one is what it looks like: a word of the script that most of
 * its letters have if that can be, else Latin. Returns the family of the word, FOLD_OTHER when there are two.
 */
static enum fold_family settle_scripts(struct run *run)
{
    unsigned count[FOLD_ALIEN + 1];
    count_families(run, count);
    unsigned aliens = count[FOLD_CYRILLIC] + count[FOLD_GREEK] + count[FOLD_ALIEN];
    if (!aliens && !count[FOLD_OTHER])
        return FOLD_LATIN;
    for (enum fold_family family = FOLD_CYRILLIC; family <= FOLD_GREEK; family++) {
        if (count[family] == aliens && aliens > count[FOLD_LATIN] && no_latin(run, family))
            return family;
    }
    return count[FOLD_LATIN] && aliens && all_latin(run) ? FOLD_LATIN : FOLD_OTHER;
}

/* Folds all characters of a run; a result that does not fit is cut off. */
static unsigned fold_run(const struct run *run, uint32_t out[LONGEST + FOLD_LONGEST])
{
    unsigned n = 0;
    bool compose = false;
    for (unsigned i = 0; i < run->n && n < LONGEST; i++) {
        n += fold_apply(run->c[i], run->fold[i], out + n);
        compose |= run->fold[i]->compose;
    }
    n = MIN(n, LONGEST);
    return compose ? fold_compose(out, n, LONGEST) : n;
}

static unsigned shortest_word(const struct run *run)
{
    unsigned shortest = 0;
    for (unsigned i = 0; i < run->n; i++) {
        unsigned kind = run->fold[i]->kind;
        unsigned own = kind == FOLD_HANGUL                               ? 2
                       : kind == FOLD_CONSONANT || kind == FOLD_SYLLABLE ? SHORTEST - 1
                                                                         : SHORTEST;
        shortest = MAX(shortest, own);
    }
    return shortest;
}

static void finish_word(struct scan *s, struct run *run)
{
    uint32_t word[LONGEST + FOLD_LONGEST];
    enum fold_family family = settle_scripts(run);
    unsigned n = fold_run(run, word), digits = 0, digit_at = 0;
    if (run->too_long || n < shortest_word(run))
        return;
    for (unsigned i = 0; i < n; i++)
        if (word[i] >= '0' && word[i] <= '9') {
            digits++;
            digit_at = i;
        }
    if (digits > 1)
        return;
    if (digits && digit_stands_for_letter(digit_at, n))
        word[digit_at] = letter_of_digit(word[digit_at], family);
    add_characters(s, word, n);
}

static unsigned gram_at(const uint32_t *c, unsigned left)
{
    unsigned kind = fold_of(c[0])->kind;
    if (kind == FOLD_THAI)
        return THAI_GRAM;
    return kind == FOLD_HAN && left > 1 && fold_of(c[1])->kind == FOLD_HAN ? HAN_GRAM : KANA_GRAM;
}

/*
 * Scripts without spaces: the n characters at each place. Two ideographs are about a word; kana and Thai
 * letters say less each, so that more of them are needed before strangers' texts stop resembling each other.
 * What a full buffer ends with begins the next one.
 */
static void finish_grams(struct scan *s, struct run *run, bool more)
{
    uint32_t c[LONGEST + FOLD_LONGEST];
    unsigned n = fold_run(run, c), stop = more && n > CARRY ? n - CARRY : n;
    for (unsigned i = 0; i < stop; i++) {
        unsigned length = gram_at(c + i, n - i);
        if (i + length <= n)
            add_characters(s, c + i, length);
    }
    if (more) {
        memmove(run->c, run->c + run->n - CARRY, CARRY * sizeof *run->c);
        memmove(run->fold, run->fold + run->n - CARRY, CARRY * sizeof *run->fold);
        run->n = CARRY;
    }
}

static void finish_spaced(struct scan *s)
{
    if (s->spaced.run.n >= SPACED)
        finish_word(s, &s->spaced.run);
    s->spaced.run.n = 0;
    s->spaced.run.too_long = false;
}

static bool is_spacer(const unsigned char *gap, size_t n)
{
    return (n == 1 && one_of(*gap, " .-_*")) || (n == 2 && !memcmp(gap, "\xc2\xa0", 2));
}

/* A letter that stands alone may be one of a s p a c e d word: the same single separator every time. */
static void single_letter(struct scan *s, uint32_t c, size_t start, size_t end)
{
    struct spaced *spaced = &s->spaced;
    size_t gap = start - spaced->end;
    bool goes_on = spaced->run.n == 1   ? is_spacer(s->text + spaced->end, gap)
                   : spaced->run.n == 0 ? false
                                        : gap == spaced->gap_length &&
                                              !memcmp(s->text + spaced->end, s->text + spaced->gap, gap);
    if (!goes_on)
        finish_spaced(s);
    else if (spaced->run.n == 1) {
        spaced->gap = spaced->end;
        spaced->gap_length = gap;
    }
    run_append(&spaced->run, c, fold_of(c));
    spaced->end = end;
}

enum group { GROUP_NONE, GROUP_WORD, GROUP_HANGUL, GROUP_CJK, GROUP_THAI };

static enum group group_of(unsigned kind)
{
    return kind == FOLD_THAI     ? GROUP_THAI
           : kind >= FOLD_HAN    ? GROUP_CJK
           : kind == FOLD_HANGUL ? GROUP_HANGUL
                                 : GROUP_WORD;
}

static void finish_wide(struct scan *s, struct run *run, enum group group, size_t start, size_t end)
{
    if (group == GROUP_CJK || group == GROUP_THAI)
        finish_grams(s, run, false);
    else if (group == GROUP_WORD && run->n == 1 && run->fold[0]->length == 1)
        single_letter(s, run->c[0], start, end);
    else if (group != GROUP_NONE)
        finish_word(s, run);
}

/* One word or run from `start`, any characters; returns where to go on, always further. */
static size_t scan_wide(struct scan *s, size_t start)
{
    struct run run;
    run.n = 0;
    run.too_long = false;
    enum group group = GROUP_NONE;
    size_t i = start, at = start;
    for (; i < s->n; at = i) {
        UChar32 c;
        U8_NEXT(s->text, i, s->n, c);
        const struct fold *fold = c < 0 ? &fold_none : fold_of((uint32_t)c);
        unsigned char letter =
            fold->kind == FOLD_SEPARATOR && group == GROUP_WORD ? symbol_letter(s, start, at) : 0;
        if (letter)
            fold = fold_of((uint32_t)(c = letter));
        if (fold->kind == FOLD_SEPARATOR)
            break;
        if (fold->kind == FOLD_NOTHING)
            continue;
        enum group own = group_of(fold->kind);
        if (group != GROUP_NONE && own != group) {
            i = at;
            break;
        }
        group = own;
        if (run.n == LONGEST && (group == GROUP_CJK || group == GROUP_THAI))
            finish_grams(s, &run, true);
        run_append(&run, (uint32_t)c, fold);
    }
    finish_wide(s, &run, group, start, at);
    return i;
}

/* Is the character at i one that ends a word, as most punctuation is? Then the narrow path goes on. */
static bool breaks_here(const struct scan *s, size_t i)
{
    UChar32 c;
    U8_NEXT(s->text, i, s->n, c);
    return c < 0 || fold_of((uint32_t)c)->kind == FOLD_SEPARATOR;
}

static size_t scan_narrow(struct scan *s, size_t start)
{
    char word[LONGEST + 1];
    unsigned n = 0, digits = 0;
    size_t i = start;
    for (; i < s->n; i++) {
        unsigned char c = byte_class[s->text[i]];
        if (G_UNLIKELY(c == BYTE_SYMBOL))
            c = symbol_letter(s, start, i);
        if (c < BYTE_WORD)
            break;
        word[n] = (char)c;
        n += n < LONGEST;
        digits += c <= '9';
    }
    if (i < s->n && byte_class[s->text[i]] == BYTE_WIDE && !breaks_here(s, i))
        return scan_wide(s, start);
    if (n == 1)
        single_letter(s, s->text[start], start, i);
    else if (n >= SHORTEST && i - start <= LONGEST && digits <= 1)
        add_narrow(s, word, n, digits);
    return i;
}

/* The block at i; behind the end of the text it goes on with spaces. */
static void read_block(const struct scan *s, size_t i, struct block *block)
{
    unsigned char rest[BLOCK_SIZE];
    if (s->n - i >= BLOCK_SIZE) {
        block_read(block, s->text + i);
        return;
    }
    memset(rest, ' ', sizeof rest);
    memcpy(rest, s->text + i, s->n - i);
    block_read(block, rest);
}

static void add_from_block(struct scan *s, struct block *block, size_t i, unsigned start, unsigned length)
{
    if (length == 1)
        single_letter(s, s->text[i + start], i + start, i + start + 1);
    if (length < SHORTEST)
        return;
    uint64_t digits = block->digits >> start & ((UINT64_C(1) << length) - 1);
    if (!(digits & (digits - 1)))
        add_narrow(s, block->lower + start, length, digits != 0);
}

/*
 * The words of a block that end in it with nothing special beside them, which are nearly all. The first one
 * that is not so is scanned byte by byte. i is not inside a word; returns where to go on.
 *
 *      text    Buy v!agra, the café of
 *      word    111 1 1111  111 111  11
 *      special      ^             ^         a symbol behind a letter, a wide byte
 */
static size_t scan_block(struct scan *s, size_t i)
{
    struct block block;
    read_block(s, i, &block);
    uint64_t words = block.letters | block.digits;
    uint64_t special = block.wide | (block.symbols & words << 1);
    unsigned limit = special ? (unsigned)__builtin_ctzll(special) : BLOCK_SIZE;
    while (words) {
        unsigned start = (unsigned)__builtin_ctzll(words);
        uint64_t behind = ~(words >> start);
        unsigned end = behind ? start + (unsigned)__builtin_ctzll(behind) : BLOCK_SIZE;
        if (start > limit)
            break;
        if (end >= limit)
            return scan_narrow(s, i + start);
        add_from_block(s, &block, i, start, end - start);
        words &= ~UINT64_C(0) << end;
    }
    return i + limit;
}

void words_scan(struct tokens *tokens, const char *text, size_t n)
{
    struct scan s = { .tokens = tokens, .text = (const unsigned char *)text, .n = n };
    for (size_t i = 0; i < n && !tokens_full(tokens);) {
        unsigned char c = byte_class[s.text[i]];
        if (c == BYTE_WIDE)
            i = scan_wide(&s, i);
        else if (c >= BYTE_WORD)
            i = scan_block(&s, i);
        else
            i++;
    }
    finish_spaced(&s);
}
