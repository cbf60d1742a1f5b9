/*
 * Finding a short string in bytes. memmem() looks at every byte for needles as short as ours; memchr() goes
 * by vectors, so it pays to look for the needle's rarest byte with it.
 */
#ifndef BASE_FIND_H
#define BASE_FIND_H

#include <stddef.h>
#include <string.h>

/* The first place of the needle, or NULL. needle[rare] is the byte that the text has least of. */
static inline const char *find_rare(const char *bytes, size_t n, const char *needle, size_t rare)
{
    size_t length = strlen(needle);
    if (n < length)
        return NULL;
    const char *p = bytes + rare, *end = bytes + (n - length) + rare + 1;
    while (p < end && (p = memchr(p, needle[rare], (size_t)(end - p)))) {
        if (memcmp(p - rare, needle, length) == 0)
            return p - rare;
        p++;
    }
    return NULL;
}

#endif
