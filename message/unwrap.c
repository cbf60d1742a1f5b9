#include "message/unwrap.h"

#include <gmime/gmime.h>
#include <string.h>

#include "message/charset.h"
#include "message/forward.h"
#include "message/guard.h"
#include "message/html.h"
#include "message/subject.h"
#include "message/text.h"

#define LEVELS 4 /* of wrappers inside wrappers */

struct unwrap {
    struct arena *arena;
    const struct message_limits *limits;
    GArray *found; /* of struct message_inner */
};

static void unref(void *object)
{
    g_object_unref(object);
}

static GMimeObject *parse(struct arena *arena, const struct guarded *guarded)
{
    GMimeStream *stream = g_mime_stream_mem_new_with_buffer(guarded->mime, guarded->mime_n);
    GMimeParser *parser = g_mime_parser_new_with_stream(stream);
    GMimeObject *root = g_mime_parser_construct_part(parser, NULL);
    g_object_unref(parser);
    g_object_unref(stream);
    if (root)
        arena_defer(arena, unref, root);
    return root;
}

/* --- parts -------------------------------------------------------------------------------------- */

static bool is_type(GMimeObject *object, const char *type, const char *subtype)
{
    GMimeContentType *content = g_mime_object_get_content_type(object);
    return content && g_mime_content_type_is_type(content, type, subtype);
}

static const char *parameter(GMimeObject *object, const char *name)
{
    GMimeContentType *content = g_mime_object_get_content_type(object);
    return content ? g_mime_content_type_get_parameter(content, name) : NULL;
}

static struct message_inner bytes_of(struct unwrap *unwrap, GMimeStream *stream)
{
    GByteArray *bytes = g_mime_stream_mem_get_byte_array(GMIME_STREAM_MEM(stream));
    return (struct message_inner) { arena_strndup(unwrap->arena, (const char *)bytes->data, bytes->len),
                                    bytes->len };
}

/* The content of a leaf, decoded. */
static struct message_inner decoded(struct unwrap *unwrap, GMimeObject *object)
{
    struct message_inner inner = { "", 0 };
    GMimeDataWrapper *content = GMIME_IS_PART(object) ? g_mime_part_get_content(GMIME_PART(object)) : NULL;
    if (!content)
        return inner;
    GMimeStream *stream = g_mime_stream_mem_new();
    g_mime_data_wrapper_write_to_stream(content, stream);
    if (g_mime_stream_length(stream) > 0)
        inner = bytes_of(unwrap, stream);
    g_object_unref(stream);
    return inner;
}

/* An attached message as it was: GMime keeps what it did not change. */
static struct message_inner attached(struct unwrap *unwrap, GMimeObject *object)
{
    GMimeMessage *message = g_mime_message_part_get_message(GMIME_MESSAGE_PART(object));
    struct message_inner inner = { "", 0 };
    if (!message)
        return inner;
    GMimeStream *stream = g_mime_stream_mem_new();
    g_mime_object_write_to_stream(GMIME_OBJECT(message), NULL, stream);
    if (g_mime_stream_length(stream) > 0)
        inner = bytes_of(unwrap, stream);
    g_object_unref(stream);
    return inner;
}

/* Web mail attaches messages as files. */
static bool is_message_file(GMimeObject *object)
{
    const char *name = GMIME_IS_PART(object) ? g_mime_part_get_filename(GMIME_PART(object)) : NULL;
    size_t n = name ? strlen(name) : 0;
    return n > 4 && g_ascii_strcasecmp(name + n - 4, ".eml") == 0;
}

/* Behind its header a message has something. */
static bool has_body(const struct message_inner *inner)
{
    const char *bytes = inner->bytes;
    for (size_t i = 0; i + 1 < inner->n; i++) {
        bool end = bytes[i] == '\n' && (bytes[i + 1] == '\n' || (bytes[i + 1] == '\r' && i + 2 < inner->n));
        if (!end)
            continue;
        for (size_t at = i + 1; at < inner->n; at++)
            if (!g_ascii_isspace(bytes[at]))
                return true;
        return false;
    }
    return false;
}

static const char *subject_of(struct unwrap *unwrap, const struct guarded *guarded, size_t *n_out)
{
    *n_out = 0;
    return guarded->subject_n ? subject_decode(unwrap->arena, guarded->subject, guarded->subject_n, n_out)
                              : "";
}

