#include <sys/wait.h>
#include <unistd.h>

#include "tests/store/contract_world.h"

/* What is kept, counted, forgotten and healed, whoever writes at the same time. */

/* --- forgetting --------------------------------------------------------------------------------- */

static void forgetting_leaves_no_key_behind(void **state)
{
    struct world *w = *state;
    uint64_t keep, id, merged;
    struct signature s = body(w, 2);
    report(w, body(w, 1), &keep);
    g_autofree char *before = key_space(w);
    report(w, s, &id);
    report(w, fixture_changed(&s, 100, 10, 1), &merged);
    assert_true(merged == id);
    forget(w, id);
    g_autofree char *after = key_space(w);
    assert_string_equal(before, after);
    assert_true(look_up(w, s).campaign == 0);
    assert_true(look_up(w, body(w, 1)).campaign == keep);
    forget(w, keep);
    g_autofree char *nothing = key_space(w);
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
    g_autofree char *before = key_space(w);
    report(w, variant, &id);
    must(store_forget_variant(w->store, &wanted, &removed, &error), error);
    assert_true(removed == id);
    g_autofree char *after = key_space(w);
    assert_string_equal(before, after);
    assert_int_equal(show(w, id).variants, 1);
    assert_int_equal(look_up(w, s).likeness.distance, 0);
    assert_int_equal(look_up(w, s).likeness.shared, 20);
    must(store_forget_variant(w->store, &wanted, &removed, &error), error);
    assert_true(removed == 0);
    must(store_forget_variant(w->store, &first, &removed, &error), error);
    assert_true(removed == id);
    g_autofree char *nothing = key_space(w);
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
    g_autofree char *before = key_space(w);
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
    g_autofree char *after = key_space(w);
    assert_int_equal(lines(before), lines(after));
    assert_int_equal(forget_source(w, id, "ours", false).variants, 0);
    g_autofree char *nothing = key_space(w);
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

static void what_outlived_its_ttl_goes_wholly(void **state)
{
    struct world *w = *state;
    uint64_t keep, old;
    report(w, body(w, 1), &keep);
    g_autofree char *before = key_space(w);
    report_at(w, body(w, 2), 31, &old);
    for (unsigned i = 0; i < 20; i++)
        report_at(w, body(w, 100 + i), 40, NULL);
    assert_true(look_up(w, body(w, 2)).campaign == 0);
    assert_int_equal(expire(w), 21);
    g_autofree char *after = key_space(w);
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
    g_autofree char *before = key_space(w);
    struct signature same = fixture_signature(other, MESSAGE_BODY, 1);
    assert_true(look_up_set(theirs, fixture_set(same)).campaign == 0);
    assert_error(store_show(theirs, id, &campaign, &error), &error, REFRAIN_ERROR_MISSING);
    assert_int_equal(report_as(theirs, fixture_set(same), "anna", &their_id), STORE_NEW);
    assert_true(their_id != id);
    assert_int_equal(stats_of(theirs).campaigns, 1);
    assert_int_equal(stats_of(theirs).other_lexicons, 2);
    assert_int_equal(stats_of(w->store).other_lexicons, 1);
    must(store_forget(theirs, their_id, &error), error);
    g_autofree char *after = key_space(w);
    assert_string_equal(before, after);
    store_close(&theirs);
    lexicon_unref(other);
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
    g_autofree char *before = key_space(w);
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
    g_autofree char *harmed = key_space(w);
    assert_string_not_equal(before, harmed);
    assert_int_equal(look_up(w, body(w, 2)).level, SIGNATURE_STRANGER);
    expire(w);
    g_autofree char *after = key_space(w);
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
    g_autofree char *before = key_space(w);
    struct backend_change change = members_of(w, arena, id, true);
    change.n_remove = 13;
    commit(w, &change);
    assert_int_equal(report(w, body(w, 1), &again), STORE_DUPLICATE);
    assert_true(again == id);
    g_autofree char *after = key_space(w);
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
    g_autofree char *nothing = key_space(w);
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

const struct CMUnitTest contract_keep[] = {
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
    TEST(what_a_crash_left_behind_heals),
    TEST(the_next_report_heals_too),
    TEST(garbage_is_no_campaign),
    TEST(a_report_of_what_a_damaged_record_has_is_stored_anew),
    TEST(a_store_that_is_only_read_refuses_writes),
    TEST(threads_that_report_at_once_make_one_campaign),
    TEST(processes_that_report_at_once_make_one_campaign),
    { 0 },
};
