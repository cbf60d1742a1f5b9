/* decide(): every row of the policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "milter/decide.h"

#define NONE       CONFIG_ACTION_NONE
#define TAG        CONFIG_ACTION_TAG
#define QUARANTINE CONFIG_ACTION_QUARANTINE
#define REJECT     CONFIG_ACTION_REJECT
#define TEMPFAIL   CONFIG_ACTION_TEMPFAIL
#define DISCARD    CONFIG_ACTION_DISCARD

/* What differs from the defaults in a row. */
struct policy {
    enum config_action on_tag, on_reject, exempt;
    enum config_on_failure on_failure;
    enum config_trap trap;
    bool add_clean, dry_run;
};

static const struct policy shipped = { .on_tag = TAG, .on_reject = REJECT };

struct row {
    const char *name;
    struct policy policy;
    enum outcome outcome;
    enum signature_level level;
    bool allowed, exempt, trap;
    enum verdict verdict;
    enum config_action action, would;
    enum mark mark;
};

#define LOOKED      OUTCOME_LOOKED_UP
#define SKIPPED     OUTCOME_SKIPPED
#define UNSCANNABLE OUTCOME_UNSCANNABLE
#define FAILED      OUTCOME_FAILED
#define HIGH        SIGNATURE_REJECT
#define LOW         SIGNATURE_TAG
#define NO          SIGNATURE_STRANGER

/* clang-format off */
#define P(...) { .on_tag = TAG, .on_reject = REJECT __VA_ARGS__ }
#define Q(tag, reject, ...) { .on_tag = tag, .on_reject = reject, __VA_ARGS__ }
#define WAIT      .on_failure = CONFIG_FAIL_TEMPFAIL
#define PASS      .trap = CONFIG_TRAP_PASS
#define DRY_CLEAN .dry_run = true, .add_clean = true
static const struct row rows[] = {
    /*                                                                    allowed, exempt, trap
       name                      policy                          looked up         |  |  |  verdict              action      would       mark */
    { "clean",                   P(),                            LOOKED, NO,       0, 0, 0, VERDICT_CLEAN,       NONE,       NONE,       MARK_NONE },
    { "clean, header wanted",    P(, .add_clean = true),         LOOKED, NO,       0, 0, 0, VERDICT_CLEAN,       NONE,       NONE,       MARK_CLEAN },
    { "clean, exempt",           P(, .add_clean = true),         LOOKED, NO,       0, 1, 0, VERDICT_CLEAN,       NONE,       NONE,       MARK_NONE },
    { "allowed",                 P(, .add_clean = true),         LOOKED, NO,       1, 0, 0, VERDICT_ALLOWED,     NONE,       NONE,       MARK_CLEAN },
    { "tag level",               P(),                            LOOKED, LOW,      0, 0, 0, VERDICT_MATCH,       TAG,        TAG,        MARK_MATCH },
    { "reject level",            P(),                            LOOKED, HIGH,     0, 0, 0, VERDICT_MATCH,       REJECT,     REJECT,     MARK_NONE },
    { "on-tag none",             Q(NONE, REJECT),                LOOKED, LOW,      0, 0, 0, VERDICT_MATCH,       NONE,       NONE,       MARK_NONE },
    { "on-tag quarantine",       Q(QUARANTINE, REJECT),          LOOKED, LOW,      0, 0, 0, VERDICT_MATCH,       QUARANTINE, QUARANTINE, MARK_MATCH },
    { "on-tag tempfail",         Q(TEMPFAIL, REJECT),            LOOKED, LOW,      0, 0, 0, VERDICT_MATCH,       TEMPFAIL,   TEMPFAIL,   MARK_NONE },
    { "on-reject discard",       Q(TAG, DISCARD),                LOOKED, HIGH,     0, 0, 0, VERDICT_MATCH,       DISCARD,    DISCARD,    MARK_NONE },
    { "on-reject tag",           Q(TAG, TAG),                    LOOKED, HIGH,     0, 0, 0, VERDICT_MATCH,       TAG,        TAG,        MARK_MATCH },
    { "exempt, action none",     P(),                            LOOKED, HIGH,     0, 1, 0, VERDICT_MATCH,       NONE,       NONE,       MARK_NONE },
    { "exempt, action tag",      P(, .exempt = TAG),             LOOKED, HIGH,     0, 1, 0, VERDICT_MATCH,       TAG,        TAG,        MARK_MATCH },
    { "exempt tag, policy none", Q(NONE, REJECT, .exempt = TAG), LOOKED, LOW,      0, 1, 0, VERDICT_MATCH,       NONE,       NONE,       MARK_NONE },
    { "skipped",                 P(, .add_clean = true),         SKIPPED, NO,      0, 1, 0, VERDICT_SKIPPED,     NONE,       NONE,       MARK_NONE },
    { "unscannable",             P(, .add_clean = true),         UNSCANNABLE, NO,  0, 0, 0, VERDICT_UNSCANNABLE, NONE,       NONE,       MARK_NONE },
    { "store down, accept",      P(),                            FAILED, NO,       0, 0, 0, VERDICT_UNAVAILABLE, NONE,       NONE,       MARK_UNAVAILABLE },
    { "store down, tempfail",    P(, WAIT),                      FAILED, NO,       0, 0, 0, VERDICT_UNAVAILABLE, TEMPFAIL,   TEMPFAIL,   MARK_NONE },
    { "store down, exempt",      P(, WAIT),                      FAILED, NO,       0, 1, 0, VERDICT_UNAVAILABLE, NONE,       NONE,       MARK_NONE },
    { "store down, dry run",     P(, WAIT, .dry_run = true),     FAILED, NO,       0, 0, 0, VERDICT_UNAVAILABLE, NONE,       TEMPFAIL,   MARK_NONE },
    { "dry run",                 P(, .dry_run = true),           LOOKED, HIGH,     0, 0, 0, VERDICT_MATCH,       NONE,       REJECT,     MARK_NONE },
    { "dry run, clean",          P(, DRY_CLEAN),                 LOOKED, NO,       0, 0, 0, VERDICT_CLEAN,       NONE,       NONE,       MARK_NONE },
    { "trap",                    P(),                            LOOKED, NO,       0, 0, 1, VERDICT_TRAP,        DISCARD,    DISCARD,    MARK_NONE },
    { "trap never rejects",      P(),                            LOOKED, HIGH,     0, 0, 1, VERDICT_TRAP,        DISCARD,    DISCARD,    MARK_NONE },
    { "trap never puts off",     P(, WAIT),                      FAILED, NO,       0, 0, 1, VERDICT_TRAP,        DISCARD,    DISCARD,    MARK_NONE },
    { "trap, pass",              P(, PASS, .add_clean = true),   LOOKED, HIGH,     0, 0, 1, VERDICT_TRAP,        NONE,       NONE,       MARK_NONE },
    { "trap, dry run",           P(, .dry_run = true),           LOOKED, NO,       0, 0, 1, VERDICT_TRAP,        NONE,       DISCARD,    MARK_NONE },
};
/* clang-format on */

