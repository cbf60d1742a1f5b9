/*
 * refrain resign: signs the archived prototypes anew, with a new lexicon.
 *
 * The old lexicon stays in force while the campaigns are written under the new one beside it; only when
 * all of them are there does the new file take the place of the old, so the filter never goes blind. A
 * campaign keeps its number, counts and state; its id follows from number and lexicon. Importing is
 * idempotent: an interrupted run is taken up again by the same command.
 *
 * Both lexicons live in one store, and a store is open once at a time (LMDB wants it so): a batch of old
 * records is read, then the batch is signed and written.
 */
#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/progress.h"
#include "tools/archive.h"
#include "tools/campaign.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/output.h"

#define BATCH 4096

enum result { RESIGNED, ALREADY, GONE, UNSCANNABLE, RESULTS };
static const char *const result_names[RESULTS] = { "resigned", "already there", "gone", "unscannable" };

struct resign {
    struct context *context; /* its lexicon and store are the new ones */
    const char *dir;
    char *from; /* the old lexicon's file */
    gboolean partial, no_switch;
    struct lexicon *old_lexicon; /* NULL: not known; the archive alone speaks */
    GArray *numbers;
    guint next, end;     /* of the batch */
    GHashTable *records; /* of the batch: number -> struct store_campaign */
    struct progress *progress;
    uint64_t done, counts[RESULTS];
    GError *error;
};

struct job {
    uint32_t number;
    struct signature_set sets[STORE_VARIANTS];
    unsigned n;
};

static void *next_job(void *user)
{
    struct resign *resign = user;
    if (command_interrupted() || resign->error || resign->next == resign->end)
        return NULL;
    struct job *job = g_new0(struct job, 1);
    job->number = g_array_index(resign->numbers, uint32_t, resign->next++);
    return job;
}

static void *worker_new(void *user)
{
    (void)user;
    return arena_new();
}

static void worker_free(void *worker)
{
    struct arena *arena = worker;
    arena_free(&arena);
}

static void sign_file(struct job *job, const char *path, const struct context *context, struct arena *arena)
{
    g_autofree char *bytes = NULL;
    gsize n = 0;
    if (!g_file_get_contents(path, &bytes, &n, NULL))
        return;
    struct message *message = message_read(arena, bytes, n, lexicon_key(context->lexicon), &context->limits);
    struct signature_set *set = &job->sets[job->n];
    signature_make_all(context->lexicon, message, context->config->match.min_terms, set);
    job->n += set->n > 0;
    arena_reset(arena);
}

static void work(void *item, void *worker, void *user)
{
    struct job *job = item;
    const struct resign *resign = user;
    char **paths = archive_prototypes(resign->dir, job->number);
    for (char **path = paths; *path && job->n < STORE_VARIANTS; path++)
        sign_file(job, *path, resign->context, worker);
    g_strfreev(paths);
}

/* What the campaign is now, by the old records; false: it was forgotten or has expired. */
static bool current(struct resign *resign, uint32_t number, struct store_campaign *out)
{
    if (!resign->old_lexicon) {
        archive_about(resign->dir, number, out);
        return true;
    }
    const struct store_campaign *record = g_hash_table_lookup(resign->records, GUINT_TO_POINTER(number));
    if (record)
        *out = *record;
    return record != NULL;
}

/* An earlier run may have written what was forgotten since. */
static void take_back(struct resign *resign, uint64_t id)
{
    store_forget(resign->context->store, id, &resign->error);
    if (g_error_matches(resign->error, REFRAIN_ERROR, REFRAIN_ERROR_MISSING))
        g_clear_error(&resign->error);
}

static enum result take(struct resign *resign, struct job *job)
{
    struct store_campaign campaign;
    enum store_outcome outcome = STORE_NEW;
    uint64_t id = store_campaign_id(resign->context->lexicon, job->number);
    if (!current(resign, job->number, &campaign)) {
        take_back(resign, id);
        return GONE;
    }
    if (job->n == 0)
        return UNSCANNABLE;
    campaign.id = id;
    /* No source: it is our own campaign that comes back, with its reporters. */
    store_import(resign->context->store, &campaign, job->sets, job->n, NULL, true, &outcome, &resign->error);
    return outcome == STORE_DUPLICATE ? ALREADY : RESIGNED;
}

