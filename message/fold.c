#include "message/fold.h"

#include <glib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/uspoof.h>
#include <unicode/ustring.h>

const struct fold *fold_pages[FOLD_PAGES];
const struct fold fold_none = { .kind = FOLD_SEPARATOR };
const struct fold fold_ignored = { .kind = FOLD_NOTHING };

/* Strings of more than one character that something folds to, one behind the other. */
static uint32_t *long_folds;
static uint32_t doubles[FOLD_ALIEN][128];
static const UNormalizer2 *nfc;

/* What is needed while the tables are built. */
struct maker {
    const UNormalizer2 *fold, *nfd;
    USpoofChecker *spoof;
    GArray *strings;
};

static unsigned to_utf16(uint32_t c, UChar out[2])
{
    unsigned n = 0;
    U16_APPEND_UNSAFE(out, n, c);
    return n;
}

/* Writes code points, no more than there is room for. */
static unsigned from_utf16(const UChar *in, int32_t n, uint32_t *out, unsigned room)
{
    unsigned length = 0;
    for (int32_t i = 0; i < n && length < room;) {
        UChar32 c;
        U16_NEXT(in, i, n, c);
        out[length++] = (uint32_t)c;
    }
    return length;
}

static bool is_mark(uint32_t c)
{
    return (U_GET_GC_MASK((UChar32)c) & U_GC_M_MASK) != 0;
}

static UScriptCode script_of(uint32_t c)
{
    UErrorCode status = U_ZERO_ERROR;
    return uscript_getScript((UChar32)c, &status);
}

static enum fold_family family_of(UScriptCode script)
{
    switch (script) {
    case USCRIPT_LATIN:
        return FOLD_LATIN;
    case USCRIPT_CYRILLIC:
        return FOLD_CYRILLIC;
    case USCRIPT_GREEK:
        return FOLD_GREEK;
    case USCRIPT_ARMENIAN:
    case USCRIPT_CHEROKEE:
    case USCRIPT_COPTIC:
    case USCRIPT_LISU:
    case USCRIPT_DESERET:
        return FOLD_ALIEN;
    default:
        return FOLD_OTHER;
    }
}

static enum fold_kind kind_of_script(UScriptCode script)
{
    switch (script) {
    case USCRIPT_HAN:
    case USCRIPT_BOPOMOFO:
        return FOLD_HAN;
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
        return FOLD_KANA;
    case USCRIPT_THAI:
    case USCRIPT_LAO:
    case USCRIPT_KHMER:
    case USCRIPT_MYANMAR:
        return FOLD_THAI;
    case USCRIPT_HANGUL:
        return FOLD_HANGUL;
    case USCRIPT_ARABIC:
    case USCRIPT_HEBREW:
    case USCRIPT_SYRIAC:
    case USCRIPT_THAANA:
        return FOLD_CONSONANT;
    case USCRIPT_ETHIOPIC:
    case USCRIPT_CHEROKEE:
    case USCRIPT_TIBETAN:
    case USCRIPT_YI:
    case USCRIPT_CANADIAN_ABORIGINAL:
        return FOLD_SYLLABLE;
    default:
        return FOLD_LETTER;
    }
}

/* Accents and vowel points of these are decoration; elsewhere a mark is a vowel and stays. */
static bool marks_are_decoration(UScriptCode script)
{
    return family_of(script) != FOLD_OTHER || script == USCRIPT_ARABIC || script == USCRIPT_HEBREW ||
           script == USCRIPT_SYRIAC || script == USCRIPT_COMMON || script == USCRIPT_INHERITED;
}

static bool is_voicing(uint32_t c)
{
    return c == 0x3099 || c == 0x309a; /* か + ゙ = が */
}

static bool is_letter_at_all(uint32_t c)
{
    if (U_GET_GC_MASK((UChar32)c) & U_GC_LM_MASK) /* ʼ is an apostrophe, ー is part of the word */
        return script_of(c) != USCRIPT_COMMON || c == 0x30fc || c == 0xff70;
    return u_isalpha((UChar32)c) || u_hasBinaryProperty((UChar32)c, UCHAR_ALPHABETIC);
}

/* The ASCII letter that ends a name such as LATIN LETTER SMALL CAPITAL B; lower case; 0: none. */
static char letter_in_name(uint32_t c)
{
    char name[96];
    UErrorCode status = U_ZERO_ERROR;
    int32_t n = u_charName((UChar32)c, U_UNICODE_CHAR_NAME, name, sizeof name, &status);
    if (U_FAILURE(status) || n < 3 || name[n - 2] != ' ' || !g_ascii_isupper(name[n - 1]))
        return 0;
    name[n - 2] = '\0';
    bool latin = g_str_has_suffix(name, "SMALL CAPITAL") || g_str_has_suffix(name, "LATIN CAPITAL LETTER") ||
                 g_str_has_suffix(name, "LATIN SMALL LETTER");
    return latin ? g_ascii_tolower(name[n - 1]) : 0;
}