/* The "confirm 1a2b…" that Mailman attaches beside a held message: a command, not mail. */
static bool is_list_command(struct unwrap *unwrap, const struct message_inner *inner)
{
    struct guarded guarded;
    guard_message(unwrap->arena, inner->bytes, inner->n, unwrap->limits, &guarded);
    size_t n;
    const char *subject = subject_of(unwrap, &guarded, &n);
    while (n && g_ascii_isspace(*subject)) {
        subject++;
        n--;
    }
    size_t hex = 0;
    if (n < 8 + 32 || memcmp(subject, "confirm ", 8) != 0)
        return false;
    while (8 + hex < n && g_ascii_isxdigit(subject[8 + hex]))
        hex++;
    return hex >= 32;
}

static void keep(struct unwrap *unwrap, struct message_inner inner)
{
    if (unwrap->found->len < MESSAGE_UNWRAP_MAX && has_body(&inner) && !is_list_command(unwrap, &inner))
        g_array_append_val(unwrap->found, inner);
}

/* --- wrappers by structure ---------------------------------------------------------------------- */

typedef bool (*visit_part)(struct unwrap *unwrap, GMimeObject *object, void *user);

/* Every part, in order, outside of attached messages; iterative. visit() returns false to stop. */
static void each_part(struct unwrap *unwrap, GMimeObject *root, visit_part visit, void *user)
{
    GPtrArray *stack = g_ptr_array_new();
    unsigned seen = 0;
    g_ptr_array_add(stack, root);
    while (stack->len > 0 && seen++ < unwrap->limits->parts) {
        GMimeObject *object = g_ptr_array_remove_index(stack, stack->len - 1);
        if (GMIME_IS_MULTIPART(object)) {
            for (int i = g_mime_multipart_get_count(GMIME_MULTIPART(object)); i-- > 0;)
                g_ptr_array_add(stack, g_mime_multipart_get_part(GMIME_MULTIPART(object), i));
        } else if (!visit(unwrap, object, user)) {
            break;
        }
    }
    g_ptr_array_free(stack, TRUE);
}

static bool keep_message(struct unwrap *unwrap, GMimeObject *object, void *user)
{
    bool *any = user;
    bool message = is_type(object, "message", "rfc822") || is_type(object, "message", "global");
    if (GMIME_IS_MESSAGE_PART(object))
        keep(unwrap, attached(unwrap, object));
    else if (message || is_message_file(object)) /* in base64, or as a file */
        keep(unwrap, decoded(unwrap, object));
    else
        return true;
    *any = true;
    return true;
}

static bool is_report(GMimeObject *root, bool *feedback_out)
{
    const char *type = parameter(root, "report-type");
    *feedback_out = type && g_ascii_strcasecmp(type, "feedback-report") == 0;
    return GMIME_IS_MULTIPART(root) && is_type(root, "multipart", "report");
}

/* --- inline ------------------------------------------------------------------------------------- */

static void add_link(void *user, const char *host, size_t n)
{
    GString *links = user;
    g_string_append(links, "http://");
    g_string_append_len(links, host, (gssize)n);
    g_string_append(links, "/\n");
}

struct readable {
    GMimeObject *plain, *html;
};

/* The first text of each kind that is not a file. */
static bool pick_text(struct unwrap *unwrap, GMimeObject *object, void *user)
{
    struct readable *readable = user;
    (void)unwrap;
    GMimeContentDisposition *disposition = g_mime_object_get_content_disposition(object);
    bool file = disposition && g_mime_content_disposition_is_attachment(disposition);
    if (!file && !readable->plain && is_type(object, "text", "plain"))
        readable->plain = object;
    if (!file && !readable->html && is_type(object, "text", "html"))
        readable->html = object;
    return !readable->plain;
}

static struct message_inner text_of(struct unwrap *unwrap, GMimeObject *object, bool html)
{
    struct message_inner raw = decoded(unwrap, object);
    size_t n;
    const char *utf8 = charset_to_utf8(unwrap->arena, parameter(object, "charset"), raw.bytes,
                                       MIN(raw.n, unwrap->limits->text_bytes), &n);
    if (!html)
        return (struct message_inner) { utf8, n };
    struct text text;
    g_autoptr(GString) links = g_string_new("\n");
    text_init(&text, unwrap->arena, unwrap->limits->text_bytes);
    html_append(&text, utf8, n, &(struct html_links) { add_link, links });
    text_end_line(&text);
    text_append(&text, links->str, links->len);
    return (struct message_inner) { text.v, text.n };
}

