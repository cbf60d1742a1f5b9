#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "lexicon/cli.h"
#include "lexicon/lexicon.h"
#include "message/message.h"
#include "message/tokens.h"

/* Adaptive: a term in the first tenth of an order is likely to sign the documents that have it. */
#define EARLY (UINT64_MAX / 10)

/* A word is shown as the terms that the tokeniser makes of it; "http://host/…" or "http:host" as a host. */
static struct terms terms_of(struct arena *arena, const char *word, uint64_t key)
{
    struct tokens *tokens = tokens_new(arena, key, 1000);
    const char *host = g_str_has_prefix(word, "http://")    ? word + 7
                       : g_str_has_prefix(word, "https://") ? word + 8
                       : g_str_has_prefix(word, "http:")    ? word + 5
                                                            : NULL;
    if (host)
        tokens_add_host(tokens, host, strcspn(host, "/?#"));
    else
        tokens_add_text(tokens, word, strlen(word));
    return tokens_terms(tokens);
}

/* Lexicon 0 is the whole primary one with dropout; the copies, and the orders of adaptive, are 1 … K. */
static bool is_in(const struct lexicon *l, unsigned k, const struct term *term, const struct lexicon_entry *e)
{
    const struct lexicon_plan *p = lexicon_plan_of(l);
    if (p->scheme == LEXICON_ADAPTIVE)
        return k > 0 && hash_mix(term->hash ^ lexicon_order_keys(l)[k - 1]) < EARLY;
    bool chosen = e->classes & LEXICON_PRIMARY || (p->secondary && e->classes & LEXICON_SECONDARY);
    return chosen && (k == 0 || lexicon_in_copy(l, k - 1, term->hash));
}

static char *list_lexicons(const struct lexicon *l, const struct term *term, const struct lexicon_entry *e,
                           const char *separator)
{
    GString *list = g_string_new(NULL);
    for (unsigned k = 0; k <= lexicon_plan_of(l)->k; k++)
        if (is_in(l, k, term, e))
            g_string_append_printf(list, "%s%u", list->len ? separator : "", k);
    return g_string_free(list, FALSE);
}

static void show_json(const struct lexicon *l, const char *word, const struct term *term)
{
    struct lexicon_entry e = { 0 };
    bool known = term && lexicon_find(l, term->hash, &e);
    char *w = cli_json_string(word), *t = term ? cli_json_string(term->text) : g_strdup("null");
    printf("{\"word\":%s,\"term\":%s,\"known\":%s", w, t, known ? "true" : "false");
    if (known) {
        char *list = list_lexicons(l, term, &e, ",");
        printf(",\"documents\":%" PRIu32 ",\"nidf\":%.3f,\"common\":%s,\"class\":\"%s\",\"%s\":[%s]", e.df,
               lexicon_nidf(l, e.df), e.classes & LEXICON_COMMON ? "true" : "false",
               e.classes & LEXICON_PRIMARY     ? "primary"
               : e.classes & LEXICON_SECONDARY ? "secondary"
                                               : "below",
               lexicon_plan_of(l)->scheme == LEXICON_ADAPTIVE ? "early" : "lexicons", list);
        g_free(list);
    }
    puts("}");
    g_free(w);
    g_free(t);
}

/* printf counts bytes; a terminal counts columns, two for a Chinese character. */
static void print_padded(const char *text)
{
    int width = 0;
    for (const char *c = text; *c; c = g_utf8_next_char(c))
        width += g_unichar_iswide(g_utf8_get_char(c)) ? 2 : 1;
    printf("%s%*s", text, MAX(20 - width, 0), "");
}

static void show_text(const struct lexicon *l, const char *word, const struct term *term)
{
    struct lexicon_entry e;
    if (!term) {
        char *valid = log_clean(g_utf8_make_valid(word, -1));
        print_padded(valid);
        puts(" not a term: too short, or too many digits");
        g_free(valid);
        return;
    }
    if (!lexicon_find(l, term->hash, &e)) {
        print_padded(term->text);
        puts(" not known");
        return;
    }
    bool adaptive = lexicon_plan_of(l)->scheme == LEXICON_ADAPTIVE;
    const char *class = adaptive                        ? ""
                        : e.classes & LEXICON_PRIMARY   ? "primary   "
                        : e.classes & LEXICON_SECONDARY ? "secondary "
                                                        : "below     ";
    char *list = list_lexicons(l, term, &e, " ");
    print_padded(term->text);
    printf(" %9" PRIu32 " documents  nidf %.3f  %s  %s%s %s\n", e.df, lexicon_nidf(l, e.df),
           e.classes & LEXICON_COMMON ? "common" : "      ", class, adaptive ? "early in" : "in",
           *list ? list : "none");
    g_free(list);
}

static void show_word(const struct lexicon *l, const char *word, bool json)
{
    void (*show)(const struct lexicon *, const char *, const struct term *) = json ? show_json : show_text;
    struct arena *arena = arena_new();
    struct terms terms = terms_of(arena, word, lexicon_key(l));
    if (!terms.n)
        show(l, word, NULL);
    for (uint32_t i = 0; i < terms.n; i++)
        show(l, word, &terms.v[i]);
    arena_free(&arena);
}

static bool run(const struct cli_command *command, int argc, char **argv, GError **error)
{
    char **arguments = NULL, *file = NULL, *config = NULL;
    gboolean json = FALSE;
    const GOptionEntry entries[] = {
        { "lexicon", 0, 0, G_OPTION_ARG_FILENAME, &file, "the lexicon, instead of the first argument",
          "FILE" },
        { "config", 'c', 0, G_OPTION_ARG_FILENAME, &config, "the lexicon that this configuration names",
          "FILE" },
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print one JSON object a line", NULL },
        { 0 },
    };
    bool good = cli_parse(command, entries, argc, argv, &arguments, error);
    if (good && config && !file)
        good = cli_configured_lexicon(config, &file, error);
    char **words = arguments;
    const char *path = file;
    if (good && !file && *words)
        path = *words++;
    if (good && (!path || !*words))
        good = cli_misused(command, error, "a lexicon and a word are needed");
    message_init();
    struct lexicon *l = good ? lexicon_open(path, error) : NULL;
    for (; l && *words; words++)
        show_word(l, *words, json);
    good = l;
    lexicon_unref(l);
    g_strfreev(arguments);
    g_free(file);
    g_free(config);
    return good;
}

const struct cli_command cli_show = {
    .name = "show",
    .usage = "FILE.lex WORD...",
    .summary = "how often a word is, and in which lexicons",
    .run = run,
};
