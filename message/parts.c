#include "message/parts.h"

#include <string.h>

#include "autoconfig.h"
#include "message/charset.h"
#include "message/guard.h"
#include "message/raw.h"
#include "message/subject.h"

/*
 * Messages inside messages are parsed each on its own, so that every header block passes the guard. What
 * lies n deep is read n times: all together at most this many times the size limit.
 */
#define MAX_REREAD 4

/* One multipart whose parts are visited, or one message inside a message. */
struct frame {
    GMimeObject *object;
    int next, end, step;
    bool first_with_text; /* stop at the first part that says something */
    size_t mark;          /* the length of the text when the part before was visited */
};

struct tree {
    struct parts *walk;
    struct frame *stack;
    unsigned n;
};

void parts_init(struct parts *walk, struct arena *arena, const struct message_limits *limits)
{
    *walk = (struct parts) { .arena = arena, .limits = limits };
    walk->shown_end = &walk->shown;
    walk->bytes_left = limits->bytes > SIZE_MAX / MAX_REREAD ? SIZE_MAX : limits->bytes * MAX_REREAD;
    text_init(&walk->text, arena, limits->text_bytes);
    text_init(&walk->subject, arena, limits->text_bytes);
}

static void unref(void *object)
{
    g_object_unref(object);
}

static const char *content_of(GMimePart *part, size_t *n_out)
{
    GMimeDataWrapper *wrapper = g_mime_part_get_content(part);
    *n_out = 0;
    if (!wrapper || !GMIME_IS_STREAM_MEM(wrapper->stream))
        return "";
    const GByteArray *buffer = ((GMimeStreamMem *)wrapper->stream)->buffer;
    gint64 start = wrapper->stream->bound_start, end = wrapper->stream->bound_end;
    if (end < 0 || end > (gint64)buffer->len)
        end = buffer->len;
    if (start >= end)
        return "";
    *n_out = (size_t)(end - start);
    return (const char *)buffer->data + start;
}

/* Text that says it is base64: base64 has no words. */
static bool is_words(const char *p, size_t n)
{
    size_t spaces = 0, other = 0;
    n = MIN(n, (size_t)1024);
    for (size_t i = 0; i + 1 < n; i++) {
        spaces += p[i] == ' ' && (unsigned char)p[i + 1] > ' ';
        other += strchr(".,;:!?<>\"'()-", p[i]) != NULL;
    }
    return spaces > n / 32 || other > n / 16;
}

/* GMime's decoder wants to start behind the line "begin 644 name". */
static const char *behind_begin(const char *content, size_t *n)
{
    const char *begin = memmem(content, *n, "begin ", 6), *end = content + *n;
    const char *lf = begin ? memchr(begin, '\n', (size_t)(end - begin)) : NULL;
    if (!lf)
        return content;
    *n = (size_t)(end - lf - 1);
    return lf + 1;
}

const char *parts_decode(struct arena *arena, GMimePart *part, size_t *n_out)
{
    size_t n;
    const char *content = content_of(part, &n);
    GMimeContentEncoding encoding = g_mime_part_get_content_encoding(part);
    bool encoded = encoding == GMIME_CONTENT_ENCODING_BASE64 ||
                   encoding == GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE ||
                   encoding == GMIME_CONTENT_ENCODING_UUENCODE;
    *n_out = n;
    if (!encoded || !n || (encoding == GMIME_CONTENT_ENCODING_BASE64 && is_words(content, n)))
        return content;
    if (encoding == GMIME_CONTENT_ENCODING_UUENCODE)
        content = behind_begin(content, &n);
    GMimeEncoding state;
    g_mime_encoding_init_decode(&state, encoding);
    char *out = arena_alloc(arena, g_mime_encoding_outlen(&state, n));
    *n_out = g_mime_encoding_step(&state, content, n, out);
    return out;
}

/* A picture that says it is text. */
static bool is_binary(const char *p, size_t n)
{
    size_t control = 0;
    n = MIN(n, (size_t)1024);
    for (size_t i = 0; i < n; i++)
        control += (unsigned char)p[i] < ' ' && !strchr("\t\n\r\f\v\b\033", p[i]);
    return control > n / 10;
}

static void show_text(struct parts *walk, const char *label, bool html, const char *bytes, size_t n)
{
    struct parts_shown *shown = ARENA_NEW(walk->arena, struct parts_shown);
    shown->utf8 = charset_to_utf8(walk->arena, label, bytes, n, &shown->n);
    if (!shown->n || is_binary(shown->utf8, shown->n))
        return;
    shown->html = html || html_looks_like(shown->utf8, shown->n);
    *walk->shown_end = shown;
    walk->shown_end = &shown->next;

    text_end_line(&walk->text);
    if (shown->html)
        html_append(&walk->text, shown->utf8, shown->n, &walk->links);
    else
        text_append_plain(&walk->text, shown->utf8, shown->n);
    text_end_line(&walk->text);
}

