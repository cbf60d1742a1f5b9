#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/hash.h"
#include "store/campaign.h"
#include "store/members.h"
#include "tests/store/fixture.h"

#define DAY 86400

static struct lexicon *lexicon;
static char *folder;

static int set_up(void **state)
{
    (void)state;
    folder = fixture_folder();
    lexicon = fixture_lexicon(folder, 1, 17);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lexicon_unref(lexicon);
    fixture_remove(folder);
    return 0;
}

static struct campaign *example(struct arena *arena, unsigned variants)
{
    struct campaign *c = ARENA_NEW(arena, struct campaign);
    c->revision = 0xdeadbeef;
    c->info.state = STORE_ALLOWED;
    campaign_name(c->info.label, "pills");
    campaign_name(c->info.source, "träp");
    campaign_count_report(c, 0, "anna", 1700000000, 1700000100);
    campaign_count_report(c, 0, "bert", 1700000001, 1700000100);
    campaign_count_hits(c, 300, 1700000200);
    for (unsigned i = 0; i < variants; i++) {
        struct signature_set *set = &c->variant[c->info.variants++];
        for (enum message_view view = 0; view < MESSAGE_VIEWS; view++)
            if (variants == STORE_VARIANTS || view == MESSAGE_BODY)
                set->v[set->n++] = fixture_signature(lexicon, view, i * 10 + view);
    }
    return c;
}

/* Variants from a, from a and b, from c, and from somebody else; reporters likewise. */
static struct campaign *of_many_sources(struct arena *arena)
{
    static const uint8_t from[] = { 1, 1 | 2, 4, 1u << STORE_SOURCES };
    struct campaign *c = ARENA_NEW(arena, struct campaign);
    campaign_count_report(c, campaign_source(&c->info, "a"), "anna", 1700000000, 1700000000);
    campaign_count_report(c, campaign_source(&c->info, "b"), "anna", 1700000000, 1700000000);
    campaign_count_report(c, campaign_source(&c->info, "c"), "carl", 1700000000, 1700000000);
    campaign_count_report(c, campaign_source(&c->info, "c"), "carl", 1700000000, 1700000000);
    campaign_count_report(c, STORE_SOURCES, "dora", 1700000000, 1700000000);
    for (unsigned i = 0; i < G_N_ELEMENTS(from); i++) {
        c->variant[i] = fixture_set(fixture_signature(lexicon, MESSAGE_BODY, i));
        c->from[i] = from[i];
    }
    c->info.variants = G_N_ELEMENTS(from);
    return c;
}

static void a_record_survives_encoding(void **state)
{
    (void)state;
    static const unsigned variants[] = { 1, 5, STORE_VARIANTS };
    for (size_t i = 0; i < G_N_ELEMENTS(variants); i++) {
        struct arena *arena = arena_new();
        struct campaign *c = example(arena, variants[i]), *back = ARENA_NEW(arena, struct campaign);
        size_t size;
        const uint8_t *bytes = campaign_encode(arena, c, &size);
        assert_true(campaign_decode(bytes, size, lexicon_id(lexicon), back));
        assert_memory_equal(c, back, sizeof *c);
        assert_int_equal(campaign_revision(bytes, size), c->revision);
        arena_free(&arena);
    }
}

static void a_record_of_one_variant_is_small(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    size_t size;
    campaign_encode(arena, example(arena, 1), &size);
    assert_true(size < 260);
    arena_free(&arena);
}

static void hashes_of_any_length_survive(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct campaign *c = example(arena, 2), *back = ARENA_NEW(arena, struct campaign);
    size_t size;
    c->variant[1].v[0].lex[19] |= 1;
    c->variant[0].v[0].lex[3] = 0;
    const uint8_t *bytes = campaign_encode(arena, c, &size);
    assert_true(campaign_decode(bytes, size, lexicon_id(lexicon), back));
    assert_memory_equal(c, back, sizeof *c);
    arena_free(&arena);
}

static void the_reader_sees_what_was_written(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct campaign *c = example(arena, STORE_VARIANTS);
    struct campaign_reader reader;
    struct signature signature;
    size_t size;
    unsigned n = 0;
    const uint8_t *bytes = campaign_encode(arena, c, &size);
    assert_true(campaign_reader_init(&reader, bytes, size, lexicon_id(lexicon)));
    assert_int_equal(reader.state, STORE_ALLOWED);
    assert_int_equal(reader.last, c->info.last);
    for (; campaign_reader_next(&reader, &signature); n++)
        assert_true(signature_equal(&signature, &c->variant[n / MESSAGE_VIEWS].v[n % MESSAGE_VIEWS]));
    assert_int_equal(n, STORE_VARIANTS * MESSAGE_VIEWS);
    assert_false(reader.damaged);
    arena_free(&arena);
}

