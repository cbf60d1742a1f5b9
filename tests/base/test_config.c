/* refrain.conf: the table, the file, the manual and the sample say the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <glib/gstdio.h>

#include "base/config.h"
#include "base/error.h"

static char *folder;

static int make_folder(void **state)
{
    (void)state;
    folder = g_dir_make_tmp("refrain-config-XXXXXX", NULL);
    return folder ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    g_autofree char *path = g_build_filename(folder, "refrain.conf", NULL);
    g_unlink(path);
    g_rmdir(folder);
    g_free(folder);
    return 0;
}

static struct config *load_text(const char *text, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "refrain.conf", NULL);
    assert_true(g_file_set_contents(path, text, -1, NULL));
    return config_load(path, error);
}

static char *read_file(const char *name)
{
    g_autofree char *path = g_build_filename(TESTDIR, "..", name, NULL);
    char *text = NULL;
    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

static void defaults_are_those_of_the_design(void **state)
{
    (void)state;
    struct config *c = config_new();
    assert_string_equal(c->milter.socket, "unix:/var/spool/postfix/refrain/milter.sock");
    assert_int_equal(c->milter.socket_mode, 0660);
    assert_int_equal(c->store.timeout, 200);
    assert_int_equal(c->store.on_failure, CONFIG_FAIL_ACCEPT);
    assert_true(c->match.tag_similarity == 0.53 && c->match.reject_similarity == 0.71);
    assert_int_equal(c->action.on_tag, CONFIG_ACTION_TAG);
    assert_int_equal(c->action.on_reject, CONFIG_ACTION_REJECT);
    assert_true(c->exempt.authenticated);
    assert_int_equal(g_strv_length(c->exempt.networks), 0);
    assert_int_equal(c->exempt.action, CONFIG_ACTION_NONE);
    assert_int_equal(c->log.level, LOG_LEVEL_INFO);
    config_unref(c);
}

static void a_file_overrides_defaults_by_type(void **state)
{
    (void)state;
    g_autoptr(GError) error = NULL;
    struct config *c = load_text("# comment\n[milter]\nsocket = inet:9000@127.0.0.1\nsocket-mode=0600\n"
                                 "max-connections = 7\n\n[store]\ntimeout = 1s\non-failure = tempfail\n"
                                 "simhash-tables = yes\n[match]\nreject-similarity = 0.9\n"
                                 "[exempt]\nnetworks = 192.0.2.0/24, ,2001:db8::/32,\nauthenticated = no\n"
                                 "[limits]\nmessage-bytes = 64K\n[action]\non-tag = Quarantine\n",
                                 &error);
    assert_null(error);
    assert_non_null(c);
    assert_string_equal(c->milter.socket, "inet:9000@127.0.0.1");
    assert_int_equal(c->milter.socket_mode, 0600);
    assert_int_equal(c->milter.max_connections, 7);
    assert_int_equal(c->store.timeout, 1000);
    assert_int_equal(c->store.on_failure, CONFIG_FAIL_TEMPFAIL);
    assert_true(c->store.simhash_tables);
    assert_true(c->match.reject_similarity == 0.9 && c->match.tag_similarity == 0.53);
    assert_int_equal(g_strv_length(c->exempt.networks), 2);
    assert_string_equal(c->exempt.networks[1], "2001:db8::/32");
    assert_false(c->exempt.authenticated);
    assert_int_equal(c->limits.message_bytes, 65536);
    assert_int_equal(c->action.on_tag, CONFIG_ACTION_QUARANTINE);
    config_unref(c);
}

/* Each mistake, the line that must be named, and what must be said to be allowed. */
static const struct {
    const char *text, *where, *remedy;
} mistakes[] = {
    { "[milter]\nsokcet = x\n", "refrain.conf:2: ", "no such key in [milter]: sokcet: use one of socket, " },
    { "[store]\nttl = 1d\n\n[stroe]\nurl = x\n",
      "refrain.conf:4: ", "no such section: [stroe]: use one of milter, " },
    { "[store]\n# x\ntimeout = 200\n", "refrain.conf:3: ", "200ms" },
    { "[store]\ntimeout = 0s\n", "refrain.conf:2: ", "timeout cannot be \"0s\"" },
    { "[store]\non-failure = reject\n", "refrain.conf:2: ", "use one of accept, tempfail" },
    { "[exempt]\naction = reject\n", "refrain.conf:2: ", "use one of none, tag" },
    { "[exempt]\nauthenticated = maybe\n", "refrain.conf:2: ", "use yes or no" },
    { "[match]\ntag-similarity = 53\n", "refrain.conf:2: ", "a number from 0 to 1" },
    { "[match]\ntag-similarity = nan\n", "refrain.conf:2: ", "a number from 0 to 1" },
    { "[match]\ntag-similarity = 0.9\n", "refrain.conf: ", "not below tag-similarity" },
    { "[match]\nmin-terms = 1\n", "refrain.conf:2: ", "use 5 or more" },
    { "[match]\nmin-terms = -1\n", "refrain.conf:2: ", "a whole number" },
    { "[milter]\nsocket-mode = 0990\n", "refrain.conf:2: ", "octal" },
    { "[limits]\nmessage-bytes = 10X\n", "refrain.conf:2: ", "64K" },
    { "[action]\nreject-code = 450 4.7.1\n", "refrain.conf:2: ", "class 5" },
    { "[action]\nreject-code = 550 4.7.1\n", "refrain.conf:2: ", "class 5" },
    { "[action]\nreject-text = two\\nlines\n", "refrain.conf:2: ", "one line of ASCII" },
    { "[action]\nreject-text =\n", "refrain.conf:2: ", "one line of ASCII" },
    { "[action]\nsubject-prefix = [SP\303\204M]\n", "refrain.conf:2: ", "one line of ASCII" },
    { "[milter]\nhello\n", "refrain.conf:2: ", "key = value" },
    { "socket = x\n", "refrain.conf:1: ", "[section]" },
};

