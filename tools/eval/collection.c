#include "tools/eval/collection.h"

#include "base/hash.h"
#include "tools/each_mail.h"

void eval_mail_fill(struct eval_mail *out, const struct signature_set *signatures,
                    const struct message *message)
{
    struct terms body = message->view[MESSAGE_BODY];
    out->n_views = signatures->n;
    out->views = g_memdup2(signatures->v, signatures->n * sizeof *signatures->v);
    out->n_terms = body.n;
    out->terms = g_new(uint64_t, body.n);
    for (uint32_t i = 0; i < body.n; i++) {
        out->terms[i] = body.v[i].hash;
        out->set += hash_mix(body.v[i].hash);
    }
}

void eval_mail_clear(struct eval_mail *mail)
{
    g_free(mail->path);
    g_free(mail->views);
    g_free(mail->terms);
    *mail = (struct eval_mail) { 0 };
}

static void *keep(struct each_mail *mail, void *user)
{
    (void)user;
    struct eval_mail *kept = g_new0(struct eval_mail, 1);
    if (mail->message)
        eval_mail_fill(kept, &mail->signatures, mail->message);
    kept->path = g_strdup(mail->path);
    return kept;
}

static bool append(struct each_mail *mail, void *user)
{
    GArray *mails = user;
    g_array_append_vals(mails, mail->result, 1);
    g_free(mail->result);
    return true;
}

bool eval_collection_read(struct context *context, char *const *paths, struct eval_collection *out)
{
    GArray *mails = g_array_new(FALSE, FALSE, sizeof(struct eval_mail));
    struct each_mail_totals totals = each_mail_run(&(struct each_mail_plan) {
        .context = context, .paths = paths, .work = keep, .done = append, .user = mails });
    out->n = mails->len;
    out->v = (struct eval_mail *)(void *)g_array_free(mails, FALSE);
    return each_mail_exit(&totals) == EXIT_DONE;
}

void eval_collection_clear(struct eval_collection *collection)
{
    for (size_t i = 0; i < collection->n; i++)
        eval_mail_clear(&collection->v[i]);
    g_free(collection->v);
    *collection = (struct eval_collection) { 0 };
}
