#include "store/campaign.h"

#include <string.h>

#include "base/hash.h"

#define DAY 86400

/* --- ids ---------------------------------------------------------------------------------------- */

/* hash_mix() backwards: its shifts undo themselves, and its factor has an inverse modulo 2^64. */
static uint64_t unmix(uint64_t x)
{
    const uint64_t inverse = UINT64_C(0xcfee444d8b59a89b);
    x ^= x >> 32;
    x *= inverse;
    x ^= x >> 32;
    x *= inverse;
    x ^= x >> 32;
    return x;
}

uint64_t campaign_id(uint64_t lexicon, uint32_t number)
{
    return hash_mix(lexicon ^ number);
}

bool campaign_number(uint64_t lexicon, uint64_t id, uint32_t *number_out)
{
    uint64_t number = unmix(id) ^ lexicon;
    *number_out = (uint32_t)number;
    return number >> 32 == 0 && number != 0 && id != 0;
}

/* --- counting ----------------------------------------------------------------------------------- */

static void shift_days(uint32_t *days, unsigned n, uint32_t by)
{
    unsigned kept = by < n ? n - by : 0;
    memmove(days + (n - kept), days, kept * sizeof *days);
    memset(days, 0, (n - kept) * sizeof *days);
}

void campaign_roll(struct campaign *campaign, int64_t now)
{
    uint32_t today = (uint32_t)(now / DAY);
    if (today <= campaign->day)
        return;
    shift_days(campaign->info.days, STORE_DAYS, today - campaign->day);
    shift_days(campaign->reported, CAMPAIGN_REPORT_DAYS, today - campaign->day);
    campaign->day = today;
}

uint32_t campaign_distinct_reporters(const struct store_campaign *info)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < info->n_reporter; i++) {
        bool again = false;
        for (unsigned j = 0; j < i; j++)
            again |= strcmp(info->reporter[i].name, info->reporter[j].name) == 0;
        n += !again;
    }
    return n;
}

static void count_reporter(struct store_campaign *info, unsigned source, const char *reporter)
{
    char name[STORE_NAME_MAX];
    campaign_name(name, reporter);
    for (unsigned i = 0; i < info->n_reporter; i++)
        if (info->reporter[i].source == source && strcmp(info->reporter[i].name, name) == 0) {
            info->reporter[i].reports++;
            return;
        }
    if (info->n_reporter == STORE_REPORTERS)
        return; /* could not be told from a newcomer the next time */
    struct store_reporter *newcomer = &info->reporter[info->n_reporter++];
    memcpy(newcomer->name, name, sizeof name);
    newcomer->reports = 1;
    newcomer->source = source;
    info->reporters = campaign_distinct_reporters(info);
}

void campaign_count_report(struct campaign *campaign, unsigned source, const char *reporter, int64_t when,
                           int64_t now)
{
    struct store_campaign *info = &campaign->info;
    campaign_roll(campaign, now);
    info->reports++;
    info->first = info->first ? MIN(info->first, when) : when;
    info->last = MAX(info->last, when);
    int64_t ago = campaign->day - when / DAY;
    if (ago >= 0 && ago < CAMPAIGN_REPORT_DAYS)
        campaign->reported[ago]++;
    count_reporter(info, source, reporter);
}

void campaign_count_hits(struct campaign *campaign, uint32_t hits, int64_t now)
{
    campaign_roll(campaign, now);
    campaign->info.hits += hits;
    campaign->info.days[0] += hits;
    campaign->info.last = MAX(campaign->info.last, now);
}

void campaign_name(char out[STORE_NAME_MAX], const char *name)
{
    g_autofree char *valid = g_utf8_make_valid(name ? name : "", -1);
    const char *end = valid;
    while (*end && (size_t)(g_utf8_next_char(end) - valid) < STORE_NAME_MAX)
        end = g_utf8_next_char(end);
    size_t n = (size_t)(end - valid);
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)valid[i] < 0x20 || valid[i] == 0x7f ? '?' : valid[i];
    /* Zeros to the end: names are compared as values. */
    memset(out + n, 0, STORE_NAME_MAX - n);
}

/* --- sources ------------------------------------------------------------------------------------ */

/* STORE_SOURCES: it is none of those that are told apart. */
static unsigned find_source(const struct store_campaign *info, const char *name)
{
    if (strcmp(info->source, name) == 0)
        return 0;
    for (unsigned i = 0; i < info->n_also; i++)
        if (strcmp(info->also[i], name) == 0)
            return i + 1;
    return STORE_SOURCES;
}

bool store_campaign_has_source(const struct store_campaign *campaign, const char *source)
{
    char name[STORE_NAME_MAX];
    campaign_name(name, source);
    return *name && find_source(campaign, name) < STORE_SOURCES;
}

unsigned campaign_source(struct store_campaign *info, const char *source)
{
    char name[STORE_NAME_MAX];
    campaign_name(name, source);
    if (!*name)
        return STORE_SOURCES;
    if (!*info->source)
        memcpy(info->source, name, sizeof name);
    unsigned found = find_source(info, name);
    if (found < STORE_SOURCES || info->n_also == STORE_SOURCES - 1)
        return found;
    memcpy(info->also[info->n_also++], name, sizeof name);
    return info->n_also;
}

static void drop_variants(struct campaign *campaign, unsigned source)
{
    unsigned below = (1u << source) - 1, rest = 1u << STORE_SOURCES, kept = 0;
    for (unsigned i = 0; i < campaign->info.variants; i++) {
        unsigned from = campaign->from[i] & ~(1u << source);
        if (!from)
            continue;
        /* The sources behind it move up; those that are not told apart stay where they are. */
        from = (from & below) | (from & ~rest & ~below) >> 1 | (from & rest);
        campaign->variant[kept] = campaign->variant[i];
        campaign->from[kept++] = (uint8_t)from;
    }
    memset(campaign->from + kept, 0, sizeof campaign->from - kept);
    campaign->info.variants = kept;
}

static void drop_reporters(struct store_campaign *info, unsigned source)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < info->n_reporter; i++) {
        struct store_reporter *reporter = &info->reporter[i];
        if (reporter->source == source) {
            info->reports -= MIN(info->reports, reporter->reports);
            continue;
        }
        reporter->source -= reporter->source > source && reporter->source < STORE_SOURCES;
        info->reporter[kept++] = *reporter;
    }
    memset(info->reporter + kept, 0, (info->n_reporter - kept) * sizeof info->reporter[0]);
    info->n_reporter = kept;
    info->reporters = campaign_distinct_reporters(info);
}

void campaign_drop_source(struct campaign *campaign, const char *source)
{
    struct store_campaign *info = &campaign->info;
    char name[STORE_NAME_MAX];
    campaign_name(name, source);
    unsigned found = *name ? find_source(info, name) : STORE_SOURCES;
    if (found == STORE_SOURCES)
        return;
    drop_variants(campaign, found);
    drop_reporters(info, found);
    if (found == 0)
        memcpy(info->source, info->also[0], sizeof info->source);
    for (unsigned i = MAX(found, 1); i < info->n_also; i++)
        memcpy(info->also[i - 1], info->also[i], sizeof info->also[0]);
    if (info->n_also > 0)
        memset(info->also[--info->n_also], 0, sizeof info->also[0]);
}
