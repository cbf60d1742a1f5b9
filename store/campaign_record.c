#include "store/campaign.h"

#include <string.h>

#define FIXED 16u
/* The largest record: every variant with every view, all names, all counters. */
#define VIEW_MAX (4u + SIGNATURE_WORDS * 8u + SIGNATURE_MAX_LEX * 8u + SIGNATURE_ODD * 3u)
#define RECORD_MAX                                                                                           \
    (FIXED + 1024u + (STORE_REPORTERS + 1u + STORE_SOURCES) * (STORE_NAME_MAX + 10u) +                       \
     STORE_VARIANTS * (2u + MESSAGE_VIEWS * VIEW_MAX))
#define IN_TABLES    0x80u /* beside the state */
#define MANY_SOURCES 0x40u /* beside the state */
#define FLAGS        (IN_TABLES | MANY_SOURCES)
#define SHORT_HASHES 0x80u /* beside the number of hashes */
#define ODD_SHIFT    4     /* the number of odd words, beside the view */

/* --- writing ------------------------------------------------------------------------------------ */

static uint8_t *put8(uint8_t *at, unsigned value)
{
    *at = (uint8_t)value;
    return at + 1;
}

static uint8_t *put16(uint8_t *at, unsigned value)
{
    return put8(put8(at, value & 0xff), value >> 8 & 0xff);
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
    return put16(put16(at, value & 0xffff), value >> 16);
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
    return put32(put32(at, (uint32_t)value), (uint32_t)(value >> 32));
}

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    return put8(at, (unsigned)value);
}

static uint8_t *put_name(uint8_t *at, const char *name)
{
    size_t n = strlen(name);
    at = put8(at, (unsigned)n);
    memcpy(at, name, n);
    return at + n;
}

static uint8_t *put_days(uint8_t *at, const uint32_t *days, unsigned n, unsigned bytes)
{
    unsigned seen = 0;
    for (unsigned i = 0; i < n; i++)
        seen |= (days[i] != 0) << i;
    at = bytes == 2 ? put16(at, seen) : put8(at, seen);
    for (unsigned i = 0; i < n; i++)
        if (days[i])
            at = put_varint(at, days[i]);
    return at;
}

/* Are the hashes of 48 bits, as those of lexicons are? */
static bool is_short(const struct signature *signature)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < signature->n_lex; i++)
        all |= signature->lex[i];
    return (all & 0xffff) == 0;
}

static uint8_t *put_signature(uint8_t *at, const struct signature *signature)
{
    bool shorter = is_short(signature);
    unsigned n_odd = signature_n_odd(signature);
    at = put8(at, signature->view | n_odd << ODD_SHIFT);
    at = put8(at, signature->n_lex | (shorter ? SHORT_HASHES : 0));
    at = put16(at, signature->terms);
    for (unsigned i = 0; i < SIGNATURE_WORDS && signature->view != MESSAGE_PART; i++)
        at = put64(at, signature->sketch[i]);
    for (unsigned i = 0; i < signature->n_lex; i++)
        at = shorter ? put32(put16(at, signature->lex[i] >> 16 & 0xffff), (uint32_t)(signature->lex[i] >> 32))
                     : put64(at, signature->lex[i]);
    for (unsigned i = 0; i < n_odd; i++)
        at = put16(put8(at, signature->odd[i] & 0xff), signature->odd[i] >> 8);
    return at;
}

static uint32_t clamp32(int64_t value)
{
    return (uint32_t)CLAMP(value, 0, UINT32_MAX);
}

/* Not all by the first source? */
static bool has_many_sources(const struct campaign *campaign)
{
    const struct store_campaign *info = &campaign->info;
    bool many = info->n_also > 0;
    for (unsigned i = 0; i < info->n_reporter; i++)
        many |= info->reporter[i].source != 0;
    for (unsigned i = 0; i < info->variants; i++)
        many |= campaign->from[i] != 1;
    return many;
}

static uint8_t *put_sources(uint8_t *at, const struct store_campaign *info, bool many)
{
    at = put_name(at, info->source);
    if (many)
        at = put8(at, info->n_also);
    for (unsigned i = 0; many && i < info->n_also; i++)
        at = put_name(at, info->also[i]);
    return at;
}

static uint8_t *put_reporters(uint8_t *at, const struct store_campaign *info, bool many)
{
    at = put8(at, info->n_reporter);
    for (unsigned i = 0; i < info->n_reporter; i++) {
        at = put_varint(at, info->reporter[i].reports);
        at = put_name(at, info->reporter[i].name);
        if (many)
            at = put8(at, info->reporter[i].source);
    }
    return at;
}

static uint8_t *put_variants(uint8_t *at, const struct campaign *campaign, bool many)
{
    at = put8(at, campaign->info.variants);
    for (unsigned i = 0; i < campaign->info.variants; i++) {
        if (many)
            at = put8(at, campaign->from[i]);
        at = put8(at, campaign->variant[i].n);
        for (unsigned j = 0; j < campaign->variant[i].n; j++)
            at = put_signature(at, &campaign->variant[i].v[j]);
    }
    return at;
}