/* Bytes in a block of their own, so that reading past their end is noticed. */
static bool both_refuse(const uint8_t *bytes, size_t size, struct campaign *scratch)
{
    struct campaign_reader reader;
    struct signature signature;
    uint8_t *copy = g_memdup2(bytes, size);
    bool decoded = campaign_decode(copy, size, 1, scratch), whole = false;
    if (campaign_reader_init(&reader, copy, size, 1)) {
        while (campaign_reader_next(&reader, &signature))
            ;
        whole = !reader.damaged;
    }
    g_free(copy);
    return !decoded && !whole;
}

static void a_cut_record_is_refused(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct campaign *scratch = ARENA_NEW(arena, struct campaign);
    size_t size;
    const uint8_t *bytes = campaign_encode(arena, example(arena, 3), &size);
    for (size_t n = 0; n < size; n++)
        assert_true(both_refuse(bytes, n, scratch));
    bytes = campaign_encode(arena, of_many_sources(arena), &size);
    for (size_t n = 0; n < size; n++)
        assert_true(both_refuse(bytes, n, scratch));
    arena_free(&arena);
}

static void garbage_does_no_harm(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct campaign *scratch = ARENA_NEW(arena, struct campaign);
    size_t size;
    const uint8_t *bytes = campaign_encode(arena, example(arena, 2), &size);
    uint8_t *harmed = arena_alloc(arena, size);
    uint64_t x = 1;
    for (unsigned i = 0; i < 20000; i++) {
        memcpy(harmed, bytes, size);
        for (unsigned j = 0; j < 1 + i % 4; j++) {
            x = hash_mix(x + 1);
            harmed[x % (i % 2 ? 80 : size)] = (uint8_t)(x >> 40);
        }
        both_refuse(harmed, size, scratch);
    }
    arena_free(&arena);
}

static void ids_and_numbers_are_one(void **state)
{
    (void)state;
    uint32_t number;
    for (uint32_t i = 1; i < 100000; i += 7) {
        uint64_t id = campaign_id(lexicon_id(lexicon), i * 40503);
        assert_true(campaign_number(lexicon_id(lexicon), id, &number));
        assert_int_equal(number, (uint32_t)(i * 40503));
        assert_false(campaign_number(lexicon_id(lexicon) ^ (UINT64_C(1) << 50), id, &number));
    }
    assert_false(campaign_number(lexicon_id(lexicon), 0, &number));
}

static void days_move_on(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct campaign *c = ARENA_NEW(arena, struct campaign);
    int64_t now = INT64_C(20000) * DAY + 5;
    campaign_count_hits(c, 3, now);
    campaign_count_hits(c, 4, now + DAY);
    campaign_count_hits(c, 5, now + 3 * DAY);
    assert_int_equal(c->info.days[0], 5);
    assert_int_equal(c->info.days[1], 0);
    assert_int_equal(c->info.days[2], 4);
    assert_int_equal(c->info.days[3], 3);
    assert_int_equal(c->info.hits, 12);
    campaign_roll(c, now + 16 * DAY);
    assert_int_equal(c->info.days[13], 5);
    campaign_roll(c, now + 200 * DAY);
    for (unsigned i = 0; i < STORE_DAYS; i++)
        assert_int_equal(c->info.days[i], 0);
    /* A clock that was put back does not lose a day. */
    campaign_count_hits(c, 1, now);
    assert_int_equal(c->info.days[0], 1);
    arena_free(&arena);
}

static void reporters_are_counted_once_and_bounded(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct campaign *c = ARENA_NEW(arena, struct campaign);
    for (unsigned i = 0; i < 100; i++) {
        g_autofree char *name = g_strdup_printf("user%u", i % 50);
        campaign_count_report(c, 0, name, 1700000000, 1700000000);
    }
    assert_int_equal(c->info.reports, 100);
    assert_int_equal(c->info.reporters, STORE_REPORTERS);
    assert_int_equal(c->info.n_reporter, STORE_REPORTERS);
    assert_int_equal(c->info.reporter[0].reports, 2);
    arena_free(&arena);
}

