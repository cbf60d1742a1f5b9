#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "store/internal.h"
#include "tests/store/contract.h"
#include "tests/store/fixture.h"

#define DAYS (INT64_C(24) * 3600 * 1000)

/* The world of one test: an empty store and a lexicon. */
struct world {
    char *folder, *url;
    struct lexicon *lexicon;
    struct store *store;
    struct store_options options;
};

static const struct contract_backend *backend;
static char *group_folder;
static unsigned tests_run;

static void must(bool ok, GError *error)
{
    if (!ok)
        fail_msg("%s", error ? error->message : "failed without an error");
    assert_null(error);
}

static struct store *open_with(struct world *w, struct lexicon *lexicon)
{
    GError *error = NULL;
    struct store *store = store_open(&w->options, lexicon, &error);
    must(store != NULL, error);
    return store;
}

static void reopen(struct world *w)
{
    store_close(&w->store);
    w->store = open_with(w, w->lexicon);
}

static int set_up(void **state)
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

static int tear_down(void **state)
{
    struct world *w = *state;
    store_close(&w->store);
    lexicon_unref(w->lexicon);
    fixture_remove(w->folder);
    g_free(w->url);
    g_free(w);
    return 0;
}

static enum store_outcome report_as(struct store *store, struct signature_set set, const char *reporter,
                                    uint64_t *id_out)
{
    GError *error = NULL;
    enum store_outcome outcome;
    struct store_report report = { .label = "pills", .source = "trap", .reporter = reporter };
    must(store_report(store, &set, &signature_default_rule, &report, &outcome, id_out, &error), error);
    return outcome;
}

static enum store_outcome report(struct world *w, struct signature signature, uint64_t *id_out)
{
    return report_as(w->store, fixture_set(signature), "anna", id_out);
}

static struct store_match look_up_set(struct store *store, struct signature_set set)
{
    GError *error = NULL;
    struct store_match match;
    must(store_lookup(store, &set, &signature_default_rule, &match, &error), error);
    return match;
}

static struct store_match look_up(struct world *w, struct signature signature)
{
    return look_up_set(w->store, fixture_set(signature));
}

static struct store_campaign show(struct world *w, uint64_t id)
{
    GError *error = NULL;
    struct store_campaign campaign;
    must(store_show(w->store, id, &campaign, &error), error);
    return campaign;
}

static void forget(struct world *w, uint64_t id)
{
    GError *error = NULL;
    must(store_forget(w->store, id, &error), error);
}

static uint64_t expire(struct world *w)
{
    GError *error = NULL;
    uint64_t dropped;
    must(store_expire(w->store, &dropped, &error), error);
    return dropped;
}

static struct store_stats stats_of(struct store *store)
{
    GError *error = NULL;
    struct store_stats stats;
    must(store_stats(store, &stats, &error), error);
    return stats;
}

static struct signature body(struct world *w, uint64_t seed)
{
    return fixture_signature(w->lexicon, MESSAGE_BODY, seed);
}

static void assert_error(bool ok, GError **error, enum refrain_error code)
{
    assert_false(ok);
    assert_non_null(*error);
    if (!g_error_matches(*error, REFRAIN_ERROR, (gint)code))
        fail_msg("another error: %s", (*error)->message);
    g_clear_error(error);
}

/* --- looking up --------------------------------------------------------------------------------- */

static void a_reported_message_is_found_again(void **state)
{
    struct world *w = *state;
    uint64_t id;
    assert_int_equal(report(w, body(w, 1), &id), STORE_NEW);
    struct store_match match = look_up(w, body(w, 1));
    assert_int_equal(match.level, SIGNATURE_REJECT);
    assert_true(match.campaign == id);
    assert_int_equal(match.likeness.distance, 0);
    assert_int_equal(match.likeness.shared, 20);
    assert_int_equal(match.of, 20);
    assert_int_equal(match.proposed, 1);
    assert_int_equal(match.verified, 1);
    assert_int_equal(match.state, STORE_ACTIVE);
    assert_false(match.allowed);
}

static void near_duplicates_match_by_their_distance(void **state)
{
    struct world *w = *state;
    struct signature s = body(w, 1);
    uint64_t id;
    report(w, s, &id);
    static const struct {
        unsigned bits, hashes;
        enum signature_level level;
    } table[] = {
        { 60, 5, SIGNATURE_REJECT },
        { 120, 19, SIGNATURE_REJECT },
        { 150, 12, SIGNATURE_TAG },
        { 200, 12, SIGNATURE_STRANGER },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        struct store_match match = look_up(w, fixture_changed(&s, table[i].bits, table[i].hashes, i));
        assert_int_equal(match.level, table[i].level);
        assert_true(match.campaign == id);
        assert_int_equal(match.likeness.distance, table[i].bits);
        assert_int_equal(match.likeness.shared, 20 - table[i].hashes);
    }
}

