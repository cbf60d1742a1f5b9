#include "tests/store/contract_world.h"

/* What a look-up finds. */

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
    g_autofree char *nothing = key_space(w);
    assert_string_equal(nothing, "");
}

const struct CMUnitTest contract_lookup[] = {
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
    TEST(tables_propose_what_no_lexicon_does),
    TEST(nothing_is_left_in_the_tables),
    { 0 },
};
