/*
 * One walk over mail for every command: read, unwrap, sign on all cores, and hand over in order.
 *
 *      message_source ──▶ unwrap, message_read, signature_make_all, work() ──▶ done(), in order of input
 *                         (on many threads)                                   (on one)
 *
 * At most a window of messages is in memory. What cannot be read is said on stderr and the walk goes on;
 * SIGINT ends it after the messages that were begun.
 */
#ifndef TOOLS_EACH_MAIL_H
#define TOOLS_EACH_MAIL_H

#include "tools/context.h"

/* Reports come wrapped: see message/unwrap.h. */
enum each_mail_unwrap {
    EACH_MAIL_AS_IS,     /* the message itself */
    EACH_MAIL_AUTO,      /* what is clearly a wrapper is unwrapped, what is doubtful not used */
    EACH_MAIL_FORWARDED, /* only what is inside a wrapper counts */
};

struct each_mail {
    char *path; /* "file", "file#N"; "file/N" for the Nth of several messages inside a report */
    const void *bytes;
    size_t n_bytes;
    struct signature_set signatures; /* n = 0: unscannable */
    const char *unscannable;         /* why; NULL when there is a signature */
    unsigned terms;                  /* of the body view */
    const struct message *message;   /* its terms; only inside work(), NULL where it was not read */
    void *result;                    /* of work(); done() frees it */
};

struct each_mail_plan {
    struct context *context;
    char *const *paths;
    enum each_mail_unwrap unwrap;
    bool prototypes; /* they are to be stored: what is little more than a footer is unscannable */
    void *(*work)(struct each_mail *mail, void *user); /* on many threads; may be NULL; makes mail->result */
    bool (*done)(struct each_mail *mail, void *user);  /* on one thread; false stops */
    void *user;
};

struct each_mail_totals {
    uint64_t messages, unreadable;
    bool interrupted;
};

struct each_mail_totals each_mail_run(const struct each_mail_plan *plan);

/* Done, or something could not be read, or interrupted (said on stderr): the exit code of the walk. */
int each_mail_exit(const struct each_mail_totals *totals);

/* --as-is and --forwarded into the mode; both at once is an error. */
bool each_mail_mode(gboolean as_is, gboolean forwarded, enum each_mail_unwrap *out, GError **error);

#endif
