#include "milter/filter.h"

#include <libmilter/mfapi.h>
#include <string.h>

#include "base/log.h"
#include "milter/apply.h"
#include "milter/header.h"
#include "milter/scan.h"

static struct filter *filter;

static const char *macro(SMFICTX *ctx, const char *name)
{
    const char *value = smfi_getsymval(ctx, (char *)(uintptr_t)name);
    return value ? value : "";
}

/* --- the connection --------------------------------------------------------------------------------- */

/* Steps that say nothing to us, and steps that need no answer: each answer is a round trip less. */
#define STEPS_WANTED                                                                                         \
    (SMFIP_NOHELO | SMFIP_NODATA | SMFIP_NOUNKNOWN | SMFIP_NOEOH | SMFIP_NR_MAIL | SMFIP_NR_RCPT |           \
     SMFIP_NR_HDR | SMFIP_SKIP | SMFIP_HDR_LEADSPC)
#define ACTIONS_WANTED (SMFIF_ADDHDRS | SMFIF_CHGHDRS)

static bool wants_quarantine(void)
{
    struct snapshot *snapshot = snapshot_slot_get(filter->slot);
    if (!snapshot)
        return false;
    const struct config *config = snapshot->config;
    bool wants = config->action.on_tag == CONFIG_ACTION_QUARANTINE ||
                 config->action.on_reject == CONFIG_ACTION_QUARANTINE;
    snapshot_unref(snapshot);
    return wants;
}

/* A connection above the limit is still answered, at once and with "accept": mail must flow. */
static void admit(struct session *session)
{
    metrics_connection(filter->metrics, 1);
    session->refused = metrics_connections(filter->metrics) > (int)filter->max_connections;
    if (session->refused) {
        metrics_refused_connection(filter->metrics);
        if (!atomic_exchange(&filter->crowded, true))
            log_warning("more than %u connections: further ones pass unscanned: raise max-connections",
                        filter->max_connections);
    } else if (atomic_load(&filter->crowded)) {
        atomic_store(&filter->crowded, false);
    }
}

static struct session *session_of(SMFICTX *ctx)
{
    struct session *session = smfi_getpriv(ctx);
    if (!session) {
        session = session_new();
        /* What holds when a connection is used again (QUIT_NC): only MTAs that offer all of it do that. */
        session->steps = STEPS_WANTED;
        session->actions = ACTIONS_WANTED;
        session->keeps_space = true;
        smfi_setpriv(ctx, session);
        admit(session);
    }
    return session;
}

static sfsistat reply_or_not(const struct session *session, unsigned long step)
{
    return session->steps & step ? SMFIS_NOREPLY : SMFIS_CONTINUE;
}

