#include "tools/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"

struct json {
    GString *text;
    bool comma; /* the next value needs one before it */
};

struct json *json_new(void)
{
    struct json *json = g_new0(struct json, 1);
    json->text = g_string_sized_new(256);
    return json;
}

static void append_text(GString *out, const char *text)
{
    g_autofree char *repaired = g_utf8_make_valid(text, -1);
    g_string_append_c(out, '"');
    for (const char *at = repaired; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\')
            g_string_append_printf(out, "\\%c", c);
        else if (c == '\n')
            g_string_append(out, "\\n");
        else if (c == '\t')
            g_string_append(out, "\\t");
        else if (c < 0x20 || c == 0x7f)
            g_string_append_printf(out, "\\u%04x", c);
        else
            g_string_append_c(out, *at);
    }
    g_string_append_c(out, '"');
}

static GString *before_value(struct json *json, const char *key)
{
    if (json->comma)
        g_string_append_c(json->text, ',');
    json->comma = true;
    if (key) {
        append_text(json->text, key);
        g_string_append_c(json->text, ':');
    }
    return json->text;
}

void json_open(struct json *json, const char *key, char bracket)
{
    g_string_append_c(before_value(json, key), bracket);
    json->comma = false;
}

void json_close(struct json *json, char bracket)
{
    g_string_append_c(json->text, bracket);
    json->comma = true;
}

void json_string(struct json *json, const char *key, const char *text)
{
    if (!text)
        json_null(json, key);
    else
        append_text(before_value(json, key), text);
}

void json_hex(struct json *json, const char *key, uint64_t value)
{
    if (!value)
        json_null(json, key);
    else
        g_string_append_printf(before_value(json, key), "\"%016" G_GINT64_MODIFIER "x\"", value);
}

void json_uint(struct json *json, const char *key, uint64_t value)
{
    g_string_append_printf(before_value(json, key), "%" G_GUINT64_FORMAT, value);
}

void json_int(struct json *json, const char *key, int64_t value)
{
    g_string_append_printf(before_value(json, key), "%" G_GINT64_FORMAT, value);
}

void json_real(struct json *json, const char *key, double value, int digits)
{
    char format[16], number[64];
    g_snprintf(format, sizeof format, "%%.%df", digits);
    g_string_append(before_value(json, key), g_ascii_formatd(number, sizeof number, format, value));
}

void json_bool(struct json *json, const char *key, bool value)
{
    g_string_append(before_value(json, key), value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
    g_string_append(before_value(json, key), "null");
}

void json_time(struct json *json, const char *key, int64_t seconds)
{
    time_t when = (time_t)seconds;
    struct tm parts;
    char text[40];
    if (seconds <= 0 || !gmtime_r(&when, &parts) ||
        !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts))
        json_null(json, key);
    else
        json_string(json, key, text);
}

void json_print(struct json **json)
{
    g_string_append_c((*json)->text, '\n');
    fwrite((*json)->text->str, 1, (*json)->text->len, stdout);
    json_free(json);
}

const char *json_text(const struct json *json)
{
    return json->text->str;
}

void json_free(struct json **json)
{
    if (*json) {
        g_string_free((*json)->text, TRUE);
        g_free(*json);
    }
    *json = NULL;
}

/* --- reading ------------------------------------------------------------------------------------ */

struct reader {
    struct arena *arena;
    const char *start, *at, *end;
    const char *wrong; /* what was wrong, at `at` */
};

static struct json_value *read_value(struct reader *reader, unsigned depth);

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
        reader->at++;
}

static bool take(struct reader *reader, char wanted)
{
    skip_space(reader);
    if (reader->at == reader->end || *reader->at != wanted)
        return false;
    reader->at++;
    return true;
}

static void *fail(struct reader *reader, const char *wrong)
{
    if (!reader->wrong)
        reader->wrong = wrong;
    return NULL;
}

