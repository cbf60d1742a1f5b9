/* Exempt lists: networks, addresses, domains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "milter/exempt.h"

static bool has_client(const struct network_list *list, const char *text)
{
    struct sockaddr_storage storage = { 0 };
    struct sockaddr_in *v4 = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage;
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
        v4->sin_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
        v6->sin6_family = AF_INET6;
    else
        fail_msg("%s", text);
    return network_list_has(list, (struct sockaddr *)&storage);
}

static void networks_by_prefix(void **state)
{
    (void)state;
    char *words[] = { "192.0.2.0/24", "198.51.100.7", "10.128.0.0/9", "2001:db8::/33", "::1", NULL };
    static const struct {
        const char *client;
        bool in;
    } rows[] = {
        { "192.0.2.0", true },        { "192.0.2.255", true },   { "192.0.3.0", false },
        { "198.51.100.7", true },     { "198.51.100.6", false }, { "10.127.255.255", false },
        { "10.128.0.0", true },       { "2001:db8::1", true },   { "2001:db8:7fff::", true },
        { "2001:db8:8000::", false }, { "::1", true },           { "::2", false },
        { "::ffff:192.0.2.9", true }, { "127.0.0.1", false },
    };
    struct network_list *list = network_list_new(words, NULL);
    assert_non_null(list);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (has_client(list, rows[i].client) != rows[i].in)
            fail_msg("%s", rows[i].client);
    network_list_free(list);
}

static void everybody_is_a_network_too(void **state)
{
    (void)state;
    char *words[] = { "0.0.0.0/0", NULL };
    struct network_list *list = network_list_new(words, NULL);
    assert_true(has_client(list, "203.0.113.9"));
    assert_false(has_client(list, "2001:db8::1"));
    network_list_free(list);
}

static void a_local_submission_is_in_no_network(void **state)
{
    (void)state;
    char *words[] = { "0.0.0.0/0", "::/0", NULL };
    struct network_list *list = network_list_new(words, NULL);
    struct sockaddr local = { .sa_family = AF_UNIX };
    assert_false(network_list_has(list, NULL));
    assert_false(network_list_has(list, &local));
    network_list_free(list);
}

static void slips_in_networks_are_refused(void **state)
{
    (void)state;
    static char *const slips[] = { "192.0.2.1/24", "192.0.2.0/33",   "192.0.2.0/",
                                   "192.0.2",      "2001:db8::/129", "localhost",
                                   "/8",           "10.0.0.0/-1",    "2001:db8::1/32" };
    for (size_t i = 0; i < G_N_ELEMENTS(slips); i++) {
        g_autoptr(GError) error = NULL;
        char *words[] = { slips[i], NULL };
        assert_null(network_list_new(words, &error));
        assert_non_null(strstr(error->message, slips[i]));
    }
}

static void addresses_exact_by_domain_and_below_it(void **state)
{
    (void)state;
    char *words[] = { "Boss@Example.org", "@example.net", ".example.com", NULL };
    static const struct {
        const char *address;
        bool in;
    } rows[] = {
        { "<boss@example.org>", true },
        { "BOSS@EXAMPLE.ORG", true },
        { "<other@example.org>", false },
        { "<x@example.net>", true },
        { "<x@sub.example.net>", false },
        { "<x@example.com>", true },
        { "<x@a.b.example.com>", true },
        { "<x@badexample.com>", false },
        { "<x@example.com.evil.org>", false },
        { "<>", false },
        { "", false },
        { "<x@example.net.>", true },
        { "x@example.net.", true },
        { "<example.net>", false },
        { "<a@b@example.net>", true },
        { "<postmaster>", false },
    };
    struct address_list *list = address_list_new(words, NULL);
    assert_non_null(list);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (address_list_has(list, rows[i].address) != rows[i].in)
            fail_msg("%s", rows[i].address);
    address_list_free(list);
}

static void domains_alone(void **state)
{
    (void)state;
    char *words[] = { "Example.org", ".example.com", NULL };
    struct address_list *list = domain_list_new(words, NULL);
    assert_true(domain_list_has(list, "example.ORG"));
    assert_false(domain_list_has(list, "mail.example.org"));
    assert_true(domain_list_has(list, "example.com"));
    assert_true(domain_list_has(list, "mail.example.com"));
    assert_false(domain_list_has(list, "notexample.com"));
    assert_false(domain_list_has(list, ""));
    address_list_free(list);
}

static void words_that_would_never_match_are_refused(void **state)
{
    (void)state;
    char *bare[] = { "example.org", NULL }, *at[] = { "@", NULL }, *dot[] = { ".", NULL },
         *user[] = { "a@b", NULL };
    g_autoptr(GError) error = NULL;
    assert_null(address_list_new(bare, &error));
    assert_non_null(strstr(error->message, "@domain"));
    assert_null(address_list_new(at, NULL));
    assert_null(address_list_new(dot, NULL));
    assert_null(domain_list_new(user, NULL));
}

static void an_address_of_any_length_is_safe(void **state)
{
    (void)state;
    char *words[] = { ".example.com", NULL };
    struct address_list *list = address_list_new(words, NULL);
    g_autofree char *name = g_strnfill(100000, 'a');
    g_autofree char *address = g_strdup_printf("<%s@example.com>", name);
    assert_false(address_list_has(list, address));
    address_list_free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_by_prefix),
        cmocka_unit_test(everybody_is_a_network_too),
        cmocka_unit_test(a_local_submission_is_in_no_network),
        cmocka_unit_test(slips_in_networks_are_refused),
        cmocka_unit_test(addresses_exact_by_domain_and_below_it),
        cmocka_unit_test(domains_alone),
        cmocka_unit_test(words_that_would_never_match_are_refused),
        cmocka_unit_test(an_address_of_any_length_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
