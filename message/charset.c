#include "message/charset.h"

#include <glib.h>
#include <stdint.h>
#include <string.h>
#include <unicode/ucnv.h>
#include <unicode/ustring.h>

/* Labels that mail programs read as a larger set than they name, or that ICU does not know. */
static const struct {
    const char *label, *meant;
} practice[] = {
    { "us-ascii", "windows-1252" },
    { "ascii", "windows-1252" },
    { "ansi_x3.4-1968", "windows-1252" },
    { "iso-8859-1", "windows-1252" },
    { "iso8859-1", "windows-1252" },
    { "iso_8859-1", "windows-1252" },
    { "latin1", "windows-1252" },
    { "latin-1", "windows-1252" },
    { "iso-8859-9", "windows-1254" },
    { "iso-8859-11", "windows-874" },
    { "tis-620", "windows-874" },
    { "iso-8859-8-i", "iso-8859-8" },
    { "iso-8859-6-i", "iso-8859-6" },
    { "gb2312", "gb18030" },
    { "gb_2312-80", "gb18030" },
    { "gbk", "gb18030" },
    { "x-gbk", "gb18030" },
    { "cn-gb", "gb18030" },
    { "hz-gb-2312", "HZ" },
    { "ks_c_5601-1987", "windows-949" },
    { "ks_c_5601", "windows-949" },
    { "ks_c_5601-1989", "windows-949" },
    { "euc-kr", "windows-949" },
    { "korean", "windows-949" },
    { "shift_jis", "windows-31j" },
    { "shift-jis", "windows-31j" },
    { "x-sjis", "windows-31j" },
    { "sjis", "windows-31j" },
    { "big5", "windows-950" },
    { "x-big5", "windows-950" },
    { "x-euc-jp", "euc-jp" },
    { "unicode-1-1-utf-7", "utf-7" },
    { "unicode", "utf-16" },
    { "utf8", "utf-8" },
};

/* What the bytes of a charset look like decides how far its label is believed. */
enum family {
    PLAIN,     /* ASCII is ASCII, one byte is one character; also labels that nobody knows */
    MULTIBYTE, /* ASCII is ASCII, other characters are two bytes or more */
    ESCAPED,   /* seven-bit bytes that mean other characters behind a shift */
    WIDE,      /* UTF-16 and UTF-32: ASCII has NULs in it */
};

static const struct {
    const char *start;
    enum family family;
    char shift; /* ESCAPED: no shift without this byte */
} families[] = {
    { "iso-2022", ESCAPED, '\033' },
    { "csiso2022", ESCAPED, '\033' },
    { "hz", ESCAPED, '~' },
    { "utf-7", ESCAPED, '+' },
    { "utf-16", WIDE, 0 },
    { "utf-32", WIDE, 0 },
    { "ucs-2", WIDE, 0 },
    { "gb", MULTIBYTE, 0 },
    { "windows-949", MULTIBYTE, 0 },
    { "windows-31j", MULTIBYTE, 0 },
    { "windows-950", MULTIBYTE, 0 },
    { "big5", MULTIBYTE, 0 },
    { "euc", MULTIBYTE, 0 },
};

/* Some GBK text is valid UTF-8 by chance; this many characters in a row are not. */
#define BEYOND_CHANCE 8

bool charset_is_ascii(const char *bytes, size_t n)
{
    const uint64_t high = UINT64_C(0x8080808080808080), one = UINT64_C(0x0101010101010101);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t w;
        memcpy(&w, bytes + i, 8);
        /* A byte is 0 where subtracting 1 borrows into its high bit. */
        if ((w | (w - one)) & high)
            return false;
    }
    for (; i < n; i++)
        if ((signed char)bytes[i] <= 0)
            return false;
    return true;
}

static const char *meant_by(const char *label)
{
    for (size_t i = 0; i < G_N_ELEMENTS(practice); i++)
        if (g_ascii_strcasecmp(label, practice[i].label) == 0)
            return practice[i].meant;
    return label;
}

static enum family family_of(const char *name, char *shift_out)
{
    for (size_t i = 0; i < G_N_ELEMENTS(families); i++)
        if (g_ascii_strncasecmp(name, families[i].start, strlen(families[i].start)) == 0) {
            *shift_out = families[i].shift;
            return families[i].family;
        }
    return PLAIN;
}

static const char *without_nuls(struct arena *arena, const char *bytes, size_t n, size_t *n_out)
{
    *n_out = n;
    if (!n || !memchr(bytes, 0, n))
        return bytes;
    char *out = arena_alloc(arena, n);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            out[kept++] = bytes[i];
    *n_out = kept;
    return out;
}

