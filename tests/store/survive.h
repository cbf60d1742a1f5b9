/*
 * What the tests of the whole store against servers in trouble share: a lexicon, reports and look-ups of
 * imaginary texts, and what must come of them.
 */
#ifndef TESTS_STORE_SURVIVE_H
#define TESTS_STORE_SURVIVE_H

#include <string.h>

#include "base/error.h"
#include "store/store.h"
#include "tests/store/fixture.h"
#include "tests/store/servers.h"

#define UNAVAILABLE REFRAIN_ERROR_UNAVAILABLE
#define REFUSED     REFRAIN_ERROR_REFUSED

static char *folder;
static struct lexicon *lexicon;

static inline int set_up(void **state)
{
    (void)state;
    folder = fixture_folder();
    lexicon = fixture_lexicon(folder, 1, 8);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    lexicon_unref(lexicon);
    fixture_remove(folder);
    return 0;
}

static inline struct store *open_options(struct store_options options)
{
    GError *error = NULL;
    struct store *store = store_open(&options, lexicon, &error);
    if (!store)
        fail_msg("%s", error->message);
    return store;
}

static inline struct store *open_store(const char *url, int64_t timeout)
{
    struct store_options options = store_default_options;
    options.url = url;
    options.timeout = timeout;
    return open_options(options);
}

static inline bool report(struct store *store, uint64_t seed, GError **error)
{
    struct signature_set set = fixture_set(fixture_signature(lexicon, MESSAGE_BODY, seed));
    const struct store_report what = { .label = "pills", .source = "trap", .reporter = "anna" };
    enum store_outcome outcome;
    uint64_t campaign;
    return store_report(store, &set, &signature_default_rule, &what, &outcome, &campaign, error);
}

static inline void must_report(struct store *store, uint64_t seed)
{
    GError *error = NULL;
    if (!report(store, seed, &error))
        fail_msg("report: %s", error->message);
}

enum answer { FOUND, NOT_FOUND, FAILED };

static inline enum answer look_up(struct store *store, uint64_t seed, GError **error)
{
    struct signature_set set = fixture_set(fixture_signature(lexicon, MESSAGE_BODY, seed));
    struct store_match match;
    if (!store_lookup(store, &set, &signature_default_rule, &match, error))
        return FAILED;
    return match.level != SIGNATURE_STRANGER ? FOUND : NOT_FOUND;
}

static inline void must_find(struct store *store, uint64_t seed, enum answer expected)
{
    GError *error = NULL;
    enum answer answer = look_up(store, seed, &error);
    if (answer == FAILED)
        fail_msg("look-up of %d: %s", (int)seed, error->message);
    if (answer != expected)
        fail_msg("%d is %s", (int)seed, answer == FOUND ? "found" : "not found");
}

static inline void must_fail(bool ok, GError **error, int code, const char *part)
{
    assert_false(ok);
    if ((*error)->code != code || !strstr((*error)->message, part))
        fail_msg("\"%s\" (%d), expected \"%s\" (%d)", (*error)->message, (*error)->code, part, code);
    g_clear_error(error);
}

static inline void report_fails(struct store *store, uint64_t seed, int code, const char *part)
{
    GError *error = NULL;
    must_fail(report(store, seed, &error), &error, code, part);
}

static inline void look_up_fails(struct store *store, uint64_t seed, int code, const char *part)
{
    GError *error = NULL;
    must_fail(look_up(store, seed, &error) != FAILED, &error, code, part);
}

struct wanted {
    struct store *store;
    uint64_t seed;
};

static inline bool is_found(void *user)
{
    struct wanted *wanted = user;
    return look_up(wanted->store, wanted->seed, NULL) == FOUND;
}

static inline void await_found(struct store *store, uint64_t seed)
{
    struct wanted wanted = { store, seed };
    servers_await(is_found, &wanted, "the campaign is found again");
}

#endif
