#include "tests/store/contract_world.h"

/* What becomes of a report and of an import, and what clean mail has to say about it. */

/* --- reporting ---------------------------------------------------------------------------------- */

static void reporting_twice_changes_counts_only(void **state)
{
    struct world *w = *state;
    uint64_t first, second;
    report(w, body(w, 1), &first);
    g_autofree char *before = key_space(w);
    assert_int_equal(report(w, body(w, 1), &second), STORE_DUPLICATE);
    g_autofree char *after = key_space(w);
    assert_true(first == second);
    assert_string_equal(before, after);
    struct store_campaign campaign = show(w, first);
    assert_int_equal(campaign.reports, 2);
    assert_int_equal(campaign.variants, 1);
    assert_int_equal(campaign.reporters, 1);
    assert_int_equal(campaign.reporter[0].reports, 2);
    assert_string_equal(campaign.label, "pills");
    assert_string_equal(campaign.source, "trap");
}

static void a_report_joins_by_its_distance(void **state)
{
    struct world *w = *state;
    struct signature s = body(w, 1);
    uint64_t id, other;
    report(w, s, &id);
    assert_int_equal(report(w, fixture_changed(&s, 64, 3, 1), &other), STORE_DUPLICATE);
    assert_true(other == id);
    struct signature variant = fixture_changed(&s, 100, 10, 2);
    assert_int_equal(report(w, variant, &other), STORE_MERGED);
    assert_true(other == id);
    assert_int_equal(report(w, fixture_changed(&s, 200, 3, 3), &other), STORE_NEW);
    assert_true(other != id);
    assert_int_equal(show(w, id).variants, 2);
    assert_int_equal(show(w, id).reports, 3);
    /* The variant is found by hashes that only it has. */
    struct signature asked = variant;
    memset(asked.lex + 10, 0, 10 * sizeof asked.lex[0]);
    struct store_match match = look_up(w, asked);
    assert_true(match.campaign == id);
    assert_int_equal(match.likeness.distance, 0);
    assert_int_equal(match.of, 10);
}

static void a_campaign_full_of_variants_has_a_successor(void **state)
{
    struct world *w = *state;
    struct signature s = body(w, 1);
    uint64_t id, other;
    report(w, s, &id);
    for (unsigned i = 1; i < STORE_VARIANTS; i++) {
        assert_int_equal(report(w, fixture_changed(&s, 90, 2, i), &other), STORE_MERGED);
        assert_true(other == id);
    }
    struct signature one_more = fixture_changed(&s, 90, 2, 100);
    assert_int_equal(report(w, one_more, &other), STORE_NEW);
    assert_true(other != id);
    assert_int_equal(show(w, id).variants, STORE_VARIANTS);
    assert_int_equal(report(w, one_more, &other), STORE_DUPLICATE);
}

static void a_signature_of_another_lexicon_is_refused(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    struct signature_set set = fixture_set(body(w, 1)), none = { 0 };
    struct store_report nothing = { 0 };
    set.v[0].lexicon++;
    assert_error(store_report(w->store, &set, &signature_default_rule, &nothing, NULL, NULL, &error), &error,
                 REFRAIN_ERROR_LEXICON);
    assert_error(store_report(w->store, &none, &signature_default_rule, &nothing, NULL, NULL, &error), &error,
                 REFRAIN_ERROR_INPUT);
}

static void names_are_cut_at_a_character(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    struct store_report long_one = { .label = "aääääääääääääääääääääääääääääääääääääää",
                                     .source = "line\nfeed",
                                     .reporter = "\xff" };
    struct signature_set set = fixture_set(body(w, 1));
    uint64_t id;
    must(store_report(w->store, &set, &signature_default_rule, &long_one, NULL, &id, &error), error);
    struct store_campaign campaign = show(w, id);
    assert_int_equal(strlen(campaign.label), 63);
    assert_true(g_utf8_validate(campaign.label, -1, NULL));
    assert_string_equal(campaign.source, "line?feed");
    assert_true(g_utf8_validate(campaign.reporter[0].name, -1, NULL));
}

