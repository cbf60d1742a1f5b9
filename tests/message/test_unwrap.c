/* Reports as they arrive: what is inside is found, the cover note is not in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <glib.h>

#include "message/forward.h"
#include "message/unwrap.h"

static const struct {
    const char *file;
    enum message_wrapping wrapping;
    unsigned n;
} cases[] = {
    { "spam.eml", MESSAGE_PLAIN, 0 },
    { "spam-fwd-subject.eml", MESSAGE_PLAIN, 0 },
    { "ham.eml", MESSAGE_PLAIN, 0 },
    { "wrap-attached.eml", MESSAGE_ATTACHED, 1 },
    { "wrap-attached-two.eml", MESSAGE_ATTACHED, 2 },
    { "wrap-attached-base64.eml", MESSAGE_ATTACHED, 1 },
    { "wrap-attached-file.eml", MESSAGE_ATTACHED, 1 },
    { "wrap-digest.eml", MESSAGE_ATTACHED, 2 },
    { "wrap-helpdesk.eml", MESSAGE_ATTACHED, 1 },
    { "wrap-mailman.eml", MESSAGE_ATTACHED, 1 },
    { "wrap-arf.eml", MESSAGE_FEEDBACK, 1 },
    { "wrap-arf-headers.eml", MESSAGE_FEEDBACK, 0 },
    { "wrap-bounce.eml", MESSAGE_PLAIN, 0 },
    { "inline-gmail.eml", MESSAGE_INLINE, 1 },
    { "inline-outlook.eml", MESSAGE_INLINE, 1 },
    { "inline-outlook-german.eml", MESSAGE_INLINE, 1 },
    { "inline-outlook-html.eml", MESSAGE_INLINE, 1 },
    { "inline-apple.eml", MESSAGE_INLINE, 1 },
    { "inline-thunderbird-french.eml", MESSAGE_INLINE, 1 },
    { "inline-russian.eml", MESSAGE_INLINE, 1 },
    { "inline-chinese.eml", MESSAGE_INLINE, 1 },
    { "inline-twice.eml", MESSAGE_INLINE, 1 },
    { "inline-reply.eml", MESSAGE_QUOTED, 1 },
    { "inline-doubtful.eml", MESSAGE_DOUBTFUL, 0 },
};

static GBytes *read_mail(const char *name)
{
    g_autofree char *path = g_strdup_printf(TESTDIR "/mail/tools-%s", name);
    char *bytes = NULL;
    gsize n = 0;
    GError *error = NULL;
    if (!g_file_get_contents(path, &bytes, &n, &error))
        fail_msg("%s", error->message);
    return g_bytes_new_take(bytes, n);
}

static struct message_unwrapped unwrap(struct arena *arena, GBytes *mail)
{
    gsize n;
    const void *bytes = g_bytes_get_data(mail, &n);
    return message_unwrap(arena, bytes, n, &message_default_limits);
}

static bool has_term(struct terms terms, const char *word)
{
    for (uint32_t i = 0; i < terms.n; i++)
        if (strcmp(terms.v[i].text, word) == 0)
            return true;
    return false;
}

static void wrappers_are_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct arena *arena = arena_new();
        GBytes *mail = read_mail(cases[i].file);
        struct message_unwrapped inside = unwrap(arena, mail);
        if (inside.wrapping != cases[i].wrapping || inside.n != cases[i].n)
            fail_msg("%s: wrapping %d with %u inside, not %d with %u", cases[i].file, (int)inside.wrapping,
                     inside.n, (int)cases[i].wrapping, cases[i].n);
        g_bytes_unref(mail);
        arena_free(&arena);
    }
}

static void inner_text_is_taken_and_the_cover_note_is_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct arena *arena = arena_new();
        GBytes *mail = read_mail(cases[i].file);
        struct message_unwrapped inside = unwrap(arena, mail);
        for (unsigned k = 0; k < inside.n; k++) {
            struct message *inner =
                message_read(arena, inside.v[k].bytes, inside.v[k].n, 1, &message_default_limits);
            struct terms terms = inner->view[MESSAGE_BODY];
            bool ours = has_term(terms, "chronometer") && has_term(terms, "engraving") &&
                        has_term(terms, "http:chrono-clearance.example") && has_term(terms, "rotterdam");
            bool other = has_term(terms, "quince") && has_term(terms, "uppsala");
            if (!ours && !other)
                fail_msg("%s: the text of message %u is not all there", cases[i].file, k + 1);
            if (has_term(terms, "postmaster") || has_term(terms, "hendrik") || has_term(terms, "rubbish") ||
                has_term(terms, "ticket") || has_term(terms, "thank"))
                fail_msg("%s: the cover note is in it", cases[i].file);
        }
        g_bytes_unref(mail);
        arena_free(&arena);
    }
}

/* What an attachment holds is the message itself: the same terms in the same order. */
static void attached_message_reads_like_the_original(void **state)
{
    (void)state;
    static const char *const wrapped[] = { "wrap-attached.eml", "wrap-attached-base64.eml",
                                           "wrap-attached-file.eml", "wrap-helpdesk.eml", "wrap-arf.eml" };
    struct arena *arena = arena_new();
    GBytes *original = read_mail("spam.eml");
    gsize n;
    const void *bytes = g_bytes_get_data(original, &n);
    struct terms wanted = message_read(arena, bytes, n, 1, &message_default_limits)->view[MESSAGE_BODY];
    for (size_t i = 0; i < G_N_ELEMENTS(wrapped); i++) {
        GBytes *mail = read_mail(wrapped[i]);
        struct message_unwrapped inside = unwrap(arena, mail);
        assert_int_equal(inside.n, 1);
        struct terms got = message_read(arena, inside.v[0].bytes, inside.v[0].n, 1, &message_default_limits)
                               ->view[MESSAGE_BODY];
        assert_int_equal(got.n, wanted.n);
        for (uint32_t k = 0; k < got.n; k++)
            assert_string_equal(got.v[k].text, wanted.v[k].text);
        g_bytes_unref(mail);
    }
    g_bytes_unref(original);
    arena_free(&arena);
}