static void mistakes_name_file_line_and_remedy(void **state)
{
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(mistakes); i++) {
        g_autoptr(GError) error = NULL;
        assert_null(load_text(mistakes[i].text, &error));
        assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG));
        if (!strstr(error->message, mistakes[i].where) || !strstr(error->message, mistakes[i].remedy))
            fail_msg("%s said: %s", mistakes[i].text, error->message);
    }
}

static void a_missing_file_is_an_error(void **state)
{
    (void)state;
    g_autoptr(GError) error = NULL;
    assert_null(config_load("/nonexistent/refrain.conf", &error));
    assert_non_null(strstr(error->message, "--config"));
}

static void a_config_lives_as_long_as_its_last_reference(void **state)
{
    (void)state;
    struct config *c = config_new();
    assert_ptr_equal(config_ref(c), c);
    config_unref(c);
    assert_string_equal(c->action.reject_code, "550 5.7.1");
    config_unref(c);
    config_unref(NULL);
}

/* Samples and manual are written for a system-wide installation. */
static char *default_on_a_system(const struct config_key *key)
{
    g_autoptr(GString) text = g_string_new(key->initial);
    g_string_replace(text, LOCALSTATEDIR "/", "/var/", 0);
    return g_strdup(text->str);
}

static void sample_has_every_key_with_its_default(void **state)
{
    (void)state;
    g_autofree char *sample = read_file("etc/refrain.conf");
    size_t n;
    const struct config_key *keys = config_keys(&n);
    const char *at = sample;
    for (size_t i = 0; i < n; i++) {
        g_autofree char *initial = default_on_a_system(&keys[i]);
        g_autofree char *line = g_strdup_printf("\n#%s =%s%s\n", keys[i].name, *initial ? " " : "", initial);
        g_autofree char *section = g_strdup_printf("\n[%s]\n", keys[i].section);
        if (i == 0 || strcmp(keys[i].section, keys[i - 1].section) != 0)
            assert_non_null(at = strstr(at, section));
        const char *found = strstr(at, line);
        if (!found)
            fail_msg("etc/refrain.conf has no line \"#%s = %s\" in [%s]", keys[i].name, initial,
                     keys[i].section);
        at = found;
    }
}

