/*
 * What a piece of HTML looks like: can it be seen at all? Reads style attributes and the old attributes
 * (bgcolor, color), as far as spammers use them to hide words. Style sheets are not read: where one may
 * have set a background, nothing is taken to be hidden in it.
 */
#ifndef MESSAGE_STYLE_H
#define MESSAGE_STYLE_H

#include <stdbool.h>
#include <stdint.h>

/* 0xrrggbb, or one of these. */
#define STYLE_UNKNOWN     UINT32_C(0xff000000)
#define STYLE_TRANSPARENT UINT32_C(0xfe000000)
#define STYLE_BLACK       UINT32_C(0x000000)
#define STYLE_WHITE       UINT32_C(0xffffff)

/* Inherited by what is inside. */
struct style {
    uint32_t colour, background;
    bool hidden; /* with all that is inside */
    bool unseen; /* visibility: hidden; what is inside may show itself again */
    bool tiny;   /* font size of a pixel or none; what is inside may be larger */
};

extern const struct style style_initial;

/* Reads a style attribute on top of what is inherited. */
void style_apply(struct style *style, const char *css);

/* "#fff", "#ffffff", "ffffff", "white", "rgb(255, 255, 255)". */
uint32_t style_colour(const char *value);

bool style_is_visible(const struct style *style);

#endif
