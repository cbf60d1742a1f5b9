#include "tools/campaign.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tools/output.h"

char *campaign_id_print(uint64_t id, char out[CAMPAIGN_ID])
{
    g_snprintf(out, CAMPAIGN_ID, "%016" G_GINT64_MODIFIER "x", id);
    return out;
}

/* --- by name ------------------------------------------------------------------------------------ */

struct prefix {
    uint64_t value, mask;
    uint64_t found;
    unsigned matches;
};

static bool match_prefix(const struct store_campaign *campaign, void *user)
{
    struct prefix *prefix = user;
    if ((campaign->id & prefix->mask) == prefix->value && campaign->id != prefix->found) {
        prefix->found = campaign->id;
        prefix->matches++;
    }
    return prefix->matches < 2;
}

static bool missing(const char *name, GError **error)
{
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_MISSING,
                "there is no campaign %s: refrain list shows those there are", name);
    return false;
}

static bool not_an_id(const char *name, GError **error)
{
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE,
                "\"%s\" is no campaign: give its 16 hex digits, or the first 4 or more of them", name);
    return false;
}

bool campaign_find(struct store *store, const char *name, uint64_t *id_out, GError **error)
{
    size_t n = strlen(name);
    if (n < 4 || n > 16 || strspn(name, "0123456789abcdefABCDEF") != n)
        return not_an_id(name, error);
    uint64_t value = g_ascii_strtoull(name, NULL, 16);
    if (n == 16) {
        *id_out = value;
        return value != 0 || missing(name, error);
    }
    unsigned shift = (unsigned)(64 - 4 * n);
    struct prefix prefix = { .value = value << shift, .mask = UINT64_MAX << shift };
    if (!store_each(store, match_prefix, &prefix, error))
        return false;
    if (prefix.matches == 0)
        return missing(name, error);
    if (prefix.matches > 1) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_USAGE,
                    "several campaigns begin with %s: give more of the 16 hex digits", name);
        return false;
    }
    *id_out = prefix.found;
    return true;
}

/* --- lists -------------------------------------------------------------------------------------- */

struct campaign_row campaign_row_of(const struct store_campaign *campaign)
{
    struct campaign_row row = {
        .id = campaign->id,
        .state = campaign->state,
        .label = campaign->label,
        .source = campaign->source,
        .first = campaign->first,
        .last = campaign->last,
        .reports = campaign->reports,
        .hits = campaign->hits,
        .reporters = campaign->reporters,
        .variants = campaign->variants,
    };
    memcpy(row.days, campaign->days, sizeof row.days);
    return row;
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a < b) - (a > b); /* the larger first */
}

static int compare_rows(const void *left, const void *right, void *user)
{
    const struct campaign_row *a = left, *b = right;
    const enum campaign_sort *sort = user;
    int order = *sort == CAMPAIGN_BY_HITS    ? compare_numbers((int64_t)a->hits, (int64_t)b->hits)
                : *sort == CAMPAIGN_BY_FIRST ? compare_numbers(a->first, b->first)
                                             : compare_numbers(a->last, b->last);
    if (order == 0)
        order = compare_numbers(a->last, b->last);
    return order ? order : (a->id > b->id) - (a->id < b->id);
}

struct collect {
    const struct campaign_filter *filter;
    struct campaign_list *list;
    enum campaign_sort sort;
    GHashTable *seen; /* a campaign may be visited twice */
};

static bool has_part(const char *text, const char *part)
{
    g_autofree char *folded_text = g_utf8_casefold(text, -1), *folded_part = g_utf8_casefold(part, -1);
    return strstr(folded_text, folded_part) != NULL;
}

/* Keeps the best `limit`: the list may grow to twice that before it is sorted and cut. */
static void trim(struct collect *collect, size_t slack)
{
    GArray *rows = collect->list->rows;
    size_t limit = collect->filter->limit;
    if (limit == 0 || rows->len < limit + slack)
        return;
    g_array_sort_with_data(rows, compare_rows, &collect->sort);
    if (rows->len > limit)
        g_array_set_size(rows, (guint)limit);
}

static bool collect_row(const struct store_campaign *campaign, void *user)
{
    struct collect *collect = user;
    const struct campaign_filter *filter = collect->filter;
    if ((filter->state >= 0 && (int)campaign->state != filter->state) ||
        (filter->source && !store_campaign_has_source(campaign, filter->source)) ||
        (filter->label && !has_part(campaign->label, filter->label)) ||
        !g_hash_table_add(collect->seen, GSIZE_TO_POINTER((gsize)campaign->id)))
        return true;
    struct campaign_row row = campaign_row_of(campaign);
    row.label = g_string_chunk_insert_const(collect->list->names, campaign->label);
    row.source = g_string_chunk_insert_const(collect->list->names, campaign->source);
    g_array_append_val(collect->list->rows, row);
    collect->list->matched++;
    trim(collect, filter->limit + 64);
    return true;
}

