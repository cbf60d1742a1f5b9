#include <stdio.h>
#include <stdlib.h>

#include "tools/campaign.h"
#include "tools/explain_internal.h"
#include "tools/json.h"
#include "tools/output.h"

static const char *const use_names[] = { "not in the lexicon", "yes", "common" };

/* --- text --------------------------------------------------------------------------------------- */

/* Those that sign most lexicons first, then the rare before the common. */
static int compare_terms(const void *left, const void *right)
{
    const struct explained_term *a = *(const struct explained_term *const *)left;
    const struct explained_term *b = *(const struct explained_term *const *)right;
    int agreed = __builtin_popcountll(b->agreed) - __builtin_popcountll(a->agreed);
    int lexicons = __builtin_popcountll(b->lexicons) - __builtin_popcountll(a->lexicons);
    int odd = b->odd - a->odd;
    int used = (b->use != SIGNATURE_UNUSED) - (a->use != SIGNATURE_UNUSED);
    int rare = (b->nidf > a->nidf) - (b->nidf < a->nidf);
    int order = agreed ? agreed : lexicons ? lexicons : odd ? odd : used ? used : rare;
    return order ? order : (a->term > b->term) - (a->term < b->term);
}

static const struct output_column columns[] = {
    { "TERM", false, true, 0 },   { "COUNTS", false, false, 0 },  { "WEIGHT", true, false, 1 },
    { "RARITY", true, false, 2 }, { "LEXICONS", false, true, 0 }, { "AGREED", false, true, 0 },
};

static void append_bits(GString *out, uint64_t bits)
{
    if (!bits)
        g_string_append_c(out, '-');
    for (unsigned k = 0; bits; k++, bits >>= 1)
        if (bits & 1)
            g_string_append_printf(out, "%s%u", out->len ? " " : "", k + 1);
}

static void cell(void *user, size_t row, unsigned column, GString *out)
{
    const struct explained_term *term = ((const struct explained_term **)user)[row];
    g_autofree char *text = NULL;
    switch (column) {
    case 0:
        text = output_safe(term->term->text);
        g_string_append(out, text);
        break;
    case 1:
        g_string_append(out, term->odd ? "odd, in both" : use_names[term->use]);
        break;
    case 2:
        g_string_append(out, term->use == SIGNATURE_UNUSED ? "0" : "1");
        break;
    case 3:
        g_string_append_printf(out, term->known ? "%.2f" : "-", term->nidf);
        break;
    case 4:
        append_bits(out, term->lexicons);
        break;
    default:
        append_bits(out, term->agreed);
        break;
    }
}

static void print_terms(const struct explanation *explanation)
{
    uint32_t n = explanation->n_terms;
    if (n == 0 || explanation->view == MESSAGE_PART)
        return;
    g_autofree const struct explained_term **order = g_new(const struct explained_term *, n);
    for (uint32_t i = 0; i < n; i++)
        order[i] = &explanation->terms[i];
    qsort(order, n, sizeof *order, compare_terms);
    output_table(columns, G_N_ELEMENTS(columns), n, cell, order);
    putchar('\n');
}

static void print_message(const struct explanation *explanation)
{
    g_autofree char *path = output_safe(explanation->path);
    g_autoptr(GString) views = g_string_new(NULL);
    for (unsigned i = 0; i < explanation->signatures.n; i++)
        g_string_append_printf(views, "%s%s (%u)", i ? ", " : "",
                               message_view_name(explanation->signatures.v[i].view),
                               explanation->signatures.v[i].terms);
    const char *cut = message_cut_names(explanation->arena, explanation->message->cut);
    output_pair("message", "%s", path);
    output_pair("views", "%s", views->len ? views->str : "none: too few words");
    output_pair("terms", "%u, of which %u count", explanation->n_terms, explanation->n_used);
    if (*cut)
        output_pair("cut off", "by the limits: %s", cut);
}

