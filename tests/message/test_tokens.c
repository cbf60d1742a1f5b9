#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <glib.h>

#include "base/hash.h"
#include "message/fold.h"
#include "message/message.h"
#include "message/tokens.h"

#define KEY UINT64_C(0x5eed)

static const struct message_limits limits = { .text_bytes = 1 << 20, .terms = 10000 };

/* The terms of a text with | between them. */
static char *terms_of(const char *text, size_t n)
{
    struct arena *arena = arena_new();
    struct terms terms = message_terms_of_text(arena, text, n, KEY, &limits);
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < terms.n; i++)
        g_string_append_printf(out, "%s%s", i ? "|" : "", terms.v[i].text);
    arena_free(&arena);
    return g_string_free(out, FALSE);
}

struct row {
    const char *text, *terms;
};

static void check_rows(const struct row *rows, size_t n)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < n; i++) {
        g_autofree char *terms = terms_of(rows[i].text, strlen(rows[i].text));
        if (strcmp(terms, rows[i].terms)) {
            print_message("# %s: expected %s, not %s\n", rows[i].text, rows[i].terms, terms);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

#define CHECK(...)                                                                                           \
    do {                                                                                                     \
        const struct row rows[] = { __VA_ARGS__ };                                                           \
        check_rows(rows, G_N_ELEMENTS(rows));                                                                \
    } while (0)

static void a_term_is_four_characters_with_at_most_one_digit(void **state)
{
    CHECK({ "The quick brown fox", "quick|brown" }, { "", "" }, { "a an the", "" },
          { "word, (word) WORD word.", "word" }, { "windows8 win98 abc12", "windows8" }, { "2026 10000", "" },
          { "under_score dash-word o'clock", "under|score|dash|word|clock" },
          { "four\nfive\r\nnine\tnext", "four|five|nine|next" }, { "abc9", "abc9" });
}

static void words_longer_than_64_characters_are_dropped(void **state)
{
    char text[80];
    memset(text, 'x', sizeof text);
    g_autofree char *fits = terms_of(text, 64), *too_long = terms_of(text, 65);
    assert_int_equal(strlen(fits), 64);
    assert_string_equal(too_long, "");
    GString *wide = g_string_new(NULL);
    for (int i = 0; i < 65; i++)
        g_string_append(wide, "ж");
    g_autofree char *wide_fits = terms_of(wide->str, 128), *wide_too_long = terms_of(wide->str, wide->len);
    assert_int_equal(strlen(wide_fits), 128);
    assert_string_equal(wide_too_long, "");
    g_string_free(wide, TRUE);
}

static void case_width_and_accents_fold_away(void **state)
{
    CHECK({ "Straße STRASSE strasse", "strasse" }, { "café CAFÉ cafe\u0301 cafe", "cafe" },
          { "ｖｉａｇｒａ ＶＩＡＧＲＡ", "viagra" }, { "für Übung", "ubung" },
          { "ﬁnance oﬀer", "finance|offer" }, { "Łódź łodz", "lodz" }, { "søvn Ørsted", "sovn|orsted" },
          { "İSTANBUL ıstanbul istanbul", "istanbul" }, { "Việt Nam Tiếng", "viet|tieng" },
          { "ΣΊΣΥΦΟΣ σίσυφος", "σισυφοσ" }, { "Ёлка елка", "елка" }, { "Москва МОСКВА", "москва" });
}

static void letters_in_disguise_come_down_to_ascii(void **state)
{
    CHECK({ "𝐯𝐢𝐚𝐠𝐫𝐚 𝓋𝒾𝒶𝑔𝓇𝒶 𝖛𝖎𝖆𝖌𝖗𝖆 𝚟𝚒𝚊𝚐𝚛𝚊", "viagra" }, { "ⓥⓘⓐⓖⓡⓐ", "viagra" }, { "🅥🅘🅐🅖🅡🅐 🆅🅸🅰🅶🆁🅰", "viagra" },
          { "⒱⒤⒜⒢⒭⒜", "viagra" }, { "ᴠɪᴀɢʀᴀ", "viagra" }, { "ᵛⁱᵃᵍʳᵃ", "viagra" },
          { "Windows™ Acme®", "windows|acme" });
}

static void invisible_characters_never_split_a_word(void **state)
{
    CHECK({ "via\u200bgra viagra", "viagra" }, { "via\u00adgra", "viagra" },
          { "\u200bviagra\u200b", "viagra" }, { "v\u2060i\ufeffa\u200dgra", "viagra" },
          { "via\u202egra\u202c", "viagra" }, { "v\u0336i\u0336a\u0336g\u0336r\u0336a\u0336", "viagra" },
          { "\u200b\u200b \u00ad", "" }, { "via\u00a0gras", "gras" },
          { "“quoted” word—dash…", "quoted|word|dash" });
}

static void look_alikes_fold_only_in_mixed_words(void **state)
{
    CHECK({ "pаypаl pаураl paypal", "paypal" }, { "Vіаgrа VІАGRА", "viagra" },
          { "αccount accουnt", "account" }, { "какао рост", "какао|рост" }, { "Cахар caхар сахар", "сахар" },
          { "Wi-Fi сеть", "сеть" }, { "ВаNК ассеss", "bank|access" }, { "Ꮃaʟʟet", "wallet" });
}

static void a_digit_inside_a_word_is_a_letter(void **state)
{
    CHECK({ "v1agra viagra", "viagra" }, { "0rder 0RDER order", "order" }, { "pa55word", "" },
          { "pas5word", "password" }, { "phone6 phone", "phone6|phone" }, { "fr3e ca5h", "free|cash" },
          { "v\u0456\u0430gr4l", "viagral" }, { "3аказ зак0н", "заказ|закон" }, { "c1al1s", "" });
}

static void a_symbol_inside_a_word_is_a_letter(void **state)
{
    CHECK({ "vi@gra v!agra", "viagra" }, { "p@$$word", "password" }, { "wow!!this a$$$$cash", "this|cash" },
          { "ca$h", "cash" }, { "joe@example.com", "example" }, { "john.smith@mail", "john|smith|mail" },
          { "mary-ann@mail", "mary|mail" }, { "Great!Now buy!", "great" }, { "V!AGRA", "viagra" },
          { "hello! world", "hello|world" }, { "$ave money$", "money" }, { "vi@gra.", "viagra" });
}

static void spaced_letters_join(void **state)
{
    CHECK({ "v i a g r a", "viagra" }, { "V.I.A.G.R.A.", "viagra" },
          { "v-i-a-g-r-a v_i_a_g_r_a v*i*a*g*r*a", "viagra" }, { "f r e e  m o n e y", "free|money" },
          { "v\u00a0i\u00a0a\u00a0g\u00a0r\u00a0a", "viagra" }, { "a b c", "" }, { "v i-a g r", "" },
          { "buy v i a g r a now", "viagra" }, { "v 1 a g r a", "viagra" }, { "д е н ь г и", "деньги" },
          { "v і а g r a", "viagra" }, { "i\na\nm\nn\no\nt", "" });
}

static void scripts_without_spaces_give_character_ngrams(void **state)
{
    CHECK({ "免费发票", "免费|费发|发票" }, { "中", "" }, { "ｶﾞﾗｽ ガラス", "ガラス" },
          { "ひらがな", "ひらが|らがな" }, { "検索する", "検索|索する" },
          { "ภาษาไทย", "ภาษา|าษาไ|ษาไท|าไทย" }, { "微信wechat号码", "微信|wechat|号码" },
          { "免\u200b费", "免费" }, { "买。卖", "" });
}

static void hangul_words_have_two_syllables(void **state)
{
    CHECK({ "무료 상담 을", "무료|상담" }, { "iPhone을 구매", "iphone|구매" },
          { "\u1106\u116e\u1105\u116d 무료", "무료" });
}

static void right_to_left_and_indic_words(void **state)
{
    CHECK({ "السَّلامُ عليكم", "السلام|عليكم" }, { "مـــال", "مال" }, { "\ufdf2", "الله" },
          { "אֶרֶץ ארץ של", "ארץ" }, { "नमस्ते दुनिया है", "नमस्ते|दुनिया" },
          { "\u0958\u0932\u092e\u0926 \u0915\u093c\u0932\u092e\u0926", "\u0915\u093c\u0932\u092e\u0926" },
          { "١٢٣٤", "" });
}

static void bad_bytes_separate_words(void **state)
{
    g_autofree char *a = terms_of("good\xff"
                                  "word",
                                  9),
                    *b = terms_of("word\xc3", 5), *c = terms_of("wo\0rd four", 10),
                    *d = terms_of("\xe2\x80", 2), *e = terms_of("h\xe9llo w\xc3\xb6rld", 12);
    assert_string_equal(a, "good|word");
    assert_string_equal(b, "word");
    assert_string_equal(c, "four");
    assert_string_equal(d, "");
    assert_string_equal(e, "world");
}

/* A buffer that is as long as its text lets the sanitizer see any read behind it. */
static void any_bytes_are_survived(void **state)
{
    GRand *random = g_rand_new_with_seed(1);
    static const char *const pieces[] = { "a", " ",      "v1",     "@",      "$",    "!",
                                          ".", "é",      "а",      "免",     "か",   "\u3099",
                                          "ไ", "무",     "\u1106", "\u200b", "\xff", "\xe2\x80",
                                          "न", "\u093f", "\ufdfa", "𝐯",      "1",    "\0" };
    for (int round = 0; round < 3000; round++) {
        GString *text = g_string_new(NULL);
        for (int i = g_rand_int_range(random, 0, 200); i > 0; i--) {
            if (g_rand_int_range(random, 0, 20) == 0)
                g_string_append_c(text, (char)g_rand_int(random));
            else
                g_string_append(text, pieces[g_rand_int_range(random, 0, G_N_ELEMENTS(pieces))]);
        }
        char *exact = g_memdup2(text->str, text->len ? text->len : 1);
        struct arena *arena = arena_new();
        struct terms terms = message_terms_of_text(arena, exact, text->len, KEY, &limits);
        for (uint32_t i = 0; i < terms.n; i++) {
            assert_true(g_utf8_validate(terms.v[i].text, terms.v[i].length, NULL));
            assert_int_equal(strlen(terms.v[i].text), terms.v[i].length);
        }
        arena_free(&arena);
        g_free(exact);
        g_string_free(text, TRUE);
    }
    g_rand_free(random);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *sorted_terms(const char *text)
{
    g_autofree char *terms = terms_of(text, strlen(text));
    g_auto(GStrv) words = g_strsplit(terms, "|", -1);
    qsort(words, g_strv_length(words), sizeof *words, by_text);
    return g_strjoinv("|", words);
}

static void word_order_never_matters(void **state)
{
    char *words[] = { "viagra", "pаypаl", "免费发票", "ca$h", "Москва", "무료", "v1agra",
                      "für",    "السلام", "word",     "ภาษา", "café",   "0rder" };
    GRand *random = g_rand_new_with_seed(2);
    g_autofree char *straight =
        g_strjoinv(" ", (char *[]) { words[0], words[1], words[2], words[3], words[4], words[5], words[6],
                                     words[7], words[8], words[9], words[10], words[11], words[12], NULL });
    g_autofree char *expected = sorted_terms(straight);
    for (int round = 0; round < 100; round++) {
        for (int i = G_N_ELEMENTS(words) - 1; i > 0; i--) {
            int j = g_rand_int_range(random, 0, i + 1);
            char *swap = words[i];
            words[i] = words[j];
            words[j] = swap;
        }
        GString *text = g_string_new(NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
            g_string_append_printf(text, "%s ", words[i]);
        g_autofree char *terms = sorted_terms(text->str);
        assert_string_equal(terms, expected);
        g_string_free(text, TRUE);
    }
    g_rand_free(random);
}

/* The narrow and the wide path are two ways to the same terms: an invisible character chooses the wide one.
 */
static void both_paths_agree(void **state)
{
    static const char *const words[] = { "viagra",    "V1AGRA", "0rder",  "phone6",    "abc",
                                         "ca$h",      "vi@gra", "V!AGRA", "windows98", "joe@example.com",
                                         "Great!Now", "x",      "four" };
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        g_autofree char *wide = g_strconcat("\u200b", words[i], NULL);
        g_autofree char *a = terms_of(words[i], strlen(words[i])), *b = terms_of(wide, strlen(wide));
        assert_string_equal(a, b);
    }
}

/* Blocks of 64 bytes, their edges and the end of the text must not show. */
static void a_word_gives_the_same_terms_wherever_it_stands(void **state)
{
    static const char *const words[] = { "Viagra", "v1agra",    "ca$h",      "vi@gra",  "cafés",
                                         "x",      "abc",       "windows98", "f r e e", "joe@example.com",
                                         "免费",   "Great!Now", "phone6" };
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        g_autofree char *alone = terms_of(words[i], strlen(words[i]));
        for (int before = 0; before < 130; before++) {
            g_autofree char *at_end = g_strdup_printf("%*s%s", before, "", words[i]),
                            *inside =
                                g_strdup_printf("%*s%s (etc) %*s", before, "", words[i], 150 - before, "");
            g_autofree char *a = terms_of(at_end, strlen(at_end)), *b = terms_of(inside, strlen(inside));
            assert_string_equal(a, alone);
            assert_string_equal(b, alone);
        }
    }
}

static void ngrams_of_a_long_run_lose_nothing_between_buffers(void **state)
{
    GString *text = g_string_new(NULL);
    for (gunichar c = 0x4e00; c < 0x4e00 + 1000; c++)
        g_string_append_unichar(text, c);
    struct arena *arena = arena_new();
    struct terms terms = message_terms_of_text(arena, text->str, text->len, KEY, &limits);
    assert_int_equal(terms.n, 999);
    arena_free(&arena);
    g_string_free(text, TRUE);
}

static void a_term_is_kept_once_with_its_keyed_hash(void **state)
{
    struct arena *arena = arena_new();
    struct tokens *tokens = tokens_new(arena, KEY, 100);
    tokens_add_text(tokens, "hello hello", 11);
    tokens_add(tokens, TERM_PART, "hello", 5);
    tokens_add(tokens, TERM_PART, "hello", 5);
    struct terms terms = tokens_terms(tokens);
    assert_int_equal(terms.n, 2);
    assert_int_equal(terms.v[0].hash, hash_bytes("hello", 5, KEY ^ TERM_WORD));
    assert_int_equal(terms.v[1].hash, hash_bytes("hello", 5, KEY ^ TERM_PART));
    assert_int_equal(terms.v[1].kind, TERM_PART);
    assert_int_equal(terms.v[0].length, 5);
    arena_free(&arena);
}

static void the_limit_drops_later_terms_and_says_so(void **state)
{
    struct arena *arena = arena_new();
    struct tokens *tokens = tokens_new(arena, KEY, 1000);
    char word[16];
    for (int i = 0; i < 1000; i++) {
        g_snprintf(word, sizeof word, "word%c%c%c", 'a' + i / 100, 'a' + i / 10 % 10, 'a' + i % 10);
        tokens_add_text(tokens, word, strlen(word));
    }
    assert_int_equal(tokens_terms(tokens).n, 1000);
    assert_string_equal(tokens_terms(tokens).v[999].text, "wordjjj");
    assert_false(tokens_full(tokens));
    tokens_add_text(tokens, "wordaaa", 7);
    assert_false(tokens_full(tokens));
    tokens_add_text(tokens, "another", 7);
    assert_true(tokens_full(tokens));
    assert_int_equal(tokens_terms(tokens).n, 1000);
    arena_free(&arena);
}

static void collectors_add_up(void **state)
{
    struct arena *arena = arena_new(), *elsewhere = arena_new();
    struct tokens *one = tokens_new(arena, KEY, 100), *two = tokens_new(elsewhere, KEY + 1, 100);
    tokens_add_text(one, "alpha beta", 10);
    tokens_add_text(two, "beta gamma", 10);
    tokens_add_all(one, two);
    assert_ptr_not_equal(tokens_terms(one).v[2].text, tokens_terms(two).v[1].text);
    arena_free(&elsewhere);
    struct terms terms = tokens_terms(one);
    assert_int_equal(terms.n, 3);
    assert_string_equal(terms.v[2].text, "gamma");
    assert_int_equal(terms.v[2].hash, hash_bytes("gamma", 5, KEY));
    arena_free(&arena);
}

static void hosts_are_bare_and_lower_case(void **state)
{
    static const struct row rows[] = {
        { "Example.COM", "http:example.com" },
        { "www.example.com", "http:example.com" },
        { "WWW.example.com.", "http:example.com" },
        { "joe:secret@example.com:8080", "http:example.com" },
        { "paypal.com@evil.example", "http:evil.example" },
        { "www.com", "http:www.com" },
        { "192.0.2.7", "http:192.0.2.7" },
        { "[2001:DB8::1]:80", "http:[2001:db8::1]" },
        { "xn--mnchen-3ya.example", "http:xn--mnchen-3ya.example" },
        { "münchen.example", "http:münchen.example" },
        { "%65xample.com", "http:example.com" },
        { "", NULL },
        { ".", NULL },
        { "a..b", NULL },
        { "ex ample.com", NULL },
        { "example.com/path", NULL },
        { "[oops]", NULL },
        { "bad\xff.example", NULL },
        { "user@", NULL },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct arena *arena = arena_new();
        struct tokens *tokens = tokens_new(arena, KEY, 10);
        tokens_add_host(tokens, rows[i].text, strlen(rows[i].text));
        struct terms terms = tokens_terms(tokens);
        assert_int_equal(terms.n, rows[i].terms != NULL);
        if (terms.n) {
            assert_string_equal(terms.v[0].text, rows[i].terms);
            assert_int_equal(terms.v[0].kind, TERM_HOST);
        }
        arena_free(&arena);
    }
}

static void a_host_longer_than_dns_allows_is_ignored(void **state)
{
    char host[300];
    memset(host, 'a', sizeof host);
    struct arena *arena = arena_new();
    struct tokens *tokens = tokens_new(arena, KEY, 10);
    tokens_add_host(tokens, host, 254);
    assert_int_equal(tokens_terms(tokens).n, 0);
    tokens_add_host(tokens, host, 253);
    assert_int_equal(tokens_terms(tokens).n, 1);
    arena_free(&arena);
}

static int start(void **state)
{
    tokens_init();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_term_is_four_characters_with_at_most_one_digit),
        cmocka_unit_test(words_longer_than_64_characters_are_dropped),
        cmocka_unit_test(case_width_and_accents_fold_away),
        cmocka_unit_test(letters_in_disguise_come_down_to_ascii),
        cmocka_unit_test(invisible_characters_never_split_a_word),
        cmocka_unit_test(look_alikes_fold_only_in_mixed_words),
        cmocka_unit_test(a_digit_inside_a_word_is_a_letter),
        cmocka_unit_test(a_symbol_inside_a_word_is_a_letter),
        cmocka_unit_test(spaced_letters_join),
        cmocka_unit_test(scripts_without_spaces_give_character_ngrams),
        cmocka_unit_test(hangul_words_have_two_syllables),
        cmocka_unit_test(right_to_left_and_indic_words),
        cmocka_unit_test(bad_bytes_separate_words),
        cmocka_unit_test(any_bytes_are_survived),
        cmocka_unit_test(word_order_never_matters),
        cmocka_unit_test(both_paths_agree),
        cmocka_unit_test(a_word_gives_the_same_terms_wherever_it_stands),
        cmocka_unit_test(ngrams_of_a_long_run_lose_nothing_between_buffers),
        cmocka_unit_test(a_term_is_kept_once_with_its_keyed_hash),
        cmocka_unit_test(the_limit_drops_later_terms_and_says_so),
        cmocka_unit_test(collectors_add_up),
        cmocka_unit_test(hosts_are_bare_and_lower_case),
        cmocka_unit_test(a_host_longer_than_dns_allows_is_ignored),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
