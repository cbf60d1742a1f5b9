/* refrain check: would these be recognised? */
#include <stdio.h>

#include "tools/campaign.h"
#include "tools/command.h"
#include "tools/each_mail.h"
#include "tools/json.h"
#include "tools/output.h"

struct check {
    struct context *context;
    uint64_t matched;
    GError *error; /* of the store: ends the run */
};

struct answer {
    struct store_match match;
    GError *error;
};

static void *look_up(struct each_mail *mail, void *user)
{
    struct check *check = user;
    struct answer *answer = g_new0(struct answer, 1);
    if (!mail->unscannable)
        store_lookup(check->context->store, &mail->signatures, &check->context->rule, &answer->match,
                     &answer->error);
    return answer;
}

static const char *verdict_of(const struct each_mail *mail, const struct store_match *match)
{
    if (mail->unscannable)
        return "unscannable";
    return match->level == SIGNATURE_STRANGER ? "clean" : "match";
}

static void print_json(const struct each_mail *mail, const struct store_match *match)
{
    static const char *const levels[] = { NULL, "tag", "reject" };
    bool hit = match->level != SIGNATURE_STRANGER, near = match->campaign != 0;
    struct json *json = json_new();
    json_open(json, NULL, '{');
    json_string(json, "path", mail->path);
    json_string(json, "verdict", verdict_of(mail, match));
    json_hex(json, "campaign", hit ? match->campaign : 0);
    if (near) {
        json_real(json, "similarity", match->likeness.similarity, 4);
        json_uint(json, "distance", match->likeness.distance);
        json_uint(json, "shared", match->likeness.shared);
        json_uint(json, "of", match->of);
        json_string(json, "view", message_view_name(match->view));
    } else {
        json_null(json, "similarity");
        json_null(json, "distance");
        json_uint(json, "shared", 0);
        json_uint(json, "of", mail->signatures.n ? mail->signatures.v[0].n_lex : 0);
        json_null(json, "view");
    }
    json_uint(json, "terms", mail->terms);
    json_string(json, "level", levels[match->level]);
    json_hex(json, "nearest", match->campaign);
    json_bool(json, "allowed", match->allowed);
    json_string(json, "reason", mail->unscannable);
    json_close(json, '}');
    json_print(&json);
}

static void print_text(const struct each_mail *mail, const struct store_match *match)
{
    g_autofree char *path = output_safe(mail->path);
    char id[CAMPAIGN_ID];
    if (mail->unscannable)
        printf("unscannable\t-\t-\t-\t%s\n", path);
    else if (match->level != SIGNATURE_STRANGER)
        printf("match\t%s\t%.2f\t%u/%u\t%s\n", campaign_id_print(match->campaign, id),
               match->likeness.similarity, match->likeness.shared, match->of, path);
    else if (match->campaign)
        printf("clean\t-\t%.2f\t-\t%s\n", match->likeness.similarity, path);
    else
        printf("clean\t-\t-\t-\t%s\n", path);
}

static bool check_done(struct each_mail *mail, void *user)
{
    struct check *check = user;
    struct answer *answer = mail->result;
    if (answer->error && !check->error) {
        check->error = g_steal_pointer(&answer->error);
    } else if (!check->error) {
        check->matched += answer->match.level != SIGNATURE_STRANGER;
        (check->context->json ? print_json : print_text)(mail, &answer->match);
    }
    g_clear_error(&answer->error);
    g_free(answer);
    return !check->error;
}

static int check_run(const struct command *self, struct context *context, int argc, char **argv)
{
    GError *error = NULL;
    if (!context_parse(context, self, NULL, argc, argv, &error) ||
        !context_arguments(context, self, 1, 0, &error) || !context_open(context, CONTEXT_READ, &error))
        return command_fail(error);
    struct check check = { .context = context };
    struct each_mail_totals totals = each_mail_run(&(struct each_mail_plan) { .context = context,
                                                                              .paths = context->arguments,
                                                                              .work = look_up,
                                                                              .done = check_done,
                                                                              .user = &check });
    if (check.error)
        return command_fail(check.error);
    if (check.matched == 0)
        campaign_warn_other_lexicon(context->store);
    int code = each_mail_exit(&totals);
    return code != EXIT_DONE ? code : check.matched > 0 ? EXIT_DONE : EXIT_NONE;
}

const struct command cmd_check = {
    .name = "check",
    .arguments = "PATH...",
    .summary = "would these be recognised?",
    .more =
        "Prints a line a message, tab-separated: match, clean or unscannable; the campaign; the similarity;\n"
        "how many lexicons agree; the path. Exit: 0 at least one matched, 1 none did, 2 error.\n",
    .run = check_run,
};
