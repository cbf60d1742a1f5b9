/* Authentication-Results: our own, and what others make of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glib.h>
#include <string.h>

#include "milter/authres.h"

static bool collect(const char *domain, void *user)
{
    g_string_append_printf(user, "%s ", domain);
    return true;
}

static const struct {
    const char *value;
    enum authres kind;
    const char *domains;
} rows[] = {
    { "mx.example.org; dkim=pass header.d=paypal.com", AUTHRES_DKIM, "paypal.com " },
    { " mx.example.org 1; dkim=pass header.d=a.org", AUTHRES_DKIM, "a.org " },
    { "MX.Example.ORG; DKIM=PASS Header.D=A.org", AUTHRES_DKIM, "a.org " },
    { "\"mx.example.org\"; dkim=pass header.d=\"a.org\"", AUTHRES_DKIM, "a.org " },
    { "mx.example.org;\n\tdkim=pass (2048-bit key; unprotected)\n\t header.d=a.org header.i=@a.org "
      "header.b=Q+x/",
      AUTHRES_DKIM, "a.org " },
    { "mx.example.org (our (nested) host);dkim/1=pass reason=\"good; really\" header.d=a.org", AUTHRES_DKIM,
      "a.org " },
    { "mx.example.org; spf=pass smtp.mailfrom=a.org; dkim=pass header.d=a.org; dkim=pass header.d=b.org; "
      "dmarc=pass",
      AUTHRES_DKIM, "a.org b.org " },
    { "mx.example.org; dkim=fail header.d=a.org", AUTHRES_DKIM, "" },
    { "mx.example.org; dkim=none", AUTHRES_DKIM, "" },
    { "mx.example.org; dkim=pass", AUTHRES_DKIM, "" },
    { "mx.example.org; dkim=pass header.i=@a.org", AUTHRES_DKIM, "" },
    { "mx.example.org; none", AUTHRES_SILENT, "" },
    { "mx.example.org; spf=pass header.d=a.org", AUTHRES_SILENT, "" },
    { "mx.example.org; arc=pass; spf=fail (dkim=pass header.d=a.org)", AUTHRES_SILENT, "" },
    { "mx.example.org; spf=pass reason=\"; dkim=pass header.d=a.org\"", AUTHRES_SILENT, "" },
    { "mx.example.org.evil.net; dkim=pass header.d=a.org", AUTHRES_FOREIGN, "" },
    { "evil.net; dkim=pass header.d=a.org", AUTHRES_FOREIGN, "" },
    { "evil.net (mx.example.org); dkim=pass header.d=a.org", AUTHRES_FOREIGN, "" },
    { "mx.example.org dkim=pass header.d=a.org", AUTHRES_FOREIGN, "" },
    { "mx.example.org", AUTHRES_FOREIGN, "" },
    { "", AUTHRES_FOREIGN, "" },
    { ";;;;", AUTHRES_FOREIGN, "" },
    { "mx.example.org; (never closed dkim=pass header.d=a.org", AUTHRES_SILENT, "" },
    { "mx.example.org; =pass header.d=a.org", AUTHRES_SILENT, "" },
    { "mx.example.org; dkim==pass header.d=a.org", AUTHRES_SILENT, "" },
    { "mx.example.org; \"dkim=pass header.d=a.org", AUTHRES_SILENT, "" },
};

static void every_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GString) domains = g_string_new(NULL);
        enum authres kind = authres_read(rows[i].value, "mx.example.org", collect, domains);
        if (kind != rows[i].kind || strcmp(domains->str, rows[i].domains) != 0)
            fail_msg("%s: got %d, \"%s\"", rows[i].value, (int)kind, domains->str);
    }
}

static void without_a_name_everything_is_foreign(void **state)
{
    (void)state;
    g_autoptr(GString) domains = g_string_new(NULL);
    assert_int_equal(authres_read("\"\"; dkim=pass header.d=a.org", "", collect, domains), AUTHRES_FOREIGN);
    assert_int_equal(domains->len, 0);
}

static void long_and_deep_input_is_bounded(void **state)
{
    (void)state;
    g_autoptr(GString) domains = g_string_new(NULL);
    g_autofree char *deep = g_strnfill(100000, '('), *wide = g_strnfill(100000, 'x');
    g_autofree char *a = g_strconcat("mx.example.org; dkim=pass header.d=", wide, NULL);
    g_autofree char *b = g_strconcat("mx.example.org; dkim=pass ", deep, " header.d=a.org", NULL);
    authres_read(a, "mx.example.org", collect, domains);
    authres_read(b, "mx.example.org", collect, domains);
    authres_read(wide, "mx.example.org", collect, domains);
    assert_int_equal(domains->len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form),
        cmocka_unit_test(without_a_name_everything_is_foreign),
        cmocka_unit_test(long_and_deep_input_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