/* Letters in boxes and brackets, and small capitals, that NFKC leaves alone or puts into brackets. */
static bool look_at_name(uint32_t c)
{
    return (c >= 0x250 && c <= 0x2af) || (c >= 0x1d00 && c <= 0x1d7f) || (c >= 0xa730 && c <= 0xa7ff) ||
           (c >= 0x249c && c <= 0x24b5) || (c >= 0x1f110 && c <= 0x1f189);
}

/* The single ASCII letter that TR39 takes c for, lower case, not counting accents unless `exact`; 0: none. */
static char skeleton_letter(const struct maker *maker, uint32_t c, bool exact)
{
    UChar in[2], skeleton[32], flat[64];
    UErrorCode status = U_ZERO_ERROR;
    int32_t n = uspoof_getSkeleton(maker->spoof, 0, in, (int32_t)to_utf16(c, in), skeleton, 32, &status);
    n = unorm2_normalize(maker->nfd, skeleton, n, flat, 64, &status);
    if (U_FAILURE(status))
        return 0;
    uint32_t cs[64], letter = 0;
    unsigned length = from_utf16(flat, n, cs, 64);
    for (unsigned i = 0; i < length; i++) {
        if (is_mark(cs[i]) && !exact)
            continue;
        if (letter || cs[i] >= 0x80)
            return 0;
        letter = cs[i];
    }
    if (letter == 'l' && u_isupper((UChar32)c))
        return 'i'; /* TR39 has one prototype for I and l */
    return g_ascii_isalpha((char)letter) ? g_ascii_tolower((char)letter) : 0;
}

/* What a reader takes a letter of another script for; its capital decides where TR39 is silent. */
static char look_alike(const struct maker *maker, uint32_t c)
{
    char letter = skeleton_letter(maker, c, false);
    uint32_t capital = (uint32_t)u_toupper((UChar32)c);
    return letter || capital == c ? letter : skeleton_letter(maker, capital, false);
}

/* NFKC case folding of one character, without the marks that are decoration. */
static unsigned fold_string(const struct maker *maker, uint32_t c, uint32_t *out, unsigned room)
{
    UChar in[2], folded[64], flat[128];
    UErrorCode status = U_ZERO_ERROR;
    int32_t n = unorm2_normalize(maker->fold, in, (int32_t)to_utf16(c, in), folded, 64, &status);
    uint32_t cs[128];
    unsigned length = from_utf16(folded, U_FAILURE(status) ? 0 : n, cs, 128);
    if (length && marks_are_decoration(script_of(cs[0])) && !is_voicing(cs[0])) {
        n = unorm2_normalize(maker->nfd, folded, n, flat, 128, &status);
        length = from_utf16(flat, U_FAILURE(status) ? 0 : n, cs, 128);
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < length && kept < room; i++) {
        bool decoration = is_mark(cs[i]) && marks_are_decoration(script_of(cs[i])) && !is_voicing(cs[i]);
        bool inside = is_letter_at_all(cs[i]) || u_isdigit((UChar32)cs[i]) || is_mark(cs[i]);
        if (inside && !decoration)
            out[kept++] = cs[i];
    }
    return kept;
}

static void set_target(struct maker *maker, struct fold *fold, const uint32_t *to, unsigned n)
{
    fold->length = (uint8_t)n;
    fold->to = to[0];
    if (n > 1) {
        fold->to = maker->strings->len;
        g_array_append_vals(maker->strings, to, n);
    }
}

static void set_letter(struct maker *maker, struct fold *fold, uint32_t c)
{
    uint32_t to[FOLD_LONGEST];
    char named = look_at_name(c) ? letter_in_name(c) : 0;
    unsigned n = named ? 1 : fold_string(maker, c, to, FOLD_LONGEST);
    if (named)
        to[0] = (uint32_t)named;
    if (!n) {
        fold->kind = FOLD_NOTHING;
        return;
    }
    UScriptCode script = c == 0x30fc || is_voicing(to[0]) ? USCRIPT_KATAKANA : script_of(to[0]);
    fold->family = (uint8_t)family_of(script);
    fold->kind = (uint8_t)kind_of_script(script);
    fold->compose = is_mark(to[0]) || (fold->kind == FOLD_HANGUL && to[0] < 0xac00);
    if (fold->family == FOLD_LATIN && n == 1 && to[0] >= 0x80) {
        char plain = skeleton_letter(maker, to[0], false);
        to[0] = plain ? (uint32_t)plain : to[0];
    }
    set_target(maker, fold, to, n);
    if (fold->family == FOLD_LATIN)
        fold->latin = n == 1 && to[0] < 0x80 ? (uint8_t)to[0] : 0;
    else if (fold->family != FOLD_OTHER)
        fold->latin = (uint8_t)look_alike(maker, c);
}

