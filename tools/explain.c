#include <string.h>

#include "tools/campaign.h"
#include "tools/explain_internal.h"

struct explanation *explain_message(const struct context *context, const char *path, const void *bytes,
                                    size_t n)
{
    struct explanation *explanation = g_new0(struct explanation, 1);
    explanation->context = context;
    explanation->path = path;
    explanation->arena = arena_new();
    explanation->message =
        message_read(explanation->arena, bytes, n, lexicon_key(context->lexicon), &context->limits);
    signature_make_all(context->lexicon, explanation->message, context->config->match.min_terms,
                       &explanation->signatures);
    return explanation;
}

void explain_free(struct explanation **explanation)
{
    if (*explanation) {
        arena_free(&(*explanation)->arena);
        g_free(*explanation);
    }
    *explanation = NULL;
}

/* --- the terms of the view ---------------------------------------------------------------------- */

static void fill_signers(struct explanation *explanation, struct terms terms)
{
    const struct lexicon *lexicon = explanation->context->lexicon;
    uint32_t *places = ARENA_ARRAY(explanation->arena, uint32_t, terms.n);
    for (unsigned k = 0; k < explanation->ours.n_lex && k < 64; k++) {
        uint32_t n = signature_signers(lexicon, terms, k, places, terms.n);
        bool agreed = explanation->found && explanation->ours.lex[k] != 0 &&
                      explanation->ours.lex[k] == explanation->theirs.lex[k];
        for (uint32_t i = 0; i < n; i++) {
            explanation->terms[places[i]].lexicons |= UINT64_C(1) << k;
            explanation->terms[places[i]].agreed |= (uint64_t)agreed << k;
        }
    }
}

/* Is it one of the odd words that the campaign has too? */
static bool is_shared_odd(const struct explanation *explanation, const struct explained_term *term)
{
    uint32_t odd = signature_odd_of(explanation->context->lexicon, term->term->hash);
    bool ours = false, theirs = false;
    for (unsigned i = 0; i < SIGNATURE_ODD; i++) {
        ours |= explanation->ours.odd[i] == odd;
        theirs |= explanation->theirs.odd[i] == odd;
    }
    return explanation->found && !term->known && term->use == SIGNATURE_UNUSED && ours && theirs;
}

static void fill_terms(struct explanation *explanation)
{
    const struct lexicon *lexicon = explanation->context->lexicon;
    struct terms terms = explanation->message->view[explanation->ours.view];
    explanation->n_terms = terms.n;
    explanation->terms = ARENA_ARRAY(explanation->arena, struct explained_term, terms.n + 1);
    if (explanation->view == MESSAGE_PART || terms.n == 0)
        return;
    enum signature_use *uses = ARENA_ARRAY(explanation->arena, enum signature_use, terms.n);
    explanation->n_used = signature_uses(lexicon, terms, uses);
    for (uint32_t i = 0; i < terms.n; i++) {
        struct lexicon_entry entry;
        struct explained_term *term = &explanation->terms[i];
        term->term = &terms.v[i];
        term->use = uses[i];
        term->known = lexicon_find(lexicon, terms.v[i].hash, &entry);
        term->nidf = term->known ? lexicon_nidf(lexicon, entry.df) : 1;
        term->odd = is_shared_odd(explanation, term);
    }
    fill_signers(explanation, terms);
}

/* --- the campaign ------------------------------------------------------------------------------- */

/* The variant and the view that come nearest. */
static void pick_nearest(struct explanation *explanation, const struct signature_set *variants, unsigned n)
{
    const struct signature_rule *rule = &explanation->context->rule;
    explanation->variants = n;
    for (unsigned i = 0; i < n; i++) {
        struct signature_pair pair;
        struct signature_likeness likeness =
            signature_compare_sets(&explanation->signatures, &variants[i], rule, &pair);
        if (!pair.message || (explanation->found && !signature_closer(&likeness, &explanation->likeness)))
            continue;
        explanation->found = true;
        explanation->likeness = likeness;
        explanation->variant = i + 1;
        explanation->ours = *pair.message;
        explanation->theirs = *pair.prototype;
        explanation->view = pair.view;
    }
}

