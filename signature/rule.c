#include <math.h>

#include "signature/signature.h"

/* With fewer terms than this, each missing one counts like a bit of distance. */
#define ENOUGH_TERMS 40

/* Windows of one text overlap, so that strangers share more of them than words: a bit weighs more. */
#define SHORT_STRICTNESS 0.78

/* Each odd word in common is worth so much similarity, and so many count. */
#define ODD_CREDIT 0.04
#define ODD_MOST   4u

const struct signature_rule signature_default_rule = { .tag = 0.53, .reject = 0.71, .min_shared = 1 };

unsigned signature_hamming(const struct signature *a, const struct signature *b)
{
    unsigned distance = 0;
    for (unsigned i = 0; i < SIGNATURE_WORDS; i++)
        distance += (unsigned)__builtin_popcountll(a->sketch[i] ^ b->sketch[i]);
    return distance;
}

unsigned signature_shared(const struct signature *a, const struct signature *b)
{
    unsigned shared = 0;
    for (unsigned i = 0; i < MIN(a->n_lex, b->n_lex); i++)
        shared += a->lex[i] != 0 && a->lex[i] == b->lex[i];
    return shared;
}

unsigned signature_n_odd(const struct signature *signature)
{
    unsigned n = 0;
    while (n < SIGNATURE_ODD && signature->odd[n])
        n++;
    return n;
}

/* Among the first n? */
static bool is_odd_word(const struct signature *signature, unsigned n, uint32_t word)
{
    for (unsigned i = 0; i < n && signature->odd[i]; i++)
        if (signature->odd[i] == word)
            return true;
    return false;
}

/* One that is there twice, as an import may have it, is one word. */
unsigned signature_shared_odd(const struct signature *a, const struct signature *b)
{
    unsigned shared = 0;
    for (unsigned i = 0; i < SIGNATURE_ODD && a->odd[i]; i++)
        if (is_odd_word(b, SIGNATURE_ODD, a->odd[i]) && !is_odd_word(a, i, a->odd[i]))
            shared++;
    return shared;
}

/* One word in common may be the name of the company that both write about; two are hardly ever. */
double signature_odd_credit(unsigned shared)
{
    return shared < 2 ? 0 : ODD_CREDIT * MIN(shared, ODD_MOST);
}

static double cosine(double distance)
{
    return distance >= SIGNATURE_BITS / 2 ? 0 : cos(G_PI * distance / SIGNATURE_BITS);
}

double signature_similarity(unsigned distance)
{
    return cosine(distance);
}

static double two_decimals(double similarity)
{
    return round(similarity * 100) / 100;
}

unsigned signature_distance(double similarity)
{
    unsigned distance = (unsigned)(acos(CLAMP(similarity, 0, 1)) / G_PI * SIGNATURE_BITS);
    while (two_decimals(cosine(distance + 1)) >= two_decimals(similarity) && distance < SIGNATURE_BITS / 2)
        distance++;
    return distance;
}

static double distance_that_counts(const struct signature *a, const struct signature *b, unsigned distance)
{
    unsigned fewer = MIN(a->terms, b->terms);
    if (a->view == MESSAGE_PART)
        return 0;
    double counted = distance + (fewer < ENOUGH_TERMS ? ENOUGH_TERMS - fewer : 0);
    return a->view == MESSAGE_SHORT ? counted / SHORT_STRICTNESS : counted;
}

/* Sets of very different sizes cannot have the cosine that the threshold stands for. */
static bool lengths_agree(const struct signature *a, const struct signature *b, double threshold)
{
    double ratio = (double)MIN(a->terms, b->terms) / MAX(MAX(a->terms, b->terms), 1);
    double least = cosine(signature_distance(threshold));
    return ratio >= least * least - 1e-9; /* half is half, whatever cos² rounds to */
}

static bool reaches(const struct signature *a, const struct signature *b, double similarity, double threshold)
{
    return two_decimals(similarity) >= two_decimals(threshold) && lengths_agree(a, b, threshold);
}

static enum signature_level level_of(const struct signature *a, const struct signature *b, double similarity,
                                     const struct signature_rule *rule)
{
    /* A digest says that a picture came again, not that the mail did; below 40 windows neither does much. */
    bool may_reject =
        a->view != MESSAGE_PART && (a->view != MESSAGE_SHORT || MIN(a->terms, b->terms) >= ENOUGH_TERMS);
    if (may_reject && reaches(a, b, similarity, rule->reject))
        return SIGNATURE_REJECT;
    /* Below a footer line strangers share boilerplate: there only nearly the same text counts. */
    if (a->view != MESSAGE_FULL && reaches(a, b, similarity, rule->tag))
        return SIGNATURE_TAG;
    return SIGNATURE_STRANGER;
}

