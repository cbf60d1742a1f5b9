/*
 * extract ─▶ sign ─▶ look up: from a collected mail to the facts that decide() needs.
 */
#ifndef MILTER_SCAN_H
#define MILTER_SCAN_H

#include "milter/decide.h"
#include "milter/filter.h"
#include "milter/session.h"

struct scan {
    struct facts facts;
    struct signature_set signatures; /* n = 0: none were made */
    unsigned cut;                    /* enum message_cut */
    unsigned terms;                  /* of the view that matched, or of the first */
};

void scan_mail(struct filter *filter, const struct session *session, struct scan *out);

/*
 * Mail to a trap becomes a report. Returns what the store made of it, for the log; NULL when there is
 * nothing to report.
 */
const char *scan_report_trap(struct filter *filter, const struct session *session, const struct scan *scan,
                             uint64_t *campaign_out);

#endif