const uint8_t *campaign_encode(struct arena *arena, const struct campaign *campaign, size_t *size_out)
{
    const struct store_campaign *info = &campaign->info;
    uint8_t buffer[RECORD_MAX], *at = buffer;
    bool many = has_many_sources(campaign);
    at = put8(at, CAMPAIGN_FORMAT);
    at = put8(at, info->state | (campaign->tables ? IN_TABLES : 0) | (many ? MANY_SOURCES : 0));
    at = put16(at, campaign->day);
    at = put32(at, campaign->revision);
    at = put32(at, clamp32(info->first));
    at = put32(at, clamp32(info->last));
    at = put_varint(at, info->reports);
    at = put_varint(at, info->hits);
    at = put_varint(at, info->reporters);
    at = put_days(at, info->days, STORE_DAYS, 2);
    at = put_days(at, campaign->reported, CAMPAIGN_REPORT_DAYS, 1);
    at = put_name(at, info->label);
    at = put_sources(at, info, many);
    at = put_reporters(at, info, many);
    at = put_variants(at, campaign, many);
    *size_out = (size_t)(at - buffer);
    return memcpy(arena_alloc(arena, *size_out), buffer, *size_out);
}

/* --- reading: past the end everything is 0 and `at` is NULL ------------------------------------- */

struct cursor {
    const uint8_t *at, *end;
};

static const uint8_t *take(struct cursor *c, size_t n)
{
    if (!c->at || (size_t)(c->end - c->at) < n) {
        c->at = NULL;
        return NULL;
    }
    const uint8_t *bytes = c->at;
    c->at += n;
    return bytes;
}

static unsigned get8(struct cursor *c)
{
    const uint8_t *b = take(c, 1);
    return b ? b[0] : 0;
}

static unsigned get16(struct cursor *c)
{
    const uint8_t *b = take(c, 2);
    return b ? b[0] | (unsigned)b[1] << 8 : 0;
}

