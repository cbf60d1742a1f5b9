/*
 * Campaigns in other languages than English, with the lexicon of the shipped frequencies. Each file in
 * languages/ has a campaign in its first line and strangers in the others; words of the strangers replace
 * words of the campaign.
 */
#include "tests/accuracy/shipped.h"

#define VARIANTS 200
#define REPLACED 0.2
#define RUN      4 /* characters that are replaced at once where words have no spaces */

static const struct language {
    const char *name;
    bool spaces; /* between words */
} languages[] = {
    { "de", true }, { "fr", true }, { "ru", true }, { "ar", true }, { "zh", false }, { "ja", false },
};

static char **texts_of(const char *name)
{
    g_autofree char *file = g_strconcat(name, ".txt", NULL),
                    *path = g_build_filename(TESTDIR, "accuracy", "languages", file, NULL);
    g_autofree char *text = NULL;
    GError *error = NULL;
    if (!g_file_get_contents(path, &text, NULL, &error))
        fail_msg("%s", error->message);
    return g_strsplit(g_strchomp(text), "\n\n", -1);
}

static struct signature_set sign_text(const struct lexicon *lexicon, const char *text)
{
    g_autofree char *mail = g_strconcat("Content-Type: text/plain; charset=utf-8\n\n", text, "\n", NULL);
    return sign_mail(lexicon, mail);
}

/* A text as the pieces that are replaced: words, or runs of characters. */
static GPtrArray *pieces_of(const char *text, bool spaces)
{
    GPtrArray *pieces = g_ptr_array_new_with_free_func(g_free);
    if (spaces) {
        char **words = g_strsplit_set(text, " \n", -1);
        for (char **word = words; *word; word++)
            g_ptr_array_add(pieces, *word);
        g_free(words);
        return pieces;
    }
    for (const char *at = text, *next; *at; at = next) {
        next = at;
        for (unsigned i = 0; i < RUN && *next; i++)
            next = g_utf8_next_char(next);
        g_ptr_array_add(pieces, g_strndup(at, (gsize)(next - at)));
    }
    return pieces;
}

static char *varied(const char *campaign, const char *others, bool spaces, guint32 seed)
{
    GRand *rand = g_rand_new_with_seed(seed);
    GPtrArray *pieces = pieces_of(campaign, spaces), *foreign = pieces_of(others, spaces);
    GString *out = g_string_new(NULL);
    guint wanted = (guint)(pieces->len * REPLACED + 0.5);
    for (guint i = 0; i < pieces->len; i++) {
        /* Exactly so many, each place as likely as the others. */
        bool replace = g_rand_double(rand) * (pieces->len - i) < wanted;
        wanted -= replace;
        g_string_append(out, replace ? foreign->pdata[g_rand_int_range(rand, 0, (gint32)foreign->len)]
                                     : pieces->pdata[i]);
        if (spaces)
            g_string_append_c(out, ' ');
    }
    g_ptr_array_unref(pieces);
    g_ptr_array_unref(foreign);
    g_rand_free(rand);
    return g_string_free(out, FALSE);
}

static unsigned found_again(const struct lexicon *lexicon, const struct language *language, char **texts)
{
    g_autofree char *others = g_strjoinv(language->spaces ? " " : "", texts + 1);
    struct signature_set prototype = sign_text(lexicon, texts[0]);
    unsigned found = 0;
    for (guint32 i = 0; i < VARIANTS; i++) {
        g_autofree char *text = varied(texts[0], others, language->spaces, i + 1);
        struct signature_set message = sign_text(lexicon, text);
        found += recognise(&message, &prototype) != SIGNATURE_STRANGER;
    }
    return found;
}

static void a_fifth_of_the_words_replaced_is_the_same_campaign(void **state)
{
    bool well = true;
    for (size_t l = 0; l < G_N_ELEMENTS(languages); l++) {
        char **texts = texts_of(languages[l].name);
        unsigned found = found_again(*state, &languages[l], texts);
        if (found < VARIANTS)
            print_message("# %s: %u of %u found\n", languages[l].name, found, VARIANTS);
        well &= found >= VARIANTS * 95 / 100;
        g_strfreev(texts);
    }
    assert_true(well);
}

static void strangers_of_one_language_are_never_taken_for_each_other(void **state)
{
    for (size_t l = 0; l < G_N_ELEMENTS(languages); l++) {
        char **texts = texts_of(languages[l].name);
        guint n = g_strv_length(texts);
        assert_true(n >= 4);
        for (guint i = 0; i < n * n; i++) {
            struct signature_set a = sign_text(*state, texts[i / n]), b = sign_text(*state, texts[i % n]);
            assert_true(a.n > 0);
            if (i / n != i % n && recognise(&a, &b) != SIGNATURE_STRANGER)
                fail_msg("%s: text %u is taken for text %u", languages[l].name, i / n, i % n);
        }
        g_strfreev(texts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fifth_of_the_words_replaced_is_the_same_campaign),
        cmocka_unit_test(strangers_of_one_language_are_never_taken_for_each_other),
    };
    return cmocka_run_group_tests(tests, open_shipped, close_shipped);
}
