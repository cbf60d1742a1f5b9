/*
 * Shared by the accuracy tests: the lexicon that an installation makes of the shipped frequencies, with a
 * seed that is always the same, and mail signed with it.
 */
#ifndef TESTS_ACCURACY_SHIPPED_H
#define TESTS_ACCURACY_SHIPPED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <glib/gstdio.h>

#include "lexicon/df.h"
#include "lexicon/lexicon.h"
#include "message/message.h"
#include "signature/signature.h"

#define SHIPPED_SEED 7

static struct df *shipped_df(const char *name)
{
    g_autofree char *path = g_build_filename(TESTDIR, "..", "lexicon", name, NULL);
    GError *error = NULL;
    struct df *df = df_read(path, &error);
    if (!df)
        fail_msg("%s", error->message);
    return df;
}

static struct lexicon *shipped_lexicon(void)
{
    GError *error = NULL;
    g_autofree char *dir = g_dir_make_tmp("refrain-accuracy-XXXXXX", &error);
    assert_non_null(dir);
    g_autofree char *path = g_build_filename(dir, "shipped.lex", NULL);
    struct df *df = shipped_df("english.df.xz"), *languages = shipped_df("languages.df.xz");
    uint8_t seed[LEXICON_SEED];
    memset(seed, SHIPPED_SEED, sizeof seed);
    if (!df_merge(df, languages, &error) || !lexicon_make(df, &lexicon_default_plan, seed, path, &error))
        fail_msg("%s", error->message);
    struct lexicon *lexicon = lexicon_open(path, &error);
    if (!lexicon)
        fail_msg("%s", error->message);
    g_unlink(path);
    g_rmdir(dir);
    df_free(&df);
    df_free(&languages);
    return lexicon;
}

static int open_shipped(void **state)
{
    message_init();
    *state = shipped_lexicon();
    return 0;
}

static int close_shipped(void **state)
{
    lexicon_unref(*state);
    return 0;
}

static struct signature_set sign_mail(const struct lexicon *lexicon, const char *mail)
{
    struct arena *arena = arena_new();
    struct signature_set set;
    struct message *message =
        message_read(arena, mail, strlen(mail), lexicon_key(lexicon), &message_default_limits);
    signature_make_all(lexicon, message, SIGNATURE_MIN_TERMS, &set);
    arena_free(&arena);
    return set;
}

static enum signature_level recognise(const struct signature_set *message,
                                      const struct signature_set *prototype)
{
    return signature_compare_sets(message, prototype, &signature_default_rule, NULL).level;
}

#endif