/* Odd words say that the campaign is the same, not that the text nearly is: they never lift to a reject. */
static double with_credit(double similarity, unsigned odd, const struct signature_rule *rule)
{
    double most = MAX(similarity, rule->reject - 0.01);
    return MIN(similarity + signature_odd_credit(odd), most);
}

struct signature_likeness signature_compare(const struct signature *a, const struct signature *b,
                                            const struct signature_rule *rule)
{
    struct signature_likeness likeness = { .level = SIGNATURE_STRANGER, .distance = SIGNATURE_BITS };
    if (a->lexicon != b->lexicon || a->view != b->view)
        return likeness;
    likeness.shared = signature_shared(a, b);
    likeness.odd = signature_shared_odd(a, b);
    likeness.distance = signature_hamming(a, b);
    if (a->view == MESSAGE_PART && likeness.shared == 0)
        likeness.distance = SIGNATURE_BITS;
    else
        likeness.similarity =
            with_credit(cosine(distance_that_counts(a, b, likeness.distance)), likeness.odd, rule);
    if (likeness.shared + likeness.odd >= rule->min_shared)
        likeness.level = level_of(a, b, likeness.similarity, rule);
    return likeness;
}

bool signature_closer(const struct signature_likeness *a, const struct signature_likeness *b)
{
    if (a->level != b->level)
        return a->level > b->level;
    if (a->similarity != b->similarity)
        return a->similarity > b->similarity;
    return a->distance != b->distance ? a->distance < b->distance : a->shared > b->shared;
}

unsigned signature_family(enum message_view view)
{
    return view == MESSAGE_FULL ? MESSAGE_BODY : view;
}

static const struct signature *find_view(const struct signature_set *set, enum message_view view)
{
    for (unsigned i = 0; i < set->n; i++)
        if (set->v[i].view == view)
            return &set->v[i];
    return NULL;
}

static bool mostly_footer(const struct signature_set *set)
{
    const struct signature *body = find_view(set, MESSAGE_BODY), *full = find_view(set, MESSAGE_FULL);
    return full && (!body || body->terms * 3u < full->terms * 2u);
}

/* The signature over all of the text: where there is no footer that is the body's. */
static const struct signature *whole_text(const struct signature_set *set)
{
    const struct signature *full = find_view(set, MESSAGE_FULL);
    return full ? full : find_view(set, MESSAGE_BODY);
}

struct closest {
    struct signature_likeness likeness;
    struct signature_pair pair;
};

static void consider(struct closest *closest, const struct signature *message,
                     const struct signature *prototype, enum message_view view,
                     const struct signature_rule *rule)
{
    if (!message || !prototype)
        return;
    struct signature a = *message, b = *prototype;
    a.view = b.view = view;
    /*
     * Boilerplate is what two footers share: a prototype without one is compared like a body. But its footer
     * may have no line above it, so the message must say more than footers do.
     */
    if (view == MESSAGE_FULL && message->terms >= ENOUGH_TERMS)
        a.view = b.view = prototype->view;
    struct signature_likeness likeness = signature_compare(&a, &b, rule);
    if (closest->pair.message && !signature_closer(&likeness, &closest->likeness))
        return;
    closest->likeness = likeness;
    closest->pair = (struct signature_pair) { message, prototype, view };
}

struct signature_likeness signature_compare_sets(const struct signature_set *message,
                                                 const struct signature_set *prototype,
                                                 const struct signature_rule *rule,
                                                 struct signature_pair *pair_out)
{
    static const enum message_view same[] = { MESSAGE_BODY, MESSAGE_SHORT, MESSAGE_PART };
    struct closest closest = { .likeness = { .level = SIGNATURE_STRANGER, .distance = SIGNATURE_BITS } };
    for (unsigned i = 0; i < G_N_ELEMENTS(same); i++)
        consider(&closest, find_view(message, same[i]), find_view(prototype, same[i]), same[i], rule);
    bool footer = find_view(message, MESSAGE_FULL) || find_view(prototype, MESSAGE_FULL);
    if (footer && !mostly_footer(prototype))
        consider(&closest, whole_text(message), whole_text(prototype), MESSAGE_FULL, rule);
    if (pair_out)
        *pair_out = closest.pair;
    return closest.likeness;
}