static void sample_loads_and_changes_nothing(void **state)
{
    (void)state;
    g_autofree char *sample = read_file("etc/refrain.conf");
    g_autoptr(GString) switched_on = g_string_new(sample);
    size_t n;
    const struct config_key *keys = config_keys(&n);
    for (size_t i = 0; i < n; i++) {
        g_autofree char *off = g_strdup_printf("\n#%s =", keys[i].name);
        g_autofree char *on = g_strdup_printf("\n%s =", keys[i].name);
        g_string_replace(switched_on, off, on, 0);
    }
    g_autoptr(GError) error = NULL;
    struct config *plain = load_text(sample, &error);
    assert_non_null(plain);
    struct config *all = load_text(switched_on->str, &error);
    if (!all)
        fail_msg("%s", error->message);
    assert_string_equal(all->action.reject_text, plain->action.reject_text);
    config_unref(plain);
    config_unref(all);
}

/* In the manual a key is:  .TP  \fBkey\fR = default  help …  under .SH [section]. */
static void manual_has_every_key_with_its_default(void **state)
{
    (void)state;
    g_autofree char *text = read_file("doc/refrain.conf.5");
    g_autoptr(GString) manual = g_string_new(text);
    g_string_replace(manual, "\\-", "-", 0);
    size_t n;
    const struct config_key *keys = config_keys(&n);
    const char *at = manual->str;
    for (size_t i = 0; i < n; i++) {
        g_autofree char *initial = default_on_a_system(&keys[i]);
        g_autofree char *entry =
            g_strdup_printf("\n.TP\n\\fB%s\\fR =%s%s\n", keys[i].name, *initial ? " " : "", initial);
        g_autofree char *section = g_strdup_printf("\n.SS [%s]\n", keys[i].section);
        if (i == 0 || strcmp(keys[i].section, keys[i - 1].section) != 0)
            assert_non_null(at = strstr(at, section));
        const char *found = strstr(at, entry);
        if (!found)
            fail_msg("refrain.conf(5) has no entry \"%s = %s\" in [%s]", keys[i].name, initial,
                     keys[i].section);
        at = found;
        for (const char *const *word = keys[i].choices; word && *word; word++) {
            g_autofree char *bold = g_strdup_printf("\\fB%s\\fR", *word);
            const char *end = strstr(found + 5, "\n.TP\n");
            const char *there = strstr(found, bold);
            if (!there || (end && there > end))
                fail_msg("refrain.conf(5) does not name \"%s\" for %s", *word, keys[i].name);
        }
    }
}

/* The other direction: nothing is described that does not exist. */
static void manual_and_sample_have_no_other_key(void **state)
{
    (void)state;
    static const struct {
        const char *file, *pattern;
    } places[] = { { "etc/refrain.conf", "^#([a-z-]+) =" },
                   { "doc/refrain.conf.5", "^\\.TP\n\\\\fB([a-z\\\\-]+)\\\\fR =" } };
    size_t n;
    config_keys(&n);
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
        g_autofree char *text = read_file(places[i].file);
        g_autoptr(GRegex) regex = g_regex_new(places[i].pattern, G_REGEX_MULTILINE, 0, NULL);
        g_autoptr(GMatchInfo) match = NULL;
        size_t seen = 0;
        for (bool more = g_regex_match(regex, text, 0, &match); more; more = g_match_info_next(match, NULL))
            seen++;
        assert_int_equal(seen, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_design),
        cmocka_unit_test(a_file_overrides_defaults_by_type),
        cmocka_unit_test(mistakes_name_file_line_and_remedy),
        cmocka_unit_test(a_missing_file_is_an_error),
        cmocka_unit_test(a_config_lives_as_long_as_its_last_reference),
        cmocka_unit_test(sample_has_every_key_with_its_default),
        cmocka_unit_test(sample_loads_and_changes_nothing),
        cmocka_unit_test(manual_has_every_key_with_its_default),
        cmocka_unit_test(manual_and_sample_have_no_other_key),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