enum kind { KIND_NONE, KIND_PLAIN, KIND_HTML, KIND_MESSAGE, KIND_FRAGMENT, KIND_ATTACHED };

static const struct {
    const char *type, *subtype;
    enum kind kind;
} kinds[] = {
    { "text", "plain", KIND_PLAIN },
    { "text", "html", KIND_HTML },
    { "text", "enriched", KIND_HTML }, /* <bold>text</bold>: near enough */
    { "text", "richtext", KIND_HTML },
    { "application", "xhtml+xml", KIND_HTML },
    { "text", "calendar", KIND_NONE }, /* for programs, or a second way to say the same */
    { "text", "css", KIND_NONE },
    { "text", "directory", KIND_NONE },
    { "text", "javascript", KIND_NONE },
    { "text", "rfc822-headers", KIND_NONE },
    { "text", "rtf", KIND_NONE },
    { "text", "vcard", KIND_NONE },
    { "text", "x-amp-html", KIND_NONE },
    { "text", "x-vcard", KIND_NONE },
    { "text", "x-watch-html", KIND_NONE },
    { "text", "xml", KIND_NONE },
    { "text", "*", KIND_PLAIN },
    { "message", "rfc822", KIND_MESSAGE },
    { "message", "rfc2822", KIND_MESSAGE },
    { "message", "global", KIND_MESSAGE },
    { "message", "news", KIND_MESSAGE },
    { "message", "partial", KIND_FRAGMENT },
    { "message", "*", KIND_NONE },
};

static enum kind kind_of(GMimeContentType *type)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (g_mime_content_type_is_type(type, kinds[i].type, kinds[i].subtype))
            return kinds[i].kind;
    return KIND_ATTACHED;
}

static void remember_attached(struct parts *walk, GMimePart *part)
{
    size_t n;
    content_of(part, &n);
    if (g_mime_part_get_content_encoding(part) == GMIME_CONTENT_ENCODING_BASE64)
        n = n / 4 * 3;
    if (n > walk->attached_n) {
        walk->attached = part;
        walk->attached_n = n;
    }
}

static void on_warning(gint64 offset, GMimeParserWarning warning, const gchar *item, gpointer user)
{
    (void)offset, (void)item;
    bool *misparsed = user;
    switch (warning) {
    case GMIME_WARN_INVALID_CONTENT_TYPE:
    case GMIME_WARN_MALFORMED_MULTIPART:
    case GMIME_CRIT_INVALID_HEADER_NAME:
    case GMIME_CRIT_CONFLICTING_HEADER:
    case GMIME_CRIT_CONFLICTING_PARAMETER:
    case GMIME_CRIT_MULTIPART_WITHOUT_BOUNDARY:
    case GMIME_CRIT_NESTING_OVERFLOW:
        *misparsed = true;
        break;
    default: /* a missing end, doubled or odd parameters: all programs read that in the same way */
        break;
    }
}

/* The stream reads our buffer in place: it does not own the array, and never writes or grows it. */
static GMimeObject *parse(struct parts *walk, const struct guarded *guarded, bool *misparsed)
{
    GByteArray *array = ARENA_NEW(walk->arena, GByteArray);
    array->data = (guint8 *)guarded->mime;
    array->len = (guint)MIN(guarded->mime_n, (size_t)G_MAXINT);
    GMimeStream *stream = g_mime_stream_mem_new();
    g_mime_stream_mem_set_byte_array((GMimeStreamMem *)stream, array);
    GMimeParser *parser = g_mime_parser_new_with_stream(stream);
    GMimeParserOptions *options = g_mime_parser_options_new();
#if HAVE_GMIME_NOTIFY
    g_mime_parser_options_set_warning_callback(options, on_warning, misparsed, NULL);
#else
    g_mime_parser_options_set_warning_callback(options, on_warning, misparsed);
#endif
    GMimeObject *object = g_mime_parser_construct_part(parser, options);
    g_mime_parser_options_free(options);
    g_object_unref(parser);
    g_object_unref(stream);
    if (object)
        arena_defer(walk->arena, unref, object);
    return object;
}

static void push(struct tree *tree, GMimeObject *object)
{
    if (tree->n == tree->walk->limits->depth) {
        tree->walk->cut |= MESSAGE_CUT_DEPTH;
        return;
    }
    struct frame *frame = &tree->stack[tree->n++];
    *frame = (struct frame) { .object = object, .end = 1, .step = 1, .mark = tree->walk->text.n };
    if (!GMIME_IS_MULTIPART(object))
        return; /* the root of a message inside */
    GMimeContentType *type = g_mime_object_get_content_type(object);
    frame->end = g_mime_multipart_get_count((GMimeMultipart *)object);
    frame->first_with_text = g_mime_content_type_is_type(type, "multipart", "related");
    if (g_mime_content_type_is_type(type, "multipart", "alternative")) {
        /* The last one is the one that the sender likes best: what mail programs show. */
        frame->first_with_text = true;
        frame->next = frame->end - 1;
        frame->end = frame->step = -1;
    }
}

