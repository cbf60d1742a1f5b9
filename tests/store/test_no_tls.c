#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/error.h"
#include "store/url.h"

/* What takes the place of test_tls where TLS is not built in. */
static void without_tls_a_rediss_url_is_refused_with_what_to_do_instead(void **state)
{
    (void)state;
    static const char *const urls[] = {
        "rediss://a",
        "rediss://mail:hushpuppy@a:6380/1",
        "rediss-sentinel://:hushpuppy@a,b/mymaster",
        "rediss-cluster://mail:hushpuppy@a,b",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(urls); i++) {
        g_autoptr(GError) error = NULL;
        assert_null(url_parse(urls[i], NULL, &error));
        assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG));
        assert_non_null(strstr(error->message, "has no TLS"));
        assert_non_null(strstr(error->message, "stunnel"));
        assert_non_null(strstr(error->message, "redis+unix:/path"));
        assert_null(strstr(error->message, "hushpuppy"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_tls_a_rediss_url_is_refused_with_what_to_do_instead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