static void every_row_of_the_policy(void **state)
{
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct row *row = &rows[i];
        struct config *c = config_new();
        c->action.on_tag = row->policy.on_tag;
        c->action.on_reject = row->policy.on_reject;
        c->action.add_clean_header = row->policy.add_clean;
        c->action.dry_run = row->policy.dry_run;
        c->exempt.action = row->policy.exempt;
        c->store.on_failure = row->policy.on_failure;
        c->trap.action = row->policy.trap;
        struct facts facts = { .outcome = row->outcome,
                               .match = { .level = row->level, .allowed = row->allowed },
                               .exempt = row->exempt ? "authenticated" : NULL,
                               .trap = row->trap };
        struct decision d = decide(&facts, c);
        if (d.verdict != row->verdict || d.action != row->action || d.would != row->would ||
            d.mark != row->mark)
            fail_msg("%s: got %s, action %s, would %s, mark %d", row->name, verdict_name(d.verdict),
                     action_name(d.action), action_name(d.would), (int)d.mark);
        config_unref(c);
    }
}

static void the_defaults_tag_and_reject(void **state)
{
    (void)state;
    struct config *c = config_new();
    assert_int_equal(c->action.on_tag, shipped.on_tag);
    assert_int_equal(c->action.on_reject, shipped.on_reject);
    config_unref(c);
}

static void names_are_those_of_the_configuration(void **state)
{
    (void)state;
    size_t n;
    const struct config_key *keys = config_keys(&n);
    for (size_t i = 0; i < n; i++)
        if (g_str_equal(keys[i].name, "on-tag"))
            for (int a = 0; keys[i].choices[a]; a++)
                assert_string_equal(action_name((enum config_action)a), keys[i].choices[a]);
    for (int v = 0; v < VERDICTS; v++)
        assert_non_null(verdict_name((enum verdict)v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_policy),
        cmocka_unit_test(the_defaults_tag_and_reject),
        cmocka_unit_test(names_are_those_of_the_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
