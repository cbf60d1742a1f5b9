#include "message/style.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

const struct style style_initial = { .colour = STYLE_BLACK, .background = STYLE_WHITE };

/* Nobody reads text whose colour is as near as this, in each of red, green and blue. */
#define NEAR 16

static const struct {
    const char *name;
    uint32_t rgb;
} names[] = {
    { "white", 0xffffff },
    { "black", 0x000000 },
    { "red", 0xff0000 },
    { "blue", 0x0000ff },
    { "green", 0x008000 },
    { "yellow", 0xffff00 },
    { "gray", 0x808080 },
    { "grey", 0x808080 },
    { "silver", 0xc0c0c0 },
    { "navy", 0x000080 },
    { "maroon", 0x800000 },
    { "purple", 0x800080 },
    { "teal", 0x008080 },
    { "lime", 0x00ff00 },
    { "aqua", 0x00ffff },
    { "cyan", 0x00ffff },
    { "fuchsia", 0xff00ff },
    { "magenta", 0xff00ff },
    { "olive", 0x808000 },
    { "orange", 0xffa500 },
    { "snow", 0xfffafa },
    { "ivory", 0xfffff0 },
    { "whitesmoke", 0xf5f5f5 },
    { "ghostwhite", 0xf8f8ff },
    { "transparent", STYLE_TRANSPARENT },
};

struct span {
    const char *v;
    size_t n;
};

static bool is(struct span span, const char *word)
{
    return span.n == strlen(word) && g_ascii_strncasecmp(span.v, word, span.n) == 0;
}

static struct span trimmed(const char *start, const char *end)
{
    while (start < end && g_ascii_isspace(*start))
        start++;
    while (end > start && g_ascii_isspace(end[-1]))
        end--;
    return (struct span) { start, (size_t)(end - start) };
}

static uint32_t hex_colour(const char *digits, size_t n)
{
    uint32_t rgb = 0;
    for (size_t i = 0; i < n; i++) {
        int digit = g_ascii_xdigit_value(digits[i]);
        if (digit < 0)
            return STYLE_UNKNOWN;
        rgb = rgb << 4 | (uint32_t)digit;
        if (n == 3)
            rgb = rgb << 4 | (uint32_t)digit;
    }
    return rgb;
}

static uint32_t rgb_colour(struct span value)
{
    const char *p = memchr(value.v, '(', value.n), *end = value.v + value.n;
    uint32_t rgb = 0, part[4] = { 0, 0, 0, 1 };
    for (unsigned i = 0; i < 4 && p && p < end; i++) {
        p++;
        while (p < end && *p == ' ')
            p++;
        /* Of the fourth, the opacity, only a plain 0 matters. */
        for (part[i] = 0; p < end && g_ascii_isdigit(*p) && part[i] < 256; p++)
            part[i] = part[i] * 10 + (uint32_t)(*p - '0');
        if (i == 3 && p < end && *p == '.')
            part[i] = 1;
        while (p < end && *p != ',' && *p != ')')
            p++;
        if (p >= end || *p == ')')
            break;
    }
    for (unsigned i = 0; i < 3; i++)
        rgb = rgb << 8 | MIN(part[i], 255u);
    return part[3] ? rgb : STYLE_TRANSPARENT;
}

static uint32_t span_colour(struct span value)
{
    if (value.n > 1 && value.v[0] == '#')
        return value.n == 4 || value.n == 7 ? hex_colour(value.v + 1, value.n - 1) : STYLE_UNKNOWN;
    if (value.n > 4 && g_ascii_strncasecmp(value.v, "rgb", 3) == 0)
        return rgb_colour(value);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (is(value, names[i].name))
            return names[i].rgb;
    return value.n == 6 ? hex_colour(value.v, 6) : STYLE_UNKNOWN;
}

uint32_t style_colour(const char *value)
{
    return span_colour(trimmed(value, value + strlen(value)));
}

/* A length of nothing: 0, 0px, 0%, 0.0em. Values never reach beyond the declaration. */
static bool is_zero(struct span value)
{
    size_t i = 0;
    while (i < value.n && (value.v[i] == '0' || value.v[i] == '.'))
        i++;
    return i && (i == value.n || !g_ascii_isdigit(value.v[i]));
}

static bool is_tiny(struct span value)
{
    return is_zero(value) || is(value, "1px") || is(value, "1pt") || is(value, "1");
}

/* A background is a colour, or it has one in it, or it is a picture, which may have any colour. */
static uint32_t background_colour(struct span value)
{
    uint32_t colour = span_colour(value);
    for (const char *p = value.v, *end = value.v + value.n; p < end && colour == STYLE_UNKNOWN;) {
        const char *space = memchr(p, ' ', (size_t)(end - p));
        colour = span_colour((struct span) { p, (size_t)((space ? space : end) - p) });
        if (g_ascii_strncasecmp(p, "url(", MIN((size_t)4, (size_t)(end - p))) == 0)
            return STYLE_UNKNOWN;
        p = space ? space + 1 : end;
    }
    return colour;
}

struct box {
    bool overflow_hidden, no_size;
};

static void declare(struct style *style, struct box *box, struct span name, struct span value)
{
    if (is(name, "display"))
        style->hidden |= is(value, "none");
    else if (is(name, "visibility"))
        style->unseen = is(value, "hidden") || is(value, "collapse");
    else if (is(name, "font-size"))
        style->tiny = is_tiny(value);
    else if (is(name, "opacity"))
        style->hidden |= is_zero(value);
    else if (is(name, "color"))
        style->colour = span_colour(value);
    else if (is(name, "background-color") || is(name, "background")) {
        uint32_t colour = background_colour(value);
        if (colour != STYLE_TRANSPARENT)
            style->background = colour;
    } else if (is(name, "overflow"))
        box->overflow_hidden = is(value, "hidden");
    else if (is(name, "height") || is(name, "max-height") || is(name, "width") || is(name, "max-width"))
        box->no_size |= is_zero(value);
}

void style_apply(struct style *style, const char *css)
{
    struct box box = { 0 };
    for (const char *p = css; *p;) {
        const char *end = p + strcspn(p, ";"), *colon = memchr(p, ':', (size_t)(end - p));
        if (colon) {
            struct span value = trimmed(colon + 1, end);
            const char *important = value.n ? memchr(value.v, '!', value.n) : NULL;
            if (important)
                value = trimmed(value.v, important);
            declare(style, &box, trimmed(p, colon), value);
        }
        p = *end ? end + 1 : end;
    }
    style->hidden |= box.overflow_hidden && box.no_size;
}

static bool is_near(uint32_t a, uint32_t b)
{
    for (unsigned shift = 0; shift < 24; shift += 8)
        if (abs((int)(a >> shift & 255) - (int)(b >> shift & 255)) > NEAR)
            return false;
    return true;
}

bool style_is_visible(const struct style *style)
{
    if (style->hidden || style->unseen || style->tiny || style->colour == STYLE_TRANSPARENT)
        return false;
    if (style->colour == STYLE_UNKNOWN || style->background == STYLE_UNKNOWN)
        return true;
    return !is_near(style->colour, style->background);
}
