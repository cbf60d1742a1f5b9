/* refrain expire: drops what has outlived its ttl, now. */
#include <stdio.h>

#include "tools/command.h"
#include "tools/json.h"
#include "tools/output.h"

static int expire_run(const struct command *self, struct context *context, int argc, char **argv)
{
    GError *error = NULL;
    uint64_t dropped = 0;
    if (!context_parse(context, self, NULL, argc, argv, &error) ||
        !context_no_arguments(context, self, &error) || !context_open(context, CONTEXT_WRITE, &error) ||
        !store_expire(context->store, &dropped, &error))
        return command_fail(error);
    if (context->json) {
        struct json *json = json_new();
        json_open(json, NULL, '{');
        json_uint(json, "expired", dropped);
        json_close(json, '}');
        json_print(&json);
    } else {
        printf("expired %s\n", output_count(dropped));
    }
    return EXIT_DONE;
}

const struct command cmd_expire = {
    .name = "expire",
    .arguments = "",
    .summary = "drop what has outlived its ttl now",
    .run = expire_run,
};
