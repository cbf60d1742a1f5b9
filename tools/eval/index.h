/*
 * The store's recognition in memory: K exact look-ups propose, the 32 that most lexicons agree on are
 * verified. The same rules and the same caps as store/, without a server, for hundreds of thousands of
 * look-ups a minute. Adding is for one thread; looking up for many.
 */
#ifndef TOOLS_EVAL_INDEX_H
#define TOOLS_EVAL_INDEX_H

#include "tools/eval/collection.h"

struct eval_index;

struct eval_index *eval_index_new(void);
void eval_index_add(struct eval_index *index, const struct eval_mail *prototype);
void eval_index_free(struct eval_index **index);

/*
 * How strongly a message resembles the prototypes: the highest similarity setting that still accepts it,
 * 0 when nothing does. The same for rejecting: not every view may reject, and some may do nothing else.
 */
struct eval_answer {
    double tag, reject;
    const struct eval_mail *prototype; /* the strongest one, NULL: none was proposed */
    struct signature_likeness likeness;
    enum message_view view;
    unsigned proposed;
};

struct eval_answer eval_index_find(const struct eval_index *index, const struct eval_mail *mail);

/* Is it recognised under these settings? */
bool eval_tagged(const struct eval_answer *answer, const struct signature_rule *rule);
bool eval_rejected(const struct eval_answer *answer, const struct signature_rule *rule);

#endif
