#include "tests/store/contract_world.h"

static const struct contract_backend *backend;
static char *group_folder;
static unsigned tests_run;

struct store *open_with(struct world *w, struct lexicon *lexicon)
{
    GError *error = NULL;
    struct store *store = store_open(&w->options, lexicon, &error);
    must(store != NULL, error);
    return store;
}

void reopen(struct world *w)
{
    store_close(&w->store);
    w->store = open_with(w, w->lexicon);
}

int world_set_up(void **state)
{
    struct world *w = g_new0(struct world, 1);
    w->folder = fixture_folder();
    w->url = backend->empty_store(group_folder, tests_run++);
    w->lexicon = fixture_lexicon(w->folder, 1, 8);
    w->options = store_default_options;
    w->options.url = w->url;
    w->options.timeout = 2000;
    w->options.ttl = 30 * DAYS;
    w->store = open_with(w, w->lexicon);
    *state = w;
    return 0;
}

int world_tear_down(void **state)
{
    struct world *w = *state;
    store_close(&w->store);
    lexicon_unref(w->lexicon);
    fixture_remove(w->folder);
    g_free(w->url);
    g_free(w);
    return 0;
}

enum store_outcome report_as(struct store *store, struct signature_set set, const char *reporter,
                             uint64_t *id_out)
{
    GError *error = NULL;
    enum store_outcome outcome;
    struct store_report report = { .label = "pills", .source = "trap", .reporter = reporter };
    must(store_report(store, &set, &signature_default_rule, &report, &outcome, id_out, &error), error);
    return outcome;
}

enum store_outcome report(struct world *w, struct signature signature, uint64_t *id_out)
{
    return report_as(w->store, fixture_set(signature), "anna", id_out);
}

void report_at(struct world *w, struct signature s, int64_t days_ago, uint64_t *id_out)
{
    GError *error = NULL;
    struct signature_set set = fixture_set(s);
    struct store_report then = { .reporter = "anna", .when = store_now() - days_ago * 86400 };
    must(store_report(w->store, &set, &signature_default_rule, &then, NULL, id_out, &error), error);
}

struct store_match look_up_set(struct store *store, struct signature_set set)
{
    GError *error = NULL;
    struct store_match match;
    must(store_lookup(store, &set, &signature_default_rule, &match, &error), error);
    return match;
}

struct store_match look_up(struct world *w, struct signature signature)
{
    return look_up_set(w->store, fixture_set(signature));
}

struct store_campaign show(struct world *w, uint64_t id)
{
    GError *error = NULL;
    struct store_campaign campaign;
    must(store_show(w->store, id, &campaign, &error), error);
    return campaign;
}

void forget(struct world *w, uint64_t id)
{
    GError *error = NULL;
    must(store_forget(w->store, id, &error), error);
}

struct store_campaign forget_source(struct world *w, uint64_t id, const char *source, bool dry_run)
{
    GError *error = NULL;
    struct store_campaign left;
    must(store_forget_source(w->store, id, source, dry_run, &left, &error), error);
    return left;
}

uint64_t expire(struct world *w)
{
    GError *error = NULL;
    uint64_t dropped;
    must(store_expire(w->store, &dropped, &error), error);
    return dropped;
}

struct store_stats stats_of(struct store *store)
{
    GError *error = NULL;
    struct store_stats stats;
    must(store_stats(store, &stats, &error), error);
    return stats;
}

struct signature body(struct world *w, uint64_t seed)
{
    return fixture_signature(w->lexicon, MESSAGE_BODY, seed);
}

void assert_error(bool ok, GError **error, enum refrain_error code)
{
    assert_false(ok);
    assert_non_null(*error);
    if (!g_error_matches(*error, REFRAIN_ERROR, (gint)code))
        fail_msg("another error: %s", (*error)->message);
    g_clear_error(error);
}

char *key_space(struct world *w)
{
    return backend->key_space(w->url);
}

/* --- the run ------------------------------------------------------------------------------------ */

static int start(void **state)
{
    (void)state;
    group_folder = fixture_folder();
    backend->start(group_folder);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    backend->stop();
    fixture_remove(group_folder);
    return 0;
}

int contract_run(const struct contract_backend *under_test)
{
    static const struct CMUnitTest *const parts[] = { contract_lookup, contract_report, contract_keep };
    g_autoptr(GArray) tests = g_array_new(FALSE, FALSE, sizeof(struct CMUnitTest));
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
        for (const struct CMUnitTest *test = parts[i]; test->name; test++)
            g_array_append_val(tests, *test);
    backend = under_test;
    return _cmocka_run_group_tests(under_test->name, (const struct CMUnitTest *)(void *)tests->data,
                                   tests->len, start, stop);
}