static void a_stranger_is_no_match_in_one_round_trip(void **state)
{
    struct world *w = *state;
    report(w, body(w, 1), NULL);
    struct store_match match = look_up(w, body(w, 2));
    assert_int_equal(match.level, SIGNATURE_STRANGER);
    assert_true(match.campaign == 0);
    assert_int_equal(match.proposed, 0);
    assert_true(match.round_trips <= 1);
}

static void without_a_common_lexicon_hash_nothing_is_proposed(void **state)
{
    struct world *w = *state;
    struct signature s = body(w, 1);
    report(w, s, NULL);
    assert_true(look_up(w, fixture_changed(&s, 0, 20, 1)).campaign == 0);
}

static void odd_words_propose_what_no_lexicon_does(void **state)
{
    struct world *w = *state;
    uint64_t id;
    struct signature spam = fixture_signature(w->lexicon, MESSAGE_BODY, 1);
    struct signature variant = fixture_changed(&spam, 180, 20, 2);
    report(w, spam, &id);
    memcpy(variant.odd, spam.odd, sizeof variant.odd);
    struct store_match match = look_up(w, variant);
    assert_int_equal(match.campaign, id);
    assert_int_equal(match.level, SIGNATURE_TAG);
    assert_int_equal(match.likeness.odd, 3);
    assert_int_equal(match.likeness.shared, 0);
    /* Only the first two are looked up. */
    variant.odd[0] = variant.odd[1] = 1;
    assert_int_equal(look_up(w, variant).proposed, 0);
}

static void the_best_of_several_campaigns_wins(void **state)
{
    struct world *w = *state;
    struct signature s = body(w, 1), near = fixture_changed(&s, 170, 10, 1),
                     far = fixture_changed(&s, 180, 5, 2);
    uint64_t near_id, far_id;
    report(w, far, &far_id);
    assert_int_equal(report(w, near, &near_id), STORE_NEW);
    assert_true(near_id != far_id);
    struct signature between = fixture_changed(&near, 40, 0, 3);
    assert_true(look_up(w, between).campaign == near_id);
}

static void a_payload_below_a_footer_line_is_found(void **state)
{
    struct world *w = *state;
    struct signature_set hidden = fixture_set(body(w, 3));
    uint64_t id;
    report(w, body(w, 1), &id);
    hidden.v[hidden.n] = body(w, 1);
    hidden.v[hidden.n++].view = MESSAGE_FULL;
    struct store_match match = look_up_set(w->store, hidden);
    assert_int_equal(match.level, SIGNATURE_REJECT);
    assert_true(match.campaign == id);
    assert_int_equal(match.view, MESSAGE_FULL);
}

static void reports_of_a_batch_see_each_other_and_stay(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    uint64_t ids[50], again;
    must(store_batch_begin(w->store, &error), error);
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(report(w, body(w, i), &ids[i]), STORE_NEW);
    assert_int_equal(report(w, body(w, 7), &again), STORE_DUPLICATE);
    assert_true(again == ids[7]);
    must(store_batch_end(w->store, &error), error);
    for (unsigned i = 0; i < 50; i++)
        assert_true(look_up(w, body(w, i)).campaign == ids[i]);
    assert_int_equal(show(w, ids[7]).reports, 2);
}

static void views_never_meet(void **state)
{
    struct world *w = *state;
    struct signature s = body(w, 1), other = s;
    report(w, s, NULL);
    other.view = MESSAGE_SHORT;
    assert_int_equal(look_up(w, other).proposed, 0);
}

static void all_views_of_a_message_are_looked_up(void **state)
{
    struct world *w = *state;
    struct signature_set both = fixture_set(body(w, 1)), full = fixture_set(body(w, 3));
    uint64_t id;
    both.v[both.n++] = fixture_signature(w->lexicon, MESSAGE_FULL, 2);
    report_as(w->store, both, "anna", &id);
    full.v[full.n++] = both.v[1];
    struct store_match match = look_up_set(w->store, full);
    assert_int_equal(match.level, SIGNATURE_REJECT);
    assert_true(match.campaign == id);
    assert_int_equal(match.view, MESSAGE_FULL);
    /* Below the reject threshold the full view says nothing. */
    full.v[1] = fixture_changed(&both.v[1], 150, 5, 1);
    assert_int_equal(look_up_set(w->store, full).level, SIGNATURE_STRANGER);
}

