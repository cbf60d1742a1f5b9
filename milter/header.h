/*
 * The texts that leave this program: header values and SMTP replies. Pure functions; results live in the
 * arena.
 */
#ifndef MILTER_HEADER_H
#define MILTER_HEADER_H

#include "base/arena.h"
#include "base/config.h"
#include "milter/decide.h"

#define HEADER_MARK   "X-Refrain" /* also the prefix of all names that only we may write */
#define HEADER_FLAG   "X-Spam-Flag"
#define CAMPAIGN_TEXT 17 /* 16 hex digits and a NUL */

/* Is this a header name that only we may write? Case does not matter. */
bool header_is_ours(const char *name);

/* The campaign's id as people see it. */
char *campaign_text(uint64_t campaign, char out[CAMPAIGN_TEXT]);

/*
 * "match; campaign=…; similarity=0.87; action=tag", folded; NULL for MARK_NONE. A MTA that keeps leading
 * spaces (SMFIP_HDR_LEADSPC) gets the one behind the colon from us.
 */
const char *header_mark(struct arena *arena, const struct decision *decision, const struct store_match *match,
                        bool leading_space);

/*
 * Folds a header value at its spaces, with LF and the space itself, so that no line is longer than 78
 * characters where that is possible. The name's length counts for the first line.
 */
const char *header_fold(struct arena *arena, const char *name, const char *value);

/* The subject with the prefix before it, once; the value as it came, folds and all. NULL: has it already. */
const char *header_subject(struct arena *arena, const char *prefix, const char *value, bool leading_space);

/*
 * The text of a reply with the campaign filled in. Percent signs are doubled: MTAs read it as a format,
 * and undo that.
 */
const char *header_reply_text(struct arena *arena, const char *text, uint64_t campaign);

#endif