static void ask_for_macros(SMFICTX *ctx)
{
    static const struct {
        int stage;
        const char *names;
    } wanted[] = {
        { SMFIM_CONNECT, "j" },
        { SMFIM_ENVFROM, "i {auth_authen} {auth_type}" },
        { SMFIM_ENVRCPT, "i" },
        { SMFIM_EOM, "i" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++)
        smfi_setsymlist(ctx, wanted[i].stage, (char *)(uintptr_t)wanted[i].names);
}

static sfsistat on_negotiate(SMFICTX *ctx, unsigned long actions, unsigned long steps, unsigned long unused2,
                             unsigned long unused3, unsigned long *actions_out, unsigned long *steps_out,
                             unsigned long *unused2_out, unsigned long *unused3_out)
{
    (void)unused2;
    (void)unused3;
    struct session *session = session_of(ctx);
    session->actions = actions & (ACTIONS_WANTED | (wants_quarantine() ? SMFIF_QUARANTINE : 0));
    session->steps = steps & STEPS_WANTED;
    session->keeps_space = steps & SMFIP_HDR_LEADSPC;
    *actions_out = session->actions;
    *steps_out = session->steps;
    *unused2_out = *unused3_out = 0;
    if (actions & SMFIF_SETSYMLIST) {
        ask_for_macros(ctx);
        *actions_out |= SMFIF_SETSYMLIST;
    }
    return SMFIS_CONTINUE;
}

static sfsistat on_connect(SMFICTX *ctx, char *host, struct sockaddr *client)
{
    (void)host;
    struct session *session = session_of(ctx);
    if (session->refused)
        return SMFIS_ACCEPT;
    session_client(session, client);
    g_free(session->mta);
    session->mta = g_strdup(macro(ctx, "j"));
    return SMFIS_CONTINUE;
}

/* --- the message ------------------------------------------------------------------------------------ */

/* Who sees that no mail is under way has what it held for himself. */
static void end_mail(struct session *session)
{
    bool begun = session->mail.arena != NULL;
    session_end(session);
    if (begun)
        atomic_fetch_sub(&filter->under_way, 1);
}

/* Without a snapshot the process is about to go: the mail passes, if its end is ever asked about. */
static sfsistat on_mail(SMFICTX *ctx, char **args)
{
    struct session *session = session_of(ctx);
    end_mail(session);
    atomic_fetch_add(&filter->under_way, 1);
    struct snapshot *snapshot = snapshot_slot_get(filter->slot);
    if (snapshot) {
        bool authenticated = *macro(ctx, "{auth_authen}") || *macro(ctx, "{auth_type}");
        session_mail(session, snapshot, args[0] ? args[0] : "", authenticated);
        snapshot_unref(snapshot);
    } else {
        atomic_fetch_sub(&filter->under_way, 1);
    }
    return reply_or_not(session, SMFIP_NR_MAIL);
}

static sfsistat on_recipient(SMFICTX *ctx, char **args)
{
    struct session *session = session_of(ctx);
    session_recipient(session, args[0] ? args[0] : "");
    return reply_or_not(session, SMFIP_NR_RCPT);
}

static sfsistat on_header(SMFICTX *ctx, char *name, char *value)
{
    struct session *session = session_of(ctx);
    session_header(session, name, value);
    return reply_or_not(session, SMFIP_NR_HDR);
}

static sfsistat on_body(SMFICTX *ctx, unsigned char *bytes, size_t n)
{
    struct session *session = session_of(ctx);
    bool more = session_body(session, bytes, n);
    return !more && (session->steps & SMFIP_SKIP) ? SMFIS_SKIP : SMFIS_CONTINUE;
}

/* 4WcX…: match campaign=4f0c… similarity=0.87 shared=9/20 action=reject terms=83 took=0.41ms */
static void log_message(SMFICTX *ctx, const struct session *session, const struct scan *scan,
                        const struct decision *decision, const char *trap, uint64_t reported, int64_t took)
{
    if (!log_shows(LOG_LEVEL_INFO))
        return;
    const struct store_match *match = &scan->facts.match;
    const char *queue_id = macro(ctx, "i");
    char id[CAMPAIGN_TEXT];
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_printf(line, "%s: %s", *queue_id ? queue_id : "NOQUEUE", verdict_name(decision->verdict));
    if (decision->verdict == VERDICT_MATCH || decision->verdict == VERDICT_ALLOWED)
        g_string_append_printf(line, " campaign=%s similarity=%.2f shared=%u/%u",
                               campaign_text(match->campaign, id), match->likeness.similarity,
                               match->likeness.shared, match->of);
    if (trap)
        g_string_append_printf(line, " report=%s", trap);
    if (reported)
        g_string_append_printf(line, " campaign=%s", campaign_text(reported, id));
    if (scan->facts.exempt)
        g_string_append_printf(line, " exempt=%s", scan->facts.exempt);
    g_string_append_printf(line, " action=%s", action_name(decision->action));
    if (decision->would != decision->action)
        g_string_append_printf(line, " would=%s", action_name(decision->would));
    if (scan->facts.outcome != OUTCOME_SKIPPED || scan->facts.trap)
        g_string_append_printf(line, " terms=%u", scan->terms);
    if (scan->cut)
        g_string_append_printf(line, " cut=\"%s\"", message_cut_names(session->mail.arena, scan->cut));
    log_info("%s took=%.2fms", line->str, (double)took / 1000);
}

static sfsistat on_end_of_message(SMFICTX *ctx)
{
    struct session *session = session_of(ctx);
    if (!session->mail.arena)
        return SMFIS_CONTINUE;
    int64_t start = g_get_monotonic_time();
    struct scan scan;
    uint64_t reported;
    scan_mail(filter, session, &scan);
    struct decision decision = decide(&scan.facts, session->mail.snapshot->config);
    const char *trap = scan_report_trap(filter, session, &scan, &reported);
    sfsistat status = apply_decision(ctx, session, &scan, &decision);
    int64_t took = g_get_monotonic_time() - start;
    metrics_message(filter->metrics, &decision, took);
    log_message(ctx, session, &scan, &decision, trap, reported, took);
    end_mail(session);
    return status;
}

static sfsistat on_abort(SMFICTX *ctx)
{
    struct session *session = smfi_getpriv(ctx);
    if (session)
        end_mail(session);
    return SMFIS_CONTINUE;
}

/* Also called for a connection that never said a word, and before the next one on the same socket. */
static sfsistat on_close(SMFICTX *ctx)
{
    struct session *session = smfi_getpriv(ctx);
    if (session) {
        end_mail(session);
        smfi_setpriv(ctx, NULL);
        session_free(session);
        metrics_connection(filter->metrics, -1);
    }
    return SMFIS_CONTINUE;
}

bool filter_register(struct filter *shared)
{
    static char name[] = "refrain-milter";
    filter = shared;
    return smfi_register((struct smfiDesc) {
               .xxfi_name = name,
               .xxfi_version = SMFI_VERSION,
               .xxfi_flags = ACTIONS_WANTED | SMFIF_QUARANTINE | SMFIF_SETSYMLIST,
               .xxfi_connect = on_connect,
               .xxfi_envfrom = on_mail,
               .xxfi_envrcpt = on_recipient,
               .xxfi_header = on_header,
               .xxfi_body = on_body,
               .xxfi_eom = on_end_of_message,
               .xxfi_abort = on_abort,
               .xxfi_close = on_close,
               .xxfi_negotiate = on_negotiate,
           }) == MI_SUCCESS;
}
