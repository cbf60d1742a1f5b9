/*
 * LMDB environments: one per folder and process, whoever opens it; transactions that grow the map.
 */
#ifndef STORE_LMDB_ENV_H
#define STORE_LMDB_ENV_H

#include <glib.h>
#include <lmdb.h>
#include <stdbool.h>
#include <stdint.h>

struct lmdb_env;

/*
 * Opens, or shares what this process has open already. A store that is not there is made, or with must_exist
 * an error that leaves nothing behind. `path` may end in ?max=SIZE: the map never grows beyond.
 */
struct lmdb_env *lmdb_env_open(const char *path, bool read_only, bool must_exist, GError **error);
void lmdb_env_close(struct lmdb_env *env);

MDB_env *lmdb_env_handle(struct lmdb_env *env);

/*
 * A transaction, to be ended by lmdb_env_commit() or lmdb_env_abort(), soon: the map cannot grow meanwhile.
 * LMDB's codes; ETIMEDOUT when another process has been writing for five seconds.
 */
int lmdb_env_begin(struct lmdb_env *env, bool write, MDB_txn **txn_out);
int lmdb_env_commit(struct lmdb_env *env, MDB_txn *txn);
void lmdb_env_abort(struct lmdb_env *env, MDB_txn *txn);

/*
 * After MDB_MAP_FULL, with no transaction of this thread open. MDB_MAP_FULL when the limit is reached. As
 * LMDB needs pages even to delete, who deletes may go a quarter beyond it.
 */
int lmdb_env_grow(struct lmdb_env *env, bool to_delete);

/* Makes room in the map for so many bytes more, as far as the limit lets it. No transaction may be open. */
void lmdb_env_reserve(struct lmdb_env *env, uint64_t room);

/*
 * Opens a named database in a transaction of its own, which writes only to make it. MDB_NOTFOUND when it is
 * not there to be read.
 */
int lmdb_env_database(struct lmdb_env *env, const char *name, unsigned flags, MDB_dbi *dbi_out);

/* A sentence for an LMDB code or an errno; always false. */
bool lmdb_env_fail(const struct lmdb_env *env, int code, GError **error);

#endif
