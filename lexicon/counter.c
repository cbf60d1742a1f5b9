#include "lexicon/counter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lexicon/df-stream.h"

/*
 *   slots  2^n × { hash, where the text is, count }   linear probing, at most ¾ full; count = 0: empty
 *   texts  "bank\0money\0…"                           appended, never moved within
 *
 * Two terms are one only if their texts are equal: a count is exact whatever the hashes.
 */
#define FIRST_SLOTS  1024u
#define MOST_TEXTS   (UINT32_MAX - (1u << 20)) /* `at` has 32 bits */
#define LEAST_MEMORY (UINT64_C(64) << 10)

struct slot {
    uint64_t hash; /* while sorting: the first bytes of the text, as a number that sorts as they do */
    uint32_t at;
    uint32_t count;
};

struct counter {
    const struct counter_place *place;
    unsigned number;
    uint64_t memory;
    struct slot *slots;
    size_t n_slots, used;
    char *texts;
    size_t texts_used, texts_room;
    uint64_t documents;
    GPtrArray *runs;
};

struct counter *counter_new(const struct counter_place *place, unsigned number, uint64_t memory)
{
    struct counter *c = g_new0(struct counter, 1);
    c->place = place;
    c->number = number;
    c->memory = MAX(memory, LEAST_MEMORY);
    c->n_slots = FIRST_SLOTS;
    c->slots = g_new0(struct slot, c->n_slots);
    c->runs = g_ptr_array_new_with_free_func(g_free);
    return c;
}

void counter_free(struct counter **counter)
{
    if (!*counter)
        return;
    g_free((*counter)->slots);
    g_free((*counter)->texts);
    if ((*counter)->runs)
        g_ptr_array_free((*counter)->runs, TRUE);
    g_free(*counter);
    *counter = NULL;
}

GPtrArray *counter_take_runs(struct counter *counter)
{
    GPtrArray *runs = counter->runs;
    counter->runs = NULL;
    return runs;
}

/* Sorting needs a copy of the used slots; growing needs the old table beside one of twice the size. */
static uint64_t bytes_to_stay(const struct counter *c)
{
    return c->texts_used + c->n_slots * sizeof(struct slot) * 7 / 4;
}

static uint64_t bytes_to_grow(const struct counter *c)
{
    return c->texts_used + c->n_slots * sizeof(struct slot) * 7 / 2;
}

static void grow(struct counter *c)
{
    size_t n = c->n_slots * 2;
    struct slot *slots = g_new0(struct slot, n);
    for (size_t i = 0; i < c->n_slots; i++) {
        if (!c->slots[i].count)
            continue;
        size_t j = c->slots[i].hash & (n - 1);
        while (slots[j].count)
            j = (j + 1) & (n - 1);
        slots[j] = c->slots[i];
    }
    g_free(c->slots);
    c->slots = slots;
    c->n_slots = n;
}

static uint32_t keep_text(struct counter *c, const struct term *term)
{
    size_t n = (size_t)term->length + 1, at = c->texts_used;
    if (at + n > c->texts_room) {
        c->texts_room = MAX(c->texts_room + c->texts_room / 2, at + n + 4096);
        c->texts = g_realloc(c->texts, c->texts_room);
    }
    memcpy(c->texts + at, term->text, n - 1);
    c->texts[at + n - 1] = '\0';
    c->texts_used += n;
    return (uint32_t)at;
}

static bool same_text(const struct counter *c, const struct slot *slot, const struct term *term)
{
    const char *text = c->texts + slot->at;
    return strncmp(text, term->text, term->length) == 0 && text[term->length] == '\0';
}

static void count_term(struct counter *c, const struct term *term)
{
    size_t i = term->hash & (c->n_slots - 1);
    for (; c->slots[i].count; i = (i + 1) & (c->n_slots - 1)) {
        struct slot *slot = &c->slots[i];
        if (slot->hash == term->hash && same_text(c, slot, term)) {
            slot->count++;
            return;
        }
    }
    c->slots[i] = (struct slot) { .hash = term->hash, .at = keep_text(c, term), .count = 1 };
    c->used++;
}

/* Room for a whole document before it is counted, so that a run never ends within one. */
static bool make_room(struct counter *c, struct terms terms, GError **error)
{
    size_t text = 0;
    for (uint32_t i = 0; i < terms.n; i++)
        text += terms.v[i].length + 1u;
    bool full = bytes_to_stay(c) + text > c->memory || c->texts_used + text > MOST_TEXTS;
    bool crowded = c->used + terms.n > c->n_slots / 4 * 3;
    if (c->documents && (full || (crowded && bytes_to_grow(c) + text > c->memory)))
        if (!counter_spill(c, error))
            return false;
    while (c->used + terms.n > c->n_slots / 4 * 3)
        grow(c);
    return true;
}

bool counter_add(struct counter *c, struct terms terms, GError **error)
{
    if (!make_room(c, terms, error))
        return false;
    for (uint32_t i = 0; i < terms.n; i++)
        count_term(c, &terms.v[i]);
    c->documents++;
    return true;
}

static uint64_t sort_key(const char *text)
{
    uint64_t key = 0;
    for (int i = 0; i < 8; i++)
        key = key << 8 | (*text ? (unsigned char)*text++ : 0);
    return key;
}

static int by_text(const void *a, const void *b, void *texts)
{
    const struct slot *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return strcmp((const char *)texts + x->at, (const char *)texts + y->at);
}

/* Packs the used slots to the front, in the order of their texts. The table is no table then. */
static void sort_slots(struct counter *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_slots; i++) {
        if (!c->slots[i].count)
            continue;
        c->slots[n] = c->slots[i];
        c->slots[n].hash = sort_key(c->texts + c->slots[n].at);
        n++;
    }
    qsort_r(c->slots, n, sizeof *c->slots, by_text, c->texts);
}

static void forget(struct counter *c)
{
    memset(c->slots, 0, c->n_slots * sizeof *c->slots);
    c->used = c->texts_used = 0;
    c->documents = 0;
}

bool counter_spill(struct counter *c, GError **error)
{
    if (!c->documents)
        return true;
    char *path = g_strdup_printf("%s/run-%u-%u.df", c->place->folder, c->number, c->runs->len);
    g_ptr_array_add(c->runs, path);
    struct df_writer *writer = df_writer_open_scratch(path, error);
    if (!writer)
        return false;
    struct df_head head = { .name = (char *)c->place->collection,
                            .documents = c->documents,
                            .sources = (char **)c->place->sources };
    df_writer_collection(writer, &head);
    sort_slots(c);
    for (size_t i = 0; i < c->used; i++)
        df_writer_term(writer, c->texts + c->slots[i].at, c->slots[i].count);
    forget(c);
    return df_writer_commit(&writer, error);
}