bool campaign_list_read(struct store *store, const struct campaign_filter *filter, struct campaign_list *out,
                        GError **error)
{
    *out = (struct campaign_list) {
        .rows = g_array_new(FALSE, FALSE, sizeof(struct campaign_row)),
        .names = g_string_chunk_new(4096),
    };
    struct collect collect = {
        .filter = filter, .list = out, .sort = filter->sort, .seen = g_hash_table_new(NULL, NULL)
    };
    bool ok = store_each(store, collect_row, &collect, error);
    g_hash_table_destroy(collect.seen);
    g_array_sort_with_data(out->rows, compare_rows, &collect.sort);
    trim(&collect, 0);
    if (!ok)
        campaign_list_clear(out);
    return ok;
}

void campaign_list_clear(struct campaign_list *list)
{
    if (list->rows)
        g_array_free(list->rows, TRUE);
    if (list->names)
        g_string_chunk_free(list->names);
    *list = (struct campaign_list) { 0 };
}

/* --- printing ----------------------------------------------------------------------------------- */

static const struct output_column columns[] = {
    { "CAMPAIGN", false, false, 0 }, { "STATE", false, false, 0 }, { "HITS", true, false, 0 },
    { "REPORTS", true, false, 1 },   { "FIRST", true, false, 4 },  { "LAST", true, false, 2 },
    { "14 DAYS", false, false, 3 },  { "SOURCE", false, true, 5 }, { "LABEL", false, true, 0 },
};

struct table {
    const struct campaign_row *rows;
    int64_t now;
};

static void append_safe(GString *out, const char *text)
{
    g_autofree char *safe = output_safe(*text ? text : "-");
    g_string_append(out, safe);
}

static void cell(void *user, size_t row_number, unsigned column, GString *out)
{
    const struct table *table = user;
    const struct campaign_row *row = &table->rows[row_number];
    char id[CAMPAIGN_ID];
    switch (column) {
    case 0:
        g_string_append(out, campaign_id_print(row->id, id));
        break;
    case 1:
        g_string_append(out, store_state_name(row->state));
        break;
    case 2:
        g_string_append(out, output_count(row->hits));
        break;
    case 3:
        g_string_append(out, output_count(row->reports));
        break;
    case 4:
        output_age(out, row->first, table->now);
        break;
    case 5:
        output_age(out, row->last, table->now);
        break;
    case 6:
        output_sparkline(out, row->days, STORE_DAYS);
        break;
    case 7:
        append_safe(out, row->source);
        break;
    default:
        append_safe(out, row->label);
        break;
    }
}

void campaign_list_print(const struct campaign_list *list)
{
    struct table table = { .rows = (const struct campaign_row *)(void *)list->rows->data,
                           .now = g_get_real_time() / G_USEC_PER_SEC };
    output_table(columns, G_N_ELEMENTS(columns), list->rows->len, cell, &table);
}

void campaign_row_json(struct json *json, const struct campaign_row *row)
{
    json_hex(json, "campaign", row->id);
    json_string(json, "state", store_state_name(row->state));
    json_string(json, "label", row->label);
    json_string(json, "source", row->source);
    json_uint(json, "reports", row->reports);
    json_uint(json, "reporters", row->reporters);
    json_uint(json, "hits", row->hits);
    json_time(json, "first", row->first);
    json_time(json, "last", row->last);
    json_uint(json, "variants", row->variants);
    json_open(json, "days", '[');
    for (unsigned i = 0; i < STORE_DAYS; i++)
        json_uint(json, NULL, row->days[i]);
    json_close(json, ']');
}

int campaign_state_parse(const char *name)
{
    for (int state = 0; state < STORE_STATES; state++)
        if (strcmp(store_state_name((enum store_state)state), name) == 0)
            return state;
    return -1;
}

void campaign_warn_other_lexicon(struct store *store)
{
    struct store_stats stats;
    if (!store_stats(store, &stats, NULL) || stats.campaigns > 0 || stats.other_lexicons == 0)
        return;
    fprintf(
        stderr,
        "refrain: no campaign under this lexicon, but %s under others: use the lexicon they were reported "
        "with, or refrain resign\n",
        output_count(stats.other_lexicons));
}