static void candidates_match_after_the_quorum(void **state)
{
    struct world *w = *state;
    struct signature_set set = fixture_set(body(w, 1));
    uint64_t id;
    w->options.quorum = 3;
    reopen(w);
    assert_int_equal(report_as(w->store, set, "anna", &id), STORE_PENDING);
    assert_int_equal(report_as(w->store, set, "anna", &id), STORE_PENDING);
    assert_int_equal(report_as(w->store, set, "bert", &id), STORE_PENDING);
    assert_int_equal(look_up_set(w->store, set).level, SIGNATURE_STRANGER);
    assert_int_equal(show(w, id).state, STORE_CANDIDATE);
    assert_int_equal(show(w, id).reporters, 2);
    assert_int_equal(report_as(w->store, set, "carl", &id), STORE_DUPLICATE);
    assert_int_equal(look_up_set(w->store, set).level, SIGNATURE_REJECT);
}

static void who_is_trusted_needs_no_quorum(void **state)
{
    struct world *w = *state;
    static const char *const trusted[] = { "postmaster", NULL };
    uint64_t id;
    w->options.quorum = 3;
    w->options.trusted = trusted;
    reopen(w);
    assert_int_equal(report_as(w->store, fixture_set(body(w, 1)), "postmaster", &id), STORE_NEW);
    assert_int_equal(report_as(w->store, fixture_set(body(w, 2)), "anna", &id), STORE_PENDING);
    assert_int_equal(report_as(w->store, fixture_set(body(w, 2)), "postmaster", &id), STORE_DUPLICATE);
    assert_int_equal(show(w, id).state, STORE_ACTIVE);
}

static void what_is_allowed_vetoes(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    struct signature s = body(w, 1);
    struct signature_set letter = fixture_set(fixture_changed(&s, 30, 2, 1));
    struct store_report by = { .reporter = "anna" };
    uint64_t spam, allowed, refused, again;
    report(w, s, &spam);
    must(store_allow(w->store, &letter, &by, &allowed, &error), error);
    assert_true(allowed != spam);
    struct store_match match = look_up(w, s);
    assert_true(match.allowed);
    assert_int_equal(match.level, SIGNATURE_STRANGER);
    assert_true(match.campaign == allowed);
    assert_int_equal(report(w, fixture_changed(&s, 20, 1, 2), &refused), STORE_REFUSED);
    assert_true(refused == allowed);
    assert_int_equal(show(w, spam).reports, 1);
    must(store_allow(w->store, &letter, &by, &again, &error), error);
    assert_true(again == allowed);
    forget(w, allowed);
    assert_int_equal(look_up(w, s).level, SIGNATURE_REJECT);
}

/* --- clean mail --------------------------------------------------------------------------------- */

#define LETTERS   20
#define STRANGERS 600

static void clean(struct store *store, struct signature signature)
{
    struct signature_set set = fixture_set(signature);
    store_clean(store, &set);
}

/* A day's clean mail: many strangers, and a letter that is much the same for all its readers. */
static void a_day_of_clean_mail(struct world *w, const struct signature *letter)
{
    for (unsigned i = 0; i < STRANGERS; i++)
        clean(w->store, body(w, 100000 + i));
    for (unsigned i = 0; i < LETTERS; i++)
        clean(w->store, fixture_changed(letter, 30, 5, i));
    reopen(w);
}

/* What was counted today was so on that day too. */
static void the_same_some_days_ago(struct world *w, unsigned days)
{
    GError *error = NULL;
    struct backend *under = w->store->backend;
    uint32_t today = (uint32_t)(store_now() / 86400);
    uint32_t *all = g_new(uint32_t, BACKEND_COUNTERS),
             *counts = g_new(uint32_t, BACKEND_COUNTERS * STORE_CLEAN_DAYS);
    struct backend_count *again = g_new(struct backend_count, BACKEND_COUNTERS);
    for (uint32_t i = 0; i < BACKEND_COUNTERS; i++)
        all[i] = i;
    must(under->ops->counts(under, today, all, BACKEND_COUNTERS, counts, 2000, &error), error);
    for (uint32_t i = 0; i < BACKEND_COUNTERS; i++)
        again[i] = (struct backend_count) { i, counts[i] };
    must(under->ops->count(under, today - days, again, BACKEND_COUNTERS, 2000, &error), error);
    g_free(all);
    g_free(counts);
    g_free(again);
}

