#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/store/contract.h"

static void nothing_to_start(const char *folder)
{
    (void)folder;
}

static void nothing_to_stop(void) {}

static char *empty_store(const char *folder, unsigned nth)
{
    return g_strdup_printf("lmdb:%s/%u", folder, nth);
}

static void print_entries(GString *out, MDB_txn *txn, const char *name)
{
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val key, value;
    gboolean sets = g_str_has_suffix(name, ".sets");
    if (mdb_dbi_open(txn, name, 0, &dbi) || mdb_cursor_open(txn, dbi, &cursor))
        abort();
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        size_t number;
        memcpy(&number, key.mv_data, sizeof number);
        g_string_append_printf(out, "%s %zx", name, number);
        for (size_t i = 0; sets && i < value.mv_size; i++)
            g_string_append_printf(out, "%02x", ((unsigned char *)value.mv_data)[i]);
        g_string_append_c(out, '\n');
    }
    mdb_cursor_close(cursor);
}

static GString *print_all(const char *path)
{
    GString *out = g_string_new(NULL);
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi top;
    MDB_cursor *cursor;
    MDB_val key, value;
    if (mdb_env_create(&env) || mdb_env_set_maxdbs(env, 16) || mdb_env_open(env, path, MDB_RDONLY, 0) ||
        mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) || mdb_dbi_open(txn, NULL, 0, &top) ||
        mdb_cursor_open(txn, top, &cursor))
        abort();
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        g_autofree char *name = g_strndup(key.mv_data, key.mv_size);
        print_entries(out, txn, name);
    }
    return out;
}

/* A process may open a store only once: a child has a look. */
static char *key_space(const char *url)
{
    int ends[2], status;
    char buffer[4096];
    if (pipe(ends))
        abort();
    pid_t child = fork();
    if (child == 0) {
        GString *text = print_all(url + strlen("lmdb:"));
        for (gsize at = 0; at < text->len;) {
            ssize_t n = write(ends[1], text->str + at, text->len - at);
            if (n < 0)
                abort();
            at += (gsize)n;
        }
        _exit(0);
    }
    close(ends[1]);
    GString *all = g_string_new(NULL);
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        g_string_append_len(all, buffer, n);
    close(ends[0]);
    waitpid(child, &status, 0);
    return g_string_free(all, status != 0);
}

int main(void)
{
    static const struct contract_backend lmdb = {
        "LMDB", nothing_to_start, nothing_to_stop, empty_store, key_space,
    };
    return contract_run(&lmdb);
}