static void print(const struct resign *resign, uint32_t number, enum result result)
{
    uint64_t id = store_campaign_id(resign->context->lexicon, number);
    uint64_t old = resign->old_lexicon ? store_campaign_id(resign->old_lexicon, number) : 0;
    char text[CAMPAIGN_ID], old_text[CAMPAIGN_ID] = "-";
    if (resign->context->json) {
        struct json *json = json_new();
        json_open(json, NULL, '{');
        json_string(json, "result", result_names[result]);
        json_hex(json, "campaign", id);
        json_hex(json, "was", old);
        json_close(json, '}');
        json_print(&json);
    } else if (!resign->context->quiet) {
        if (old)
            campaign_id_print(old, old_text);
        printf("%s\t%s\t%s\n", result_names[result], campaign_id_print(id, text), old_text);
    }
}

static bool done(void *item, void *user)
{
    struct job *job = item;
    struct resign *resign = user;
    if (!resign->error) {
        enum result result = take(resign, job);
        if (!resign->error) {
            resign->counts[result]++;
            print(resign, job->number, result);
        }
    }
    progress_set(resign->progress, ++resign->done);
    g_free(job);
    return !resign->error;
}

/* --- switching over ----------------------------------------------------------------------------- */

struct missing {
    const struct resign *resign;
    uint64_t n;
};

static bool count_missing(const struct store_campaign *campaign, void *user)
{
    struct missing *missing = user;
    uint32_t number = store_campaign_number(missing->resign->old_lexicon, campaign->id);
    missing->n += !archive_has(missing->resign->numbers, number);
    return true;
}

static struct store *open_old_store(const struct resign *resign, GError **error)
{
    struct store_options options = context_store_options(resign->context, true);
    return store_open(&options, resign->old_lexicon, error);
}

/* All campaigns must have come along, or the filter would forget the others. */
static bool complete(struct resign *resign)
{
    struct missing missing = { .resign = resign };
    if (resign->old_lexicon) {
        struct store *old = open_old_store(resign, &resign->error);
        if (old)
            store_each(old, count_missing, &missing, &resign->error);
        store_close(&old);
    }
    uint64_t lost = missing.n + resign->counts[UNSCANNABLE];
    if (!resign->error && lost > 0 && !resign->partial)
        g_set_error(&resign->error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT,
                    "%s has no prototype for %s of the campaigns: the old lexicon stays in force; --partial "
                    "switches over without them",
                    resign->dir, output_count(lost));
    return !resign->error;
}

static bool cannot(const char *what, const char *path, GError **error)
{
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_OUTPUT, "cannot %s %s: %s", what, path,
                g_strerror(errno));
    return false;
}

/* A copy beside the old file, for the same owner: the daemon must be able to read it. */
static bool copy_beside(const char *from, const char *path, const char *copy, GError **error)
{
    g_autofree char *bytes = NULL;
    gsize n = 0;
    GStatBuf about;
    bool there = g_stat(path, &about) == 0;
    int mode = there ? (int)(about.st_mode & 0777) : 0640;
    return g_file_get_contents(from, &bytes, &n, error) &&
           g_file_set_contents_full(copy, bytes, (gssize)n, G_FILE_SET_CONTENTS_CONSISTENT, mode, error) &&
           (!there || chown(copy, about.st_uid, about.st_gid) == 0 ||
            cannot("give to its owner", copy, error));
}

/* The new file takes the old one's name in one step; the old one stays beside it. */
static bool replace(const char *new_path, const char *path, GError **error)
{
    g_autofree char *backup = g_strdup_printf("%s.old", path), *copy = g_strdup_printf("%s.new", path);
    if (!copy_beside(new_path, path, copy, error))
        return false;
    g_unlink(backup);
    if (link(path, backup) != 0 && errno != ENOENT)
        return cannot("keep the old lexicon as", backup, error);
    return g_rename(copy, path) == 0 || cannot("replace", path, error);
}

static void switch_over(struct resign *resign)
{
    struct context *context = resign->context;
    const char *path = context->config->lexicon.file;
    if (resign->no_switch || !context->lexicon_path || !complete(resign))
        return;
    if (replace(context->lexicon_path, path, &resign->error) && !context->quiet)
        fprintf(stderr, "%s is the new lexicon now, the old one is %s.old: reload refrain-milter\n", path,
                path);
}

/* --- the run ------------------------------------------------------------------------------------ */

static bool open_old_lexicon(struct resign *resign, GError **error)
{
    struct context *context = resign->context;
    const char *path = resign->from            ? resign->from
                       : context->lexicon_path ? context->config->lexicon.file
                                               : NULL;
    if (!path || (!resign->from && !g_file_test(path, G_FILE_TEST_EXISTS)))
        return true;
    resign->old_lexicon = lexicon_open(path, error);
    if (resign->old_lexicon && lexicon_id(resign->old_lexicon) == lexicon_id(context->lexicon)) {
        lexicon_unref(resign->old_lexicon); /* switched over before */
        resign->old_lexicon = NULL;
        return true;
    }
    return resign->old_lexicon != NULL;
}

