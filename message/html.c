#include "message/html.h"

#include <glib.h>
#include <libxml/HTMLparser.h>
#include <libxml/parserInternals.h>
#include <string.h>

#include "base/find.h"
#include "message/style.h"

/*
 * libxml2 looks through all open elements at each end tag that matches none, so that depth times end tags
 * is its work. Above this depth the parser is stopped and a new one starts behind that tag, with nothing
 * open: each start of a parser has eaten that many tags before.
 */
#define MAX_DEPTH 256
#define SLICE     (128 * 1024)

/*
 * libxml2 compares each attribute of a tag with all before it. Its names live in a dictionary whose size
 * can be limited; this many bytes are enough for all names that HTML and Word have, and make a tag of a
 * million attributes harmless.
 */
#define MAX_NAMES 8192

/*
 * libxml2 writes a sentence about each mistake before it asks whether anyone wants it, which takes longer
 * than all else. No page that people see has so many; behind the last one the page is cut.
 */
#define MAX_MISTAKES 50000

/* Bytes of HTML that are read for each byte of the text limit. */
#define MAX_MARKUP 2

enum role {
    INLINE,
    BLOCK, /* ends the line before and behind */
    CELL,  /* ends the word before and behind */
    LINE,  /* is the end of a line: br */
    RULE,  /* hr */
    VOID,  /* has nothing in it, is not pushed */
    UNSEEN,
    KEEP_SPACE, /* pre: a block whose line ends count */
};

static const struct element {
    char name[12];
    enum role role;
    const char *link; /* the attribute that is one */
} elements[] = {
    /* sorted by name */
    { "a", INLINE, "href" },       { "address", BLOCK, NULL },  { "area", VOID, "href" },
    { "article", BLOCK, NULL },    { "aside", BLOCK, NULL },    { "base", VOID, "href" },
    { "blockquote", BLOCK, NULL }, { "body", BLOCK, NULL },     { "br", LINE, NULL },
    { "caption", BLOCK, NULL },    { "center", BLOCK, NULL },   { "dd", BLOCK, NULL },
    { "dir", BLOCK, NULL },        { "div", BLOCK, NULL },      { "dl", BLOCK, NULL },
    { "dt", BLOCK, NULL },         { "fieldset", BLOCK, NULL }, { "figure", BLOCK, NULL },
    { "footer", BLOCK, NULL },     { "form", BLOCK, "action" }, { "h1", BLOCK, NULL },
    { "h2", BLOCK, NULL },         { "h3", BLOCK, NULL },       { "h4", BLOCK, NULL },
    { "h5", BLOCK, NULL },         { "h6", BLOCK, NULL },       { "header", BLOCK, NULL },
    { "hr", RULE, NULL },          { "iframe", BLOCK, "src" },  { "img", VOID, "src" },
    { "input", VOID, NULL },       { "legend", BLOCK, NULL },   { "li", BLOCK, NULL },
    { "main", BLOCK, NULL },       { "menu", BLOCK, NULL },     { "meta", VOID, NULL },
    { "nav", BLOCK, NULL },        { "noembed", UNSEEN, NULL }, { "noframes", UNSEEN, NULL },
    { "ol", BLOCK, NULL },         { "option", BLOCK, NULL },   { "p", BLOCK, NULL },
    { "pre", KEEP_SPACE, NULL },   { "script", UNSEEN, NULL },  { "section", BLOCK, NULL },
    { "select", BLOCK, NULL },     { "style", UNSEEN, NULL },   { "table", BLOCK, NULL },
    { "tbody", BLOCK, NULL },      { "td", CELL, NULL },        { "template", UNSEEN, NULL },
    { "textarea", BLOCK, NULL },   { "th", CELL, NULL },        { "title", UNSEEN, NULL },
    { "tr", BLOCK, NULL },         { "ul", BLOCK, NULL },       { "xml", UNSEEN, NULL },
};

static const struct element any_element = { "", INLINE, NULL };

struct open {
    const struct element *element;
    struct style style; /* of what is inside */
    bool visible, keep_space;
};

struct page {
    htmlParserCtxtPtr parser;
    struct text *text;
    const struct html_links *links;
    bool source; /* html_append_source() */
    bool styled; /* a style sheet was seen: backgrounds of elements with a class are not known */
    bool stopped;
    size_t stopped_at;
    unsigned mistakes;
    bool given_up; /* there were too many */
    unsigned depth;
    struct open open[MAX_DEPTH + 1]; /* [0] is the page itself */
};