/* A message made of the inner text; its subject is the one of the block. */
static struct message_inner build(struct unwrap *unwrap, const struct forward *forward)
{
    g_autofree char *word =
        g_base64_encode((const guchar *)forward->subject, MIN(strlen(forward->subject), 900));
    g_autoptr(GString) message = g_string_new(NULL);
    g_string_printf(message,
                    "Subject: =?utf-8?b?%s?=\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
                    "Content-Transfer-Encoding: 8bit\n\n",
                    word);
    g_string_append_len(message, forward->text, (gssize)forward->n);
    return (struct message_inner) { arena_strndup(unwrap->arena, message->str, message->len), message->len };
}

static enum message_wrapping unwrap_inline(struct unwrap *unwrap, GMimeObject *root,
                                           const struct guarded *guarded)
{
    static const enum message_wrapping wrappings[] = {
        [FORWARD_NONE] = MESSAGE_PLAIN,
        [FORWARD_CLEAR] = MESSAGE_INLINE,
        [FORWARD_QUOTED] = MESSAGE_QUOTED,
        [FORWARD_DOUBTFUL] = MESSAGE_DOUBTFUL,
    };
    struct readable readable = { 0 };
    each_part(unwrap, root, pick_text, &readable);
    if (!readable.plain && !readable.html)
        return MESSAGE_PLAIN;
    size_t n;
    const char *raw = subject_of(unwrap, guarded, &n);
    const char *subject = arena_strndup(unwrap->arena, raw, n);
    struct message_inner text =
        readable.plain ? text_of(unwrap, readable.plain, false) : text_of(unwrap, readable.html, true);
    struct forward forward = forward_find(unwrap->arena, subject, text.bytes, text.n);
    if (forward.kind == FORWARD_CLEAR || forward.kind == FORWARD_QUOTED)
        keep(unwrap, build(unwrap, &forward));
    return wrappings[forward.kind];
}

/* --- all ---------------------------------------------------------------------------------------- */

static enum message_wrapping unwrap_once(struct unwrap *unwrap, const void *bytes, size_t n)
{
    struct guarded guarded;
    guard_message(unwrap->arena, bytes, n, unwrap->limits, &guarded);
    GMimeObject *root = parse(unwrap->arena, &guarded);
    if (!root)
        return MESSAGE_PLAIN;
    bool feedback, any = false;
    bool report = is_report(root, &feedback);
    if (report && !feedback)
        return MESSAGE_PLAIN;
    each_part(unwrap, root, keep_message, &any);
    if (report)
        return MESSAGE_FEEDBACK;
    return any ? MESSAGE_ATTACHED : unwrap_inline(unwrap, root, &guarded);
}

/* Takes the place of a message by those inside it, when it surely is a wrapper too. */
static bool open_inner(struct unwrap *unwrap, guint i)
{
    struct message_inner inner = g_array_index(unwrap->found, struct message_inner, i);
    struct unwrap deeper = *unwrap;
    deeper.found = g_array_new(FALSE, FALSE, sizeof(struct message_inner));
    enum message_wrapping wrapping = unwrap_once(&deeper, inner.bytes, inner.n);
    bool sure = wrapping == MESSAGE_ATTACHED || wrapping == MESSAGE_FEEDBACK || wrapping == MESSAGE_INLINE;
    bool opened =
        sure && deeper.found->len > 0 && unwrap->found->len + deeper.found->len <= MESSAGE_UNWRAP_MAX;
    if (opened) {
        g_array_remove_index(unwrap->found, i);
        g_array_insert_vals(unwrap->found, i, deeper.found->data, deeper.found->len);
    }
    g_array_free(deeper.found, TRUE);
    return opened;
}

/* Each level looks at every message once; what is no wrapper stays. */
static void open_all(struct unwrap *unwrap)
{
    for (unsigned level = 1; level < LEVELS; level++) {
        bool opened = false;
        for (guint i = unwrap->found->len; i-- > 0;)
            opened |= open_inner(unwrap, i);
        if (!opened)
            return;
    }
}

struct message_unwrapped message_unwrap(struct arena *arena, const void *bytes, size_t n,
                                        const struct message_limits *limits)
{
    struct unwrap unwrap = { arena, limits, g_array_new(FALSE, FALSE, sizeof(struct message_inner)) };
    struct message_unwrapped out = { .wrapping = unwrap_once(&unwrap, bytes, n) };
    if (out.wrapping == MESSAGE_ATTACHED || out.wrapping == MESSAGE_FEEDBACK)
        open_all(&unwrap);
    out.n = unwrap.found->len;
    struct message_inner *inner = ARENA_ARRAY(arena, struct message_inner, out.n + 1);
    if (out.n > 0)
        memcpy(inner, unwrap.found->data, out.n * sizeof *inner);
    out.v = inner;
    g_array_free(unwrap.found, TRUE);
    return out;
}