static void messages_cut_anywhere_do_no_harm(void **state)
{
    (void)state;
    static const char *const files[] = { "wrap-arf.eml", "wrap-helpdesk.eml", "inline-apple.eml",
                                         "wrap-digest.eml" };
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        GBytes *mail = read_mail(files[i]);
        gsize n;
        const char *bytes = g_bytes_get_data(mail, &n);
        for (gsize cut = 0; cut < n; cut += 7) {
            struct arena *arena = arena_new();
            g_autofree char *part = g_memdup2(bytes, cut ? cut : 1);
            message_unwrap(arena, part, cut, &message_default_limits);
            arena_free(&arena);
        }
        g_bytes_unref(mail);
    }
}

/* A subject that begins with FW: is what spammers write too: alone it is no forward. */
static void forward_prefix_without_a_quote_is_plain(void **state)
{
    (void)state;
    static const char text[] = "Buy these watches.\nThey are cheap.\n";
    struct arena *arena = arena_new();
    assert_int_equal(forward_find(arena, "FW: watches", text, strlen(text)).kind, FORWARD_NONE);
    arena_free(&arena);
}

static void lines_that_only_look_like_headers_are_no_block(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "Dear all,\nfrom: Monday\nwe meet at noon.\n", "To: do list\n- milk\n- bread\n",
        "Date: tomorrow\nPlace: canteen\nTo: everybody\n", /* no sender */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        struct arena *arena = arena_new();
        assert_int_equal(forward_find(arena, "Meeting", texts[i], strlen(texts[i])).kind, FORWARD_NONE);
        arena_free(&arena);
    }
}

/* Every line could begin a block: the search must not look at all the rest of the text for each. */
static void many_header_lines_take_no_longer_than_other_text(void **state)
{
    (void)state;
    GString *text = g_string_new(NULL);
    for (int i = 0; i < 200000; i++)
        g_string_append(text, i % 2 ? "To: a\n" : "Cc: b\n");
    struct arena *arena = arena_new();
    assert_int_equal(forward_find(arena, "Fwd: x", text->str, text->len).kind, FORWARD_NONE);
    arena_free(&arena);
    g_string_free(text, TRUE);
}

static int start(void **state)
{
    (void)state;
    message_init();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrappers_are_told_apart),
        cmocka_unit_test(inner_text_is_taken_and_the_cover_note_is_not),
        cmocka_unit_test(attached_message_reads_like_the_original),
        cmocka_unit_test(messages_cut_anywhere_do_no_harm),
        cmocka_unit_test(forward_prefix_without_a_quote_is_plain),
        cmocka_unit_test(lines_that_only_look_like_headers_are_no_block),
        cmocka_unit_test(many_header_lines_take_no_longer_than_other_text),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
