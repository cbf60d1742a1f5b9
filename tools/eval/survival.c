#include "tools/eval/survival.h"

#include <string.h>

#include "base/pool.h"
#include "tools/each_mail.h"

#define MIN_TERMS 20

static void free_sample(gpointer data)
{
    struct eval_sample *sample = data;
    g_free(sample->text);
    g_free(sample->foreign);
}

void eval_samples_free(GArray **samples)
{
    g_array_unref(*samples);
    *samples = NULL;
}

/* The paths of at most n messages with enough terms, no two with the same set of them. */
static GHashTable *draw_paths(const struct eval_collection *mails, size_t n, uint32_t seed)
{
    GHashTable *paths = g_hash_table_new(g_str_hash, g_str_equal);
    GHashTable *sets = g_hash_table_new(g_int64_hash, g_int64_equal);
    GRand *rand = g_rand_new_with_seed(seed);
    size_t *order = g_new(size_t, mails->n);
    for (size_t i = 0; i < mails->n; i++) {
        size_t j = (size_t)(g_rand_double(rand) * (double)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < mails->n && g_hash_table_size(paths) < n; i++) {
        struct eval_mail *mail = &mails->v[order[i]];
        bool enough =
            mail->n_views > 0 && mail->views[0].view == MESSAGE_BODY && mail->views[0].terms >= MIN_TERMS;
        if (enough && g_hash_table_add(sets, &mail->set))
            g_hash_table_add(paths, mail->path);
    }
    g_free(order);
    g_rand_free(rand);
    g_hash_table_destroy(sets);
    return paths;
}

struct reading {
    const struct context *context;
    GHashTable *wanted;
    GPtrArray *texts;
};

static void *keep_text(struct each_mail *mail, void *user)
{
    struct reading *reading = user;
    if (!g_hash_table_contains(reading->wanted, mail->path))
        return NULL;
    struct arena *arena = arena_new();
    size_t n;
    const char *text = message_text(arena, mail->bytes, mail->n_bytes, &reading->context->limits, &n);
    char *kept = g_strndup(text, n);
    arena_free(&arena);
    return kept;
}

static bool collect(struct each_mail *mail, void *user)
{
    struct reading *reading = user;
    if (mail->result)
        g_ptr_array_add(reading->texts, mail->result);
    return true;
}

static GPtrArray *read_texts(struct context *context, char *const *paths, GHashTable *wanted)
{
    struct reading reading = { context, wanted, g_ptr_array_new_with_free_func(g_free) };
    struct each_mail_totals totals = each_mail_run(&(struct each_mail_plan) {
        .context = context, .paths = paths, .work = keep_text, .done = collect, .user = &reading });
    if (totals.interrupted || reading.texts->len == 0)
        g_clear_pointer(&reading.texts, g_ptr_array_unref);
    g_hash_table_destroy(wanted);
    return reading.texts;
}

bool eval_samples_read(struct context *context, const struct eval_settings *settings, char *const *spam_paths,
                       const struct eval_collection *spam, char *const *ham_paths,
                       const struct eval_collection *ham, size_t n, GArray **samples_out)
{
    g_autoptr(GPtrArray) texts = read_texts(context, spam_paths, draw_paths(spam, n, settings->seed));
    if (!texts)
        return false;
    g_autoptr(GPtrArray) foreign = read_texts(context, ham_paths, draw_paths(ham, n, settings->seed));
    if (!foreign)
        return false;
    *samples_out = g_array_new(FALSE, FALSE, sizeof(struct eval_sample));
    g_array_set_clear_func(*samples_out, free_sample);
    for (guint i = 0; i < texts->len; i++) {
        struct eval_sample sample = { .text = g_strdup(texts->pdata[i]),
                                      .foreign = g_strdup(foreign->pdata[i % foreign->len]) };
        g_array_append_val(*samples_out, sample);
    }
    return true;
}

static void sign_text(const struct context *context, const char *bytes, size_t n, struct eval_mail *out)
{
    struct arena *arena = arena_new();
    struct message *message = message_read(arena, bytes, n, lexicon_key(context->lexicon), &context->limits);
    struct signature_set signatures;
    signature_make_all(context->lexicon, message, context->config->match.min_terms, &signatures);
    eval_mail_fill(out, &signatures, message);
    arena_free(&arena);
}

struct survival {
    const struct context *context;
    const struct eval_settings *settings;
    const GArray *samples;
    const struct eval_mutation *mutation; /* NULL: as it is */
    const struct eval_index *index;
    struct eval_mail *prototypes;
    struct eval_answer *answers;
};

static void sign_prototype(size_t i, void *user)
{
    static const char head[] = "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n";
    struct survival *survival = user;
    char *mail = g_strconcat(head, g_array_index(survival->samples, struct eval_sample, i).text, NULL);
    sign_text(survival->context, mail, strlen(mail), &survival->prototypes[i]);
    g_free(mail);
}

static void check_mutated(size_t i, void *user)
{
    struct survival *survival = user;
    const struct eval_sample *sample = &g_array_index(survival->samples, struct eval_sample, i);
    uint32_t seed = survival->settings->seed * 1000003u + (uint32_t)i;
    GString *mail = eval_mutated_mail(survival->mutation, sample->text, sample->foreign, seed);
    struct eval_mail mutated = { 0 };
    sign_text(survival->context, mail->str, mail->len, &mutated);
    survival->answers[i] = eval_index_find(survival->index, &mutated);
    eval_mail_clear(&mutated);
    g_string_free(mail, TRUE);
}

void eval_survival(struct context *context, const struct eval_settings *settings, const GArray *samples,
                   struct eval_score *scores_out)
{
    struct eval_index *index = eval_index_new();
    struct survival survival = {
        .context = context, .settings = settings, .samples = samples, .index = index
    };
    survival.prototypes = g_new0(struct eval_mail, samples->len);
    survival.answers = g_new0(struct eval_answer, samples->len);
    pool_each(settings->threads, samples->len, sign_prototype, &survival);
    for (guint i = 0; i < samples->len; i++)
        eval_index_add(index, &survival.prototypes[i]);
    for (unsigned m = 0; m < eval_n_mutations; m++) {
        survival.mutation = &eval_mutations[m];
        pool_each(settings->threads, samples->len, check_mutated, &survival);
        scores_out[m] = (struct eval_score) { .n = samples->len };
        for (guint i = 0; i < samples->len; i++) {
            scores_out[m].tagged += eval_tagged(&survival.answers[i], &settings->rule);
            scores_out[m].rejected += eval_rejected(&survival.answers[i], &settings->rule);
        }
    }
    for (guint i = 0; i < samples->len; i++)
        eval_mail_clear(&survival.prototypes[i]);
    g_free(survival.prototypes);
    g_free(survival.answers);
    eval_index_free(&index);
}