static void print_campaign(const struct explanation *explanation)
{
    const struct signature_likeness *likeness = &explanation->likeness;
    const struct signature_rule *rule = &explanation->context->rule;
    const struct store_campaign *campaign = &explanation->campaign;
    char id[CAMPAIGN_ID];
    if (!explanation->found)
        return;
    g_autofree char *label = output_safe(campaign->label);
    output_pair("campaign", "%s%s%s, %s%s%s", output_colour(OUTPUT_BOLD), campaign_id_print(campaign->id, id),
                output_plain(), store_state_name(campaign->state), *label ? ", " : "", label);
    output_pair("compared", "%s view, variant %u of %u", message_view_name(explanation->view),
                explanation->variant, explanation->variants);
    output_pair("lexicons", "%u of %u agree (at least %u must, or odd words)", likeness->shared,
                explanation->ours.n_lex, rule->min_shared);
    if (likeness->odd > 0)
        output_pair("odd words", "%u in both, worth %.2f (never to a reject)", likeness->odd,
                    signature_odd_credit(likeness->odd));
    output_pair("lengths", "%u and %u terms", explanation->ours.terms, explanation->theirs.terms);
    output_pair("distance", "%u of %d bits", likeness->distance, SIGNATURE_BITS);
    output_pair("similarity", "%.2f (tags at %.2f, rejects at %.2f)", likeness->similarity, rule->tag,
                rule->reject);
}

void explain_text(const struct explanation *explanation)
{
    static const enum output_colour colours[] = { OUTPUT_GREEN, OUTPUT_YELLOW, OUTPUT_RED };
    bool acts = explanation->found && explanation->campaign.state == STORE_ACTIVE;
    g_autofree char *sentence = explain_sentence(explanation);
    print_message(explanation);
    print_campaign(explanation);
    putchar('\n');
    print_terms(explanation);
    printf("%s%s%s\n", output_colour(colours[acts ? explanation->likeness.level : SIGNATURE_STRANGER]),
           sentence, output_plain());
}

/* --- JSON --------------------------------------------------------------------------------------- */

static void json_bits(struct json *json, const char *key, uint64_t bits)
{
    json_open(json, key, '[');
    for (unsigned k = 0; bits; k++, bits >>= 1)
        if (bits & 1)
            json_uint(json, NULL, k + 1);
    json_close(json, ']');
}

static void json_terms(struct json *json, const struct explanation *explanation)
{
    json_open(json, "terms", '[');
    for (uint32_t i = 0; explanation->view != MESSAGE_PART && i < explanation->n_terms; i++) {
        const struct explained_term *term = &explanation->terms[i];
        json_open(json, NULL, '{');
        json_string(json, "term", term->term->text);
        json_bool(json, "known", term->known);
        json_bool(json, "common", term->use == SIGNATURE_COMMON);
        json_uint(json, "weight", term->use != SIGNATURE_UNUSED);
        json_real(json, "nidf", term->nidf, 4);
        json_bits(json, "lexicons", term->lexicons);
        json_bits(json, "agreed", term->agreed);
        json_bool(json, "odd", term->odd);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_campaign(struct json *json, const struct explanation *explanation)
{
    const struct signature_likeness *likeness = &explanation->likeness;
    json_string(json, "state", store_state_name(explanation->campaign.state));
    json_string(json, "label", explanation->campaign.label);
    json_uint(json, "variant", explanation->variant);
    json_uint(json, "shared", likeness->shared);
    json_uint(json, "of", explanation->ours.n_lex);
    json_uint(json, "odd", likeness->odd);
    json_uint(json, "distance", likeness->distance);
    json_real(json, "similarity", likeness->similarity, 4);
    json_uint(json, "campaign_terms", explanation->theirs.terms);
}

void explain_json(const struct explanation *explanation)
{
    static const char *const levels[] = { NULL, "tag", "reject" };
    g_autofree char *sentence = explain_sentence(explanation);
    bool acts = explanation->found && explanation->campaign.state == STORE_ACTIVE;
    struct json *json = json_new();
    json_open(json, NULL, '{');
    json_string(json, "path", explanation->path);
    json_string(json, "verdict",
                explanation->signatures.n == 0                              ? "unscannable"
                : acts && explanation->likeness.level != SIGNATURE_STRANGER ? "match"
                                                                            : "clean");
    json_string(json, "level", acts ? levels[explanation->likeness.level] : NULL);
    json_hex(json, "campaign", explanation->found ? explanation->campaign.id : 0);
    if (explanation->found)
        json_campaign(json, explanation);
    json_string(json, "view", explanation->signatures.n ? message_view_name(explanation->view) : NULL);
    json_real(json, "tag", explanation->context->rule.tag, 2);
    json_real(json, "reject", explanation->context->rule.reject, 2);
    json_string(json, "why", sentence);
    json_terms(json, explanation);
    json_close(json, '}');
    json_print(&json);
}
