/*
 * The tests that every backend must pass, run by one small program for each.
 */
#ifndef TESTS_STORE_CONTRACT_H
#define TESTS_STORE_CONTRACT_H

#include <glib.h>

struct contract_backend {
    const char *name;
    /* Starts what must run, once, and makes room for an empty store before each test. */
    void (*start)(const char *folder);
    void (*stop)(void);
    char *(*empty_store)(const char *folder, unsigned nth); /* its URL */
    /* Every key that the store holds, one a line, in a fixed order. */
    char *(*key_space)(const char *url);
};

int contract_run(const struct contract_backend *backend);

#endif