static void set_fold(struct maker *maker, struct fold *fold, uint32_t c)
{
    if (u_charType((UChar32)c) == U_UNASSIGNED &&
        !u_hasBinaryProperty((UChar32)c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT))
        return;
    int32_t digit = u_charDigitValue((UChar32)c);
    if (u_hasBinaryProperty((UChar32)c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) ||
        c == 0x640) { /* 0x640: the Arabic dash that stretches words */
        fold->kind = FOLD_NOTHING;
    } else if (digit >= 0 && u_charType((UChar32)c) == U_DECIMAL_DIGIT_NUMBER) {
        *fold = (struct fold) { .kind = FOLD_DIGIT, .length = 1, .to = '0' + (uint32_t)digit };
    } else if (is_letter_at_all(c) || is_mark(c) || look_at_name(c)) {
        set_letter(maker, fold, c);
    }
}

static const struct fold *uniform_page(enum fold_kind kind)
{
    struct fold *page = g_new0(struct fold, 256);
    for (unsigned i = 0; i < 256; i++)
        page[i] = (struct fold) { .kind = (uint8_t)kind, .length = 1 };
    return page;
}

static const struct fold *made_page(struct maker *maker, uint32_t first)
{
    struct fold *page = g_new0(struct fold, 256);
    for (uint32_t i = 0; i < 256; i++)
        set_fold(maker, &page[i], first + i);
    return page;
}

/* Most of the planes is empty or all of one kind; only the rest is worth asking ICU about. */
static void make_pages(struct maker *maker)
{
    const struct fold *empty = uniform_page(FOLD_SEPARATOR), *han = uniform_page(FOLD_HAN),
                      *hangul = uniform_page(FOLD_HANGUL);
    for (uint32_t p = 0; p < FOLD_PAGES; p++) {
        if ((p >= 0x34 && p <= 0x4c) || (p >= 0x4e && p <= 0x9f) || (p >= 0x200 && p < 0x2f8) ||
            (p >= 0x300 && p <= 0x323))
            fold_pages[p] = han;
        else if (p >= 0xac && p <= 0xd6)
            fold_pages[p] = hangul;
        else if ((p >= 0xd8 && p <= 0xf8) || p >= 0x2fb ||
                 (p >= 0x120 && p <= 0x1cf)) /* surrogates, private, hieroglyphs */
            fold_pages[p] = empty;
        else
            fold_pages[p] = made_page(maker, p << 8);
    }
}

/*
 * Which Greek or Russian letter passes for an ASCII one in the same case. Letters of other Cyrillic alphabets
 * (і, ѕ) are left out: with them, too many Latin words could be Cyrillic ones.
 */
static void make_doubles(const struct maker *maker)
{
    for (uint32_t c = 0x391; c <= 0x44f; c = c == 0x3c9 ? 0x410 : c + 1) {
        const struct fold *fold = fold_of(c);
        char looks = fold->length == 1 && fold->family != FOLD_OTHER ? skeleton_letter(maker, c, true) : 0;
        uint32_t ascii = (uint32_t)(u_isupper((UChar32)c) ? g_ascii_toupper(looks) : looks);
        if (looks && !doubles[fold->family][ascii])
            doubles[fold->family][ascii] = fold->to;
    }
}

uint32_t fold_double(enum fold_family family, uint32_t ascii)
{
    return family < FOLD_ALIEN && ascii < 128 ? doubles[family][ascii] : 0;
}

unsigned fold_apply(uint32_t c, const struct fold *fold, uint32_t *out)
{
    if (fold->length <= 1) {
        out[0] = fold->to ? fold->to : c;
        return fold->length;
    }
    memcpy(out, long_folds + fold->to, fold->length * sizeof *out);
    return fold->length;
}

unsigned fold_compose(uint32_t *word, unsigned n, unsigned room)
{
    UChar in[256], out[512];
    int32_t length = 0;
    for (unsigned i = 0; i < n && length < 254; i++)
        U16_APPEND_UNSAFE(in, length, word[i]);
    UErrorCode status = U_ZERO_ERROR;
    int32_t m = unorm2_normalize(nfc, in, length, out, 512, &status);
    return U_FAILURE(status) ? n : from_utf16(out, m, word, room);
}

static gpointer build(gpointer unused)
{
    UErrorCode status = U_ZERO_ERROR;
    struct maker maker = { .fold = unorm2_getNFKCCasefoldInstance(&status),
                           .nfd = unorm2_getNFDInstance(&status),
                           .spoof = uspoof_open(&status),
                           .strings = g_array_new(FALSE, FALSE, sizeof(uint32_t)) };
    nfc = unorm2_getNFCInstance(&status);
    if (U_FAILURE(status))
        g_error("ICU has no data (%s): reinstall the ICU library", u_errorName(status));
    make_pages(&maker);
    make_doubles(&maker);
    long_folds = (uint32_t *)(void *)g_array_free(maker.strings, FALSE);
    uspoof_close(maker.spoof);
    return unused;
}

void fold_init(void)
{
    static GOnce once = G_ONCE_INIT;
    g_once(&once, build, NULL);
}
