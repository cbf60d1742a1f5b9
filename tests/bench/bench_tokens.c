/* How fast text becomes terms, by language. The texts are made of a few hundred words at random. */
#include <glib.h>
#include <stdio.h>
#include <time.h>

#include "message/message.h"
#include "message/tokens.h"

#define DOCUMENT 4096
#define TEXT     (8u << 20)
#define ROUNDS   5

static const struct {
    const char *name, *words;
} languages[] = {
    { "ASCII",
      "the of and to in is you that it for order today your account price money offer free with this from "
      "company please information number quality product shipping guarantee customer service contact" },
    { "German",
      "der die und in den von zu für über können müssen größer Straße schön Grüße natürlich Geschäft "
      "Angebot kaufen bestellen heute Rechnung Lieferung möglich Qualität verfügbar Kunde Preis" },
    { "Russian", "и в не на что он как это так для заказ сегодня цена деньги предложение бесплатно компания "
                 "информация качество товар доставка гарантия клиент сервис контакт адрес письмо скидка" },
    { "Chinese",
      "免费提供 公司产品 我们的服务 今天订购 价格优惠 质量保证 联系方式 信息技术 发票代开 欢迎咨询" },
};

/* Words with a few random letters behind them, so that there are as many different ones as in real text. */
static char *make_text(const char *words)
{
    g_auto(GStrv) list = g_strsplit(words, " ", -1);
    unsigned n = g_strv_length(list);
    GRand *random = g_rand_new_with_seed(1);
    GString *text = g_string_sized_new(TEXT + 64);
    while (text->len < TEXT) {
        g_string_append(text, list[g_rand_int_range(random, 0, (gint32)n)]);
        if (g_rand_int_range(random, 0, 3) == 0)
            g_string_append_c(text, (char)('a' + g_rand_int_range(random, 0, 26)));
        g_string_append_c(text, ' ');
    }
    g_rand_free(random);
    return g_string_free(text, FALSE);
}

/* Time of the processor, not of the clock on the wall: other programs may run. */
static double seconds_used(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The best of some rounds. */
static double megabytes_per_second(const char *text)
{
    const struct message_limits limits = { .text_bytes = DOCUMENT, .terms = 10000 };
    struct arena *arena = arena_new();
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double start = seconds_used();
        for (size_t i = 0; i + DOCUMENT <= TEXT; i += DOCUMENT) {
            message_terms_of_text(arena, text + i, DOCUMENT, 1, &limits);
            arena_reset(arena);
        }
        double speed = TEXT / 1e6 / (seconds_used() - start);
        best = MAX(best, speed);
    }
    arena_free(&arena);
    return best;
}

int main(void)
{
    double start = seconds_used();
    tokens_init();
    printf("tables made in %.1f ms\n", (seconds_used() - start) * 1e3);
    for (size_t i = 0; i < G_N_ELEMENTS(languages); i++) {
        g_autofree char *text = make_text(languages[i].words);
        printf("%-8s %6.0f MB/s\n", languages[i].name, megabytes_per_second(text));
    }
    return 0;
}
