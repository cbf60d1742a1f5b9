#include "milter/apply.h"

#include <string.h>

#include "base/log.h"
#include "milter/header.h"

/* libmilter's prototypes know no const; it does not write to these. */
static char *plain(const char *text)
{
    return (char *)(uintptr_t)text;
}

/*
 * An index counts the headers of that name that are left. From the last to the first, none of them moves
 * before its turn.
 */
static void remove_forged(SMFICTX *ctx, const struct mail *mail)
{
    GHashTableIter iter;
    gpointer name, count;
    if (!mail->forged)
        return;
    g_hash_table_iter_init(&iter, mail->forged);
    while (g_hash_table_iter_next(&iter, &name, &count))
        for (gsize i = GPOINTER_TO_SIZE(count); i > 0; i--)
            smfi_chgheader(ctx, name, (int)i, NULL);
}

static void add_header(SMFICTX *ctx, const char *name, const char *value)
{
    if (smfi_addheader(ctx, plain(name), plain(value)) != MI_SUCCESS)
        log_warning("the MTA did not take our %s header", name);
}

static void prefix_subject(SMFICTX *ctx, const struct session *session)
{
    const struct mail *mail = &session->mail;
    const char *prefix = mail->snapshot->config->action.subject_prefix;
    if (!*prefix)
        return;
    const char *subject =
        header_subject(mail->arena, prefix, mail->subject ? mail->subject : "", session->keeps_space);
    if (!subject)
        return;
    if (mail->subject)
        smfi_chgheader(ctx, plain("Subject"), 1, plain(subject));
    else
        add_header(ctx, "Subject", subject);
}

static void mark(SMFICTX *ctx, const struct session *session, const struct scan *scan,
                 const struct decision *decision)
{
    const char *value = header_mark(session->mail.arena, decision, &scan->facts.match, session->keeps_space);
    if (!value)
        return;
    if (decision->mark == MARK_MATCH) {
        prefix_subject(ctx, session);
        add_header(ctx, HEADER_FLAG, session->keeps_space ? " YES" : "YES");
    }
    add_header(ctx, HEADER_MARK, value);
}

/* "550 5.7.1" of the configuration; as a temporary failure "451 4.7.1". */
static void set_reply(SMFICTX *ctx, const struct mail *mail, bool temporary, uint64_t campaign)
{
    const struct config *config = mail->snapshot->config;
    char *code = arena_strndup(mail->arena, config->action.reject_code, 3);
    char *enhanced =
        arena_strndup(mail->arena, config->action.reject_code + 4, strlen(config->action.reject_code + 4));
    if (temporary) {
        code = plain("451");
        enhanced[0] = '4';
    }
    const char *text = header_reply_text(mail->arena, config->action.reject_text, campaign);
    smfi_setreply(ctx, code, enhanced, plain(text));
}

static sfsistat put_off(SMFICTX *ctx, const struct mail *mail, const struct scan *scan,
                        const struct decision *decision)
{
    if (decision->verdict == VERDICT_UNAVAILABLE)
        smfi_setreply(ctx, plain("451"), plain("4.3.0"),
                      plain("Service not available at the moment, try again later"));
    else
        set_reply(ctx, mail, true, scan->facts.match.campaign);
    return SMFIS_TEMPFAIL;
}

sfsistat apply_decision(SMFICTX *ctx, const struct session *session, const struct scan *scan,
                        struct decision *decision)
{
    const struct mail *mail = &session->mail;
    switch (decision->action) {
    case CONFIG_ACTION_REJECT:
        set_reply(ctx, mail, false, scan->facts.match.campaign);
        return SMFIS_REJECT;
    case CONFIG_ACTION_TEMPFAIL:
        return put_off(ctx, mail, scan, decision);
    case CONFIG_ACTION_DISCARD:
        return SMFIS_DISCARD;
    case CONFIG_ACTION_QUARANTINE:
        /* Not every MTA offers it, and a reload may have asked for it after the connection was made. */
        if (smfi_quarantine(ctx, plain("resembles a reported spam campaign")) != MI_SUCCESS)
            decision->action = CONFIG_ACTION_TAG;
        break;
    case CONFIG_ACTION_TAG:
    case CONFIG_ACTION_NONE:
        break;
    }
    remove_forged(ctx, mail);
    mark(ctx, session, scan, decision);
    return SMFIS_CONTINUE;
}
