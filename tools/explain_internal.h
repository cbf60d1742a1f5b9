/*
 * What an explanation knows, shared by its making (explain.c) and its printing (explain_print.c).
 */
#ifndef TOOLS_EXPLAIN_INTERNAL_H
#define TOOLS_EXPLAIN_INTERNAL_H

#include "base/arena.h"
#include "tools/explain.h"

struct explained_term {
    const struct term *term;
    enum signature_use use;
    bool known;
    double nidf;       /* 0 common … 1 rare */
    uint64_t lexicons; /* bit k: it signs lexicon k (the first 64) */
    uint64_t agreed;   /* those of them that the campaign has too */
    bool odd;          /* an odd word that the campaign has too */
};

struct explanation {
    const struct context *context;
    const char *path;
    struct arena *arena;
    const struct message *message;
    struct signature_set signatures;

    bool found; /* there is a campaign to compare with */
    struct store_campaign campaign;
    struct store_match match;      /* what a look-up says; without a named campaign */
    bool named;                    /* the campaign was given by the user */
    unsigned variant, variants;    /* the nearest one, from 1 */
    struct signature ours, theirs; /* of the view that decides */
    struct signature_likeness likeness;

    enum message_view view; /* whose terms are shown */
    struct explained_term *terms;
    uint32_t n_terms, n_used;
};

/* The sentence at the end; free it with g_free(). */
char *explain_sentence(const struct explanation *explanation);

#endif
