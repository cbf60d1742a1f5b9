/*
 * JSON, one object a line: a writer for the output of every command, and a reader for `refrain import`.
 *
 * The writer always gives valid UTF-8: bytes that are none (file names, labels) become U+FFFD. Commas are
 * its own affair.
 *
 *      struct json *json = json_new();
 *      json_open(json, NULL, '{');
 *      json_string(json, "path", path);
 *      json_close(json, '}');
 *      json_print(&json);
 *
 * A key is NULL inside an array.
 */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct json;

struct json *json_new(void);
void json_open(struct json *json, const char *key, char bracket);       /* '{' or '[' */
void json_close(struct json *json, char bracket);                       /* '}' or ']' */
void json_string(struct json *json, const char *key, const char *text); /* NULL: null */
void json_hex(struct json *json, const char *key, uint64_t value);      /* "16 digits"; 0: null */
void json_uint(struct json *json, const char *key, uint64_t value);
void json_int(struct json *json, const char *key, int64_t value);
void json_real(struct json *json, const char *key, double value, int digits);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
void json_time(struct json *json, const char *key, int64_t seconds); /* "2026-11-18T09:30:00Z" */

/* Prints the line to stdout, frees it, sets NULL. */
void json_print(struct json **json);

/* The text so far, for tests. */
const char *json_text(const struct json *json);
void json_free(struct json **json);

/* --- reading ------------------------------------------------------------------------------------ */

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* A value in the arena. Members of an object and an array are a list. */
struct json_value {
    enum json_type type;
    const char *key;  /* inside an object */
    const char *text; /* JSON_STRING */
    double number;    /* JSON_NUMBER, JSON_BOOL */
    const struct json_value *first, *next;
};

#define JSON_DEPTH 16 /* deeper input is refused: the reader recurses */

/* NULL with an error that says at which character. */
const struct json_value *json_read(struct arena *arena, const char *text, size_t n, GError **error);

/* A member by name, or NULL. */
const struct json_value *json_member(const struct json_value *object, const char *key);

/* The member's text, or NULL when it is missing or no string. */
const char *json_member_text(const struct json_value *object, const char *key);

/* The member's number when it is a whole one from 0 to 2^53; otherwise the value for a missing one. */
uint64_t json_member_uint(const struct json_value *object, const char *key, uint64_t missing);

#endif
