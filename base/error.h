/*
 * One error type for the whole house: GError, with one domain.
 *
 * The code is for programs (which exit status, retry or not), the message is for people and has the form
 * "what went wrong: what to do". A fallible function returns false (or NULL, or a status) and fills a
 * GError **; it never prints and never exits.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <glib.h>

#define REFRAIN_ERROR (refrain_error_quark())

enum refrain_error {
    REFRAIN_ERROR_USAGE,       /* the command line is wrong */
    REFRAIN_ERROR_CONFIG,      /* the configuration is wrong: file and line are in the message */
    REFRAIN_ERROR_INPUT,       /* a file could not be read, or is not what it should be */
    REFRAIN_ERROR_LEXICON,     /* a .lex or .df file is damaged, foreign or of another version */
    REFRAIN_ERROR_OUTPUT,      /* a file could not be written */
    REFRAIN_ERROR_UNAVAILABLE, /* the store does not answer, or not in time: try again later */
    REFRAIN_ERROR_REFUSED,     /* the store answered and said no: password, read-only, full, wrong type */
    REFRAIN_ERROR_MISSING,     /* no such campaign, or no store */
    REFRAIN_ERROR_INTERRUPTED, /* the user stopped it */
};

GQuark refrain_error_quark(void);

#endif