static struct store_commonness commonness(struct world *w, struct signature signature)
{
    GError *error = NULL;
    struct signature_set set = fixture_set(signature);
    struct store_commonness out;
    must(store_commonness(w->store, &set, &out, &error), error);
    return out;
}

static void what_is_common_in_clean_mail_day_after_day_is_refused(void **state)
{
    struct world *w = *state;
    struct signature letter = body(w, 1);
    uint64_t id;
    a_day_of_clean_mail(w, &letter);
    the_same_some_days_ago(w, 1);
    assert_false(commonness(w, letter).too_common);
    the_same_some_days_ago(w, 6);
    struct store_commonness common = commonness(w, letter);
    assert_true(common.too_common);
    assert_int_equal(common.days, 3);
    assert_int_equal(common.clean, 3 * (LETTERS + STRANGERS));
    assert_true(common.share > 0.02 && common.share < 0.04);
    assert_int_equal(report(w, letter, &id), STORE_REFUSED);
    assert_true(id == 0);
    assert_int_equal(stats_of(w->store).campaigns, 0);
    assert_int_equal(stats_of(w->store).clean_week, 3 * (LETTERS + STRANGERS));
    assert_int_equal(report(w, body(w, 2), &id), STORE_NEW);
    assert_int_equal(report(w, body(w, 100000), &id), STORE_NEW);
}

static void a_flood_of_today_can_be_reported(void **state)
{
    struct world *w = *state;
    struct signature spam = body(w, 1);
    a_day_of_clean_mail(w, &spam);
    the_same_some_days_ago(w, 1);
    assert_int_equal(report(w, spam, NULL), STORE_NEW);
}

static void force_stores_what_is_common(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    struct signature letter = body(w, 1);
    struct signature_set set = fixture_set(letter);
    struct store_report forced = { .reporter = "anna", .force = true };
    enum store_outcome outcome;
    uint64_t id;
    w->options.clean_days = 1;
    reopen(w);
    a_day_of_clean_mail(w, &letter);
    assert_int_equal(report(w, letter, &id), STORE_REFUSED);
    must(store_report(w->store, &set, &signature_default_rule, &forced, &outcome, &id, &error), error);
    assert_int_equal(outcome, STORE_NEW);
    /* It acts: who reports it again adds nothing. */
    assert_int_equal(report(w, letter, &id), STORE_DUPLICATE);
}

static void what_is_common_is_not_confirmed_either(void **state)
{
    struct world *w = *state;
    struct signature letter = body(w, 1);
    uint64_t id;
    w->options.clean_days = 1;
    w->options.quorum = 2;
    reopen(w);
    assert_int_equal(report_as(w->store, fixture_set(letter), "anna", &id), STORE_PENDING);
    a_day_of_clean_mail(w, &letter);
    assert_int_equal(report_as(w->store, fixture_set(letter), "bert", NULL), STORE_REFUSED);
    assert_int_equal(show(w, id).state, STORE_CANDIDATE);
}

static void little_clean_mail_says_nothing(void **state)
{
    struct world *w = *state;
    struct signature letter = body(w, 1);
    w->options.clean_days = 1;
    reopen(w);
    for (unsigned i = 0; i < STORE_CLEAN_MIN - 1; i++)
        clean(w->store, letter);
    reopen(w);
    assert_false(commonness(w, letter).too_common);
    clean(w->store, letter);
    reopen(w);
    assert_true(commonness(w, letter).too_common);
    w->options.clean_share = 0;
    reopen(w);
    assert_int_equal(report(w, letter, NULL), STORE_NEW);
}

static void a_common_attachment_is_refused(void **state)
{
    struct world *w = *state;
    struct signature logo = fixture_signature(w->lexicon, MESSAGE_PART, 1);
    w->options.clean_days = 1;
    reopen(w);
    for (unsigned i = 0; i < STORE_CLEAN_MIN; i++) {
        struct signature_set set = fixture_set(body(w, 1000 + i));
        if (i % 10 == 0)
            set.v[set.n++] = logo;
        store_clean(w->store, &set);
    }
    reopen(w);
    struct signature_set with = fixture_set(body(w, 1)), without = with;
    with.v[with.n++] = logo;
    assert_int_equal(report_as(w->store, with, "anna", NULL), STORE_REFUSED);
    assert_int_equal(report_as(w->store, without, "anna", NULL), STORE_NEW);
}

