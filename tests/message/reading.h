/*
 * Shared by the tests of message/: reads a mail and says which terms a view has, as text.
 */
#ifndef TESTS_MESSAGE_READING_H
#define TESTS_MESSAGE_READING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <glib.h>

#include "message/message.h"

#define READING_KEY UINT64_C(0x5eed)

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The terms of a view in alphabetical order, with a space before and behind each: " more rates ". */
static G_GNUC_UNUSED char *read_view(const char *mail, size_t n, enum message_view view,
                                     const struct message_limits *limits, unsigned *cut_out)
{
    struct arena *arena = arena_new();
    /* A copy without a NUL behind it, so that a byte too far is seen by the sanitizer. */
    char *copy = g_memdup2(mail, n);
    struct message *message = message_read(arena, copy, n, READING_KEY, limits);
    struct terms terms = message->view[view];
    char **texts = g_new0(char *, terms.n + 1);
    for (uint32_t i = 0; i < terms.n; i++)
        texts[i] = g_strdup(terms.v[i].text);
    qsort(texts, terms.n, sizeof *texts, compare_strings);
    char *joined = g_strjoinv(" ", texts), *out = g_strdup_printf(" %s ", joined);
    if (cut_out)
        *cut_out = message->cut;
    g_free(joined);
    g_strfreev(texts);
    g_free(copy);
    arena_free(&arena);
    return out;
}

static G_GNUC_UNUSED char *read_body(const char *mail)
{
    return read_view(mail, strlen(mail), MESSAGE_BODY, &message_default_limits, NULL);
}

static bool has_term(const char *terms, const char *term)
{
    g_autofree char *spaced = g_strdup_printf(" %s ", term);
    return strstr(terms, spaced) != NULL;
}

/* One mail, the words that must be seen, and those that must not (by spaces; NULL: none). */
struct reading {
    const char *what, *mail, *seen, *unseen;
};

static G_GNUC_UNUSED void check_readings(const struct reading *readings, size_t n)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < n; i++) {
        g_autofree char *terms = read_body(readings[i].mail);
        for (int want = 0; want < 2; want++) {
            const char *list = want ? readings[i].seen : readings[i].unseen;
            char **words = g_strsplit(list ? list : "", " ", -1);
            for (char **w = words; *w; w++)
                if (**w && has_term(terms, *w) != (want == 1)) {
                    print_error("%s: %s is %s in:%s\n", readings[i].what, *w, want ? "not" : "there", terms);
                    wrong++;
                }
            g_strfreev(words);
        }
    }
    assert_int_equal(wrong, 0);
}

#define CHECK_READINGS(...)                                                                                  \
    do {                                                                                                     \
        static const struct reading readings[] = { __VA_ARGS__ };                                            \
        check_readings(readings, G_N_ELEMENTS(readings));                                                    \
    } while (0)

static G_GNUC_UNUSED int init_message(void **state)
{
    (void)state;
    message_init();
    return 0;
}

#endif
