#include "tools/eval/mutate.h"

#include <stdbool.h>
#include <string.h>

static bool is_break(const char *word)
{
    return *word == '\n';
}

GPtrArray *eval_words(const char *text, gsize n)
{
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < n;) {
        gsize start = i;
        while (i < n && !g_ascii_isspace(text[i]))
            i++;
        if (i > start)
            g_ptr_array_add(words, g_strndup(text + start, i - start));
        else if (text[i++] == '\n')
            g_ptr_array_add(words, g_strdup("\n"));
    }
    return words;
}

static guint below(GRand *rand, guint n)
{
    return n > 1 ? (guint)g_rand_int_range(rand, 0, (gint32)n) : 0;
}

static const char *any_word(const GPtrArray *words, GRand *rand)
{
    const char *word = words->len ? words->pdata[below(rand, words->len)] : "nothing";
    return is_break(word) ? "nothing" : word;
}

static void put_word(GString *out, const char *word)
{
    if (out->len > 0 && out->str[out->len - 1] != '\n' && !is_break(word))
        g_string_append_c(out, ' ');
    g_string_append(out, word);
}

static void put_words(GString *out, const GPtrArray *words, guint from, guint n)
{
    for (guint i = from; i < from + n && i < words->len; i++)
        put_word(out, words->pdata[i]);
}

/* Line ends stay where they are: a footer stays a footer. */
static void shuffle(GPtrArray *words, GRand *rand)
{
    for (guint i = words->len; i > 1; i--) {
        guint j = below(rand, i);
        gpointer swap = words->pdata[i - 1];
        if (is_break(swap) || is_break(words->pdata[j]))
            continue;
        words->pdata[i - 1] = words->pdata[j];
        words->pdata[j] = swap;
    }
}

static bool is_url(const char *word)
{
    return strstr(word, "://") != NULL;
}

/* A word that makes a term: what is replaced must count. */
static bool counts(const char *word)
{
    guint letters = 0;
    for (const char *at = word; *at; at++)
        letters += g_ascii_isalpha(*at) || (guchar)*at >= 0x80;
    return letters >= 4 && !is_url(word);
}

static GArray *places_that_count(const GPtrArray *words)
{
    GArray *places = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint i = 0; i < words->len; i++)
        if (counts(words->pdata[i]))
            g_array_append_val(places, i);
    return places;
}

static void replace_n(GPtrArray *words, const GPtrArray *foreign, guint n, GRand *rand)
{
    GArray *places = places_that_count(words);
    for (guint i = 0; i < n && places->len > 0; i++) {
        guint at = below(rand, places->len), place = g_array_index(places, guint, at);
        g_array_remove_index_fast(places, at);
        g_free(words->pdata[place]);
        words->pdata[place] = g_strdup(any_word(foreign, rand));
    }
    g_array_free(places, TRUE);
}

static void replace_count(GPtrArray *words, const GPtrArray *foreign, double n, GRand *rand, GString *out)
{
    replace_n(words, foreign, (guint)n, rand);
    put_words(out, words, 0, words->len);
}

static void replace_share(GPtrArray *words, const GPtrArray *foreign, double share, GRand *rand, GString *out)
{
    GArray *places = places_that_count(words);
    guint n = (guint)(places->len * share + 0.5);
    g_array_free(places, TRUE);
    replace_n(words, foreign, n, rand);
    put_words(out, words, 0, words->len);
}

static void shuffle_all(GPtrArray *words, const GPtrArray *foreign, double amount, GRand *rand, GString *out)
{
    (void)foreign;
    (void)amount;
    shuffle(words, rand);
    put_words(out, words, 0, words->len);
}

static void put_foreign(const GPtrArray *words, const GPtrArray *foreign, double share, GRand *rand,
                        GString *out)
{
    guint wanted = (guint)(words->len * share + 0.5);
    guint from = foreign->len > wanted ? below(rand, foreign->len - wanted) : 0;
    for (guint i = 0; i < wanted && foreign->len > 0; i++)
        put_word(out, foreign->pdata[(from + i) % foreign->len]);
}

static void append_foreign(GPtrArray *words, const GPtrArray *foreign, double share, GRand *rand,
                           GString *out)
{
    put_words(out, words, 0, words->len);
    put_foreign(words, foreign, share, rand, out);
}

static void hide_below_line(GPtrArray *words, const GPtrArray *foreign, double share, GRand *rand,
                            GString *out)
{
    put_foreign(words, foreign, share, rand, out);
    g_string_append(out, "\n--------------------\n");
    put_words(out, words, 0, words->len);
}