static bool read_campaign(struct explanation *explanation, uint64_t id, GError **error)
{
    struct store *store = explanation->context->store;
    g_autofree struct signature_set *variants = NULL;
    unsigned n = 0;
    if (!store_show(store, id, &explanation->campaign, error) ||
        !store_variants(store, id, &variants, &n, error))
        return false;
    pick_nearest(explanation, variants, n);
    return true;
}

bool explain_find(struct explanation *explanation, const char *campaign, GError **error)
{
    const struct context *context = explanation->context;
    uint64_t id = 0;
    if (campaign) {
        explanation->named = true;
        if (!campaign_find(context->store, campaign, &id, error))
            return false;
    } else if (explanation->signatures.n > 0) {
        if (!store_lookup(context->store, &explanation->signatures, &context->rule, &explanation->match,
                          error))
            return false;
        id = explanation->match.campaign;
    }
    if (explanation->signatures.n > 0) {
        explanation->ours = explanation->signatures.v[0];
        explanation->view = explanation->ours.view;
    }
    if (id && !read_campaign(explanation, id, error))
        return false;
    fill_terms(explanation);
    return true;
}

/* --- the sentence ------------------------------------------------------------------------------- */

static char *why_not_similar(const struct explanation *explanation)
{
    const struct signature_rule *rule = &explanation->context->rule;
    const struct signature_likeness *likeness = &explanation->likeness;
    if (likeness->shared + likeness->odd < rule->min_shared)
        return g_strdup_printf(
            "Not recognised: %u of %u lexicons and %u odd words agree with the campaign, and %u must.",
            likeness->shared, explanation->ours.n_lex, likeness->odd, rule->min_shared);
    if (likeness->similarity + 0.005 < rule->tag)
        return g_strdup_printf("Not recognised: the similarity of %.2f is below the %.2f that tags.",
                               likeness->similarity, rule->tag);
    if (explanation->view == MESSAGE_FULL)
        return g_strdup_printf(
            "Not recognised: only the text with its footer is similar (%.2f), and there the %.2f "
            "that rejects is needed.",
            likeness->similarity, rule->reject);
    return g_strdup_printf(
        "Not recognised: the similarity of %.2f would do, but texts of %u and %u terms are too "
        "different in length to be the same mail.",
        likeness->similarity, explanation->ours.terms, explanation->theirs.terms);
}

static char *why_similar(const struct explanation *explanation)
{
    const struct signature_rule *rule = &explanation->context->rule;
    const struct store_campaign *campaign = &explanation->campaign;
    double similarity = explanation->likeness.similarity;
    bool reject = explanation->likeness.level == SIGNATURE_REJECT;
    if (campaign->state == STORE_ALLOWED)
        return g_strdup_printf("Not acted on: it resembles (%.2f) something that is allowed.", similarity);
    if (campaign->state == STORE_CANDIDATE)
        return g_strdup_printf(
            "Not acted on: it resembles the campaign (%.2f), but that is only a candidate: "
            "%u of %u reporters have confirmed it.",
            similarity, campaign->reporters, explanation->context->config->report.quorum);
    if (campaign->state == STORE_REVOKED)
        return g_strdup_printf("Not acted on: it resembles the campaign (%.2f), but that was revoked.",
                               similarity);
    g_autofree char *proposers =
        explanation->likeness.shared > 0
            ? g_strdup_printf("%u of %u lexicons", explanation->likeness.shared, explanation->ours.n_lex)
            : g_strdup("odd words");
    return g_strdup_printf("Recognised: %s proposed the campaign, and the similarity of %.2f is at least "
                           "the %.2f that %s.",
                           proposers, similarity, reject ? rule->reject : rule->tag,
                           reject ? "rejects" : "tags");
}

char *explain_sentence(const struct explanation *explanation)
{
    if (explanation->signatures.n == 0)
        return g_strdup_printf(
            "Not recognised: %u words that count are too few to tell it from other mail; %u are "
            "needed.",
            explanation->n_used, MAX(explanation->context->config->match.min_terms, SIGNATURE_MIN_TERMS));
    if (!explanation->found && explanation->named)
        return g_strdup("Not recognised: the message and the campaign have no view in common.");
    if (!explanation->found)
        return g_strdup("Not recognised: no lexicon and no odd word agrees with any campaign.");
    if (explanation->likeness.level == SIGNATURE_STRANGER)
        return why_not_similar(explanation);
    return why_similar(explanation);
}
