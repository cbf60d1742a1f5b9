#include "signature/signature.h"

#include <string.h>

#include "signature/select.h"
#include "signature/simhash.h"

/* A digest is one exact key: no sketch, nothing to rank. */
static bool sign_part(const struct lexicon *lexicon, struct terms terms, struct signature *out)
{
    if (terms.n == 0)
        return false;
    *out =
        (struct signature) { .lexicon = lexicon_id(lexicon), .view = MESSAGE_PART, .n_lex = 1, .terms = 1 };
    out->lex[0] = terms.v[0].hash ? terms.v[0].hash : 1;
    return true;
}

/* The low bits of a rank: the high ones are small in all that are kept. */
static uint32_t odd_word(uint64_t rank)
{
    return MAX((uint32_t)rank & 0xffffff, 1);
}

uint32_t signature_odd_of(const struct lexicon *lexicon, uint64_t term_hash)
{
    return odd_word(select_odd_rank(term_hash, lexicon_sketch_key(lexicon)));
}

/* Footers have the names of lists and providers: only the body's words tell. */
static void sign_odd(const struct selection *selection, struct signature *out)
{
    if (out->view != MESSAGE_BODY)
        return;
    for (unsigned i = 0; i < selection->n_odd; i++)
        out->odd[i] = odd_word(selection->odd[i]);
}

static bool sign_terms(const struct lexicon *lexicon, enum message_view view, struct terms terms,
                       uint32_t min_terms, bool *foreign, struct signature *out)
{
    struct selection selection;
    select_terms(lexicon, terms, *foreign, &selection);
    *foreign = selection.foreign && terms.n >= SIGNATURE_MIN_TERMS;
    bool enough = selection.n >= min_terms;
    if (enough) {
        memset(out, 0, sizeof *out);
        out->lexicon = lexicon_id(lexicon);
        out->view = view;
        out->terms = (uint16_t)MIN(selection.n, UINT16_MAX);
        out->n_lex = (uint16_t)select_hashes(lexicon, &selection, out->lex);
        sign_odd(&selection, out);
        simhash_sketch(selection.hash, selection.n, lexicon_sketch_key(lexicon), out->sketch);
    }
    select_free(&selection);
    return enough;
}

bool signature_make(const struct lexicon *lexicon, enum message_view view, struct terms terms,
                    struct signature *out)
{
    bool foreign = false;
    return view == MESSAGE_PART ? sign_part(lexicon, terms, out)
                                : sign_terms(lexicon, view, terms, SIGNATURE_MIN_TERMS, &foreign, out);
}

/*
 * More words unknown than known: either gibberish among some words, or some words in a text of a language
 * that the lexicon does not know. The body is signed as if it were the first; all of its terms, as the full
 * view, find the second.
 */
static void sign_doubtful(const struct lexicon *lexicon, struct terms terms, uint32_t fewest,
                          struct signature_set *out)
{
    bool foreign = true;
    if (out->n == 1 && out->v[0].terms * 2u < terms.n &&
        sign_terms(lexicon, MESSAGE_FULL, terms, fewest, &foreign, &out->v[1]))
        out->n++;
}

void signature_make_all(const struct lexicon *lexicon, const struct message *message, unsigned min_terms,
                        struct signature_set *out)
{
    out->n = 0;
    uint32_t fewest = MAX(min_terms, SIGNATURE_MIN_TERMS);
    /*
     * The body decides about the language of the full view too: of a foreign text with a footer in a known
     * language only the footer would be left.
     */
    bool foreign = false;
    for (unsigned view = 0; view < MESSAGE_VIEWS; view++) {
        struct terms terms = message->view[view];
        struct signature *signature = &out->v[out->n];
        if (view == MESSAGE_PART ? sign_part(lexicon, terms, signature)
                                 : sign_terms(lexicon, view, terms, fewest, &foreign, signature))
            out->n++;
        if (view == MESSAGE_BODY && !foreign && message->view[MESSAGE_FULL].n == 0)
            sign_doubtful(lexicon, terms, fewest, out);
    }
}

bool signature_set_is_prototype(const struct signature_set *set)
{
    for (unsigned i = 0; i < set->n; i++)
        if (set->v[i].view != MESSAGE_FULL)
            return true;
    return false;
}

bool signature_equal(const struct signature *a, const struct signature *b)
{
    return a->lexicon == b->lexicon && a->view == b->view && a->terms == b->terms && a->n_lex == b->n_lex &&
           memcmp(a->odd, b->odd, sizeof a->odd) == 0 &&
           memcmp(a->lex, b->lex, a->n_lex * sizeof *a->lex) == 0 &&
           memcmp(a->sketch, b->sketch, sizeof a->sketch) == 0;
}

uint32_t signature_uses(const struct lexicon *lexicon, struct terms terms, enum signature_use *use_out)
{
    struct selection selection;
    select_terms(lexicon, terms, false, &selection);
    for (uint32_t i = 0; i < terms.n; i++)
        use_out[i] = SIGNATURE_UNUSED;
    for (uint32_t i = 0; i < selection.n; i++) {
        bool common = selection.entry[i].classes & LEXICON_COMMON;
        use_out[selection.index[i]] = common ? SIGNATURE_COMMON : SIGNATURE_USED;
    }
    uint32_t used = selection.n;
    select_free(&selection);
    return used;
}

uint32_t signature_signers(const struct lexicon *lexicon, struct terms terms, unsigned i, uint32_t *index_out,
                           uint32_t max)
{
    struct selection selection;
    select_terms(lexicon, terms, false, &selection);
    uint32_t n = select_signers(lexicon, &selection, i, index_out, max);
    for (uint32_t j = 0; j < n; j++)
        index_out[j] = selection.index[index_out[j]];
    select_free(&selection);
    return n;
}
