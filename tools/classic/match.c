#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "tools/classic/features.h"

#define MIN_TERMS    5 /* fewer: not a document, for any method */
#define SIMHASH_BITS 3
#define COSINE       0.6

/*
 * Most methods reduce a message to some keys and call two messages duplicates when enough keys agree.
 * Exact cosine is the same with the terms as keys and a share of them to agree; simhash compares bits.
 */
struct classic_method {
    const char *name;
    unsigned (*keys)(const struct lexicon *lexicon, const struct eval_mail *mail, uint64_t *keys_out);
    unsigned agree; /* keys that must */
    bool numbered;  /* key i only meets key i */
    bool cosine, simhash;
};

static unsigned imatch_keys(const struct lexicon *lexicon, const struct eval_mail *mail, uint64_t *keys_out)
{
    return classic_imatch(lexicon, mail, 0, false, keys_out);
}

static unsigned kolcz_keys(const struct lexicon *lexicon, const struct eval_mail *mail, uint64_t *keys_out)
{
    return classic_imatch(lexicon, mail, 10, false, keys_out);
}

static unsigned kolcz_secondary_keys(const struct lexicon *lexicon, const struct eval_mail *mail,
                                     uint64_t *keys_out)
{
    return classic_imatch(lexicon, mail, 10, true, keys_out);
}

static unsigned minima_keys(const struct lexicon *lexicon, const struct eval_mail *mail, uint64_t *keys_out)
{
    (void)lexicon;
    return classic_minima(mail, keys_out);
}

static unsigned super_keys(const struct lexicon *lexicon, const struct eval_mail *mail, uint64_t *keys_out)
{
    (void)lexicon;
    return classic_supershingles(mail, keys_out);
}

static unsigned term_keys(const struct lexicon *lexicon, const struct eval_mail *mail, uint64_t *keys_out)
{
    (void)lexicon;
    memcpy(keys_out, mail->terms, mail->n_terms * sizeof *keys_out);
    return mail->n_terms;
}

static const struct classic_method imatch = { "plain I-Match", imatch_keys, 1, .numbered = true };
static const struct classic_method kolcz = { "Kołcz, K = 10", kolcz_keys, 1, .numbered = true };
static const struct classic_method kolcz_secondary = { "Kołcz, K = 10, secondary lexicon",
                                                       kolcz_secondary_keys, 1, .numbered = true };
static const struct classic_method simhash = { .name = "simhash, 64 bits, distance ≤ 3", .simhash = true };
static const struct classic_method minhash = { "84 min-hashes, half equal", minima_keys, 42,
                                               .numbered = true };
static const struct classic_method super_one = { "6 super-shingles, 1 equal", super_keys, 1,
                                                 .numbered = true };
static const struct classic_method super_two = { "6 super-shingles, 2 equal", super_keys, 2,
                                                 .numbered = true };
static const struct classic_method cosine = { "exact cosine ≥ 0.6, all pairs", term_keys, 1, .cosine = true };

const struct classic_method *const classic_methods[] = {
    &imatch, &kolcz, &kolcz_secondary, &simhash, &minhash, &super_one, &super_two, &cosine,
};
const unsigned classic_n_methods = G_N_ELEMENTS(classic_methods);

const char *classic_name(const struct classic_method *method)
{
    return method->name;
}

/* --- index --------------------------------------------------------------------------------------- */

struct classic_index {
    const struct classic_method *method;
    const struct lexicon *lexicon;
    GHashTable *postings; /* key -> GArray of prototype numbers */
    GArray *n_keys;       /* uint32_t per prototype */
    GArray *simhashes;    /* uint64_t per prototype */
};

static void free_postings(gpointer postings)
{
    g_array_unref(postings);
}

struct classic_index *classic_index_new(const struct classic_method *method, const struct lexicon *lexicon)
{
    struct classic_index *index = g_new0(struct classic_index, 1);
    index->method = method;
    index->lexicon = lexicon;
    index->postings = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_postings);
    index->n_keys = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    index->simhashes = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    return index;
}

void classic_index_free(struct classic_index **index)
{
    if (!*index)
        return;
    g_hash_table_destroy((*index)->postings);
    g_array_free((*index)->n_keys, TRUE);
    g_array_free((*index)->simhashes, TRUE);
    g_free(*index);
    *index = NULL;
}

/* The keys of a message that are worth looking up. Returns how many; the caller frees. */
static uint64_t *keys_of(const struct classic_index *index, const struct eval_mail *mail, uint32_t *n_out)
{
    uint64_t *keys = g_new(uint64_t, MAX(mail->n_terms, CLASSIC_MAX_KEYS));
    unsigned n = index->method->keys(index->lexicon, mail, keys), kept = 0;
    for (unsigned i = 0; i < n; i++)
        if (keys[i])
            keys[kept++] = index->method->numbered ? hash_mix(keys[i] + i) : keys[i];
    *n_out = kept;
    return keys;
}

static void add_posting(struct classic_index *index, uint64_t key, uint32_t prototype)
{
    GArray *list = g_hash_table_lookup(index->postings, &key);
    if (!list) {
        list = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        g_hash_table_insert(index->postings, g_memdup2(&key, sizeof key), list);
    }
    g_array_append_val(list, prototype);
}

void classic_index_add(struct classic_index *index, const struct eval_mail *prototype)
{
    if (prototype->n_terms < MIN_TERMS)
        return;
    if (index->method->simhash) {
        uint64_t value = classic_simhash(index->lexicon, prototype);
        g_array_append_val(index->simhashes, value);
        return;
    }
    uint32_t n, number = index->n_keys->len;
    uint64_t *keys = keys_of(index, prototype, &n);
    for (uint32_t i = 0; i < n; i++)
        add_posting(index, keys[i], number);
    g_array_append_val(index->n_keys, n);
    g_free(keys);
}

static bool simhash_match(const struct classic_index *index, const struct eval_mail *mail)
{
    uint64_t value = classic_simhash(index->lexicon, mail);
    for (guint i = 0; i < index->simhashes->len; i++)
        if (__builtin_popcountll(value ^ g_array_index(index->simhashes, uint64_t, i)) <= SIMHASH_BITS)
            return true;
    return false;
}

static bool enough(const struct classic_index *index, uint32_t prototype, uint32_t agree, uint32_t n_keys)
{
    if (!index->method->cosine)
        return agree >= index->method->agree;
    double lengths = (double)n_keys * g_array_index(index->n_keys, uint32_t, prototype);
    return agree >= COSINE * sqrt(lengths);
}

bool classic_index_match(const struct classic_index *index, const struct eval_mail *mail)
{
    if (mail->n_terms < MIN_TERMS)
        return false;
    if (index->method->simhash)
        return simhash_match(index, mail);
    uint32_t n;
    uint64_t *keys = keys_of(index, mail, &n);
    uint32_t *agree = g_new0(uint32_t, index->n_keys->len);
    bool matched = false;
    for (uint32_t i = 0; i < n; i++) {
        const GArray *list = g_hash_table_lookup(index->postings, &keys[i]);
        for (guint j = 0; list && j < list->len; j++) {
            uint32_t prototype = g_array_index(list, uint32_t, j);
            agree[prototype]++;
        }
    }
    for (uint32_t p = 0; p < index->n_keys->len && !matched; p++)
        matched = agree[p] > 0 && enough(index, p, agree[p], n);
    g_free(agree);
    g_free(keys);
    return matched;
}
