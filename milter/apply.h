/*
 * The decision, told to the MTA: headers, quarantine, reply. The last of the five steps, and with filter.c
 * the only code that speaks libmilter.
 */
#ifndef MILTER_APPLY_H
#define MILTER_APPLY_H

#include <libmilter/mfapi.h>

#include "milter/scan.h"

/* Returns what the end-of-message callback returns. The action becomes tag where the MTA offers no
 * quarantine. */
sfsistat apply_decision(SMFICTX *ctx, const struct session *session, const struct scan *scan,
                        struct decision *decision);

#endif
