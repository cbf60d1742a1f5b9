#include "tools/exchange.h"

#include <string.h>

#include "base/error.h"
#include "tools/campaign.h"

struct json *exchange_write(const struct store_campaign *campaign, uint64_t lexicon,
                            const struct signature_set *variants, unsigned n)
{
    struct json *json = json_new();
    json_open(json, NULL, '{');
    json_uint(json, "refrain", EXCHANGE_VERSION);
    json_hex(json, "lexicon", lexicon);
    json_hex(json, "campaign", campaign->id);
    json_string(json, "state", store_state_name(campaign->state));
    json_string(json, "label", campaign->label);
    json_string(json, "source", campaign->source);
    json_time(json, "first", campaign->first);
    json_time(json, "last", campaign->last);
    json_uint(json, "reports", campaign->reports);
    json_uint(json, "reporters", campaign->reporters);
    json_uint(json, "hits", campaign->hits);
    json_open(json, "variants", '[');
    for (unsigned i = 0; i < n; i++) {
        json_open(json, NULL, '[');
        for (unsigned k = 0; k < variants[i].n; k++) {
            g_autofree char *line = signature_print(&variants[i].v[k]);
            json_string(json, NULL, line);
        }
        json_close(json, ']');
    }
    json_close(json, ']');
    json_close(json, '}');
    return json;
}

/* --- reading ------------------------------------------------------------------------------------ */

static bool wrong(GError **error, const char *text)
{
    g_set_error_literal(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, text);
    return false;
}

static bool read_hex(const struct json_value *object, const char *key, uint64_t *out)
{
    const char *text = json_member_text(object, key);
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return false;
    *out = g_ascii_strtoull(text, NULL, 16);
    return *out != 0;
}

static int64_t read_time(const struct json_value *object, const char *key)
{
    const char *text = json_member_text(object, key);
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    g_autoptr(GDateTime) when = text ? g_date_time_new_from_iso8601(text, utc) : NULL;
    int64_t seconds = when ? g_date_time_to_unix(when) : 0;
    return MAX(seconds, 0);
}

/* Cut at a character; control characters become spaces: it is another site's text. */
static void read_name(const struct json_value *object, const char *key, char out[STORE_NAME_MAX])
{
    const char *text = json_member_text(object, key), *end;
    g_strlcpy(out, text ? text : "", STORE_NAME_MAX);
    if (!g_utf8_validate(out, -1, &end))
        out[end - out] = 0;
    for (char *at = out; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = ' ';
}

static bool read_variant(const struct json_value *list, uint64_t lexicon, struct signature_set *out,
                         GError **error)
{
    out->n = 0;
    if (list->type != JSON_ARRAY || !list->first)
        return wrong(error, "a variant without signatures");
    for (const struct json_value *item = list->first; item; item = item->next) {
        if (item->type != JSON_STRING || out->n == MESSAGE_VIEWS)
            return wrong(error, "a variant is not a list of signatures");
        if (!signature_parse(item->text, lexicon, &out->v[out->n], error))
            return false;
        if (out->n && out->v[out->n].view <= out->v[out->n - 1].view)
            return wrong(error, "the views of a variant are out of order");
        out->n++;
    }
    return true;
}

static bool read_variants(struct arena *arena, const struct json_value *object, uint64_t lexicon,
                          struct signature_set **out, unsigned *n_out, GError **error)
{
    const struct json_value *list = json_member(object, "variants");
    if (!list || list->type != JSON_ARRAY || !list->first)
        return wrong(error, "no variants");
    *out = ARENA_ARRAY(arena, struct signature_set, STORE_VARIANTS);
    *n_out = 0;
    for (const struct json_value *item = list->first; item && *n_out < STORE_VARIANTS; item = item->next)
        if (!read_variant(item, lexicon, &(*out)[(*n_out)++], error))
            return false;
    return true;
}

static bool check_lexicon(const struct json_value *object, uint64_t ours, GError **error)
{
    uint64_t theirs = 0;
    if (json_member_uint(object, "refrain", 0) != EXCHANGE_VERSION)
        return wrong(error, "not a line of refrain export, or of another version");
    if (!read_hex(object, "lexicon", &theirs))
        return wrong(error, "no lexicon id");
    if (theirs == ours)
        return true;
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_LEXICON,
                "signed with lexicon %016" G_GINT64_MODIFIER "x, but ours is %016" G_GINT64_MODIFIER
                "x: sites that exchange campaigns share one lexicon file",
                theirs, ours);
    return false;
}

bool exchange_read(struct arena *arena, const char *line, size_t n, uint64_t lexicon,
                   struct store_campaign *out, struct signature_set **variants_out, unsigned *n_out,
                   GError **error)
{
    const struct json_value *object = json_read(arena, line, n, error);
    *out = (struct store_campaign) { 0 };
    if (!object)
        return false;
    if (object->type != JSON_OBJECT)
        return wrong(error, "not an object");
    if (!check_lexicon(object, lexicon, error))
        return false;
    if (!read_hex(object, "campaign", &out->id))
        return wrong(error, "no campaign id of 16 hex digits");
    const char *state = json_member_text(object, "state");
    int known = state ? campaign_state_parse(state) : -1;
    if (known < 0)
        return wrong(error, "no state, or an unknown one");
    out->state = (enum store_state)known;
    read_name(object, "label", out->label);
    read_name(object, "source", out->source);
    out->first = read_time(object, "first");
    out->last = read_time(object, "last");
    out->reports = json_member_uint(object, "reports", 1);
    out->reporters = (uint32_t)MIN(json_member_uint(object, "reporters", 0), UINT32_MAX);
    out->hits = json_member_uint(object, "hits", 0);
    if (!read_variants(arena, object, lexicon, variants_out, n_out, error))
        return false;
    out->variants = *n_out;
    return true;
}
