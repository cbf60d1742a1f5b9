#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <glib.h>

#include "base/find.h"

/* Texts of two letters hold every short needle everywhere, at both ends and cut off behind the end. */
static void it_finds_what_memmem_finds(void **state)
{
    static const char *const needles[] = { "a", "ab", "aab", "bba", "abab", "aaaaab" };
    (void)state;
    for (unsigned n = 0; n <= 10; n++)
        for (unsigned bits = 0; bits < 1u << n; bits++) {
            g_autofree char *text = g_malloc(MAX(n, 1)); /* its own block: a look behind the end is seen */
            for (unsigned i = 0; i < n; i++)
                text[i] = bits >> i & 1 ? 'b' : 'a';
            for (size_t k = 0; k < G_N_ELEMENTS(needles); k++)
                for (size_t rare = 0; rare < strlen(needles[k]); rare++)
                    assert_ptr_equal(find_rare(text, n, needles[k], rare),
                                     memmem(text, n, needles[k], strlen(needles[k])));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(it_finds_what_memmem_finds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
