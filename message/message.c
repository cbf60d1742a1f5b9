#include "message/message.h"

#include <gmime/gmime.h>
#include <libxml/parser.h>
#include <string.h>

#include "message/parts.h"
#include "message/short.h"
#include "message/text.h"
#include "message/tokens.h"

/* Fewer words than this above a line that looks like a footer's: it is none, but a banner. */
#define MIN_ABOVE_FOOTER 5

/*
 * With no words above the first such line, so many terms below it are a text; fewer may be the footer of a
 * list or provider below a mail that says nothing.
 */
#define MORE_THAN_FOOTER 40

/*
 * Mail that people write is below all of these: of 39,761 messages of public corpora the largest has 301 kB,
 * 228 kB of text and 6,221 terms. They bound what one hostile message can cost: tenths of a second and some
 * megabytes.
 */
const struct message_limits message_default_limits = {
    .bytes = 2 * 1024 * 1024,   /* behind it there are pictures and archives */
    .header_bytes = 256 * 1024, /* Postfix's header_size_limit is 102,400 */
    .parts = 1000,
    .depth = 32,
    .text_bytes = 512 * 1024, /* and twice as much HTML */
    .terms = 10000,
};

/* There when the leak sanitizer is. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/*
 * Messages inside messages come as plain parts: GMime would parse their addresses, by a recursion that a
 * header of 120 kB drives through the stack. parts.c opens them itself, behind the guard. GMime forgets to
 * free what it registered before, 16 bytes each, once.
 */
static void init_gmime(void)
{
    static const char *const subtypes[] = { "rfc822", "rfc2822", "global", "news" };
    if (__lsan_disable)
        __lsan_disable();
    g_mime_init();
    for (size_t i = 0; i < G_N_ELEMENTS(subtypes); i++)
        g_mime_object_register_type("message", subtypes[i], GMIME_TYPE_PART);
    if (__lsan_enable)
        __lsan_enable();
}

void message_init(void)
{
    init_gmime();
    xmlInitParser();
    tokens_init();
}

/* A URL is its host: the path is where senders put a number for each reader. */
static void add_text(struct tokens *tokens, const char *text, size_t n)
{
    struct text_urls urls;
    struct text_url url;
    size_t at = 0;
    text_urls_init(&urls, text, n);
    while (text_urls_next(&urls, &url)) {
        tokens_add_text(tokens, text + at, url.at - at);
        if (url.host_n)
            tokens_add_host(tokens, text + url.host_at, url.host_n);
        at = url.at + url.n;
    }
    tokens_add_text(tokens, text + at, n - at);
}

static void add_hosts(struct tokens *tokens, const char *text, size_t n)
{
    struct text_urls urls;
    struct text_url url;
    text_urls_init(&urls, text, n);
    while (text_urls_next(&urls, &url))
        if (url.host_n)
            tokens_add_host(tokens, text + url.host_at, url.host_n);
}

static void on_link(void *user, const char *host, size_t n)
{
    tokens_add_host(user, host, n);
}

static bool has_words(const struct tokens *tokens, unsigned least)
{
    struct terms terms = tokens_terms(tokens);
    unsigned words = 0;
    for (uint32_t i = 0; i < terms.n && words < least; i++)
        words += terms.v[i].kind == TERM_WORD;
    return words >= least;
}

/*
 * Adds the text above the footer, and returns where that starts: at the first line that looks like one, if
 * there are words above it. If there are none it is a banner, or the mail is all footer (which may have
 * such lines inside): then a later line counts that has more above it than footers have. n when there is
 * none, with all of the text added.
 */
static size_t add_above_footer(struct tokens *body, const struct text *text, bool *all_below_out)
{
    size_t footer = text_find_footer(text->v, text->n, 0), at = footer;
    add_text(body, text->v, footer);
    *all_below_out = footer < text->n && !has_words(body, MIN_ABOVE_FOOTER);
    while (*all_below_out && footer < text->n) {
        footer = text_find_footer(text->v, text->n, at + 1);
        add_text(body, text->v + at, footer - at);
        if (tokens_terms(body).n >= MORE_THAN_FOOTER)
            break;
        at = footer;
    }
    return footer;
}

/* body already has the hosts of HTML links. */
static void make_word_views(struct message *message, const struct parts *walk, struct tokens *body,
                            uint64_t key)
{
    const struct text *text = &walk->text;
    bool all_below;
    add_text(body, walk->subject.v, walk->subject.n);
    size_t footer = add_above_footer(body, text, &all_below), footer_n = text->n - footer;
    if (footer_n) {
        struct tokens *full = tokens_new(walk->arena, key, walk->limits->terms);
        tokens_add_all(full, body);
        add_text(full, text->v + footer, footer_n);
        message->view[MESSAGE_FULL] = tokens_terms(full);
        add_hosts(body, text->v + footer, footer_n);
    }
    bool is_footer = all_below && tokens_terms(body).n < MORE_THAN_FOOTER;
    message->view[is_footer ? MESSAGE_FULL : MESSAGE_BODY] = tokens_terms(body);
    if (tokens_full(body))
        message->cut |= MESSAGE_CUT_TERMS;
}

struct message *message_read(struct arena *arena, const void *bytes, size_t n, uint64_t key,
                             const struct message_limits *limits)
{
    struct message *message = ARENA_NEW(arena, struct message);
    struct tokens *body = tokens_new(arena, key, limits->terms);
    struct parts walk;
    parts_init(&walk, arena, limits);
    walk.links = (struct html_links) { on_link, body };
    parts_read(&walk, bytes, n);
    message->cut = walk.cut;
    make_word_views(message, &walk, body, key);
    if (message->view[MESSAGE_BODY].n < SHORT_BELOW) {
        message->view[MESSAGE_SHORT] = short_windows(&walk, key);
        message->view[MESSAGE_PART] = short_part(&walk, key);
    }
    return message;
}

static void write_link(void *user, const char *host, size_t n)
{
    struct text *links = user;
    text_append(links, "http://", 7);
    text_append(links, host, n);
    text_end_line(links);
}

const char *message_text(struct arena *arena, const void *bytes, size_t n,
                         const struct message_limits *limits, size_t *n_out)
{
    struct text links, all;
    struct parts walk;
    text_init(&links, arena, limits->text_bytes);
    parts_init(&walk, arena, limits);
    walk.links = (struct html_links) { write_link, &links };
    parts_read(&walk, bytes, n);
    text_init(&all, arena, limits->text_bytes + walk.subject.n + links.n + 2);
    text_append(&all, walk.subject.v, walk.subject.n);
    text_end_line(&all);
    text_append(&all, walk.text.v, walk.text.n);
    text_end_line(&all);
    text_append(&all, links.v, links.n);
    *n_out = all.n;
    return all.v;
}

struct terms message_terms_of_text(struct arena *arena, const char *text, size_t n, uint64_t key,
                                   const struct message_limits *limits)
{
    struct tokens *tokens = tokens_new(arena, key, limits->terms);
    add_text(tokens, text, MIN(n, limits->text_bytes));
    return tokens_terms(tokens);
}

const char *message_view_name(enum message_view view)
{
    static const char *const names[MESSAGE_VIEWS] = { "body", "full", "short", "part" };
    return names[view];
}

const char *message_cut_names(struct arena *arena, unsigned cut)
{
    static const char *const names[] = { "bytes", "header", "parts", "depth", "text", "terms" };
    char out[64] = "";
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        if (cut >> i & 1) {
            if (*out)
                g_strlcat(out, ", ", sizeof out);
            g_strlcat(out, names[i], sizeof out);
        }
    return arena_strndup(arena, out, strlen(out));
}