static void hosts_add_up_their_clean_mail(void **state)
{
    struct world *w = *state;
    struct store *other = open_with(w, w->lexicon);
    for (unsigned i = 0; i < 10; i++) {
        clean(w->store, body(w, 1));
        clean(other, body(w, 1));
    }
    store_close(&other);
    reopen(w);
    assert_int_equal(stats_of(w->store).clean_week, 20);
}

static void clean_mail_is_forgotten_after_a_week(void **state)
{
    struct world *w = *state;
    struct signature letter = body(w, 1);
    GError *error = NULL;
    struct backend *under = w->store->backend;
    uint32_t today = (uint32_t)(store_now() / 86400);
    const struct backend_count one = { 0, 1 };
    g_autofree char *nothing = key_space(w);
    for (unsigned ago = 7; ago < 10; ago++)
        must(under->ops->count(under, today - ago, &one, 1, 2000, &error), error);
    expire(w);
    g_autofree char *after = key_space(w);
    assert_string_equal(nothing, after);
    assert_int_equal(stats_of(w->store).clean_week, 0);
    must(under->ops->count(under, today - 6, &one, 1, 2000, &error), error);
    a_day_of_clean_mail(w, &letter);
    expire(w);
    assert_int_equal(stats_of(w->store).clean_week, 1 + LETTERS + STRANGERS);
}

/* --- import ------------------------------------------------------------------------------------- */

static enum store_outcome import(struct world *w, const struct store_campaign *campaign,
                                 const struct signature_set *variants, unsigned n, const char *source,
                                 bool trusted)
{
    GError *error = NULL;
    enum store_outcome outcome;
    must(store_import(w->store, campaign, variants, n, source, trusted, &outcome, &error), error);
    return outcome;
}

static void importing_is_idempotent(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    struct signature s = body(w, 1);
    struct signature_set *variants;
    unsigned n;
    uint64_t id;
    report(w, s, &id);
    report(w, fixture_changed(&s, 100, 10, 1), NULL);
    struct store_campaign exported = show(w, id);
    must(store_variants(w->store, id, &variants, &n, &error), error);
    assert_int_equal(n, 2);
    assert_true(signature_equal(&variants[0].v[0], &s));
    g_autofree char *before = key_space(w);
    forget(w, id);
    assert_int_equal(import(w, &exported, variants, n, "partner", true), STORE_NEW);
    g_autofree char *after = key_space(w);
    assert_string_equal(before, after);
    assert_int_equal(import(w, &exported, variants, n, "partner", true), STORE_DUPLICATE);
    struct store_campaign imported = show(w, id);
    assert_true(imported.id == exported.id);
    assert_int_equal(imported.reports, exported.reports);
    assert_int_equal(imported.reporters, 1);
    assert_string_equal(imported.reporter[0].name, "partner");
    assert_string_equal(imported.source, "partner");
    assert_string_equal(imported.label, "pills");
    assert_int_equal(imported.variants, 2);
    assert_int_equal(look_up(w, s).level, SIGNATURE_REJECT);
    g_free(variants);
}

static void an_untrusted_import_waits_for_a_report(void **state)
{
    struct world *w = *state;
    struct signature s = body(w, 1);
    struct signature_set variant = fixture_set(s);
    struct store_campaign theirs = { .id = 77, .state = STORE_ACTIVE, .reports = 9, .label = "theirs" };
    theirs.first = theirs.last = store_now();
    assert_int_equal(import(w, &theirs, &variant, 1, "partner", false), STORE_PENDING);
    assert_int_equal(import(w, &theirs, &variant, 1, "partner", false), STORE_PENDING);
    assert_int_equal(look_up(w, s).level, SIGNATURE_STRANGER);
    uint64_t id;
    assert_int_equal(report(w, s, &id), STORE_DUPLICATE);
    assert_int_equal(look_up(w, s).level, SIGNATURE_REJECT);
    assert_int_equal(show(w, id).reports, 10);
    theirs.state = STORE_ALLOWED;
    variant = fixture_set(body(w, 2));
    assert_int_equal(import(w, &theirs, &variant, 1, "partner", false), STORE_REFUSED);
    assert_int_equal(stats_of(w->store).campaigns, 1);
}

