#include "lexicon/lexicon.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "lexicon/layout.h"
#include "message/message.h"

const struct lexicon_plan lexicon_default_plan = {
    .scheme = LEXICON_ADAPTIVE,
    .k = 20,
    .keep = 2,
    .drop = 0.33,
    .nidf_low = 0.2,
    .nidf_high = 0.3,
    .secondary = true,
    .min_signature = 5,
    .common = 0.02,
    .min_count = 2,
    .bucket_bits = 14,
};

struct lexicon {
    const unsigned char *slots;
    uint64_t mask;
    uint64_t drop_below; /* dropout: a copy misses a term whose mixed hash is smaller */
    uint64_t term_key, sketch_key;
    uint64_t order_keys[LEXICON_MAX_K];
    struct lexicon_plan plan;
    uint64_t id, documents, terms, collections;
    double log_documents;
    unsigned char *map;
    size_t size;
    gint references;
};

static bool fail(GError **error, const char *path, const char *what)
{
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_LEXICON, "%s %s", path, what);
    return false;
}

static bool map_file(struct lexicon *l, const char *path, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        int code = errno;
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "cannot open lexicon %s (%s): %s", path,
                    g_strerror(code),
                    code == EACCES
                        ? "who runs this must be able to read it: chgrp it to refrain, and join that group"
                        : "check the name, or make one with refrain-lexicon make");
        if (fd >= 0)
            close(fd);
        return false;
    }
    if (!S_ISREG(st.st_mode) || st.st_size < 16) {
        close(fd);
        return fail(error, path, "is not a lexicon: make one with refrain-lexicon make");
    }
    l->size = (size_t)st.st_size;
    void *map = mmap(NULL, l->size, PROT_READ, MAP_PRIVATE, fd, 0);
    int code = errno;
    close(fd);
    if (map == MAP_FAILED) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "cannot map lexicon %s (%s): free some memory",
                    path, g_strerror(code));
        return false;
    }
    l->map = map;
    return true;
}

static bool check_version(const struct lexicon *l, const char *path, GError **error)
{
    const unsigned char *m = l->map;
    if (memcmp(m, LAYOUT_MAGIC, 8) != 0)
        return fail(error, path, "is not a lexicon: make one with refrain-lexicon make");
    uint32_t format = layout_get32(m + LAYOUT_AT_FORMAT), tokeniser = layout_get32(m + LAYOUT_AT_TOKENISER);
    if (format != LAYOUT_FORMAT) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_LEXICON,
                    "%s has format %" PRIu32
                    ", but this program reads format %u: rebuild it with refrain-lexicon make",
                    path, format, LAYOUT_FORMAT);
        return false;
    }
    if (tokeniser != MESSAGE_TOKENISER) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_LEXICON,
                    "%s was made for tokeniser %" PRIu32
                    ", but this program has tokeniser %d: rebuild it with "
                    "refrain-lexicon make",
                    path, tokeniser, MESSAGE_TOKENISER);
        return false;
    }
    return true;
}

static bool check_size(const struct lexicon *l, const char *path, GError **error)
{
    bool whole = l->size >= LAYOUT_AT_SLOTS;
    uint32_t bits = whole ? layout_get32(l->map + LAYOUT_AT_SLOT_BITS) : 0;
    whole =
        whole && bits <= LAYOUT_MAX_SLOT_BITS && l->size == LAYOUT_AT_SLOTS + ((uint64_t)LAYOUT_SLOT << bits);
    return whole ||
           fail(error, path, "is cut off or damaged: copy it again, or rebuild it with refrain-lexicon make");
}

static void read_header(struct lexicon *l)
{
    const unsigned char *m = l->map;
    l->plan = (struct lexicon_plan) {
        .scheme = (enum lexicon_scheme)layout_get32(m + LAYOUT_AT_SCHEME),
        .k = layout_get32(m + LAYOUT_AT_K),
        .keep = layout_get32(m + LAYOUT_AT_KEEP),
        .drop = layout_get_double(m + LAYOUT_AT_DROP),
        .nidf_low = layout_get_double(m + LAYOUT_AT_NIDF_LOW),
        .nidf_high = layout_get_double(m + LAYOUT_AT_NIDF_HIGH),
        .secondary = layout_get32(m + LAYOUT_AT_SECONDARY),
        .min_signature = layout_get32(m + LAYOUT_AT_MIN_SIGNATURE),
        .common = layout_get_double(m + LAYOUT_AT_COMMON),
        .min_count = layout_get32(m + LAYOUT_AT_MIN_COUNT),
        .bucket_bits = layout_get32(m + LAYOUT_AT_BUCKET_BITS),
    };
    l->id = layout_get64(m + LAYOUT_AT_CHECKSUM);
    l->documents = layout_get64(m + LAYOUT_AT_DOCUMENTS);
    l->terms = layout_get64(m + LAYOUT_AT_TERMS);
    l->collections = layout_get64(m + LAYOUT_AT_COLLECTIONS);
    l->term_key = layout_get64(m + LAYOUT_AT_TERM_KEY);
    l->sketch_key = layout_get64(m + LAYOUT_AT_SKETCH_KEY);
    for (size_t k = 0; k < LEXICON_MAX_K; k++)
        l->order_keys[k] = layout_get64(m + LAYOUT_AT_ORDER_KEYS + 8 * k);
    l->slots = m + LAYOUT_AT_SLOTS;
    l->mask = (UINT64_C(1) << layout_get32(m + LAYOUT_AT_SLOT_BITS)) - 1;
    l->log_documents = log((double)MAX(l->documents, 2u));
}