static bool read_records(struct resign *resign)
{
    struct store *old = open_old_store(resign, &resign->error);
    g_hash_table_remove_all(resign->records);
    for (guint i = resign->next; old && i < resign->end && !resign->error; i++) {
        uint32_t number = g_array_index(resign->numbers, uint32_t, i);
        struct store_campaign *record = g_new(struct store_campaign, 1);
        if (store_show(old, store_campaign_id(resign->old_lexicon, number), record, &resign->error)) {
            g_hash_table_replace(resign->records, GUINT_TO_POINTER(number), record);
            continue;
        }
        g_free(record);
        if (g_error_matches(resign->error, REFRAIN_ERROR, REFRAIN_ERROR_MISSING))
            g_clear_error(&resign->error);
    }
    store_close(&old);
    return !resign->error;
}

static void resign_batch(struct resign *resign)
{
    struct context *context = resign->context;
    resign->end = MIN(resign->next + BATCH, resign->numbers->len);
    if ((resign->old_lexicon && !read_records(resign)) ||
        !context_open_store(context, CONTEXT_MAKE, &resign->error))
        return;
    pool_run(&(struct pool_plan) { .threads = (unsigned)context->jobs,
                                   .next = next_job,
                                   .worker_new = worker_new,
                                   .worker_free = worker_free,
                                   .work = work,
                                   .done = done,
                                   .user = resign });
    store_close(&context->store);
}

static int finish(struct resign *resign)
{
    if (!resign->error && command_interrupted())
        g_set_error(&resign->error, REFRAIN_ERROR, REFRAIN_ERROR_INTERRUPTED,
                    "interrupted: the old lexicon stays in force; run the same command again to go on");
    fflush(stdout);
    if (!resign->context->quiet)
        fprintf(stderr, "resigned %s, already there %s, gone %s, unscannable %s\n",
                output_count(resign->counts[RESIGNED]), output_count(resign->counts[ALREADY]),
                output_count(resign->counts[GONE]), output_count(resign->counts[UNSCANNABLE]));
    if (!resign->error)
        switch_over(resign);
    return command_fail(g_steal_pointer(&resign->error));
}

static int resign_all(struct resign *resign)
{
    struct context *context = resign->context;
    message_init();
    resign->records = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    resign->progress = progress_new("campaigns", resign->numbers->len, context->quiet || output_terminal());
    while (resign->next < resign->numbers->len && !resign->error && !command_interrupted())
        resign_batch(resign);
    progress_end(&resign->progress);
    g_hash_table_destroy(resign->records);
    return finish(resign);
}

static int resign_run(const struct command *self, struct context *context, int argc, char **argv)
{
    struct resign resign = { .context = context };
    const GOptionEntry options[] = {
        { "from", 0, 0, G_OPTION_ARG_FILENAME, &resign.from,
          "the old lexicon (default: the one of the configuration)", "FILE" },
        { "partial", 0, 0, G_OPTION_ARG_NONE, &resign.partial,
          "switch over though some campaigns cannot come along", NULL },
        { "no-switch", 0, 0, G_OPTION_ARG_NONE, &resign.no_switch, "leave the configured lexicon as it is",
          NULL },
        { NULL, 0, 0, 0, NULL, NULL, NULL },
    };
    GError *error = NULL;
    int code;
    if (!context_parse(context, self, options, argc, argv, &error) ||
        !context_arguments(context, self, 1, 1, &error) ||
        !(resign.numbers = archive_campaigns(resign.dir = context->arguments[0], &error)) ||
        !context_open(context, CONTEXT_LEXICON, &error) || !open_old_lexicon(&resign, &error))
        code = command_fail(error);
    else
        code = resign_all(&resign);
    if (resign.old_lexicon)
        lexicon_unref(resign.old_lexicon);
    if (resign.numbers)
        g_array_free(resign.numbers, TRUE);
    g_free(resign.from);
    return code;
}

const struct command cmd_resign = {
    .name = "resign",
    .arguments = "DIR",
    .summary = "recompute from archived prototypes (new lexicon)",
    .more = "DIR is what report --archive kept. Give the new lexicon with --lexicon; that of the "
            "configuration stays in\n"
            "force until all campaigns are signed anew, and is then replaced. Can be interrupted and run "
            "again.\n",
    .run = resign_run,
};