static uint32_t load32(const uint8_t *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint32_t get32(struct cursor *c)
{
    const uint8_t *b = take(c, 4);
    return b ? load32(b) : 0;
}

static void get64s(struct cursor *c, uint64_t *out, size_t n)
{
    const uint8_t *b = take(c, n * 8);
    for (size_t i = 0; i < n; i++)
        out[i] = b ? load32(b + i * 8) | (uint64_t)load32(b + i * 8 + 4) << 32 : 0;
}

static void get48s(struct cursor *c, uint64_t *out, size_t n)
{
    const uint8_t *b = take(c, n * 6);
    for (size_t i = 0; i < n; i++, b = b ? b + 6 : NULL)
        out[i] = b ? (uint64_t)(b[0] | (unsigned)b[1] << 8) << 16 | (uint64_t)load32(b + 2) << 32 : 0;
}

static uint64_t get_varint(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned byte = get8(c);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    c->at = NULL;
    return 0;
}

static void get_name(struct cursor *c, char out[STORE_NAME_MAX])
{
    unsigned n = get8(c);
    const uint8_t *bytes = take(c, n);
    if (bytes && n < STORE_NAME_MAX && g_utf8_validate((const char *)bytes, n, NULL))
        memcpy(out, bytes, n);
    else
        c->at = NULL, n = 0;
    memset(out + n, 0, STORE_NAME_MAX - n);
}

static void skip_name(struct cursor *c)
{
    take(c, get8(c));
}

static void get_days(struct cursor *c, uint32_t *days, unsigned n, unsigned bytes)
{
    unsigned seen = bytes == 2 ? get16(c) : get8(c);
    for (unsigned i = 0; i < n; i++)
        days[i] = seen >> i & 1 ? (uint32_t)get_varint(c) : 0;
}

static void get_odd(struct cursor *c, unsigned n, struct signature *out)
{
    memset(out->odd, 0, sizeof out->odd);
    const uint8_t *b = take(c, n * 3);
    for (unsigned i = 0; b && i < n; i++)
        out->odd[i] = b[i * 3] | (uint32_t)b[i * 3 + 1] << 8 | (uint32_t)b[i * 3 + 2] << 16;
}

static bool get_signature(struct cursor *c, uint64_t lexicon, struct signature *out)
{
    unsigned first = get8(c), view = first & ((1u << ODD_SHIFT) - 1), n_odd = first >> ODD_SHIFT;
    unsigned count = get8(c), n_lex = count & ~SHORT_HASHES;
    if (view >= MESSAGE_VIEWS || n_lex > SIGNATURE_MAX_LEX || n_odd > SIGNATURE_ODD) {
        c->at = NULL;
        return false;
    }
    out->lexicon = lexicon;
    out->view = view;
    out->n_lex = (uint16_t)n_lex;
    out->terms = (uint16_t)get16(c);
    if (view == MESSAGE_PART)
        memset(out->sketch, 0, sizeof out->sketch);
    else
        get64s(c, out->sketch, SIGNATURE_WORDS);
    (count & SHORT_HASHES ? get48s : get64s)(c, out->lex, n_lex);
    memset(out->lex + n_lex, 0, (SIGNATURE_MAX_LEX - n_lex) * sizeof out->lex[0]);
    get_odd(c, n_odd, out);
    return c->at != NULL;
}

static void get_sources(struct cursor *c, struct store_campaign *info, bool many)
{
    get_name(c, info->source);
    info->n_also = many ? get8(c) : 0;
    if (info->n_also > STORE_SOURCES - 1)
        c->at = NULL;
    for (unsigned i = 0; c->at && i < info->n_also; i++)
        get_name(c, info->also[i]);
}

static void get_reporters(struct cursor *c, struct store_campaign *info, bool many)
{
    info->n_reporter = get8(c);
    if (info->n_reporter > STORE_REPORTERS)
        c->at = NULL;
    for (unsigned i = 0; c->at && i < info->n_reporter; i++) {
        info->reporter[i].reports = (uint32_t)get_varint(c);
        get_name(c, info->reporter[i].name);
        info->reporter[i].source = many ? get8(c) : 0;
        if (info->reporter[i].source > STORE_SOURCES)
            c->at = NULL;
    }
}

static void get_variants(struct cursor *c, uint64_t lexicon, struct campaign *out, bool many)
{
    memset(out->from, 0, sizeof out->from);
    out->info.variants = get8(c);
    if (out->info.variants > STORE_VARIANTS)
        c->at = NULL;
    for (unsigned i = 0; c->at && i < out->info.variants; i++) {
        struct signature_set *set = &out->variant[i];
        out->from[i] = (uint8_t)(many ? get8(c) : 1);
        set->n = get8(c);
        if (set->n > MESSAGE_VIEWS)
            c->at = NULL;
        for (unsigned j = 0; c->at && j < set->n; j++)
            get_signature(c, lexicon, &set->v[j]);
    }
}

bool campaign_decode(const uint8_t *bytes, size_t size, uint64_t lexicon, struct campaign *out)
{
    struct cursor c = { bytes, bytes + size };
    struct store_campaign *info = &out->info;
    memset(info, 0, sizeof *info);
    if (get8(&c) != CAMPAIGN_FORMAT)
        return false;
    unsigned state = get8(&c);
    bool many = state & MANY_SOURCES;
    info->state = state & ~FLAGS;
    out->tables = state & IN_TABLES;
    out->day = get16(&c);
    out->revision = get32(&c);
    info->first = get32(&c);
    info->last = get32(&c);
    info->reports = get_varint(&c);
    info->hits = get_varint(&c);
    info->reporters = (uint32_t)get_varint(&c);
    get_days(&c, info->days, STORE_DAYS, 2);
    get_days(&c, out->reported, CAMPAIGN_REPORT_DAYS, 1);
    get_name(&c, info->label);
    get_sources(&c, info, many);
    get_reporters(&c, info, many);
    if (!c.at || info->state >= STORE_STATES)
        return false;
    get_variants(&c, lexicon, out, many);
    return c.at == c.end;
}

uint32_t campaign_revision(const uint8_t *bytes, size_t size)
{
    return bytes && size >= CAMPAIGN_REVISION_AT + 4 ? load32(bytes + CAMPAIGN_REVISION_AT) : 0;
}

bool campaign_reader_init(struct campaign_reader *reader, const uint8_t *bytes, size_t size, uint64_t lexicon)
{
    struct cursor c = { bytes, bytes + size };
    uint32_t days[STORE_DAYS];
    if (!bytes || get8(&c) != CAMPAIGN_FORMAT)
        return false;
    unsigned state = get8(&c);
    reader->state = state & ~FLAGS;
    reader->many_sources = state & MANY_SOURCES;
    take(&c, 10);
    reader->last = get32(&c);
    for (unsigned i = 0; i < 3; i++)
        get_varint(&c);
    get_days(&c, days, STORE_DAYS, 2);
    get_days(&c, days, CAMPAIGN_REPORT_DAYS, 1);
    skip_name(&c);
    skip_name(&c);
    for (unsigned n = reader->many_sources ? get8(&c) : 0; c.at && n > 0; n--)
        skip_name(&c);
    for (unsigned n = get8(&c); c.at && n > 0; n--) {
        get_varint(&c);
        skip_name(&c);
        if (reader->many_sources)
            take(&c, 1);
    }
    reader->variants = get8(&c);
    reader->views = 0;
    reader->at = c.at;
    reader->end = c.end;
    reader->lexicon = lexicon;
    reader->damaged = false;
    return c.at != NULL && reader->state < STORE_STATES;
}

bool campaign_reader_next(struct campaign_reader *reader, struct signature *out)
{
    struct cursor c = { reader->at, reader->end };
    while (reader->views == 0 && reader->variants > 0 && c.at) {
        reader->variants--;
        if (reader->many_sources)
            take(&c, 1);
        reader->views = get8(&c);
    }
    if (reader->views == 0 || !get_signature(&c, reader->lexicon, out)) {
        reader->damaged = c.at != c.end;
        return false;
    }
    reader->views--;
    reader->at = c.at;
    return true;
}