static void a_hash_that_very_many_share_says_nothing(void **state)
{
    struct world *w = *state;
    uint64_t shared = body(w, 9999).lex[0];
    for (unsigned i = 0; i < 300; i++) {
        struct signature s = body(w, i);
        s.lex[7] = shared;
        assert_int_equal(report(w, s, NULL), STORE_NEW);
    }
    struct signature asked = body(w, 9999);
    struct store_match match = look_up(w, asked);
    assert_int_equal(match.proposed, 256);
    assert_int_equal(match.verified, 32);
    /* Those that found the set full are still found by their other hashes, and leave nothing behind. */
    assert_int_equal(look_up(w, body(w, 299)).level, SIGNATURE_REJECT);
}

/* --- reporting ---------------------------------------------------------------------------------- */

static void reporting_twice_changes_counts_only(void **state)
{
    struct world *w = *state;
    uint64_t first, second;
    report(w, body(w, 1), &first);
    g_autofree char *before = backend->key_space(w->url);
    assert_int_equal(report(w, body(w, 1), &second), STORE_DUPLICATE);
    g_autofree char *after = backend->key_space(w->url);
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
    g_autofree char *nothing = backend->key_space(w->url);
    for (unsigned ago = 7; ago < 10; ago++)
        must(under->ops->count(under, today - ago, &one, 1, 2000, &error), error);
    expire(w);
    g_autofree char *after = backend->key_space(w->url);
    assert_string_equal(nothing, after);
    assert_int_equal(stats_of(w->store).clean_week, 0);
    must(under->ops->count(under, today - 6, &one, 1, 2000, &error), error);
    a_day_of_clean_mail(w, &letter);
    expire(w);
    assert_int_equal(stats_of(w->store).clean_week, 1 + LETTERS + STRANGERS);
}

/* --- forgetting --------------------------------------------------------------------------------- */

static void forgetting_leaves_no_key_behind(void **state)
{
    struct world *w = *state;
    uint64_t keep, id, merged;
    struct signature s = body(w, 2);
    report(w, body(w, 1), &keep);
    g_autofree char *before = backend->key_space(w->url);
    report(w, s, &id);
    report(w, fixture_changed(&s, 100, 10, 1), &merged);
    assert_true(merged == id);
    forget(w, id);
    g_autofree char *after = backend->key_space(w->url);
    assert_string_equal(before, after);
    assert_true(look_up(w, s).campaign == 0);
    assert_true(look_up(w, body(w, 1)).campaign == keep);
    forget(w, keep);
    g_autofree char *nothing = backend->key_space(w->url);
    assert_string_equal(nothing, "");
}

static void what_is_not_there_is_missing(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    struct store_campaign campaign;
    uint64_t id;
    report(w, body(w, 1), &id);
    forget(w, id);
    assert_error(store_forget(w->store, id, &error), &error, REFRAIN_ERROR_MISSING);
    assert_error(store_show(w->store, id, &campaign, &error), &error, REFRAIN_ERROR_MISSING);
    assert_error(store_show(w->store, 0x1234567890abcdef, &campaign, &error), &error, REFRAIN_ERROR_MISSING);
}

static void one_variant_can_be_forgotten(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    struct signature s = body(w, 1), variant = fixture_changed(&s, 100, 10, 1);
    struct signature_set wanted = fixture_set(variant), first = fixture_set(s);
    uint64_t id, removed;
    report(w, s, &id);
    g_autofree char *before = backend->key_space(w->url);
    report(w, variant, &id);
    must(store_forget_variant(w->store, &wanted, &removed, &error), error);
    assert_true(removed == id);
    g_autofree char *after = backend->key_space(w->url);
    assert_string_equal(before, after);
    assert_int_equal(show(w, id).variants, 1);
    assert_int_equal(look_up(w, s).likeness.distance, 0);
    assert_int_equal(look_up(w, s).likeness.shared, 20);
    must(store_forget_variant(w->store, &wanted, &removed, &error), error);
    assert_true(removed == 0);
    must(store_forget_variant(w->store, &first, &removed, &error), error);
    assert_true(removed == id);
    g_autofree char *nothing = backend->key_space(w->url);
    assert_string_equal(nothing, "");
}

static enum store_outcome report_from(struct world *w, struct signature s, const char *source,
                                      const char *reporter, uint64_t *id_out)
{
    GError *error = NULL;
    enum store_outcome outcome;
    struct signature_set set = fixture_set(s);
    struct store_report report = { .source = source, .reporter = reporter };
    must(store_report(w->store, &set, &signature_default_rule, &report, &outcome, id_out, &error), error);
    return outcome;
}