/* What stands beside the page of a multipart/related is its pictures. */
static void remember_pictures(struct parts *walk, GMimeMultipart *related, int next)
{
    for (int n = g_mime_multipart_get_count(related); next < n && ++walk->n_parts <= walk->limits->parts;
         next++) {
        GMimeObject *part = g_mime_multipart_get_part(related, next);
        if (GMIME_IS_PART(part) && kind_of(g_mime_object_get_content_type(part)) == KIND_ATTACHED)
            remember_attached(walk, (GMimePart *)part);
    }
}

static GMimeObject *next_part(struct tree *tree)
{
    struct frame *frame = &tree->stack[tree->n - 1];
    const struct text *text = &tree->walk->text;
    bool done = frame->first_with_text && text_says_something(text, MIN(frame->mark, text->n));
    if (done && frame->step > 0)
        remember_pictures(tree->walk, (GMimeMultipart *)frame->object, frame->next);
    if (done || frame->next == frame->end)
        return NULL;
    int i = frame->next;
    frame->next += frame->step;
    frame->mark = text->n;
    return GMIME_IS_MULTIPART(frame->object) ? g_mime_multipart_get_part((GMimeMultipart *)frame->object, i)
                                             : frame->object;
}

static GMimeObject *open_message(struct parts *walk, const char *bytes, size_t n, struct text *subject)
{
    if (n > walk->bytes_left) {
        walk->cut |= MESSAGE_CUT_BYTES;
        n = walk->bytes_left;
    }
    walk->bytes_left -= n;
    struct guarded guarded;
    guard_message(walk->arena, bytes, n, walk->limits, &guarded);
    walk->cut |= guarded.cut;
    if (guarded.subject) {
        size_t subject_n;
        const char *utf8 = subject_decode(walk->arena, guarded.subject, guarded.subject_n, &subject_n);
        text_end_line(subject);
        text_append(subject, utf8, subject_n);
        text_end_line(subject);
    }
    bool misparsed = false;
    GMimeObject *root = parse(walk, &guarded, &misparsed);
    bool empty = root && GMIME_IS_MULTIPART(root) && g_mime_multipart_get_count((GMimeMultipart *)root) == 0;
    if (misparsed || empty || !root)
        raw_append(&walk->text, guarded.mime + guarded.body_at, guarded.mime_n - guarded.body_at,
                   &walk->links);
    return root;
}

static void visit_leaf(struct tree *tree, GMimePart *part, bool root)
{
    struct parts *walk = tree->walk;
    GMimeContentType *type = g_mime_object_get_content_type((GMimeObject *)part);
    enum kind kind = kind_of(type);
    const char *disposition = g_mime_object_get_disposition((GMimeObject *)part);
    bool attached = !root && disposition && g_ascii_strcasecmp(disposition, "attachment") == 0;
    if (kind == KIND_ATTACHED)
        remember_attached(walk, part);
    if (kind == KIND_ATTACHED || kind == KIND_NONE || attached)
        return;

    size_t n;
    const char *bytes = parts_decode(walk->arena, part, &n);
    if (kind == KIND_FRAGMENT) {
        raw_append(&walk->text, bytes, n, &walk->links);
    } else if (kind == KIND_MESSAGE) {
        if (tree->n == walk->limits->depth) {
            walk->cut |= MESSAGE_CUT_DEPTH;
            return;
        }
        GMimeObject *inner = open_message(walk, bytes, n, &walk->text);
        if (inner)
            push(tree, inner);
    } else {
        show_text(walk, g_mime_content_type_get_parameter(type, "charset"), kind == KIND_HTML, bytes, n);
    }
}

static void visit(struct tree *tree, GMimeObject *object, bool root)
{
    if (++tree->walk->n_parts > tree->walk->limits->parts) {
        tree->walk->cut |= MESSAGE_CUT_PARTS;
        tree->n = 0;
    } else if (GMIME_IS_MULTIPART(object)) {
        push(tree, object);
    } else if (GMIME_IS_PART(object)) {
        visit_leaf(tree, (GMimePart *)object, root);
    }
}

void parts_read(struct parts *walk, const char *bytes, size_t n)
{
    struct tree tree = { .walk = walk };
    tree.stack = arena_alloc(walk->arena, (size_t)walk->limits->depth * sizeof *tree.stack);
    GMimeObject *root = open_message(walk, bytes, n, &walk->subject);
    if (root)
        visit(&tree, root, true);
    while (tree.n) {
        GMimeObject *part = next_part(&tree);
        if (!part)
            tree.n--;
        else
            visit(&tree, part, part == tree.stack[tree.n - 1].object);
    }
    if (walk->text.cut || walk->subject.cut)
        walk->cut |= MESSAGE_CUT_TEXT;
}
