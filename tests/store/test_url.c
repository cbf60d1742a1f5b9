#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "store/url.h"

static const struct good {
    const char *text;
    enum url_kind kind;
    const char *hosts; /* joined by blanks */
    const char *path, *master, *user, *password;
    unsigned db;
    const char *name;
} good[] = {
    { "lmdb:/var/lib/refrain/store", URL_LMDB, "", "/var/lib/refrain/store", NULL, NULL, NULL, 0,
      "lmdb:/var/lib/refrain/store" },
    { "lmdb:///srv/store", URL_LMDB, "", "/srv/store", NULL, NULL, NULL, 0, "lmdb:/srv/store" },
    { "lmdb:store", URL_LMDB, "", "store", NULL, NULL, NULL, 0, "lmdb:store" },
    { "redis://localhost", URL_REDIS, "localhost:6379", NULL, NULL, NULL, NULL, 0,
      "redis://localhost:6379/0" },
    { "redis://localhost/", URL_REDIS, "localhost:6379", NULL, NULL, NULL, NULL, 0,
      "redis://localhost:6379/0" },
    { "redis://10.0.0.1:7000/15", URL_REDIS, "10.0.0.1:7000", NULL, NULL, NULL, NULL, 15,
      "redis://10.0.0.1:7000/15" },
    { "redis://[::1]:7000", URL_REDIS, "[::1]:7000", NULL, NULL, NULL, NULL, 0, "redis://[::1]:7000/0" },
    { "redis://[fe80::2]", URL_REDIS, "[fe80::2]:6379", NULL, NULL, NULL, NULL, 0,
      "redis://[fe80::2]:6379/0" },
    { "redis://mail:hushpuppy@db/1", URL_REDIS, "db:6379", NULL, NULL, "mail", "hushpuppy", 1,
      "redis://mail@db:6379/1" },
    { "redis://:hushpuppy@db", URL_REDIS, "db:6379", NULL, NULL, NULL, "hushpuppy", 0, "redis://db:6379/0" },
    { "redis://:hush%40%2Ffi%3Ash%25@db", URL_REDIS, "db:6379", NULL, NULL, NULL, "hush@/fi:sh%", 0,
      "redis://db:6379/0" },
    { "redis://:hush@puppy@db", URL_REDIS, "db:6379", NULL, NULL, NULL, "hush@puppy", 0,
      "redis://db:6379/0" },
    { "redis://m%C3%A4il:a:b@db", URL_REDIS, "db:6379", NULL, NULL, "mäil", "a:b", 0,
      "redis://mäil@db:6379/0" },
    { "redis+unix:/run/redis/redis.sock", URL_UNIX, "", "/run/redis/redis.sock", NULL, NULL, NULL, 0,
      "redis+unix:/run/redis/redis.sock?db=0" },
    { "redis+unix:/run/redis.sock?db=3", URL_UNIX, "", "/run/redis.sock", NULL, NULL, NULL, 3,
      "redis+unix:/run/redis.sock?db=3" },
    { "redis-sentinel://a:26379,b:26380,[::1]/mymaster", URL_SENTINEL, "a:26379 b:26380 [::1]:26379", NULL,
      "mymaster", NULL, NULL, 0, "redis-sentinel://a:26379,b:26380,[::1]:26379/mymaster/0" },
    { "redis-sentinel://mail:hushpuppy@a/spam/2", URL_SENTINEL, "a:26379", NULL, "spam", "mail", "hushpuppy",
      2, "redis-sentinel://mail@a:26379/spam/2" },
    { "redis-cluster://a:7000,b:7001,c", URL_CLUSTER, "a:7000 b:7001 c:6379", NULL, NULL, NULL, NULL, 0,
      "redis-cluster://a:7000,b:7001,c:6379" },
};

static void check_good(const struct good *g, const struct url *url)
{
    GString *hosts = g_string_new(NULL);
    for (unsigned i = 0; i < url->n_hosts; i++) {
        g_autofree char *address = url_address(url->hosts[i].name, url->hosts[i].port);
        g_string_append_printf(hosts, "%s%s", i ? " " : "", address);
    }
    assert_int_equal(url->kind, g->kind);
    assert_string_equal(hosts->str, g->hosts);
    assert_int_equal(g_strcmp0(url->path, g->path), 0);
    assert_int_equal(g_strcmp0(url->master, g->master), 0);
    assert_int_equal(g_strcmp0(url->user, g->user), 0);
    assert_int_equal(g_strcmp0(url->password, g->password), 0);
    assert_int_equal(url->db, g->db);
    assert_string_equal(url->name, g->name);
    g_string_free(hosts, TRUE);
}

static void every_kind_of_url_is_taken_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        GError *error = NULL;
        struct url *url = url_parse(good[i].text, NULL, &error);
        assert_null(error);
        check_good(&good[i], url);
        struct url *copy = url_copy(url);
        url_free(&url);
        assert_null(url);
        check_good(&good[i], copy);
        url_free(&copy);
    }
}