static void put_gibberish(GString *out, GRand *rand)
{
    char word[16];
    guint n = 5 + below(rand, 7);
    for (guint i = 0; i < n; i++)
        word[i] = (char)('a' + below(rand, 26));
    word[n] = '\0';
    put_word(out, word);
}

static void insert_gibberish(GPtrArray *words, const GPtrArray *foreign, double share, GRand *rand,
                             GString *out)
{
    (void)foreign;
    for (guint i = 0; i < words->len; i++) {
        put_word(out, words->pdata[i]);
        if (!is_break(words->pdata[i]) && g_rand_double(rand) < share)
            put_gibberish(out, rand);
    }
}

static void cut_to(GPtrArray *words, const GPtrArray *foreign, double share, GRand *rand, GString *out)
{
    (void)foreign;
    (void)rand;
    put_words(out, words, 0, (guint)(words->len * share + 0.5));
}

/* One of the tricks on one word: a look-alike, a zero-width space, a digit for a letter, spaced letters. */
static char *obfuscate(const char *word, GRand *rand)
{
    static const char *const from = "aoeicpxs0", *const like[] = {
        "а", "о", "е", "і", "с", "р", "х", "ѕ", "о"
    };
    static const char digits_from[] = "oieas", digits_to[] = "01345";
    GString *out = g_string_new(NULL);
    guint trick = below(rand, 4), length = (guint)strlen(word), done = 0;
    for (guint i = 0; i < length; i++) {
        const char *at = strchr(trick == 2 ? digits_from : from, word[i]);
        bool inside = i > 0 && i + 1 < length;
        if (trick == 0 && at && !done++)
            g_string_append(out, like[at - from]);
        else if (trick == 2 && at && inside && !done++)
            g_string_append_c(out, digits_to[at - digits_from]);
        else
            g_string_append_c(out, word[i]);
        if (trick == 1 && inside && i == length / 2)
            g_string_append(out, "\xe2\x80\x8b");
        if (trick == 3 && i + 1 < length)
            g_string_append_c(out, ' ');
    }
    return g_string_free(out, FALSE);
}

static bool is_plain(const char *word)
{
    guint n = 0;
    for (; g_ascii_isalpha(word[n]); n++)
        ;
    return n >= 4 && word[n] == '\0';
}

static void obfuscate_share(GPtrArray *words, const GPtrArray *foreign, double share, GRand *rand,
                            GString *out)
{
    (void)foreign;
    for (guint i = 0; i < words->len; i++) {
        if (!is_plain(words->pdata[i]) || g_rand_double(rand) >= share) {
            put_word(out, words->pdata[i]);
            continue;
        }
        char *hidden = obfuscate(words->pdata[i], rand);
        /* Two spaces, as spammers leave them between words whose letters stand apart. */
        g_string_append(out, " ");
        put_word(out, hidden);
        g_string_append(out, " ");
        g_free(hidden);
    }
}

const struct eval_mutation eval_mutations[] = {
    { "4 words replaced", replace_count, 4, 0.99 },
    { "10 % of the words replaced", replace_share, 0.1, 0.99 },
    { "20 % of the words replaced", replace_share, 0.2, 0.99 },
    { "30 % of the words replaced", replace_share, 0.3, 0.95 },
    { "words shuffled", shuffle_all, 0, 0.99 },
    { "foreign text added, 50 %", append_foreign, 0.5, 0.99 },
    { "foreign text added, 100 %", append_foreign, 1.0, 0.97 },
    { "foreign text added, 200 %", append_foreign, 2.0, 0.80 },
    { "gibberish words added, 100 %", insert_gibberish, 1.0, 0.95 },
    { "cut to half", cut_to, 0.5, 0.93 },
    { "letters obfuscated in 20 % of the words", obfuscate_share, 0.2, 0.97 },
    { "hidden below a ---- line", hide_below_line, 0.5, 0.95 },
};
const unsigned eval_n_mutations = G_N_ELEMENTS(eval_mutations);

GString *eval_mutated_mail(const struct eval_mutation *mutation, const char *text, const char *foreign,
                           guint32 seed)
{
    GString *mail = g_string_new("MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n");
    GString *body = g_string_new(NULL);
    GPtrArray *words = eval_words(text, strlen(text)), *others = eval_words(foreign, strlen(foreign));
    GRand *rand = g_rand_new_with_seed(seed);
    mutation->apply(words, others, mutation->amount, rand, body);
    g_string_append_len(mail, body->str, (gssize)body->len);
    g_string_append_c(mail, '\n');
    g_rand_free(rand);
    g_ptr_array_unref(words);
    g_ptr_array_unref(others);
    g_string_free(body, TRUE);
    return mail;
}
