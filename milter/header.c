#include "milter/header.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX_WISHED 78 /* RFC 5322, 2.1.1 */

static const char *keep(struct arena *arena, GString *text)
{
    const char *kept = arena_strndup(arena, text->str, text->len);
    g_string_free(text, TRUE);
    return kept;
}

bool header_is_ours(const char *name)
{
    return g_ascii_strncasecmp(name, HEADER_MARK, strlen(HEADER_MARK)) == 0;
}

char *campaign_text(uint64_t campaign, char out[CAMPAIGN_TEXT])
{
    snprintf(out, CAMPAIGN_TEXT, "%016" PRIx64, campaign);
    return out;
}

const char *header_fold(struct arena *arena, const char *name, const char *value)
{
    GString *folded = g_string_new(NULL);
    size_t column = strlen(name) + 2;
    for (const char *at = value; *at;) {
        /* A piece is the white space before a word, and the word. */
        size_t blank = strspn(at, " \t");
        size_t piece = blank + strcspn(at + blank, " \t");
        if (blank && piece > blank && at != value && column + piece > LINE_MAX_WISHED) {
            g_string_append_c(folded, '\n');
            column = 0;
        }
        g_string_append_len(folded, at, (gssize)piece);
        column += piece;
        at += piece;
    }
    return keep(arena, folded);
}

const char *header_mark(struct arena *arena, const struct decision *decision, const struct store_match *match,
                        bool leading_space)
{
    char id[CAMPAIGN_TEXT];
    GString *value = g_string_new(leading_space ? " " : "");
    switch (decision->mark) {
    case MARK_NONE:
        g_string_free(value, TRUE);
        return NULL;
    case MARK_CLEAN:
        g_string_append(value, "clean");
        break;
    case MARK_UNAVAILABLE:
        g_string_append(value, "unavailable");
        break;
    case MARK_MATCH:
        g_string_append_printf(value, "match; campaign=%s; similarity=%.2f; action=%s",
                               campaign_text(match->campaign, id), match->likeness.similarity,
                               action_name(decision->action));
        break;
    }
    return header_fold(arena, HEADER_MARK, keep(arena, value));
}

const char *header_subject(struct arena *arena, const char *prefix, const char *value, bool leading_space)
{
    while (*value == ' ' || *value == '\t')
        value++;
    if (g_str_has_prefix(value, prefix))
        return NULL;
    GString *subject = g_string_new(leading_space ? " " : "");
    g_string_append_printf(subject, "%s%s%s", prefix, *value ? " " : "", value);
    return keep(arena, subject);
}

const char *header_reply_text(struct arena *arena, const char *text, uint64_t campaign)
{
    static const char slot[] = "{campaign}";
    char id[CAMPAIGN_TEXT];
    GString *reply = g_string_new(NULL);
    while (*text) {
        if (g_str_has_prefix(text, slot)) {
            g_string_append(reply, campaign_text(campaign, id));
            text += strlen(slot);
            continue;
        }
        if (*text == '%')
            g_string_append_c(reply, '%');
        g_string_append_c(reply, *text++);
    }
    return keep(arena, reply);
}