static struct store_campaign forget_source(struct world *w, uint64_t id, const char *source, bool dry_run)
{
    GError *error = NULL;
    struct store_campaign left;
    must(store_forget_source(w->store, id, source, dry_run, &left, &error), error);
    return left;
}

static unsigned lines(const char *text)
{
    unsigned n = 0;
    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

static void forgetting_a_source_leaves_what_others_gave(void **state)
{
    struct world *w = *state;
    struct signature s = body(w, 1), theirs = fixture_changed(&s, 100, 10, 1),
                     both = fixture_changed(&s, 110, 8, 2);
    uint64_t id;
    /* Ours alone: what must be left at the end. */
    report_from(w, s, "ours", "anna", &id);
    report_from(w, both, "ours", "anna", &id);
    g_autofree char *before = backend->key_space(w->url);
    forget(w, id);
    report_from(w, theirs, "theirs", "theirs", &id);
    assert_int_equal(report_from(w, s, "ours", "anna", NULL), STORE_MERGED);
    assert_int_equal(report_from(w, both, "theirs", "theirs", NULL), STORE_MERGED);
    assert_int_equal(report_from(w, both, "ours", "anna", NULL), STORE_DUPLICATE);
    assert_int_equal(forget_source(w, id, "theirs", true).variants, 2);
    assert_int_equal(show(w, id).variants, 3);
    assert_int_equal(show(w, id).n_also, 1);
    struct store_campaign left = forget_source(w, id, "theirs", false);
    assert_int_equal(left.variants, 2);
    assert_int_equal(left.reports, 2);
    assert_int_equal(left.reporters, 1);
    assert_string_equal(left.source, "ours");
    assert_int_equal(left.n_also, 0);
    struct store_campaign shown = show(w, id);
    assert_memory_equal(&left, &shown, sizeof left);
    assert_int_equal(look_up(w, s).likeness.distance, 0);
    assert_int_equal(look_up(w, both).likeness.distance, 0);
    assert_int_equal(look_up(w, theirs).likeness.distance, 100);
    /* The campaign has another number now; it has as many members. */
    g_autofree char *after = backend->key_space(w->url);
    assert_int_equal(lines(before), lines(after));
    assert_int_equal(forget_source(w, id, "ours", false).variants, 0);
    g_autofree char *nothing = backend->key_space(w->url);
    assert_string_equal(nothing, "");
}

static void what_came_without_a_source_is_no_ones(void **state)
{
    struct world *w = *state;
    struct signature s = body(w, 1);
    uint64_t id;
    report_from(w, s, NULL, "anna", &id);
    assert_int_equal(report_from(w, fixture_changed(&s, 100, 10, 1), "theirs", "theirs", NULL), STORE_MERGED);
    struct store_campaign left = forget_source(w, id, "theirs", false);
    assert_int_equal(left.variants, 1);
    assert_int_equal(left.reports, 1);
    assert_string_equal(left.reporter[0].name, "anna");
    assert_int_equal(look_up(w, s).likeness.distance, 0);
    assert_int_equal(forget_source(w, id, "", false).variants, 1);
}

static void who_is_left_must_confirm_it(void **state)
{
    struct world *w = *state;
    static const char *const trusted[] = { "trap", NULL };
    struct signature s = body(w, 1);
    uint64_t id;
    w->options.quorum = 2;
    w->options.trusted = trusted;
    reopen(w);
    assert_int_equal(report_from(w, s, "users", "anna", &id), STORE_PENDING);
    assert_int_equal(report_from(w, s, "trap", "trap", &id), STORE_DUPLICATE);
    assert_int_equal(forget_source(w, id, "trap", false).state, STORE_CANDIDATE);
    assert_int_equal(look_up(w, s).level, SIGNATURE_STRANGER);
    assert_int_equal(report_from(w, s, "trap", "trap", &id), STORE_DUPLICATE);
    assert_int_equal(forget_source(w, id, "users", false).state, STORE_ACTIVE);
    assert_int_equal(look_up(w, s).level, SIGNATURE_REJECT);
    /* The same reporter through two sources is one. */
    assert_int_equal(report_from(w, body(w, 2), "users", "anna", &id), STORE_PENDING);
    assert_int_equal(report_from(w, body(w, 2), "desk", "anna", &id), STORE_PENDING);
    assert_int_equal(show(w, id).reporters, 1);
}

/* --- time --------------------------------------------------------------------------------------- */

static void report_at(struct world *w, struct signature s, int64_t days_ago, uint64_t *id_out)
{
    GError *error = NULL;
    struct signature_set set = fixture_set(s);
    struct store_report then = { .reporter = "anna", .when = store_now() - days_ago * 86400 };
    must(store_report(w->store, &set, &signature_default_rule, &then, NULL, id_out, &error), error);
}

static void what_outlived_its_ttl_goes_wholly(void **state)
{
    struct world *w = *state;
    uint64_t keep, old;
    report(w, body(w, 1), &keep);
    g_autofree char *before = backend->key_space(w->url);
    report_at(w, body(w, 2), 31, &old);
    for (unsigned i = 0; i < 20; i++)
        report_at(w, body(w, 100 + i), 40, NULL);
    assert_true(look_up(w, body(w, 2)).campaign == 0);
    assert_int_equal(expire(w), 21);
    g_autofree char *after = backend->key_space(w->url);
    assert_string_equal(before, after);
    assert_true(look_up(w, body(w, 1)).campaign == keep);
    assert_int_equal(expire(w), 0);
}

static bool hits_are(struct world *w, uint64_t id, uint64_t hits)
{
    return show(w, id).hits == hits;
}

static void hits_are_counted_in_the_background(void **state)
{
    struct world *w = *state;
    uint64_t id;
    report_at(w, body(w, 1), 29, &id);
    for (unsigned i = 0; i < 1000; i++)
        store_hit(w->store, id);
    store_hit(w->store, id ^ 1); /* of no campaign: ignored */
    gint64 deadline = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;
    while (!hits_are(w, id, 1000) && g_get_monotonic_time() < deadline)
        g_usleep(5000);
    struct store_campaign campaign = show(w, id);
    assert_int_equal(campaign.hits, 1000);
    assert_int_equal(campaign.days[0], 1000);
    assert_true(campaign.last >= store_now() - 10);
    assert_true(campaign.first < store_now() - 28 * 86400);
    for (unsigned i = 0; i < 5; i++)
        store_hit(w->store, id);
    reopen(w);
    assert_true(hits_are(w, id, 1005));
}

/* --- many --------------------------------------------------------------------------------------- */

static bool collect(const struct store_campaign *campaign, void *user)
{
    guint64 *id = g_new(guint64, 1);
    *id = campaign->id;
    g_hash_table_add(user, id);
    return true;
}

static bool stop_at_three(const struct store_campaign *campaign, void *user)
{
    (void)campaign;
    unsigned *n = user;
    return ++*n < 3;
}

static void each_campaign_is_seen(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    uint64_t ids[600];
    unsigned stopped = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(ids); i++)
        report(w, body(w, i), &ids[i]);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    must(store_each(w->store, collect, seen, &error), error);
    assert_int_equal(g_hash_table_size(seen), G_N_ELEMENTS(ids));
    for (unsigned i = 0; i < G_N_ELEMENTS(ids); i++)
        assert_true(g_hash_table_contains(seen, &ids[i]));
    must(store_each(w->store, stop_at_three, &stopped, &error), error);
    assert_int_equal(stopped, 3);
}