static const struct element *find_element(const char *name)
{
    size_t low = 0, high = G_N_ELEMENTS(elements);
    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = strcmp(name, elements[mid].name);
        if (!order)
            return &elements[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return &any_element;
}

static void add_link(struct page *page, const char *url)
{
    while (g_ascii_isspace(*url))
        url++;
    const char *host = url;
    size_t scheme = strcspn(url, ":/?#");
    if (url[scheme] == ':') {
        bool known = (scheme == 4 && g_ascii_strncasecmp(url, "http", 4) == 0) ||
                     (scheme == 5 && g_ascii_strncasecmp(url, "https", 5) == 0) ||
                     (scheme == 3 && g_ascii_strncasecmp(url, "ftp", 3) == 0);
        if (!known)
            return;
        host = url + scheme + 1;
    }
    if ((host[0] != '/' && host[0] != '\\') || (host[1] != '/' && host[1] != '\\'))
        return;
    host += strspn(host, "/\\");
    size_t n = strcspn(host, "/\\?# \t\r\n<>\"");
    if (n)
        page->links->add(page->links->user, host, n);
}

static void append_run(struct page *page, const char *p, size_t n)
{
    struct text *text = page->text;
    if (page->open[page->depth].keep_space) {
        text_append(text, p, n);
        return;
    }
    for (const char *end = p + n; p < end;) {
        const char *start = p;
        while (p < end && (unsigned char)*p > ' ')
            p++;
        text_append(text, start, (size_t)(p - start));
        if (p < end)
            text_end_word(text);
        while (p < end && (unsigned char)*p <= ' ')
            p++;
    }
}

static void append_attribute(struct page *page, const char *value)
{
    text_end_word(page->text);
    append_run(page, value, strlen(value));
    text_end_word(page->text);
}

/* With HTML_VALUE before and behind it. */
static void append_value(struct page *page, const char *value)
{
    static const char mark = HTML_VALUE;
    text_append(page->text, &mark, 1);
    append_attribute(page, value);
    text_append(page->text, &mark, 1);
}

static void open_line(struct page *page, enum role role)
{
    if (role == CELL)
        text_end_word(page->text);
    else if (role == LINE && page->text->n)
        text_append(page->text, "\n", 1);
    else if (role == BLOCK || role == RULE || role == KEEP_SPACE)
        text_end_line(page->text);
    if (role == RULE && !page->source)
        text_append(page->text, "----\n", 5);
}

static bool is_source_attribute(const char *name, const char *value)
{
    static const char *const names[] = { "href", "src", "background", "alt", "title", "value" };
    if (g_ascii_strncasecmp(value, "cid:", 4) == 0 || g_ascii_strncasecmp(value, "mailto:", 7) == 0)
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* What the attributes say about the look; links and alt are read once that is known. */
static void read_look(struct page *page, const char **atts, struct open *open)
{
    const char *css = NULL;
    for (; atts[0]; atts += 2) {
        const char *name = atts[0], *value = atts[1] ? atts[1] : "";
        if (strcmp(name, "style") == 0) {
            css = value;
        } else if (strcmp(name, "bgcolor") == 0) {
            open->style.background = style_colour(value);
        } else if (strcmp(name, "background") == 0) {
            open->style.background = STYLE_UNKNOWN;
        } else if (strcmp(name, "color") == 0 || strcmp(name, "text") == 0) {
            open->style.colour = style_colour(value);
        } else if (strcmp(name, "hidden") == 0) {
            open->style.hidden = true;
        } else if (page->styled && (strcmp(name, "class") == 0 || strcmp(name, "id") == 0)) {
            open->style.background = STYLE_UNKNOWN;
        }
    }
    if (css)
        style_apply(&open->style, css);
}

static void read_content(struct page *page, const char **atts, const struct element *element)
{
    for (; atts[0]; atts += 2) {
        if (!atts[1])
            continue;
        if (element->link && strcmp(atts[0], element->link) == 0)
            add_link(page, atts[1]);
        else if (strcmp(atts[0], "alt") == 0)
            append_attribute(page, atts[1]);
    }
}

static void stop(struct page *page)
{
    const xmlParserInput *input = page->parser->input;
    page->stopped = true;
    page->stopped_at = (size_t)input->consumed + (size_t)(input->cur - input->base);
    xmlStopParser(page->parser);
}

static void on_start(void *user, const xmlChar *xml_name, const xmlChar **xml_atts)
{
    struct page *page = user;
    if (page->stopped)
        return;
    if (page->depth == MAX_DEPTH) {
        stop(page);
        return;
    }
    const struct element *element = find_element((const char *)xml_name);
    const struct open *parent = &page->open[page->depth];
    struct open *open = &page->open[++page->depth];
    *open = (struct open) { element, parent->style, parent->visible, parent->keep_space };

    if (element->role == UNSEEN) {
        open->style.hidden = true;
        page->styled |= element->name[0] == 's' && element->name[1] == 't';
    }
    if (element->role == KEEP_SPACE)
        open->keep_space = true;
    if (element->link && element->name[0] == 'a')
        open->style.colour = STYLE_UNKNOWN; /* links have a colour of their own */
    if (xml_atts && !open->style.hidden)
        read_look(page, (const char **)xml_atts, open);
    open->visible = style_is_visible(&open->style);

    open_line(page, element->role);
    if (page->source) {
        text_end_word(page->text);
        for (const char **a = (const char **)xml_atts; a && a[0]; a += 2)
            if (a[1] && is_source_attribute(a[0], a[1]))
                append_value(page, a[1]);
        return;
    }
    if (xml_atts && open->visible)
        read_content(page, (const char **)xml_atts, element);
}

static void on_end(void *user, const xmlChar *xml_name)
{
    (void)xml_name;
    struct page *page = user;
    if (page->stopped || !page->depth)
        return;
    enum role role = page->open[page->depth--].element->role;
    if (role == BLOCK || role == KEEP_SPACE)
        text_end_line(page->text);
    else if (role == CELL || page->source)
        text_end_word(page->text);
}

static void on_text(void *user, const xmlChar *p, int n)
{
    struct page *page = user;
    const struct open *open = &page->open[page->depth];
    if (page->stopped || (page->source ? open->element->role == UNSEEN : !open->visible))
        return;
    append_run(page, (const char *)p, (size_t)n);
}

/* Script and style come here. */
static void on_cdata(void *user, const xmlChar *p, int n)
{
    (void)user, (void)p, (void)n;
}

static void on_mistake(void *user, const char *format, ...)
{
    (void)format;
    struct page *page = user;
    if (++page->mistakes <= MAX_MISTAKES || page->stopped)
        return;
    page->text->cut = page->given_up = true;
    stop(page);
}

static htmlSAXHandler handler = {
    .startElement = on_start,
    .endElement = on_end,
    .characters = on_text,
    .ignorableWhitespace = on_text,
    .cdataBlock = on_cdata,
    .error = on_mistake,
};

/* Parses until the end or the depth; returns how many bytes were read. */
static size_t parse_once(struct page *page, const char *html, size_t n)
{
    htmlParserCtxtPtr parser = htmlCreateMemoryParserCtxt(html, (int)n);
    if (!parser)
        return n;
    page->parser = parser;
    page->stopped = false;
    page->depth = 0;
    page->open[0] = (struct open) { &any_element, style_initial, true, false };
    *parser->sax = handler;
    parser->userData = page;
    htmlCtxtUseOptions(parser, HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                   HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC | HTML_PARSE_NODEFDTD |
                                   HTML_PARSE_NOIMPLIED);
    *parser->sax = handler;
    xmlSwitchEncoding(parser, XML_CHAR_ENCODING_UTF8);
    xmlDictSetLimit(parser->dict, MAX_NAMES);
    htmlParseDocument(parser);
    htmlFreeParserCtxt(parser);
    return page->stopped ? page->stopped_at : n;
}

/* The parser stops inside a tag, before its `>`. */
static size_t behind_tag(const char *html, size_t n, size_t at)
{
    while (at < n && (g_ascii_isspace(html[at]) || html[at] == '/'))
        at++;
    return at < n && html[at] == '>' ? at + 1 : at;
}

/* What a page that is too deep is read in from there on, as the parser copies what it gets. */
static size_t next_slice(const char *html, size_t n)
{
    const char *tag = n > SLICE ? memrchr(html + 1, '<', SLICE) : NULL;
    return tag ? (size_t)(tag - html) : n;
}

/* In a copy, from a place on: a mark of the same length that starts a processing instruction, which is
 * unseen. */
static char *instruct(struct arena *arena, const char *html, size_t n, size_t from, const char *start,
                      const char *instead)
{
    size_t length = strlen(start);
    char *copy = arena_strndup(arena, html, n);
    for (char *p = copy + from; (p = memmem(p, (size_t)(copy + n - p), start, length)); p += length)
        memcpy(p, instead, length);
    return copy;
}

/*
 * A comment that never ends would take the rest of the page with it. Old programs end it at the first `>`,
 * and so do we.
 */
static const char *end_comments(struct arena *arena, const char *html, size_t n)
{
    const char *end = html + n, *comment = html, *close = html;
    while (close && (comment = find_rare(close, (size_t)(end - close), "<!--", 1)))
        close = memmem(comment + 4, (size_t)(end - comment - 4), "-->", 3);
    return comment ? instruct(arena, html, n, (size_t)(comment - html), "<!--", "<?x ") : html;
}

/* <![if …]> and <![CDATA[…]]> are no text to browsers, though they are to libxml2. */
static const char *end_sections(struct arena *arena, const char *html, size_t n)
{
    const char *first = find_rare(html, n, "<![", 1);
    return first ? instruct(arena, html, n, (size_t)(first - html), "<![", "<?x") : html;
}

static void parse(struct page *page, const char *html, size_t n)
{
    /* Markup is larger than its text, but not without end. */
    size_t limit = MIN(page->text->limit, (size_t)G_MAXINT / 2 / MAX_MARKUP) * MAX_MARKUP;
    if (n > limit) {
        n = limit;
        page->text->cut = true;
    }
    html = end_comments(page->text->arena, html, n);
    html = end_sections(page->text->arena, html, n);
    bool cut = page->text->cut;
    for (size_t slice = n; n && page->text->cut == cut && !page->given_up; slice = next_slice(html, n)) {
        size_t at = parse_once(page, html, slice);
        if (at < slice)
            at = behind_tag(html, slice, MAX(at, (size_t)1));
        html += at;
        n -= at;
    }
}

/* The stack is large and mostly unused: it is not cleared. */
static struct page *page_new(struct text *text, const struct html_links *links, bool source)
{
    struct page *page = arena_alloc(text->arena, sizeof *page);
    page->text = text;
    page->links = links;
    page->source = source;
    page->styled = false;
    page->mistakes = 0;
    page->given_up = false;
    return page;
}

/*
 * Lists put their footer behind the page, as plain text, and many pages do not say where they end: where the
 * footer in the text behind the last tag starts. n when there is none.
 */
static size_t find_list_footer(const char *html, size_t n)
{
    const char *last = memrchr(html, '>', n);
    size_t from = last ? (size_t)(last + 1 - html) : 0;
    return from + text_find_footer(html + from, n - from, 0);
}

/* Its lines are lines, so that it is found again in the text of the page. */
static const char *keep_lines(struct arena *arena, const char *html, size_t from, size_t *n)
{
    struct text out;
    text_init(&out, arena, SIZE_MAX);
    text_append(&out, html, from);
    for (size_t at = from, next; at < *n; at = next) {
        const char *lf = memchr(html + at, '\n', *n - at);
        next = lf ? (size_t)(lf + 1 - html) : *n;
        text_append(&out, "<br>", 4);
        text_append(&out, html + at, next - at);
    }
    *n = out.n;
    return out.v;
}

static void append_page(struct page *page, const char *html, size_t n)
{
    size_t footer = find_list_footer(html, n);
    if (footer < n)
        html = keep_lines(page->text->arena, html, footer, &n);
    parse(page, html, n);
}

void html_append(struct text *text, const char *html, size_t n, const struct html_links *links)
{
    append_page(page_new(text, links, false), html, n);
}

void html_append_source(struct text *text, const char *html, size_t n)
{
    append_page(page_new(text, NULL, true), html, n);
}

bool html_looks_like(const char *text, size_t n)
{
    static const char *const starts[] = { "<html", "<!doctype html", "<head", "<body", "<meta" };
    const char *p = text, *end = text + n;
    if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < end && g_ascii_isspace(*p))
        p++;
    for (size_t i = 0; p < end && *p == '<' && i < G_N_ELEMENTS(starts); i++)
        if ((size_t)(end - p) > strlen(starts[i]) &&
            g_ascii_strncasecmp(p, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}
