#include "milter/scan.h"

#include "base/log.h"

/* One line when the store goes, one when it is back, however many messages there are in between. */
static void note_failure(struct filter *filter, const struct snapshot *snapshot, const GError *error)
{
    if (!atomic_exchange(&filter->store_down, true))
        log_warning("the store %s does not answer: %s: mail is %s until it does", store_name(snapshot->store),
                    error->message,
                    snapshot->config->store.on_failure == CONFIG_FAIL_TEMPFAIL ? "put off"
                                                                               : "passed unscanned");
}

static void note_success(struct filter *filter, const struct snapshot *snapshot)
{
    if (atomic_load(&filter->store_down) && atomic_exchange(&filter->store_down, false))
        log_info("the store %s answers again", store_name(snapshot->store));
}

static void make_signatures(const struct session *session, struct scan *out)
{
    const struct mail *mail = &session->mail;
    const struct snapshot *snapshot = mail->snapshot;
    const struct message *message = message_read(mail->arena, mail->bytes->data, mail->bytes->len,
                                                 lexicon_key(snapshot->lexicon), &snapshot->limits);
    signature_make_all(snapshot->lexicon, message, snapshot->config->match.min_terms, &out->signatures);
    out->cut = message->cut | mail->cut;
    out->terms = out->signatures.n ? out->signatures.v[0].terms : message->view[MESSAGE_BODY].n;
}

static unsigned terms_of_view(const struct signature_set *set, enum message_view view, unsigned otherwise)
{
    for (unsigned i = 0; i < set->n; i++)
        if (set->v[i].view == view)
            return set->v[i].terms;
    return otherwise;
}

static enum outcome look_up(struct filter *filter, const struct session *session, struct scan *out)
{
    const struct snapshot *snapshot = session->mail.snapshot;
    g_autoptr(GError) error = NULL;
    struct store_match *match = &out->facts.match;
    if (!store_lookup(snapshot->store, &out->signatures, &snapshot->rule, match, &error)) {
        note_failure(filter, snapshot, error);
        return OUTCOME_FAILED;
    }
    note_success(filter, snapshot);
    if (match->level != SIGNATURE_STRANGER) {
        out->terms = terms_of_view(&out->signatures, match->view, out->terms);
        store_hit(snapshot->store, match->campaign);
    } else if (!match->allowed && session->mail.traps == 0) { /* what a trap gets too is not clean */
        store_clean(snapshot->store, &out->signatures);
    }
    return OUTCOME_LOOKED_UP;
}

void scan_mail(struct filter *filter, const struct session *session, struct scan *out)
{
    const struct snapshot *snapshot = session->mail.snapshot;
    *out = (struct scan) { .facts = { .outcome = OUTCOME_SKIPPED } };
    out->facts.exempt = session_exemption(session);
    out->facts.trap = session_is_trapped(session);
    if (out->facts.exempt && snapshot->config->exempt.action == CONFIG_ACTION_NONE)
        return;
    make_signatures(session, out);
    if (out->signatures.n == 0)
        out->facts.outcome = OUTCOME_UNSCANNABLE;
    else if (!out->facts.trap) /* a trap's mail is reported, whatever it resembles */
        out->facts.outcome = look_up(filter, session, out);
}

const char *scan_report_trap(struct filter *filter, const struct session *session, const struct scan *scan,
                             uint64_t *campaign_out)
{
    static const char *const outcomes[] = {
        [STORE_NEW] = "new",           [STORE_MERGED] = "merged",   [STORE_DUPLICATE] = "duplicate",
        [STORE_PENDING] = "candidate", [STORE_REFUSED] = "refused",
    };
    const struct mail *mail = &session->mail;
    const struct store_report report = { .source = "trap", .reporter = "trap" };
    g_autoptr(GError) error = NULL;
    enum store_outcome outcome;
    *campaign_out = 0;
    if (!mail->traps || scan->facts.exempt)
        return NULL;
    if (scan->signatures.n == 0)
        return "unscannable";
    if (mail->snapshot->config->action.dry_run)
        return "dry-run";
    bool stored = store_report(mail->snapshot->store, &scan->signatures, &mail->snapshot->rule, &report,
                               &outcome, campaign_out, &error);
    metrics_trap_report(filter->metrics, stored);
    if (stored) {
        note_success(filter, mail->snapshot);
        return outcomes[outcome];
    }
    note_failure(filter, mail->snapshot, error);
    return "failed";
}
