/* refrain sign: prints signatures, touches no store. */
#include <stdio.h>
#include <string.h>

#include "tools/command.h"
#include "tools/each_mail.h"
#include "tools/json.h"
#include "tools/output.h"

static void json_signature(struct json *json, const struct signature *signature)
{
    json_uint(json, "terms", signature->terms);
    json_open(json, "lex", '[');
    for (unsigned i = 0; i < signature->n_lex; i++)
        json_hex(json, NULL, signature->lex[i]);
    json_close(json, ']');
    GString *sketch = g_string_new(NULL);
    for (unsigned i = 0; i < SIGNATURE_WORDS; i++)
        g_string_append_printf(sketch, "%016" G_GINT64_MODIFIER "x", signature->sketch[i]);
    json_string(json, "sketch", sketch->str);
    g_string_free(sketch, TRUE);
    json_open(json, "odd", '[');
    for (unsigned i = 0; i < signature_n_odd(signature); i++) {
        char odd[8];
        g_snprintf(odd, sizeof odd, "%06x", signature->odd[i]);
        json_string(json, NULL, odd);
    }
    json_close(json, ']');
}

/* The first view, the body where there is one, stands in the object itself; `views` has all of them. */
static void print_json(const struct each_mail *mail, uint64_t lexicon)
{
    struct json *json = json_new();
    json_open(json, NULL, '{');
    json_string(json, "path", mail->path);
    json_hex(json, "lexicon", lexicon);
    if (mail->signatures.n > 0) {
        json_signature(json, &mail->signatures.v[0]);
    } else {
        json_uint(json, "terms", mail->terms);
        json_open(json, "lex", '[');
        json_close(json, ']');
        json_null(json, "sketch");
        json_string(json, "unscannable", mail->unscannable);
    }
    json_open(json, "views", '[');
    for (unsigned i = 0; i < mail->signatures.n; i++) {
        json_open(json, NULL, '{');
        json_string(json, "view", message_view_name(mail->signatures.v[i].view));
        json_signature(json, &mail->signatures.v[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
    json_print(&json);
}

/* view, terms, lexicon hashes, sketch, path: by tabs, a line a view. */
static void print_text(const struct each_mail *mail)
{
    g_autofree char *path = output_safe(mail->path);
    if (mail->signatures.n == 0)
        printf("unscannable\t%u\t-\t-\t%s\n", mail->terms, path);
    for (unsigned i = 0; i < mail->signatures.n; i++) {
        g_autofree char *line = signature_print(&mail->signatures.v[i]);
        *strrchr(line, ' ') = '\0'; /* odd words are in the JSON: the path stays the fifth */
        printf("%s\t%s\n", g_strdelimit(line, " ", '\t'), path);
    }
}

static bool sign_done(struct each_mail *mail, void *user)
{
    const struct context *context = user;
    if (context->json)
        print_json(mail, lexicon_id(context->lexicon));
    else
        print_text(mail);
    return true;
}

static int sign_run(const struct command *self, struct context *context, int argc, char **argv)
{
    GError *error = NULL;
    if (!context_parse(context, self, NULL, argc, argv, &error) ||
        !context_arguments(context, self, 1, 0, &error) || !context_open(context, CONTEXT_LEXICON, &error))
        return command_fail(error);
    struct each_mail_totals totals = each_mail_run(&(struct each_mail_plan) {
        .context = context, .paths = context->arguments, .done = sign_done, .user = context });
    return each_mail_exit(&totals);
}

const struct command cmd_sign = {
    .name = "sign",
    .arguments = "PATH...",
    .summary = "print signatures, touch no store",
    .more = "Prints a line a view, tab-separated: view, terms, the lexicon hashes (- where a lexicon has\n"
            "too few of the terms), the sketch, the path.\n",
    .run = sign_run,
};