/* A table that is as full as it says has free slots: every look-up ends. */
static bool table_is_sound(const struct lexicon *l)
{
    uint64_t taken = 0;
    for (uint64_t i = 0; i <= l->mask; i++)
        taken += layout_get32(l->slots + i * LAYOUT_SLOT + 8) != 0;
    return taken == l->terms && taken <= (l->mask + 1) / 2;
}

static bool check_content(struct lexicon *l, const char *path, GError **error)
{
    GError *why = NULL;
    if (layout_checksum(l->map, l->size) != layout_get64(l->map + LAYOUT_AT_CHECKSUM))
        return fail(error, path,
                    "is damaged (checksum): copy it again, or rebuild it with refrain-lexicon make");
    read_header(l);
    if (lexicon_plan_check(&l->plan, &why) && table_is_sound(l)) {
        l->drop_below = (uint64_t)ldexp(l->plan.drop, 64);
        return true;
    }
    g_clear_error(&why);
    return fail(error, path, "holds values that make no sense: rebuild it with refrain-lexicon make");
}

struct lexicon *lexicon_open(const char *path, GError **error)
{
    struct lexicon *l = g_new0(struct lexicon, 1);
    l->references = 1;
    if (map_file(l, path, error) && check_version(l, path, error) && check_size(l, path, error) &&
        check_content(l, path, error))
        return l;
    lexicon_unref(l);
    return NULL;
}

struct lexicon *lexicon_ref(struct lexicon *lexicon)
{
    g_atomic_int_inc(&lexicon->references);
    return lexicon;
}

void lexicon_unref(struct lexicon *lexicon)
{
    if (!lexicon || !g_atomic_int_dec_and_test(&lexicon->references))
        return;
    if (lexicon->map)
        munmap(lexicon->map, lexicon->size);
    g_free(lexicon);
}

uint64_t lexicon_id(const struct lexicon *lexicon)
{
    return lexicon->id;
}

const struct lexicon_plan *lexicon_plan_of(const struct lexicon *lexicon)
{
    return &lexicon->plan;
}

uint64_t lexicon_documents(const struct lexicon *lexicon)
{
    return lexicon->documents;
}

uint64_t lexicon_terms(const struct lexicon *lexicon)
{
    return lexicon->terms;
}

uint64_t lexicon_collections(const struct lexicon *lexicon)
{
    return lexicon->collections;
}

uint64_t lexicon_key(const struct lexicon *lexicon)
{
    return lexicon->term_key;
}

const uint64_t *lexicon_order_keys(const struct lexicon *lexicon)
{
    return lexicon->order_keys;
}

uint64_t lexicon_sketch_key(const struct lexicon *lexicon)
{
    return lexicon->sketch_key;
}

bool lexicon_find(const struct lexicon *lexicon, uint64_t term_hash, struct lexicon_entry *entry_out)
{
    for (uint64_t i = term_hash & lexicon->mask;; i = (i + 1) & lexicon->mask) {
        const unsigned char *slot = lexicon->slots + i * LAYOUT_SLOT;
        uint32_t df = layout_get32(slot + 8);
        if (df == 0)
            return false;
        if (layout_get64(slot) == term_hash) {
            *entry_out = (struct lexicon_entry) { .df = df, .classes = layout_get32(slot + 12) };
            return true;
        }
    }
}

bool lexicon_slot(const struct lexicon *lexicon, uint64_t i, struct lexicon_entry *entry_out)
{
    if (i > lexicon->mask)
        return false;
    const unsigned char *slot = lexicon->slots + i * LAYOUT_SLOT;
    *entry_out = (struct lexicon_entry) { .df = layout_get32(slot + 8), .classes = layout_get32(slot + 12) };
    return true;
}

double lexicon_nidf(const struct lexicon *lexicon, uint32_t df)
{
    double nidf = 1 - log((double)MAX(df, 1u)) / lexicon->log_documents;
    return CLAMP(nidf, 0, 1);
}

bool lexicon_in_copy(const struct lexicon *lexicon, unsigned k, uint64_t term_hash)
{
    return hash_mix(term_hash ^ lexicon->order_keys[k]) >= lexicon->drop_below;
}
