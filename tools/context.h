/*
 * What every command needs: the common options, and what they open. A command says what it uses
 * (CONTEXT_…), and context_open() opens that and no more.
 *
 * What overrides what: an option of the command line goes before the config file, and the config file
 * before the built-in default. The default config file may be missing; one named with --config may not.
 */
#ifndef TOOLS_CONTEXT_H
#define TOOLS_CONTEXT_H

#include <glib.h>
#include <stdbool.h>

#include "base/config.h"
#include "lexicon/lexicon.h"
#include "message/message.h"
#include "signature/signature.h"
#include "store/store.h"

/* Exit codes: INTERFACE. `check` alone uses NONE. */
enum { EXIT_DONE = 0, EXIT_NONE = 1, EXIT_ERROR = 2 };

struct context {
    /* From the command line; NULL and 0: not given. */
    char *config_path, *store_url, *lexicon_path;
    gboolean json, quiet, help, version;
    int jobs;
    char **arguments; /* what is no option; NULL-ended, never NULL after context_parse() */

    /* By context_open(). */
    struct config *config;
    struct lexicon *lexicon;
    struct store *store;
    struct signature_rule rule;
    struct message_limits limits;
};

/* Each with all above it. */
enum context_needs {
    CONTEXT_CONFIG,
    CONTEXT_LEXICON,
    CONTEXT_READ,  /* the store, to read */
    CONTEXT_WRITE, /* the store, to write */
    CONTEXT_MAKE,  /* the store, to write, and an embedded one is made where there is none */
};

struct command;

/* The options that stand before the command; argv then begins with the command's name. */
bool context_parse_first(struct context *context, int *argc, char ***argv, GError **error);

/*
 * The options of a command, its own (may be NULL) and the common ones. False with no error: --help was
 * asked for and printed.
 */
bool context_parse(struct context *context, const struct command *command, const GOptionEntry *own, int argc,
                   char **argv, GError **error);

/* The number of arguments must be between these (max 0: no limit), or the error says what is missing. */
bool context_arguments(const struct context *context, const struct command *command, unsigned min,
                       unsigned max, GError **error);

/* The command takes options only. */
bool context_no_arguments(const struct context *context, const struct command *command, GError **error);

bool context_open(struct context *context, enum context_needs needs, GError **error);

/* Opens only one of them; config first. For commands that look at each by itself. */
bool context_open_config(struct context *context, GError **error);
bool context_open_lexicon(struct context *context, GError **error);
bool context_open_store(struct context *context, enum context_needs needs, GError **error);

/* The file and the URL in force. */
const char *context_lexicon_path(const struct context *context);
const char *context_store_url(const struct context *context);

void context_close(struct context *context);

/* The options of the store for another lexicon: resign writes under a new one beside the old. */
struct store_options context_store_options(const struct context *context, bool read_only);

#endif