static void the_statistics_add_up(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    struct signature s = body(w, 1);
    struct signature_set letter = fixture_set(body(w, 3));
    struct store_report by = { .reporter = "anna" };
    uint64_t id;
    report(w, s, &id);
    report(w, fixture_changed(&s, 100, 10, 1), NULL);
    report_at(w, body(w, 2), 3, NULL);
    must(store_allow(w->store, &letter, &by, NULL, &error), error);
    store_hit(w->store, id);
    reopen(w);
    struct store_stats stats = stats_of(w->store);
    assert_int_equal(stats.campaigns, 3);
    assert_int_equal(stats.by_state[STORE_ACTIVE], 2);
    assert_int_equal(stats.by_state[STORE_ALLOWED], 1);
    assert_int_equal(stats.variants, 4);
    assert_int_equal(stats.reports, 4);
    assert_int_equal(stats.reports_today, 3);
    assert_int_equal(stats.reports_week, 4);
    assert_int_equal(stats.hits, 1);
    assert_int_equal(stats.hits_today, 1);
    assert_int_equal(stats.other_lexicons, 0);
    assert_true(stats.memory > 0);
    assert_true(strlen(stats.server) > 0);
    must(store_ping(w->store, &error), error);
}

static void two_lexicons_never_see_each_other(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    struct store_campaign campaign;
    struct lexicon *other = fixture_lexicon(w->folder, 2, 8);
    struct store *theirs = open_with(w, other);
    uint64_t id, their_id;
    report(w, body(w, 1), &id);
    report(w, body(w, 2), NULL);
    g_autofree char *before = backend->key_space(w->url);
    struct signature same = fixture_signature(other, MESSAGE_BODY, 1);
    assert_true(look_up_set(theirs, fixture_set(same)).campaign == 0);
    assert_error(store_show(theirs, id, &campaign, &error), &error, REFRAIN_ERROR_MISSING);
    assert_int_equal(report_as(theirs, fixture_set(same), "anna", &their_id), STORE_NEW);
    assert_true(their_id != id);
    assert_int_equal(stats_of(theirs).campaigns, 1);
    assert_int_equal(stats_of(theirs).other_lexicons, 2);
    assert_int_equal(stats_of(w->store).other_lexicons, 1);
    must(store_forget(theirs, their_id, &error), error);
    g_autofree char *after = backend->key_space(w->url);
    assert_string_equal(before, after);
    store_close(&theirs);
    lexicon_unref(other);
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
    g_autofree char *before = backend->key_space(w->url);
    forget(w, id);
    assert_int_equal(import(w, &exported, variants, n, "partner", true), STORE_NEW);
    g_autofree char *after = backend->key_space(w->url);
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
    g_autofree char *before = backend->key_space(w->url);
    struct store_campaign ours = show(w, id);
    theirs.first = theirs.last = ours.first;
    assert_int_equal(import(w, &theirs, variants, 2, "partner", true), STORE_MERGED);
    assert_int_equal(import(w, &theirs, variants, 2, "partner", true), STORE_DUPLICATE);
    assert_true(store_campaign_has_source(&(struct store_campaign[]) { show(w, id) }[0], "partner"));
    forget_source(w, id, "partner", false);
    g_autofree char *after = backend->key_space(w->url);
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

/* --- Manku's tables ------------------------------------------------------------------------------ */

/* No lexicon hash is the same; so many bits differ in the part of the sketch that the tables look at. */
static struct signature reworded(const struct signature *s, unsigned bits)
{
    struct signature other = fixture_changed(s, 0, 20, 1);
    for (unsigned i = 0; i < bits; i++)
        other.sketch[0] ^= UINT64_C(1) << (i * 19 + 5) % 64;
    for (unsigned i = 0; i < 40; i++)
        other.sketch[1 + i % 7] ^= UINT64_C(1) << i;
    return other;
}

static void tables_propose_what_no_lexicon_does(void **state)
{
    struct world *w = *state;
    struct signature s = body(w, 1);
    uint64_t id, later;
    report(w, s, &id);
    assert_true(look_up(w, reworded(&s, 0)).campaign == 0);
    w->options.simhash_tables = true;
    reopen(w);
    /* What was reported without them gets its place in the tables with the next report. */
    assert_int_equal(report(w, s, &later), STORE_DUPLICATE);
    assert_true(later == id);
    for (unsigned bits = 0; bits <= 3; bits++) {
        struct store_match match = look_up(w, reworded(&s, bits));
        assert_int_equal(match.level, SIGNATURE_REJECT);
        assert_true(match.campaign == id);
        assert_int_equal(match.likeness.shared, 0);
        assert_int_equal(match.of, 20);
    }
    assert_int_equal(look_up(w, reworded(&s, 12)).level, SIGNATURE_STRANGER);
}

static void nothing_is_left_in_the_tables(void **state)
{
    struct world *w = *state;
    struct signature s = body(w, 1);
    uint64_t id, old;
    w->options.simhash_tables = true;
    reopen(w);
    report(w, s, &id);
    report(w, fixture_changed(&s, 100, 10, 1), NULL);
    report_at(w, body(w, 2), 40, &old);
    assert_int_equal(expire(w), 1);
    w->options.simhash_tables = false;
    reopen(w);
    assert_int_equal(expire(w), 0);
    forget(w, id);
    g_autofree char *nothing = backend->key_space(w->url);
    assert_string_equal(nothing, "");
}

/* --- harm --------------------------------------------------------------------------------------- */

static struct backend_change members_of(struct world *w, struct arena *arena, uint64_t id, bool remove)
{
    struct backend_member *members;
    struct backend_change change = { .members_only = true };
    GError *error = NULL;
    struct campaign *campaign = store_fetch(w->store, arena, id, &change.number, &error);
    must(campaign != NULL, error);
    unsigned n = store_members_of(w->store, arena, change.number, campaign, &members);
    change.remove = change.add = members;
    *(remove ? &change.n_remove : &change.n_add) = n;
    return change;
}

static void commit(struct world *w, struct backend_change *change)
{
    GError *error = NULL;
    must(w->store->backend->ops->commit(w->store->backend, change, 1, 2000, &error), error);
    assert_true(change->done);
}

static void what_a_crash_left_behind_heals(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_new();
    uint64_t id, gone;
    report(w, body(w, 1), &id);
    g_autofree char *before = backend->key_space(w->url);
    /* The record was written, its members were not. */
    struct backend_change change = members_of(w, arena, id, true);
    commit(w, &change);
    assert_true(look_up(w, body(w, 1)).campaign == 0);
    expire(w);
    assert_true(look_up(w, body(w, 1)).campaign == id);
    /* The record is gone, its members are not; and a record has members that it does not own. */
    report(w, body(w, 2), &gone);
    change = members_of(w, arena, gone, false);
    forget(w, gone);
    commit(w, &change);
    struct backend_member *foreign = g_memdup2(change.add, change.n_add * sizeof *change.add);
    uint32_t number;
    campaign_number(lexicon_id(w->lexicon), id, &number);
    for (unsigned i = 0; i < change.n_add; i++)
        foreign[i].member = members_pack(members_tag(foreign[i].member), number);
    change.add = foreign;
    commit(w, &change);
    g_autofree char *harmed = backend->key_space(w->url);
    assert_string_not_equal(before, harmed);
    assert_int_equal(look_up(w, body(w, 2)).level, SIGNATURE_STRANGER);
    expire(w);
    g_autofree char *after = backend->key_space(w->url);
    assert_string_equal(before, after);
    g_free(foreign);
    arena_free(&arena);
}

static void the_next_report_heals_too(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_new();
    uint64_t id, again;
    report(w, body(w, 1), &id);
    g_autofree char *before = backend->key_space(w->url);
    struct backend_change change = members_of(w, arena, id, true);
    change.n_remove = 13;
    commit(w, &change);
    assert_int_equal(report(w, body(w, 1), &again), STORE_DUPLICATE);
    assert_true(again == id);
    g_autofree char *after = backend->key_space(w->url);
    assert_string_equal(before, after);
    arena_free(&arena);
}

static void garbage_is_no_campaign(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    struct store_campaign campaign;
    struct backend_change harm = { .force = true };
    uint64_t id, keep;
    report(w, body(w, 1), &id);
    report(w, body(w, 2), &keep);
    campaign_number(lexicon_id(w->lexicon), id, &harm.number);
    harm.record = (const uint8_t *)"\1garbage of a certain length, to be sure";
    harm.size = 40;
    commit(w, &harm);
    assert_int_equal(look_up(w, body(w, 1)).level, SIGNATURE_STRANGER);
    assert_int_equal(look_up(w, body(w, 2)).level, SIGNATURE_REJECT);
    assert_error(store_show(w->store, id, &campaign, &error), &error, REFRAIN_ERROR_REFUSED);
    assert_int_equal(stats_of(w->store).campaigns, 1);
    expire(w);
    forget(w, id);
    expire(w);
    forget(w, keep);
    g_autofree char *nothing = backend->key_space(w->url);
    assert_string_equal(nothing, "");
}

/* Its signatures can be read, but not its names: it was cut or written by hand. */
static void a_report_of_what_a_damaged_record_has_is_stored_anew(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_new();
    struct campaign *damaged = ARENA_NEW(arena, struct campaign);
    struct backend_change harm = { .force = true };
    uint64_t id, again;
    report(w, body(w, 1), &id);
    campaign_number(lexicon_id(w->lexicon), id, &harm.number);
    damaged->revision = 1;
    damaged->info.last = store_now();
    damaged->info.variants = 1;
    damaged->variant[0] = fixture_set(body(w, 1));
    damaged->from[0] = 1;
    memcpy(damaged->info.label, "\xff", 1); /* no UTF-8 */
    harm.record = campaign_encode(arena, damaged, &harm.size);
    commit(w, &harm);
    assert_int_equal(report(w, body(w, 1), &again), STORE_NEW);
    assert_true(again != id);
    assert_int_equal(report(w, body(w, 1), NULL), STORE_DUPLICATE);
    arena_free(&arena);
}

static void a_store_that_is_only_read_refuses_writes(void **state)
{
    struct world *w = *state;
    GError *error = NULL;
    struct store_report nothing = { 0 };
    struct signature_set set = fixture_set(body(w, 1));
    uint64_t id;
    report(w, body(w, 1), &id);
    w->options.read_only = true;
    reopen(w);
    assert_int_equal(look_up(w, body(w, 1)).level, SIGNATURE_REJECT);
    assert_error(store_report(w->store, &set, &signature_default_rule, &nothing, NULL, NULL, &error), &error,
                 REFRAIN_ERROR_REFUSED);
    assert_error(store_forget(w->store, id, &error), &error, REFRAIN_ERROR_REFUSED);
    assert_error(store_expire(w->store, NULL, &error), &error, REFRAIN_ERROR_REFUSED);
    store_hit(w->store, id);
    must(store_ping(w->store, &error), error);
}

/* --- at once ------------------------------------------------------------------------------------ */

#define RACE_MESSAGES 40
#define RACE_PARTIES  4

static gpointer report_all(gpointer data)
{
    struct world *w = data;
    for (unsigned i = 0; i < RACE_MESSAGES; i++) {
        struct signature_set set = fixture_set(body(w, 1000 + i));
        struct store_report report = { .reporter = "anna" };
        if (!store_report(w->store, &set, &signature_default_rule, &report, NULL, NULL, NULL))
            return GINT_TO_POINTER(1);
    }
    return NULL;
}

static void assert_each_was_counted(struct world *w)
{
    struct store_stats stats = stats_of(w->store);
    assert_int_equal(stats.campaigns, RACE_MESSAGES);
    assert_int_equal(stats.variants, RACE_MESSAGES);
    assert_int_equal(stats.reports, RACE_MESSAGES * RACE_PARTIES);
}

static void threads_that_report_at_once_make_one_campaign(void **state)
{
    struct world *w = *state;
    GThread *threads[RACE_PARTIES];
    for (unsigned i = 0; i < RACE_PARTIES; i++)
        threads[i] = g_thread_new("reporter", report_all, w);
    for (unsigned i = 0; i < RACE_PARTIES; i++)
        assert_null(g_thread_join(threads[i]));
    assert_each_was_counted(w);
}

static void processes_that_report_at_once_make_one_campaign(void **state)
{
    struct world *w = *state;
    pid_t children[RACE_PARTIES];
    store_close(&w->store);
    for (unsigned i = 0; i < RACE_PARTIES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            w->store = store_open(&w->options, w->lexicon, NULL);
            _exit(!w->store || report_all(w) != NULL);
        }
    }
    for (unsigned i = 0; i < RACE_PARTIES; i++) {
        int status;
        waitpid(children[i], &status, 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    w->store = open_with(w, w->lexicon);
    assert_each_was_counted(w);
}

/* --- the list ----------------------------------------------------------------------------------- */

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
    const struct CMUnitTest tests[] = {
        TEST(a_reported_message_is_found_again),
        TEST(near_duplicates_match_by_their_distance),
        TEST(a_stranger_is_no_match_in_one_round_trip),
        TEST(without_a_common_lexicon_hash_nothing_is_proposed),
        TEST(odd_words_propose_what_no_lexicon_does),
        TEST(the_best_of_several_campaigns_wins),
        TEST(reports_of_a_batch_see_each_other_and_stay),
        TEST(views_never_meet),
        TEST(a_payload_below_a_footer_line_is_found),
        TEST(all_views_of_a_message_are_looked_up),
        TEST(a_hash_that_very_many_share_says_nothing),
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
        TEST(forgetting_leaves_no_key_behind),
        TEST(what_is_not_there_is_missing),
        TEST(one_variant_can_be_forgotten),
        TEST(forgetting_a_source_leaves_what_others_gave),
        TEST(what_came_without_a_source_is_no_ones),
        TEST(who_is_left_must_confirm_it),
        TEST(what_outlived_its_ttl_goes_wholly),
        TEST(hits_are_counted_in_the_background),
        TEST(each_campaign_is_seen),
        TEST(the_statistics_add_up),
        TEST(two_lexicons_never_see_each_other),
        TEST(importing_is_idempotent),
        TEST(an_untrusted_import_waits_for_a_report),
        TEST(an_import_joins_what_it_resembles),
        TEST(an_import_can_be_taken_back_wholly),
        TEST(an_import_without_times_is_of_today),
        TEST(tables_propose_what_no_lexicon_does),
        TEST(nothing_is_left_in_the_tables),
        TEST(what_a_crash_left_behind_heals),
        TEST(the_next_report_heals_too),
        TEST(garbage_is_no_campaign),
        TEST(a_report_of_what_a_damaged_record_has_is_stored_anew),
        TEST(a_store_that_is_only_read_refuses_writes),
        TEST(threads_that_report_at_once_make_one_campaign),
        TEST(processes_that_report_at_once_make_one_campaign),
    };
    backend = under_test;
    return cmocka_run_group_tests_name(under_test->name, tests, start, stop);
}
