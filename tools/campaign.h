/*
 * Campaigns as the commands name, select and print them.
 */
#ifndef TOOLS_CAMPAIGN_H
#define TOOLS_CAMPAIGN_H

#include "tools/context.h"
#include "tools/json.h"

#define CAMPAIGN_ID 17 /* 16 hex digits and the NUL */

/* Returns the buffer. */
char *campaign_id_print(uint64_t id, char out[CAMPAIGN_ID]);

/*
 * A campaign as the user names it: its 16 hex digits, or the first 4 or more of them where only one
 * campaign begins so.
 */
bool campaign_find(struct store *store, const char *name, uint64_t *id_out, GError **error);

/* A campaign without its reporters' names: small enough to keep a million of them. */
struct campaign_row {
    uint64_t id;
    enum store_state state;
    const char *label, *source; /* in the list's own memory */
    int64_t first, last;
    uint64_t reports, hits;
    uint32_t reporters, variants;
    uint32_t days[STORE_DAYS];
};

enum campaign_sort { CAMPAIGN_BY_LAST, CAMPAIGN_BY_FIRST, CAMPAIGN_BY_HITS };

struct campaign_filter {
    const char *label, *source; /* NULL: any; the label by a part of it, whatever the case */
    int state;                  /* enum store_state, -1: any */
    enum campaign_sort sort;
    size_t limit; /* 0: none; otherwise only as many are kept at any time */
};

struct campaign_list {
    GArray *rows; /* of struct campaign_row */
    GStringChunk *names;
    size_t matched; /* with those over the limit */
};

bool campaign_list_read(struct store *store, const struct campaign_filter *filter, struct campaign_list *out,
                        GError **error);
void campaign_list_clear(struct campaign_list *list);

/* The table of `list` and of `stats`. */
void campaign_list_print(const struct campaign_list *list);

/* The members of a JSON object that list and show have in common. */
void campaign_row_json(struct json *json, const struct campaign_row *row);

/* A row over a campaign; its strings are the campaign's. */
struct campaign_row campaign_row_of(const struct store_campaign *campaign);

/* "active", … ; -1 when there is no such state. */
int campaign_state_parse(const char *name);

/* A line on stderr when this lexicon has no campaigns while others have: the wrong one is in use. */
void campaign_warn_other_lexicon(struct store *store);

#endif
