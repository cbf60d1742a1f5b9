/* Authentication-Results: any bytes, read as a header of our own server. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "milter/authres.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A domain is never empty, never longer than what was there, and in lower case. */
static bool visit(const char *domain, void *user)
{
    const size_t *size = user;
    if (!*domain || strlen(domain) > *size)
        g_error("a domain that was not there");
    for (const char *c = domain; *c; c++)
        if (g_ascii_isupper(*c))
            g_error("a domain in upper case");
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *value = g_strndup((const char *)data, size);
    g_autofree char *ours = g_strconcat("mx.example.org;", value, NULL);
    authres_read(value, "mx.example.org", visit, &size);
    authres_read(ours, "mx.example.org", visit, &size);
    return 0;
}