/* Four hex digits behind \u; -1 when they are none. */
static int read_unit(struct reader *reader)
{
    if (reader->end - reader->at < 4)
        return -1;
    int unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = g_ascii_xdigit_value(reader->at[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    reader->at += 4;
    return unit;
}

static bool read_escape(struct reader *reader, GString *text)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (reader->at == reader->end)
        return false;
    char c = *reader->at++;
    const char *known = c ? strchr(names, c) : NULL;
    if (known) {
        g_string_append_c(text, values[known - names]);
        return true;
    }
    int unit = c == 'u' ? read_unit(reader) : -1;
    if (unit <= 0)
        return false;
    gunichar character = (gunichar)unit;
    if (unit >= 0xd800 && unit < 0xdc00) { /* a pair of surrogates */
        if (reader->end - reader->at < 6 || reader->at[0] != '\\' || reader->at[1] != 'u')
            return false;
        reader->at += 2;
        int low = read_unit(reader);
        if (low < 0xdc00 || low > 0xdfff)
            return false;
        character = 0x10000 + (gunichar)((unit - 0xd800) << 10) + (gunichar)(low - 0xdc00);
    } else if (unit >= 0xdc00 && unit < 0xe000) {
        return false;
    }
    g_string_append_unichar(text, character);
    return true;
}

/* Behind the opening quote. */
static const char *read_text(struct reader *reader)
{
    g_autoptr(GString) text = g_string_new(NULL);
    while (reader->at < reader->end) {
        char c = *reader->at;
        if (c == '"') {
            reader->at++;
            if (!g_utf8_validate(text->str, (gssize)text->len, NULL))
                return fail(reader, "text that is not UTF-8");
            return arena_strndup(reader->arena, text->str, text->len);
        }
        if ((unsigned char)c < 0x20)
            return fail(reader, "a control character inside a text");
        reader->at++;
        if (c != '\\')
            g_string_append_c(text, c);
        else if (!read_escape(reader, text))
            return fail(reader, "a bad \\ escape");
    }
    return fail(reader, "a text without its closing quote");
}

static struct json_value *new_value(struct reader *reader, enum json_type type)
{
    struct json_value *value = ARENA_NEW(reader->arena, struct json_value);
    value->type = type;
    return value;
}

/* Behind the opening bracket. */
static struct json_value *read_list(struct reader *reader, enum json_type type, unsigned depth)
{
    struct json_value *list = new_value(reader, type);
    const struct json_value **link = &list->first;
    char close = type == JSON_OBJECT ? '}' : ']';
    if (depth == JSON_DEPTH)
        return fail(reader, "too many brackets inside each other");
    if (take(reader, close))
        return list;
    do {
        const char *key = NULL;
        if (type == JSON_OBJECT) {
            if (!take(reader, '"') || !(key = read_text(reader)) || !take(reader, ':'))
                return fail(reader, "no \"name\": before a value");
        }
        struct json_value *member = read_value(reader, depth + 1);
        if (!member)
            return NULL;
        member->key = key;
        *link = member;
        link = &member->next;
    } while (take(reader, ','));
    return take(reader, close) ? list : fail(reader, "no closing bracket");
}

static struct json_value *read_word(struct reader *reader)
{
    static const struct {
        const char *word;
        enum json_type type;
        double number;
    } words[] = { { "true", JSON_BOOL, 1 }, { "false", JSON_BOOL, 0 }, { "null", JSON_NULL, 0 } };
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(reader->end - reader->at) >= n && memcmp(reader->at, words[i].word, n) == 0) {
            reader->at += n;
            struct json_value *value = new_value(reader, words[i].type);
            value->number = words[i].number;
            return value;
        }
    }
    return fail(reader, "no value");
}

static struct json_value *read_number(struct reader *reader)
{
    char digits[40];
    size_t n = 0;
    while (reader->at < reader->end && n < sizeof digits - 1 && *reader->at &&
           strchr("+-.0123456789eE", *reader->at))
        digits[n++] = *reader->at++;
    digits[n] = 0;
    char *stop = NULL;
    double number = g_ascii_strtod(digits, &stop);
    if (*stop || !isfinite(number))
        return fail(reader, "a bad number");
    struct json_value *value = new_value(reader, JSON_NUMBER);
    value->number = number;
    return value;
}

static struct json_value *read_value(struct reader *reader, unsigned depth)
{
    if (take(reader, '{'))
        return read_list(reader, JSON_OBJECT, depth);
    if (take(reader, '['))
        return read_list(reader, JSON_ARRAY, depth);
    if (take(reader, '"')) {
        const char *text = read_text(reader);
        struct json_value *value = text ? new_value(reader, JSON_STRING) : NULL;
        if (value)
            value->text = text;
        return value;
    }
    if (reader->at < reader->end && (*reader->at == '-' || g_ascii_isdigit(*reader->at)))
        return read_number(reader);
    return read_word(reader);
}

const struct json_value *json_read(struct arena *arena, const char *text, size_t n, GError **error)
{
    struct reader reader = { .arena = arena, .start = text, .at = text, .end = text + n };
    const struct json_value *value = read_value(&reader, 0);
    skip_space(&reader);
    if (value && reader.at != reader.end)
        value = fail(&reader, "more behind the end");
    if (!value)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "not JSON: %s at character %zu", reader.wrong,
                    (size_t)(reader.at - reader.start) + 1);
    return value;
}

const struct json_value *json_member(const struct json_value *object, const char *key)
{
    if (!object || object->type != JSON_OBJECT)
        return NULL;
    for (const struct json_value *member = object->first; member; member = member->next)
        if (strcmp(member->key, key) == 0)
            return member;
    return NULL;
}

const char *json_member_text(const struct json_value *object, const char *key)
{
    const struct json_value *member = json_member(object, key);
    return member && member->type == JSON_STRING ? member->text : NULL;
}

uint64_t json_member_uint(const struct json_value *object, const char *key, uint64_t missing)
{
    const struct json_value *member = json_member(object, key);
    if (!member || member->type != JSON_NUMBER || member->number < 0 || member->number > 9007199254740992.0 ||
        member->number != floor(member->number))
        return missing;
    return (uint64_t)member->number;
}
