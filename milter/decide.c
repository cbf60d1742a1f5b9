#include "milter/decide.h"

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[VERDICTS] = {
        [VERDICT_CLEAN] = "clean",
        [VERDICT_MATCH] = "match",
        [VERDICT_ALLOWED] = "allowed",
        [VERDICT_SKIPPED] = "skipped",
        [VERDICT_TRAP] = "trap",
        [VERDICT_UNSCANNABLE] = "unscannable",
        [VERDICT_UNAVAILABLE] = "unavailable",
    };
    return names[verdict];
}

const char *action_name(enum config_action action)
{
    static const char *const names[ACTIONS] = {
        [CONFIG_ACTION_NONE] = "none",       [CONFIG_ACTION_TAG] = "tag",
        [CONFIG_ACTION_REJECT] = "reject",   [CONFIG_ACTION_QUARANTINE] = "quarantine",
        [CONFIG_ACTION_DISCARD] = "discard", [CONFIG_ACTION_TEMPFAIL] = "tempfail",
    };
    return names[action];
}

static enum verdict verdict_of(const struct facts *facts)
{
    if (facts->trap)
        return VERDICT_TRAP;
    switch (facts->outcome) {
    case OUTCOME_SKIPPED:
        return VERDICT_SKIPPED;
    case OUTCOME_UNSCANNABLE:
        return VERDICT_UNSCANNABLE;
    case OUTCOME_FAILED:
        return VERDICT_UNAVAILABLE;
    case OUTCOME_LOOKED_UP:
    case OUTCOMES:
        break;
    }
    if (facts->match.level != SIGNATURE_STRANGER)
        return VERDICT_MATCH;
    return facts->match.allowed ? VERDICT_ALLOWED : VERDICT_CLEAN;
}

/* Exempt mail that matches: never worse than the policy, never worse than the exemption. */
static enum config_action match_action(const struct facts *facts, const struct config *policy)
{
    enum config_action action =
        facts->match.level == SIGNATURE_REJECT ? policy->action.on_reject : policy->action.on_tag;
    if (facts->exempt && action != CONFIG_ACTION_NONE)
        return policy->exempt.action;
    return action;
}

static enum config_action action_of(enum verdict verdict, const struct facts *facts,
                                    const struct config *policy)
{
    switch (verdict) {
    case VERDICT_TRAP:
        return policy->trap.action == CONFIG_TRAP_DISCARD ? CONFIG_ACTION_DISCARD : CONFIG_ACTION_NONE;
    case VERDICT_MATCH:
        return match_action(facts, policy);
    case VERDICT_UNAVAILABLE:
        /* The store's trouble is ours: those who logged in, and others we trust, never wait for it. */
        return policy->store.on_failure == CONFIG_FAIL_TEMPFAIL && !facts->exempt ? CONFIG_ACTION_TEMPFAIL
                                                                                  : CONFIG_ACTION_NONE;
    default:
        return CONFIG_ACTION_NONE;
    }
}

static enum mark mark_of(const struct decision *d, const struct facts *facts, const struct config *policy)
{
    if (policy->action.dry_run)
        return MARK_NONE;
    if (d->verdict == VERDICT_MATCH &&
        (d->action == CONFIG_ACTION_TAG || d->action == CONFIG_ACTION_QUARANTINE))
        return MARK_MATCH;
    if (facts->exempt)
        return MARK_NONE;
    if (d->verdict == VERDICT_UNAVAILABLE && d->action == CONFIG_ACTION_NONE)
        return MARK_UNAVAILABLE;
    if ((d->verdict == VERDICT_CLEAN || d->verdict == VERDICT_ALLOWED) && policy->action.add_clean_header)
        return MARK_CLEAN;
    return MARK_NONE;
}

struct decision decide(const struct facts *facts, const struct config *policy)
{
    struct decision d = { .verdict = verdict_of(facts) };
    d.would = d.action = action_of(d.verdict, facts, policy);
    if (policy->action.dry_run)
        d.action = CONFIG_ACTION_NONE;
    d.mark = mark_of(&d, facts, policy);
    return d;
}
