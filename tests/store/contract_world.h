/*
 * The world of one test of the contract, and what all of them do in it.
 */
#ifndef TESTS_STORE_CONTRACT_WORLD_H
#define TESTS_STORE_CONTRACT_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/error.h"
#include "store/internal.h"
#include "tests/store/contract.h"
#include "tests/store/fixture.h"

#define DAYS (INT64_C(24) * 3600 * 1000)

/* An empty store and a lexicon. */
struct world {
    char *folder, *url;
    struct lexicon *lexicon;
    struct store *store;
    struct store_options options;
};

int world_set_up(void **state);
int world_tear_down(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

/* Each ends with an empty one. */
extern const struct CMUnitTest contract_lookup[], contract_report[], contract_keep[];

/* A call that fills `error` when it fails. */
#define must(call, error)                                                                                    \
    do {                                                                                                     \
        if (!(call))                                                                                         \
            fail_msg("%s", (error) ? (error)->message : "failed without an error");                          \
        assert_null(error);                                                                                  \
    } while (0)

struct store *open_with(struct world *w, struct lexicon *lexicon);
void reopen(struct world *w);
enum store_outcome report_as(struct store *store, struct signature_set set, const char *reporter, uint64_t *id_out);
enum store_outcome report(struct world *w, struct signature signature, uint64_t *id_out);
void report_at(struct world *w, struct signature s, int64_t days_ago, uint64_t *id_out);
struct store_match look_up_set(struct store *store, struct signature_set set);
struct store_match look_up(struct world *w, struct signature signature);
struct store_campaign show(struct world *w, uint64_t id);
void forget(struct world *w, uint64_t id);
struct store_campaign forget_source(struct world *w, uint64_t id, const char *source, bool dry_run);
uint64_t expire(struct world *w);
struct store_stats stats_of(struct store *store);
struct signature body(struct world *w, uint64_t seed);
void assert_error(bool ok, GError **error, enum refrain_error code);

/* Every key that the store holds. */
char *key_space(struct world *w);

#endif
