/*
 * How well does a lexicon know a language?
 *
 *      strangers LEXICON FILE...      plain text, twenty lines are a document
 *
 * Says how many terms of a document the lexicon knows and calls common, how many of 1,000 other documents
 * are proposed for one (they are strangers: each has to be fetched and refused), how many pairs are taken for
 * each other (each is a mistake, unless the texts really repeat each other), and how many documents are still
 * recognised when three in ten of their terms are replaced by terms of another one.
 * Not a test: it needs a corpus. lexicon/README.md has figures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "lexicon/lexicon.h"
#include "message/message.h"
#include "message/source.h"
#include "message/tokens.h"
#include "signature/signature.h"

#define GROUP    20
#define MOST     1001
#define REPLACED 0.3

struct documents {
    struct terms v[MOST];
    struct signature signature[MOST];
    unsigned n;
};

static void add(struct documents *d, const struct lexicon *lexicon, struct terms terms)
{
    if (d->n < MOST && signature_make(lexicon, MESSAGE_BODY, terms, &d->signature[d->n]))
        d->v[d->n++] = terms;
}

static void read_documents(struct arena *arena, const struct lexicon *lexicon, char **paths,
                           struct documents *d)
{
    struct message_source *source = message_source_new(paths, MESSAGE_SOURCE_LINES, 0);
    struct message_source_item *item;
    for (; (item = message_source_next(source)); message_source_item_free(item)) {
        struct tokens *tokens = NULL;
        const char *line;
        size_t at = 0, n;
        for (unsigned lines = 0; item->data && message_source_line(item, &at, &line, &n); lines++) {
            if (lines % GROUP == 0) {
                if (tokens)
                    add(d, lexicon, tokens_terms(tokens));
                tokens = tokens_new(arena, lexicon_key(lexicon), message_default_limits.terms);
            }
            tokens_add_text(tokens, line, n);
        }
    }
    message_source_free(&source);
}

static void print_known(const struct lexicon *lexicon, const struct documents *d)
{
    double terms = 0, known = 0, common = 0;
    for (unsigned i = 0; i < d->n; i++)
        for (uint32_t t = 0; t < d->v[i].n; t++) {
            struct lexicon_entry e;
            bool found = lexicon_find(lexicon, d->v[i].v[t].hash, &e);
            terms++;
            known += found;
            common += found && e.classes & LEXICON_COMMON;
        }
    printf("%u documents  %.0f terms each  known %.0f %%  common %.0f %%", d->n, terms / d->n,
           100 * known / terms, 100 * common / terms);
}

static void print_proposals(const struct documents *d)
{
    double proposed = 0;
    unsigned taken = 0;
    for (unsigned i = 0; i < d->n; i++)
        for (unsigned j = 0; j < d->n; j++) {
            const struct signature *a = &d->signature[i], *b = &d->signature[j];
            proposed += i != j && signature_shared(a, b) > 0;
            taken += i < j && signature_compare(a, b, &signature_default_rule).level != SIGNATURE_STRANGER;
        }
    printf("  proposed %.1f of 1000  taken for each other %u of %u pairs",
           proposed / d->n / (d->n - 1) * 1000, taken, d->n * (d->n - 1) / 2);
}

/* Every i-th term comes from another document, chosen by a hash so that it is the same on each run. */
static void print_recognised(struct arena *arena, const struct lexicon *lexicon, const struct documents *d)
{
    unsigned recognised = 0;
    for (unsigned i = 0; i < d->n; i++) {
        struct terms own = d->v[i], other = d->v[(i + d->n / 2) % d->n];
        struct term *v = ARENA_ARRAY(arena, struct term, own.n);
        for (uint32_t t = 0; t < own.n; t++) {
            bool replace = (double)(hash_mix(t + 1000003u * i) >> 11) * 0x1p-53 < REPLACED;
            v[t] = replace && t < other.n ? other.v[t] : own.v[t];
        }
        struct signature changed;
        struct signature_likeness like = { 0 };
        if (signature_make(lexicon, MESSAGE_BODY, (struct terms) { v, own.n }, &changed))
            like = signature_compare(&changed, &d->signature[i], &signature_default_rule);
        recognised += like.level != SIGNATURE_STRANGER;
    }
    printf("  recognised %.0f %%\n", 100.0 * recognised / d->n);
}

int main(int argc, char **argv)
{
    GError *error = NULL;
    message_init();
    struct lexicon *lexicon = argc > 2 ? lexicon_open(argv[1], &error) : NULL;
    if (!lexicon) {
        fprintf(stderr, "strangers: %s\n", error ? error->message : "usage: strangers LEXICON FILE...");
        return 2;
    }
    struct arena *arena = arena_new();
    struct documents *d = g_new0(struct documents, 1);
    read_documents(arena, lexicon, argv + 2, d);
    if (d->n > 1) {
        print_known(lexicon, d);
        print_proposals(d);
        print_recognised(arena, lexicon, d);
    }
    return 0;
}