static const char *const bad[][2] = {
    /* text, a part of the sentence */
    { "", "no known kind" },
    { "redis:localhost", "no known kind" },
    { "/var/lib/refrain", "no known kind" },
    { "http://localhost", "no known kind" },
    { "lmdb:", "no path" },
    { "lmdb://host/path", "no host: write one slash" },
    { "redis://", "host" },
    { "redis://:6379", "host:port" },
    { "redis://a:0", "host:port" },
    { "redis://a:65536", "host:port" },
    { "redis://a:-1", "host:port" },
    { "redis://a:6379x", "host:port" },
    { "redis://::1", "brackets" },
    { "redis://[::1", "brackets" },
    { "redis://[::1]6379", "brackets" },
    { "redis://a b", "host:port" },
    { "redis://a\n", "host:port" },
    { "redis://a,b", "redis-sentinel" },
    { "redis://a/x", "database" },
    { "redis://a/-1", "database" },
    { "redis://a/1/2", "database" },
    { "redis://a/99999999999999999999", "database" },
    { "redis://mail@a", "no password" },
    { "redis://:hush%puppy@a", "%25" },
    { "redis://:hush/puppy@a", "percent-encode" },
    { "redis+unix:relative", "start with /" },
    { "redis+unix:/a?db=x", "database" },
    { "redis+unix:/a?dbx=1", "db=N" },
    { "redis-sentinel://a", "master" },
    { "redis-sentinel://a/", "master" },
    { "redis-sentinel://a/m/x", "database" },
    { "redis-cluster://a/1", "database 0" },
    { "redis-cluster://a,,b", "host:port" },
};

static void a_bad_url_is_refused_with_a_sentence_without_the_password(void **state)
{
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        GError *error = NULL;
        struct url *url = url_parse(bad[i][0], NULL, &error);
        if (url)
            fail_msg("accepted: %s", bad[i][0]);
        assert_true(g_error_matches(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG));
        if (!strstr(error->message, bad[i][1]))
            fail_msg("%s: no \"%s\" in: %s", bad[i][0], bad[i][1], error->message);
        assert_null(strstr(error->message, "hush"));
        assert_null(strstr(error->message, "puppy"));
        g_error_free(error);
    }
}

static void too_many_hosts_are_refused(void **state)
{
    (void)state;
    GString *text = g_string_new("redis-cluster://a");
    for (int i = 0; i < 100000; i++)
        g_string_append(text, ",a");
    g_autoptr(GError) error = NULL;
    assert_null(url_parse(text->str, NULL, &error));
    assert_non_null(strstr(error->message, "too many"));
    g_string_free(text, TRUE);
}

static void password_from_file(const char *url_text, const char *content, gssize length, const char *expected,
                               const char *sentence)
{
    g_autofree char *folder = g_dir_make_tmp("refrain-url-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "password", NULL);
    if (content)
        assert_true(g_file_set_contents(file, content, length, NULL));
    g_autoptr(GError) error = NULL;
    const struct url_access access = { .password_file = file };
    struct url *url = url_parse(url_text, &access, &error);
    if (sentence) {
        assert_null(url);
        assert_non_null(strstr(error->message, sentence));
        assert_non_null(strstr(error->message, file));
    } else {
        assert_non_null(url);
        assert_int_equal(g_strcmp0(url->password, expected), 0);
        assert_null(strstr(url->name, "hushpuppy"));
    }
    url_free(&url);
    g_unlink(file);
    g_rmdir(folder);
}

static void a_password_may_come_from_a_file(void **state)
{
    (void)state;
    password_from_file("redis://db", "hushpuppy\n", -1, "hushpuppy", NULL);
    password_from_file("redis://db", "hushpuppy\r\n", -1, "hushpuppy", NULL);
    password_from_file("redis://db", "hush puppy%41", -1, "hush puppy%41", NULL);
    password_from_file("redis://mail@db", "hushpuppy\n", -1, "hushpuppy", NULL);
    password_from_file("redis+unix:/run/r.sock?db=1&user=mail", "hushpuppy\n", -1, "hushpuppy", NULL);
    password_from_file("redis://:own@db", "hushpuppy\n", -1, "own", NULL);
    password_from_file("lmdb:/srv/store", NULL, 0, NULL, NULL);
}

static void a_bad_password_file_is_named(void **state)
{
    (void)state;
    password_from_file("redis://db", NULL, 0, NULL, "No such file");
    password_from_file("redis://db", "\n", -1, NULL, "empty");
    password_from_file("redis://db", "a\0b", 3, NULL, "NUL");
    g_autofree char *long_text = g_strnfill(5000, 'x');
    password_from_file("redis://db", long_text, -1, NULL, "longer");
}

static void addresses_are_split_as_redis_writes_them(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host;
        int port;
    } rows[] = {
        { "127.0.0.1:6379", "127.0.0.1", 6379 },
        { "[::1]:7000", "::1", 7000 },
        { "::1:7000", "::1", 7000 },
        { "node-3.example:1", "node-3.example", 1 },
        { "127.0.0.1", NULL, 0 },
        { ":6379", NULL, 0 },
        { "a:0", NULL, 0 },
        { "", NULL, 0 },
        { "a:99999", NULL, 0 },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *host = NULL;
        uint16_t port = 0;
        assert_int_equal(url_split_address(rows[i].text, &host, &port), rows[i].host != NULL);
        assert_int_equal(g_strcmp0(host, rows[i].host), 0);
        assert_int_equal(port, rows[i].port);
        g_free(host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_url_is_taken_apart),
        cmocka_unit_test(a_bad_url_is_refused_with_a_sentence_without_the_password),
        cmocka_unit_test(too_many_hosts_are_refused),
        cmocka_unit_test(a_password_may_come_from_a_file),
        cmocka_unit_test(a_bad_password_file_is_named),
        cmocka_unit_test(addresses_are_split_as_redis_writes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
