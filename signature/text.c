#include <string.h>

#include "base/error.h"
#include "signature/signature.h"

static void print_lex(GString *text, const struct signature *s)
{
    for (unsigned i = 0; i < s->n_lex; i++) {
        if (i > 0)
            g_string_append_c(text, ',');
        if (s->lex[i])
            g_string_append_printf(text, "%016" G_GINT64_MODIFIER "x", s->lex[i]);
        else
            g_string_append_c(text, '-');
    }
}

char *signature_print(const struct signature *signature)
{
    GString *text = g_string_sized_new(512);
    g_string_append_printf(text, "%s %u ", message_view_name(signature->view), signature->terms);
    print_lex(text, signature);
    g_string_append_c(text, ' ');
    for (unsigned i = 0; i < SIGNATURE_WORDS; i++)
        g_string_append_printf(text, "%016" G_GINT64_MODIFIER "x", signature->sketch[i]);
    g_string_append(text, signature->odd[0] ? " " : " -");
    for (unsigned i = 0; i < signature_n_odd(signature); i++)
        g_string_append_printf(text, "%s%06x", i ? "," : "", signature->odd[i]);
    return g_string_free(text, FALSE);
}

static bool parse_hex(const char *text, unsigned digits, uint64_t *out)
{
    *out = 0;
    for (unsigned i = 0; i < digits; i++) {
        int digit = g_ascii_xdigit_value(text[i]);
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint64_t)digit;
    }
    return true;
}

static bool parse_view(const char *word, enum message_view *out)
{
    for (unsigned view = 0; view < MESSAGE_VIEWS; view++) {
        if (strcmp(word, message_view_name(view)) == 0) {
            *out = view;
            return true;
        }
    }
    return false;
}

static bool parse_terms(const char *word, uint16_t *out)
{
    guint64 value;
    if (!g_ascii_string_to_unsigned(word, 10, 1, UINT16_MAX, &value, NULL))
        return false;
    *out = (uint16_t)value;
    return true;
}

static bool parse_lex(const char *word, struct signature *out)
{
    for (;;) {
        if (out->n_lex == SIGNATURE_MAX_LEX)
            return false;
        uint64_t *value = &out->lex[out->n_lex++];
        if (*word == '-') {
            *value = 0;
            word++;
        } else if (parse_hex(word, 16, value)) {
            word += 16;
        } else {
            return false;
        }
        if (*word == '\0')
            return true;
        if (*word++ != ',')
            return false;
    }
}

static bool parse_sketch(const char *word, uint64_t out[SIGNATURE_WORDS])
{
    for (unsigned i = 0; i < SIGNATURE_WORDS; i++, word += 16)
        if (!parse_hex(word, 16, &out[i]))
            return false;
    return *word == '\0';
}

static bool parse_odd(const char *word, struct signature *out)
{
    uint64_t value;
    if (strcmp(word, "-") == 0)
        return true;
    for (unsigned n = 0;; word += 7) {
        if (n == SIGNATURE_ODD || !parse_hex(word, 6, &value) || value == 0)
            return false;
        out->odd[n++] = (uint32_t)value;
        if (word[6] == '\0')
            return true;
        if (word[6] != ',')
            return false;
    }
}

bool signature_parse(const char *text, uint64_t lexicon, struct signature *out, GError **error)
{
    memset(out, 0, sizeof *out);
    out->lexicon = lexicon;
    char **word = g_strsplit(text, " ", 6);
    const char *wrong = NULL;
    unsigned n = g_strv_length(word);
    if (n != 4 && n != 5)
        wrong = "it has not four or five words";
    else if (!parse_view(word[0], &out->view))
        wrong = "its view is unknown";
    else if (!parse_terms(word[1], &out->terms))
        wrong = "its number of terms is not between 1 and 65535";
    else if (!parse_lex(word[2], out))
        wrong = "its lexicon hashes are not 16 hex digits or '-' each";
    else if (!parse_sketch(word[3], out->sketch))
        wrong = "its sketch is not 128 hex digits";
    else if (n == 5 && !parse_odd(word[4], out))
        wrong = "its odd words are not six hex digits each, eight at most";
    g_strfreev(word);
    if (wrong)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "not a signature: %s", wrong);
    return wrong == NULL;
}
