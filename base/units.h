/*
 * Times are written 200ms, 5s, 10m, 2h, 30d; sizes 512, 64K, 10M, 2G; both also in messages to people.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds. A number without a unit is refused: nobody remembers which one is meant. */
bool units_parse_time(const char *text, int64_t *milliseconds_out);
bool units_parse_size(const char *text, uint64_t *bytes_out);

/* "3d", "2h", "45s": the largest unit that fits. Returns the buffer. */
#define UNITS_MAX 32
char *units_format_age(int64_t seconds, char out[UNITS_MAX]);
/* "512 B", "1.2 KB", "34 MB". */
char *units_format_size(uint64_t bytes, char out[UNITS_MAX]);

#endif
