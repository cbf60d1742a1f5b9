/*
 * Lists of clients, addresses and domains, parsed once when the configuration is loaded.
 *
 *      networks    192.0.2.7   192.0.2.0/24   2001:db8::/32
 *      addresses   user@example.org   @example.org   .example.org (it and all below it)
 *      domains     example.org   .example.org (it and all below it)
 *
 * Immutable after parsing; any thread. Case does not matter, IPv4 inside IPv6 is IPv4.
 */
#ifndef MILTER_EXEMPT_H
#define MILTER_EXEMPT_H

#include <glib.h>
#include <stdbool.h>
#include <sys/socket.h>

struct network_list;
struct address_list;

/* NULL and an error that names the word when one of them is not a network or an address. */
struct network_list *network_list_new(char *const *words, GError **error);
struct address_list *address_list_new(char *const *words, GError **error);
struct address_list *domain_list_new(char *const *words, GError **error);

/* The client's address as libmilter gives it; NULL (a local submission) is in no network. */
bool network_list_has(const struct network_list *list, const struct sockaddr *address);

/* An envelope address, with or without angle brackets; "<>" is in no list. */
bool address_list_has(const struct address_list *list, const char *address);

/* A domain alone, in a list of domains. */
bool domain_list_has(const struct address_list *list, const char *domain);

bool address_list_is_empty(const struct address_list *list);

void network_list_free(struct network_list *list);
void address_list_free(struct address_list *list);

#endif
