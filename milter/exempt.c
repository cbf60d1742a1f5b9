#include "milter/exempt.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

/* --- networks -------------------------------------------------------------------------------------- */

/* Everything is 16 bytes: IPv4 is ::ffff:a.b.c.d, with 96 more bits of prefix. */
struct network {
    uint8_t address[16];
    unsigned bits;
};

struct network_list {
    unsigned n;
    struct network v[];
};

static const uint8_t mapped_prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

static bool parse_address(const char *text, uint8_t out[16], unsigned *extra_bits)
{
    *extra_bits = 0;
    if (inet_pton(AF_INET6, text, out) == 1)
        return true;
    memcpy(out, mapped_prefix, sizeof mapped_prefix);
    *extra_bits = 96;
    return inet_pton(AF_INET, text, out + 12) == 1;
}

/* Are all bits behind the prefix 0? 10.0.0.1/8 is more often a slip than a wish. */
static bool host_part_is_zero(const struct network *network)
{
    for (unsigned bit = network->bits; bit < 128; bit++)
        if (network->address[bit / 8] & (0x80u >> bit % 8))
            return false;
    return true;
}

static bool parse_network(const char *word, struct network *out)
{
    const char *slash = strchr(word, '/');
    g_autofree char *address = slash ? g_strndup(word, (gsize)(slash - word)) : g_strdup(word);
    unsigned extra;
    guint64 bits;
    if (!parse_address(address, out->address, &extra))
        return false;
    out->bits = 128;
    if (!slash)
        return true;
    if (!g_ascii_string_to_unsigned(slash + 1, 10, 0, 128 - extra, &bits, NULL))
        return false;
    out->bits = (unsigned)bits + extra;
    return host_part_is_zero(out);
}

struct network_list *network_list_new(char *const *words, GError **error)
{
    unsigned n = g_strv_length((char **)words);
    struct network_list *list = g_malloc0(sizeof *list + n * sizeof list->v[0]);
    for (; list->n < n; list->n++)
        if (!parse_network(words[list->n], &list->v[list->n])) {
            g_set_error(
                error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG,
                "\"%s\" is not a network: use an address, or a network with no bits behind its prefix, such "
                "as 192.0.2.0/24 or 2001:db8::/32",
                words[list->n]);
            g_free(list);
            return NULL;
        }
    return list;
}

static bool address_bytes(const struct sockaddr *address, uint8_t out[16])
{
    if (address && address->sa_family == AF_INET) {
        memcpy(out, mapped_prefix, sizeof mapped_prefix);
        memcpy(out + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
        return true;
    }
    if (address && address->sa_family == AF_INET6) {
        memcpy(out, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
        return true;
    }
    return false;
}

static bool in_network(const struct network *network, const uint8_t address[16])
{
    unsigned whole = network->bits / 8, rest = network->bits % 8;
    if (memcmp(network->address, address, whole) != 0)
        return false;
    return rest == 0 || ((network->address[whole] ^ address[whole]) >> (8 - rest)) == 0;
}

bool network_list_has(const struct network_list *list, const struct sockaddr *address)
{
    uint8_t bytes[16];
    if (!address_bytes(address, bytes))
        return false;
    for (unsigned i = 0; i < list->n; i++)
        if (in_network(&list->v[i], bytes))
            return true;
    return false;
}

void network_list_free(struct network_list *list)
{
    g_free(list);
}

/* --- addresses -------------------------------------------------------------------------------------- */

/* The words as written, in lower case: a look-up asks for user@domain, @domain, .domain, .parent, … */
struct address_list {
    GHashTable *words;
};

/* The longest address that SMTP allows is 254 bytes; anything longer is in no list. */
#define ADDRESS_MAX 320

static bool is_address(const char *word)
{
    const char *at = strrchr(word, '@');
    const char *domain = at ? at + 1 : word + 1;
    return (at || *word == '.') && *domain && *domain != '.' && strlen(word) < ADDRESS_MAX &&
           !strpbrk(word, " \t<>");
}

static bool is_domain(const char *word)
{
    const char *domain = word + (*word == '.');
    return *domain && *domain != '.' && strlen(word) < ADDRESS_MAX && !strpbrk(word, "@ \t<>");
}

static struct address_list *list_new(char *const *words, bool (*is_allowed)(const char *), const char *remedy,
                                     GError **error)
{
    struct address_list *list = g_new0(struct address_list, 1);
    list->words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (char *const *word = words; *word; word++) {
        if (!is_allowed(*word)) {
            g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG, "\"%s\" is not allowed: use %s", *word,
                        remedy);
            address_list_free(list);
            return NULL;
        }
        g_hash_table_add(list->words, g_ascii_strdown(*word, -1));
    }
    return list;
}

struct address_list *address_list_new(char *const *words, GError **error)
{
    return list_new(words, is_address, "user@domain, @domain, or .domain for it and all below it", error);
}

struct address_list *domain_list_new(char *const *words, GError **error)
{
    return list_new(words, is_domain, "a domain, or .domain for it and all below it", error);
}

static bool has_domain_or_parent(const struct address_list *list, const char *domain)
{
    char key[ADDRESS_MAX + 2];
    g_snprintf(key, sizeof key, "@%s", domain);
    if (g_hash_table_contains(list->words, key))
        return true;
    key[0] = '.';
    for (const char *dot = key; dot; dot = strchr(dot + 1, '.'))
        if (g_hash_table_contains(list->words, dot))
            return true;
    return false;
}

/* "<User@Example.ORG>" -> "user@example.org"; a trailing dot of the domain goes too. */
static bool fold_address(const char *address, char out[ADDRESS_MAX])
{
    size_t n = strlen(address);
    if (n >= 2 && address[0] == '<' && address[n - 1] == '>') {
        address++;
        n -= 2;
    }
    if (n > 1 && address[n - 1] == '.')
        n--;
    if (n == 0 || n >= ADDRESS_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = g_ascii_tolower(address[i]);
    out[n] = '\0';
    return true;
}

bool address_list_has(const struct address_list *list, const char *address)
{
    char folded[ADDRESS_MAX];
    if (address_list_is_empty(list) || !fold_address(address, folded))
        return false;
    const char *at = strrchr(folded, '@');
    return g_hash_table_contains(list->words, folded) || (at && has_domain_or_parent(list, at + 1));
}

bool domain_list_has(const struct address_list *list, const char *domain)
{
    char folded[ADDRESS_MAX];
    if (address_list_is_empty(list) || !fold_address(domain, folded))
        return false;
    return g_hash_table_contains(list->words, folded) || has_domain_or_parent(list, folded);
}

bool address_list_is_empty(const struct address_list *list)
{
    return g_hash_table_size(list->words) == 0;
}

void address_list_free(struct address_list *list)
{
    if (!list)
        return;
    g_hash_table_unref(list->words);
    g_free(list);
}
