#include "milter/authres.h"

#include <glib.h>
#include <string.h>

/*
 *   authres-header = authserv-id [ version ] *( ";" method "=" result [ reason ] *( ptype "." prop "=" value
 * ) )
 *
 * Read as tokens: words (or quoted strings) and the marks ; and =. Comments and white space vanish. A word
 * runs to the next mark, space, quote or comment, so that "header.d=example.org" is three tokens.
 */
#define WORD_MAX    256
#define COMMENT_MAX 32 /* nested deeper: nobody of ours writes such a thing */

enum token { TOKEN_END, TOKEN_WORD, TOKEN_SEMICOLON, TOKEN_EQUALS, TOKEN_BROKEN };

struct scanner {
    const char *at;
    char word[WORD_MAX];
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Behind the closing bracket, or NULL when there is none. */
static const char *skip_comment(const char *at)
{
    unsigned depth = 0;
    for (; *at; at++) {
        if (*at == '\\' && at[1])
            at++;
        else if (*at == '(' && ++depth > COMMENT_MAX)
            return NULL;
        else if (*at == ')' && --depth == 0)
            return at + 1;
    }
    return NULL;
}

static bool skip_blank(struct scanner *s)
{
    while (is_space(*s->at) || *s->at == '(')
        if (*s->at != '(')
            s->at++;
        else if (!(s->at = skip_comment(s->at)))
            return false;
    return true;
}

static enum token read_quoted(struct scanner *s)
{
    size_t n = 0;
    for (s->at++; *s->at && *s->at != '"'; s->at++) {
        if (*s->at == '\\' && s->at[1])
            s->at++;
        if (n + 1 >= WORD_MAX)
            return TOKEN_BROKEN;
        s->word[n++] = *s->at;
    }
    s->word[n] = '\0';
    return *s->at++ == '"' ? TOKEN_WORD : TOKEN_BROKEN;
}

static enum token read_word(struct scanner *s)
{
    size_t n = 0;
    for (; *s->at && !is_space(*s->at) && !strchr(";=\"(", *s->at); s->at++) {
        if (n + 1 >= WORD_MAX)
            return TOKEN_BROKEN;
        s->word[n++] = *s->at;
    }
    s->word[n] = '\0';
    return TOKEN_WORD;
}

static enum token next_token(struct scanner *s)
{
    if (!skip_blank(s)) {
        s->at = "";
        return TOKEN_BROKEN;
    }
    switch (*s->at) {
    case '\0':
        return TOKEN_END;
    case ';':
        s->at++;
        return TOKEN_SEMICOLON;
    case '=':
        s->at++;
        return TOKEN_EQUALS;
    case '"':
        return read_quoted(s);
    default:
        return read_word(s);
    }
}

/* One result: method=value and its properties, up to the next semicolon. */
struct result {
    bool dkim, passed, broken;
    char domain[WORD_MAX]; /* header.d; empty: none */
};

static void note_pair(struct result *r, bool first, const char *name, const char *value)
{
    if (first) {
        g_autofree char *method = g_strndup(name, strcspn(name, "/")); /* dkim/1=pass */
        r->dkim = g_ascii_strcasecmp(method, "dkim") == 0;
        r->passed = r->dkim && g_ascii_strcasecmp(value, "pass") == 0;
    } else if (g_ascii_strcasecmp(name, "header.d") == 0) {
        for (size_t i = 0; i <= strlen(value); i++)
            r->domain[i] = g_ascii_tolower(value[i]);
    }
}

static enum token read_result(struct scanner *s, struct result *r)
{
    char name[WORD_MAX] = "";
    bool first = true, have_name = false;
    enum token token;
    while ((token = next_token(s)) != TOKEN_END && token != TOKEN_SEMICOLON) {
        if (token == TOKEN_WORD) {
            strcpy(name, s->word);
            have_name = true;
        } else if (token == TOKEN_EQUALS && have_name && next_token(s) == TOKEN_WORD) {
            note_pair(r, first, name, s->word);
            first = have_name = false;
        } else {
            r->broken = true;
            return TOKEN_BROKEN;
        }
    }
    return token;
}

/* The server's name, an optional version, and the semicolon behind them. */
static bool read_server(struct scanner *s, const char *authserv_id)
{
    if (next_token(s) != TOKEN_WORD || g_ascii_strcasecmp(s->word, authserv_id) != 0)
        return false;
    enum token token = next_token(s);
    if (token == TOKEN_WORD)
        token = next_token(s);
    return token == TOKEN_SEMICOLON;
}

enum authres authres_read(const char *value, const char *authserv_id, authres_visit visit, void *user)
{
    struct scanner s = { .at = value };
    enum authres found = AUTHRES_SILENT;
    enum token token;
    if (!*authserv_id || !read_server(&s, authserv_id))
        return AUTHRES_FOREIGN;
    do {
        struct result r = { 0 };
        token = read_result(&s, &r);
        if (token == TOKEN_BROKEN)
            return found;
        if (r.dkim)
            found = AUTHRES_DKIM;
        if (r.passed && r.domain[0] && !visit(r.domain, user))
            break;
    } while (token != TOKEN_END);
    return found;
}