static void one_source_costs_nothing(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct campaign *c = example(arena, 2);
    size_t one, two;
    c->from[0] = c->from[1] = 1;
    campaign_encode(arena, c, &one);
    assert_int_equal(campaign_source(&c->info, "users"), 1);
    campaign_count_report(c, 1, "carl", 1700000002, 1700000100);
    c->from[1] |= 2;
    campaign_encode(arena, c, &two);
    /* Two names, a count of sources, a count of reports, a byte a reporter and a variant. */
    assert_int_equal(two - one, 1 + 5 + 1 + 1 + 1 + 4 + 3 + 2);
    arena_free(&arena);
}

static void sources_are_told_apart_and_bounded(void **state)
{
    (void)state;
    struct store_campaign info = { 0 };
    for (unsigned i = 0; i < 20; i++) {
        g_autofree char *name = g_strdup_printf("source%u", i);
        assert_int_equal(campaign_source(&info, name), MIN(i, STORE_SOURCES));
    }
    assert_int_equal(campaign_source(&info, "source0"), 0);
    assert_int_equal(campaign_source(&info, "source6"), 6);
    assert_int_equal(campaign_source(&info, NULL), STORE_SOURCES);
    assert_true(store_campaign_has_source(&info, "source3"));
    assert_false(store_campaign_has_source(&info, "source7"));
}

static void a_source_is_dropped_wholly(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct campaign *c = of_many_sources(arena), *back = ARENA_NEW(arena, struct campaign);
    size_t size;
    assert_int_equal(c->info.reporters, 3);
    campaign_drop_source(c, "a");
    assert_string_equal(c->info.source, "b");
    assert_int_equal(c->info.n_also, 1);
    assert_string_equal(c->info.also[0], "c");
    assert_int_equal(c->info.variants, 3);
    assert_int_equal(c->from[0], 1);
    assert_int_equal(c->from[1], 2);
    assert_int_equal(c->from[2], 1u << STORE_SOURCES);
    assert_int_equal(c->info.reports, 4);
    assert_int_equal(c->info.reporters, 3);
    const uint8_t *bytes = campaign_encode(arena, c, &size);
    assert_true(campaign_decode(bytes, size, lexicon_id(lexicon), back));
    assert_memory_equal(&c->info, &back->info, sizeof c->info);
    assert_memory_equal(c->from, back->from, sizeof c->from);
    campaign_drop_source(c, "nobody");
    assert_int_equal(c->info.variants, 3);
    campaign_drop_source(c, "c");
    assert_int_equal(c->info.variants, 2);
    assert_int_equal(c->info.reports, 2);
    assert_int_equal(c->info.reporters, 2);
    campaign_drop_source(c, "b");
    assert_int_equal(c->info.variants, 1);
    assert_string_equal(c->info.reporter[0].name, "dora");
    arena_free(&arena);
}

static void members_are_positive_and_spread(void **state)
{
    (void)state;
    struct members_key keys[SIGNATURE_MAX_LEX], other[SIGNATURE_MAX_LEX];
    struct signature s = fixture_signature(lexicon, MESSAGE_BODY, 1), t = s;
    s.lex[3] = 0;
    assert_int_equal(members_keys(&s, 17, keys), 19);
    t.view = MESSAGE_SHORT;
    assert_int_equal(members_keys(&t, 17, other), 20);
    for (unsigned i = 0; i < 19; i++) {
        assert_true(keys[i].bucket < 1 << 17);
        assert_true((int64_t)members_pack(keys[i].tag, UINT32_MAX) > 0);
        for (unsigned j = 0; j < 20; j++)
            assert_false(keys[i].bucket == other[j].bucket && keys[i].tag == other[j].tag);
    }
    assert_int_equal(members_number(members_pack(5, 77)), 77);
    assert_int_equal(members_tag(members_pack(5, 77)), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_survives_encoding),
        cmocka_unit_test(a_record_of_one_variant_is_small),
        cmocka_unit_test(hashes_of_any_length_survive),
        cmocka_unit_test(the_reader_sees_what_was_written),
        cmocka_unit_test(a_cut_record_is_refused),
        cmocka_unit_test(garbage_does_no_harm),
        cmocka_unit_test(ids_and_numbers_are_one),
        cmocka_unit_test(days_move_on),
        cmocka_unit_test(reporters_are_counted_once_and_bounded),
        cmocka_unit_test(one_source_costs_nothing),
        cmocka_unit_test(sources_are_told_apart_and_bounded),
        cmocka_unit_test(a_source_is_dropped_wholly),
        cmocka_unit_test(members_are_positive_and_spread),
    };
    return cmocka_run_group_tests_name("campaign", tests, set_up, tear_down);
}