/*
 * Opens a converter. ICU caches the tables behind it, so this costs a look-up by name, about a microsecond.
 * NULL: ICU does not know the name.
 */
static UConverter *open_converter(const char *name)
{
    UErrorCode status = U_ZERO_ERROR;
    UConverter *converter = ucnv_open(name, &status);
    return U_SUCCESS(status) ? converter : NULL;
}

/* Bad sequences become U+FFFD, which is no letter. */
static const char *convert(struct arena *arena, UConverter *converter, const char *bytes, size_t n,
                           size_t *n_out)
{
    n = MIN(n, (size_t)1 << 28); /* ICU counts in 32 bits */
    size_t room = 2 * n + 16;
    UChar *wide = arena_alloc(arena, room * sizeof *wide), *target = wide;
    const char *source = bytes;
    UErrorCode status = U_ZERO_ERROR;
    ucnv_toUnicode(converter, &target, wide + room, &source, bytes + n, NULL, true, &status);
    size_t units = (size_t)(target - wide);

    char *out = arena_alloc(arena, 3 * units + 1);
    int32_t length = 0;
    status = U_ZERO_ERROR;
    u_strToUTF8WithSub(out, (int32_t)(3 * units + 1), &length, wide, (int32_t)units, 0xfffd, NULL, &status);
    if (U_FAILURE(status))
        length = 0;
    return without_nuls(arena, out, (size_t)length, n_out);
}

static const char *convert_from(struct arena *arena, const char *name, const char *bytes, size_t n,
                                size_t *n_out)
{
    UConverter *converter = open_converter(name);
    if (!converter)
        return NULL;
    const char *out = convert(arena, converter, bytes, n, n_out);
    ucnv_close(converter);
    return out;
}

/* Without a byte-order mark, Latin letters tell the order: their high byte is 0. */
static const char *wide_order(const char *name, const char *bytes, size_t n)
{
    if (g_ascii_strcasecmp(name, "utf-16") != 0)
        return name;
    if (n >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0))
        return "UTF-16";
    size_t zeros[2] = { 0, 0 };
    for (size_t i = 0; i < n && i < 4096; i++)
        zeros[i & 1] += bytes[i] == 0;
    return zeros[1] > zeros[0] ? "UTF-16LE" : "UTF-16BE";
}

/* Valid UTF-8 sequences of more than one byte, before the first bad one; *valid_out: there is no bad one. */
static size_t count_sequences(const char *bytes, size_t n, bool *valid_out)
{
    const char *end;
    *valid_out = g_utf8_validate_len(bytes, n, &end);
    size_t sequences = 0;
    for (const char *p = bytes; p < end; p++)
        sequences += ((unsigned char)*p & 0xc0) == 0xc0;
    return sequences;
}

static const char *marked_wide(const char *bytes, size_t n)
{
    bool marked =
        n >= 4 && n % 2 == 0 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0);
    return marked ? "UTF-16" : NULL;
}

static const char *eight_bit(struct arena *arena, const char *name, enum family family, const char *bytes,
                             size_t n, size_t *n_out)
{
    bool valid;
    size_t sequences = count_sequences(bytes, n, &valid);
    bool says_utf8 = name && g_ascii_strcasecmp(name, "utf-8") == 0;
    if (valid && (family == PLAIN || sequences >= BEYOND_CHANCE)) {
        *n_out = n;
        return bytes;
    }
    if (says_utf8 && !sequences)
        name = NULL; /* not one good sequence: it says so and is not */
    const char *out = name ? convert_from(arena, name, bytes, n, n_out) : NULL;
    return out ? out
               : convert_from(arena, sequences >= BEYOND_CHANCE ? "UTF-8" : "windows-1252", bytes, n, n_out);
}

const char *charset_to_utf8(struct arena *arena, const char *label, const char *bytes, size_t n,
                            size_t *n_out)
{
    char shift = 0;
    const char *name = label && *label ? meant_by(label) : NULL;
    enum family family = name ? family_of(name, &shift) : PLAIN;
    bool ascii = charset_is_ascii(bytes, n);
    const char *out = NULL;

    if (ascii && (family != ESCAPED || !memchr(bytes, shift, n))) {
        *n_out = n;
        return bytes;
    }
    if (!ascii && marked_wide(bytes, n))
        family = WIDE, name = "UTF-16";
    if (family == ESCAPED || (family == WIDE && !ascii))
        out = convert_from(arena, family == WIDE ? wide_order(name, bytes, n) : name, bytes, n, n_out);
    if (out)
        return out;
    bytes = without_nuls(arena, bytes, n, &n);
    return eight_bit(arena, family == PLAIN || family == MULTIBYTE ? name : NULL, family, bytes, n, n_out);
}