static void an_import_joins_what_it_resembles(void **state)
{
    struct world *w = *state;
    struct signature s = body(w, 1);
    struct signature_set variant = fixture_set(fixture_changed(&s, 100, 10, 1));
    struct store_campaign theirs = { .state = STORE_ACTIVE, .reports = 5 };
    uint64_t id, stranger;
    report(w, s, &id);
    report(w, body(w, 2), &stranger);
    theirs.id = stranger; /* the same id for something else is not believed */
    theirs.first = theirs.last = store_now();
    assert_int_equal(import(w, &theirs, &variant, 1, "partner", true), STORE_MERGED);
    assert_int_equal(import(w, &theirs, &variant, 1, "partner", true), STORE_DUPLICATE);
    assert_int_equal(show(w, id).variants, 2);
    assert_int_equal(show(w, id).reports, 6);
    assert_int_equal(show(w, id).reporters, 2);
    assert_int_equal(show(w, stranger).variants, 1);
}

static void an_import_can_be_taken_back_wholly(void **state)
{
    struct world *w = *state;
    struct signature s = body(w, 1);
    struct signature_set variants[] = { fixture_set(s), fixture_set(fixture_changed(&s, 100, 10, 1)) };
    struct store_campaign theirs = { .state = STORE_ACTIVE, .reports = 5 };
    uint64_t id;
    report(w, s, &id);
    g_autofree char *before = key_space(w);
    struct store_campaign ours = show(w, id);
    theirs.first = theirs.last = ours.first;
    assert_int_equal(import(w, &theirs, variants, 2, "partner", true), STORE_MERGED);
    assert_int_equal(import(w, &theirs, variants, 2, "partner", true), STORE_DUPLICATE);
    assert_true(store_campaign_has_source(&(struct store_campaign[]) { show(w, id) }[0], "partner"));
    forget_source(w, id, "partner", false);
    g_autofree char *after = key_space(w);
    assert_string_equal(before, after);
    struct store_campaign left = show(w, id);
    assert_memory_equal(&ours, &left, sizeof ours);
}

static void an_import_without_times_is_of_today(void **state)
{
    struct world *w = *state;
    struct signature_set variant = fixture_set(body(w, 1));
    struct store_campaign theirs = { .state = STORE_ACTIVE };
    assert_int_equal(import(w, &theirs, &variant, 1, "partner", true), STORE_NEW);
    struct store_match match = look_up(w, body(w, 1));
    assert_int_equal(match.level, SIGNATURE_REJECT);
    assert_true(show(w, match.campaign).first >= store_now() - 60);
    assert_int_equal(show(w, match.campaign).reports, 1);
}

const struct CMUnitTest contract_report[] = {
    TEST(reporting_twice_changes_counts_only),
    TEST(a_report_joins_by_its_distance),
    TEST(a_campaign_full_of_variants_has_a_successor),
    TEST(a_signature_of_another_lexicon_is_refused),
    TEST(names_are_cut_at_a_character),
    TEST(candidates_match_after_the_quorum),
    TEST(who_is_trusted_needs_no_quorum),
    TEST(what_is_allowed_vetoes),
    TEST(what_is_common_in_clean_mail_day_after_day_is_refused),
    TEST(a_flood_of_today_can_be_reported),
    TEST(force_stores_what_is_common),
    TEST(what_is_common_is_not_confirmed_either),
    TEST(little_clean_mail_says_nothing),
    TEST(a_common_attachment_is_refused),
    TEST(hosts_add_up_their_clean_mail),
    TEST(clean_mail_is_forgotten_after_a_week),
    TEST(importing_is_idempotent),
    TEST(an_untrusted_import_waits_for_a_report),
    TEST(an_import_joins_what_it_resembles),
    TEST(an_import_can_be_taken_back_wholly),
    TEST(an_import_without_times_is_of_today),
    { 0 },
};
