#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "store/backend.h"
#include "store/campaign.h"
#include "store/lmdb_env.h"

/*
 * The embedded backend. Three databases for each lexicon, with integers as keys:
 *
 *      <lexicon id>.sets      bucket          ─▶  sorted array of 64-bit members
 *      <lexicon id>.records   campaign number ─▶  record
 *      <lexicon id>.counts    day             ─▶  BACKEND_COUNTERS 32-bit counters
 *
 * A change is one write transaction, so that it is atomic and the decision it was based on is checked in it.
 * In a batch all changes are one: one flush to the disk, and when one of them fails, all of them are undone.
 */
#define WALK_PAGE  256
#define BATCH_ROOM (128 << 20) /* bytes: more than some hundred reports touch */

struct lmdb_backend {
    struct backend base;
    struct lmdb_env *env;
    char records_name[32], sets_name[32], counts_name[32];
    bool read_only;
    pthread_mutex_t opening;
    atomic_bool opened; /* the databases are there: of a store that is only read they may come later */
    MDB_dbi records, sets, counts;
    bool counted;         /* counts is there: of a store that is only read it may be missing */
    MDB_txn *batch;       /* of one thread */
    GThread *batch_owner; /* NULL: there is no batch */
    int batch_code;       /* why it failed */
};

static struct lmdb_backend *self_of(struct backend *backend)
{
    return (struct lmdb_backend *)backend;
}

static int open_databases(struct lmdb_backend *self)
{
    if (atomic_load(&self->opened))
        return 0;
    pthread_mutex_lock(&self->opening);
    unsigned flags = MDB_INTEGERKEY | (self->read_only ? 0 : MDB_CREATE);
    int code = lmdb_env_database(self->env, self->records_name, flags, &self->records);
    if (code == 0)
        code = lmdb_env_database(self->env, self->sets_name, flags, &self->sets);
    if (code == 0) {
        code = lmdb_env_database(self->env, self->counts_name, flags, &self->counts);
        self->counted = code == 0;
        code = code == MDB_NOTFOUND ? 0 : code;
    }
    if (code == 0)
        atomic_store(&self->opened, true);
    pthread_mutex_unlock(&self->opening);
    return code;
}

static bool in_batch(struct lmdb_backend *self)
{
    return g_atomic_pointer_get(&self->batch_owner) == g_thread_self();
}

/* MDB_NOTFOUND when the store is only read and still empty. In a batch its own writes are seen. */
static int begin_reading(struct lmdb_backend *self, MDB_txn **txn_out)
{
    int code = open_databases(self);
    if (code == 0 && in_batch(self)) {
        *txn_out = self->batch;
        return self->batch_code;
    }
    return code ? code : lmdb_env_begin(self->env, false, txn_out);
}

static void end_reading(struct lmdb_backend *self, MDB_txn *txn)
{
    if (!in_batch(self))
        lmdb_env_abort(self->env, txn);
}

static int get(MDB_txn *txn, MDB_dbi dbi, size_t key, MDB_val *out)
{
    MDB_val name = { sizeof key, &key };
    return mdb_get(txn, dbi, &name, out);
}

static const void *copy(struct arena *arena, const MDB_val *value)
{
    return memcpy(arena_alloc(arena, value->mv_size + 1), value->mv_data, value->mv_size);
}

/* --- reading ------------------------------------------------------------------------------------ */

static bool read_sets(struct backend *backend, struct arena *arena, enum backend_read read,
                      const uint32_t *buckets, unsigned n, struct backend_set *out, int64_t timeout,
                      GError **error)
{
    struct lmdb_backend *self = self_of(backend);
    MDB_txn *txn;
    MDB_val value;
    (void)read, (void)timeout;
    memset(out, 0, n * sizeof *out);
    int code = begin_reading(self, &txn);
    if (code)
        return code == MDB_NOTFOUND || lmdb_env_fail(self->env, code, error);
    for (unsigned i = 0; i < n && (code == 0 || code == MDB_NOTFOUND); i++) {
        code = get(txn, self->sets, buckets[i], &value);
        if (code == 0) {
            out[i].n = (unsigned)(value.mv_size / sizeof(uint64_t));
            out[i].members = copy(arena, &value);
        }
    }
    end_reading(self, txn);
    return code == 0 || code == MDB_NOTFOUND || lmdb_env_fail(self->env, code, error);
}

static bool read_records(struct backend *backend, struct arena *arena, enum backend_read read,
                         struct backend_record *records, unsigned n, int64_t timeout, GError **error)
{
    struct lmdb_backend *self = self_of(backend);
    MDB_txn *txn;
    MDB_val value;
    (void)read, (void)timeout;
    for (unsigned i = 0; i < n; i++)
        records[i].bytes = NULL;
    int code = begin_reading(self, &txn);
    if (code)
        return code == MDB_NOTFOUND || lmdb_env_fail(self->env, code, error);
    for (unsigned i = 0; i < n && (code == 0 || code == MDB_NOTFOUND); i++) {
        code = get(txn, self->records, records[i].number, &value);
        if (code == 0) {
            records[i].size = value.mv_size;
            records[i].bytes = copy(arena, &value);
        }
    }
    end_reading(self, txn);
    return code == 0 || code == MDB_NOTFOUND || lmdb_env_fail(self->env, code, error);
}

static int read_page(struct lmdb_backend *self, MDB_txn *txn, struct arena *arena, uint64_t *position,
                     struct backend_record *records, unsigned *n_out)
{
    MDB_cursor *cursor;
    size_t from = *position;
    MDB_val key = { sizeof from, &from }, value;
    int code = mdb_cursor_open(txn, self->records, &cursor);
    if (code)
        return code;
    code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (code == 0 && *n_out < WALK_PAGE) {
        size_t number;
        memcpy(&number, key.mv_data, sizeof number);
        records[*n_out].number = (uint32_t)number;
        records[*n_out].size = value.mv_size;
        records[(*n_out)++].bytes = copy(arena, &value);
        *position = number + 1;
        code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    if (code == MDB_NOTFOUND)
        *position = BACKEND_WALK_END;
    return code == MDB_NOTFOUND ? 0 : code;
}

static bool walk(struct backend *backend, struct arena *arena, uint64_t *position,
                 struct backend_record **records_out, unsigned *n_out, int64_t timeout, GError **error)
{
    struct lmdb_backend *self = self_of(backend);
    MDB_txn *txn;
    (void)timeout;
    *n_out = 0;
    int code = begin_reading(self, &txn);
    if (code == MDB_NOTFOUND) {
        *position = BACKEND_WALK_END;
        return true;
    }
    if (code == 0) {
        *records_out = arena_alloc(arena, WALK_PAGE * sizeof **records_out);
        code = read_page(self, txn, arena, position, *records_out, n_out);
        end_reading(self, txn);
    }
    return code == 0 || lmdb_env_fail(self->env, code, error);
}

/* --- writing ------------------------------------------------------------------------------------ */

static int put(MDB_txn *txn, MDB_dbi dbi, size_t key, const void *bytes, size_t size)
{
    MDB_val name = { sizeof key, &key }, value = { size, (void *)bytes };
    return mdb_put(txn, dbi, &name, &value, 0);
}

static int delete (MDB_txn *txn, MDB_dbi dbi, size_t key)
{
    MDB_val name = { sizeof key, &key };
    int code = mdb_del(txn, dbi, &name, NULL);
    return code == MDB_NOTFOUND ? 0 : code;
}

/* Puts the member into its set, which the cursor is at, or takes it out. `set`: a buffer. */
static int change_set(MDB_cursor *sets, const struct backend_member *m, bool add, GArray *set)
{
    size_t bucket = m->bucket;
    MDB_val key = { sizeof bucket, &bucket }, value;
    int code = mdb_cursor_get(sets, &key, &value, MDB_SET);
    guint at = 0, n = code == 0 ? (guint)(value.mv_size / sizeof(uint64_t)) : 0;
    if (code != 0 && code != MDB_NOTFOUND)
        return code;
    g_array_set_size(set, 0);
    g_array_append_vals(set, n ? value.mv_data : NULL, n);
    while (at < n && g_array_index(set, uint64_t, at) < m->member)
        at++;
    if ((at < n && g_array_index(set, uint64_t, at) == m->member) == add)
        return 0;
    if (add)
        g_array_insert_val(set, at, m->member);
    else
        g_array_remove_index(set, at);
    if (set->len == 0)
        return mdb_cursor_del(sets, 0);
    value = (MDB_val) { set->len * sizeof(uint64_t), set->data };
    return mdb_cursor_put(sets, &key, &value, n ? MDB_CURRENT : 0);
}

/* Is everything as the writer saw it? In a batch, what he saw is what nobody else can change: the sets are
 * so. */
static int check(struct lmdb_backend *self, MDB_txn *txn, const struct backend_change *change, bool *ok_out)
{
    MDB_val value = { 0 };
    unsigned n_guards = in_batch(self) ? 0 : change->n_guards;
    *ok_out = true;
    if (change->force || change->members_only)
        return 0;
    int code = get(txn, self->records, change->number, &value);
    if (code == 0)
        *ok_out =
            change->revision != 0 && campaign_revision(value.mv_data, value.mv_size) == change->revision;
    else if (code == MDB_NOTFOUND)
        *ok_out = change->revision == 0;
    for (unsigned i = 0; i < n_guards && *ok_out && (code == 0 || code == MDB_NOTFOUND); i++) {
        code = get(txn, self->sets, change->guards[i].bucket, &value);
        *ok_out = (code == 0 ? value.mv_size / sizeof(uint64_t) : 0) == change->guards[i].size;
    }
    return code == MDB_NOTFOUND ? 0 : code;
}

static int apply(struct lmdb_backend *self, MDB_txn *txn, MDB_cursor *sets, struct backend_change *change,
                 GArray *set)
{
    int code = check(self, txn, change, &change->done);
    if (code || !change->done)
        return code;
    if (!change->members_only)
        code = change->record ? put(txn, self->records, change->number, change->record, change->size)
                              : delete (txn, self->records, change->number);
    for (unsigned i = 0; i < change->n_remove && code == 0; i++)
        code = change_set(sets, &change->remove[i], false, set);
    for (unsigned i = 0; i < change->n_add && code == 0; i++)
        code = change_set(sets, &change->add[i], true, set);
    return code;
}

static int apply_in(struct lmdb_backend *self, MDB_txn *txn, struct backend_change *changes, unsigned n)
{
    MDB_cursor *sets;
    int code = mdb_cursor_open(txn, self->sets, &sets);
    if (code)
        return code;
    GArray *set = g_array_sized_new(FALSE, FALSE, sizeof(uint64_t), 64);
    for (unsigned i = 0; i < n && code == 0; i++)
        code = apply(self, txn, sets, &changes[i], set);
    g_array_unref(set);
    mdb_cursor_close(sets);
    return code;
}

static int apply_all(struct lmdb_backend *self, struct backend_change *changes, unsigned n)
{
    MDB_txn *txn;
    if (in_batch(self)) {
        if (self->batch_code == 0)
            self->batch_code = apply_in(self, self->batch, changes, n);
        return self->batch_code;
    }
    int code = open_databases(self);
    if (code == 0)
        code = lmdb_env_begin(self->env, true, &txn);
    if (code)
        return code;
    code = apply_in(self, txn, changes, n);
    if (code == 0)
        return lmdb_env_commit(self->env, txn);
    lmdb_env_abort(self->env, txn);
    return code;
}

static int read_back(struct lmdb_backend *self, struct backend_change *changes, unsigned n)
{
    MDB_txn *txn;
    MDB_val value;
    int code = begin_reading(self, &txn);
    if (code)
        return code;
    for (unsigned i = 0; i < n && code == 0; i++) {
        if (!changes[i].read_back)
            continue;
        code = get(txn, self->records, changes[i].number, &value);
        changes[i].kept = code == 0 && value.mv_size > 0 && *(uint8_t *)value.mv_data == CAMPAIGN_FORMAT;
        code = code == MDB_NOTFOUND ? 0 : code;
    }
    end_reading(self, txn);
    return code;
}

static bool only_deletes(const struct backend_change *changes, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (changes[i].record || changes[i].n_add > 0)
            return false;
    return true;
}

static bool commit(struct backend *backend, struct backend_change *changes, unsigned n, int64_t timeout,
                   GError **error)
{
    struct lmdb_backend *self = self_of(backend);
    (void)timeout;
    int code = apply_all(self, changes, n);
    /* The map grows only between transactions. */
    while (code == MDB_MAP_FULL && !in_batch(self) &&
           (code = lmdb_env_grow(self->env, only_deletes(changes, n))) == 0)
        code = apply_all(self, changes, n);
    if (code == 0)
        code = read_back(self, changes, n);
    return code == 0 || lmdb_env_fail(self->env, code, error);
}

static bool batch_begin(struct backend *backend, GError **error)
{
    struct lmdb_backend *self = self_of(backend);
    int code = open_databases(self);
    lmdb_env_reserve(self->env, BATCH_ROOM); /* a full map would cost all of the batch */
    if (code == 0)
        code = lmdb_env_begin(self->env, true, &self->batch);
    if (code)
        return lmdb_env_fail(self->env, code, error);
    self->batch_code = 0;
    g_atomic_pointer_set(&self->batch_owner, g_thread_self());
    return true;
}

static bool batch_end(struct backend *backend, GError **error)
{
    struct lmdb_backend *self = self_of(backend);
    MDB_txn *txn = self->batch;
    int code = self->batch_code;
    /* With its end the turn is the next thread's, and so is the batch. */
    g_atomic_pointer_set(&self->batch_owner, NULL);
    self->batch = NULL;
    if (code == 0)
        code = lmdb_env_commit(self->env, txn);
    else
        lmdb_env_abort(self->env, txn);
    return code == 0 || lmdb_env_fail(self->env, code, error);
}

static bool recount(struct backend *backend, uint64_t campaigns, int64_t timeout, GError **error)
{
    (void)backend, (void)campaigns, (void)timeout, (void)error; /* LMDB knows */
    return true;
}

/* --- counters by the day ------------------------------------------------------------------------ */

static int drop_old(const struct lmdb_backend *self, MDB_txn *txn, uint32_t today)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int code = mdb_cursor_open(txn, self->counts, &cursor);
    if (code)
        return code;
    while ((code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST)) == 0) {
        size_t day;
        memcpy(&day, key.mv_data, sizeof day);
        if (day + BACKEND_COUNT_DAYS > today || (code = mdb_cursor_del(cursor, 0)))
            break;
    }
    mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? 0 : code;
}

/* A transaction of its own, that makes room where it must. */
static int change_counts(struct lmdb_backend *self, uint32_t today, const struct backend_count *counts,
                         unsigned n)
{
    uint32_t numbers[BACKEND_COUNTERS] = { 0 };
    MDB_val value;
    MDB_txn *txn;
    int code = open_databases(self);
    if (code == 0)
        code = lmdb_env_begin(self->env, true, &txn);
    if (code)
        return code;
    if (n > 0 && (code = get(txn, self->counts, today, &value)) == 0)
        memcpy(numbers, value.mv_data, MIN(value.mv_size, sizeof numbers));
    for (unsigned i = 0; i < n; i++)
        numbers[counts[i].counter] += MIN(counts[i].n, UINT32_MAX - numbers[counts[i].counter]);
    if (n > 0 && (code == 0 || code == MDB_NOTFOUND))
        code = put(txn, self->counts, today, numbers, sizeof numbers);
    if (code == 0)
        code = drop_old(self, txn, today);
    if (code == 0)
        return lmdb_env_commit(self->env, txn);
    lmdb_env_abort(self->env, txn);
    return code;
}

static bool count(struct backend *backend, uint32_t day, const struct backend_count *counts, unsigned n,
                  int64_t timeout, GError **error)
{
    struct lmdb_backend *self = self_of(backend);
    (void)timeout;
    int code = change_counts(self, day, counts, n);
    while (code == MDB_MAP_FULL && (code = lmdb_env_grow(self->env, n == 0)) == 0)
        code = change_counts(self, day, counts, n);
    return code == 0 || lmdb_env_fail(self->env, code, error);
}

static bool drop_counts(struct backend *backend, uint32_t today, GError **error)
{
    return count(backend, today, NULL, 0, 0, error);
}

static bool read_counts(struct backend *backend, uint32_t today, const uint32_t *counters, unsigned n,
                        uint32_t *out, int64_t timeout, GError **error)
{
    struct lmdb_backend *self = self_of(backend);
    MDB_txn *txn;
    MDB_val value;
    (void)timeout;
    memset(out, 0, (size_t)n * BACKEND_COUNT_DAYS * sizeof *out);
    int code = begin_reading(self, &txn);
    if (code)
        return code == MDB_NOTFOUND || lmdb_env_fail(self->env, code, error);
    for (unsigned day = 0; day < BACKEND_COUNT_DAYS && self->counted; day++, out += n) {
        code = get(txn, self->counts, today - day, &value);
        if (code != 0 && code != MDB_NOTFOUND)
            break;
        for (unsigned i = 0; i < n && code == 0; i++)
            if ((counters[i] + 1) * sizeof *out <= value.mv_size)
                memcpy(&out[i], (const uint32_t *)value.mv_data + counters[i], sizeof *out);
    }
    end_reading(self, txn);
    return code == 0 || code == MDB_NOTFOUND || lmdb_env_fail(self->env, code, error);
}

/* --- about the store ---------------------------------------------------------------------------- */

/* The names of the record databases of other lexicons. */
static int other_names(struct lmdb_backend *self, GPtrArray *names)
{
    MDB_txn *txn;
    MDB_dbi top;
    MDB_cursor *cursor;
    MDB_val key, value;
    int code = lmdb_env_begin(self->env, false, &txn);
    if (code)
        return code;
    code = mdb_dbi_open(txn, NULL, 0, &top);
    if (code == 0)
        code = mdb_cursor_open(txn, top, &cursor);
    if (code == 0) {
        while ((code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
            g_autofree char *name = g_strndup(key.mv_data, key.mv_size);
            if (g_str_has_suffix(name, ".records") && strcmp(name, self->records_name) != 0)
                g_ptr_array_add(names, g_steal_pointer(&name));
        }
        mdb_cursor_close(cursor);
    }
    lmdb_env_abort(self->env, txn);
    return code == MDB_NOTFOUND ? 0 : code;
}

static int count_records(struct lmdb_backend *self, const char *name, uint64_t *n_out)
{
    MDB_dbi dbi;
    MDB_stat stat;
    MDB_txn *txn;
    int code = lmdb_env_database(self->env, name, MDB_INTEGERKEY, &dbi);
    if (code == 0)
        code = lmdb_env_begin(self->env, false, &txn);
    if (code)
        return code;
    code = mdb_stat(txn, dbi, &stat);
    if (code == 0)
        *n_out += stat.ms_entries;
    lmdb_env_abort(self->env, txn);
    return code;
}

static bool stats(struct backend *backend, struct store_stats *out, int64_t timeout, GError **error)
{
    struct lmdb_backend *self = self_of(backend);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    MDB_envinfo info;
    MDB_stat stat;
    (void)timeout;
    int64_t before = g_get_monotonic_time();
    int code = other_names(self, names);
    out->latency_ms = (double)(g_get_monotonic_time() - before) / 1000;
    for (guint i = 0; i < names->len && code == 0; i++)
        code = count_records(self, names->pdata[i], &out->other_lexicons);
    if (code == 0)
        code = mdb_env_info(lmdb_env_handle(self->env), &info);
    if (code == 0)
        code = mdb_env_stat(lmdb_env_handle(self->env), &stat);
    if (code)
        return lmdb_env_fail(self->env, code, error);
    out->memory = (info.me_last_pgno + 1) * stat.ms_psize;
    g_snprintf(out->server, sizeof out->server, "LMDB %d.%d.%d", MDB_VERSION_MAJOR, MDB_VERSION_MINOR,
               MDB_VERSION_PATCH);
    return true;
}

static bool ping(struct backend *backend, bool write, int64_t timeout, GError **error)
{
    struct lmdb_backend *self = self_of(backend);
    MDB_txn *txn;
    (void)timeout;
    int code = lmdb_env_begin(self->env, write, &txn);
    if (code == 0)
        lmdb_env_abort(self->env, txn);
    return code == 0 || lmdb_env_fail(self->env, code, error);
}

static void health(struct backend *backend, struct store_health *out)
{
    (void)backend;
    out->connections = 1;
}

static void close_backend(struct backend *backend)
{
    struct lmdb_backend *self = self_of(backend);
    lmdb_env_close(self->env);
    pthread_mutex_destroy(&self->opening);
    g_free(self);
}

static const struct backend_ops ops = {
    .close = close_backend,
    .sets = read_sets,
    .records = read_records,
    .commit = commit,
    .batch_begin = batch_begin,
    .batch_end = batch_end,
    .walk = walk,
    .count = count,
    .counts = read_counts,
    .drop_counts = drop_counts,
    .recount = recount,
    .stats = stats,
    .ping = ping,
    .health = health,
};

struct backend *lmdb_backend_open(const struct url *url, const struct backend_plan *plan, GError **error)
{
    struct lmdb_env *env = lmdb_env_open(url->path, plan->read_only, plan->must_exist, error);
    if (!env)
        return NULL;
    struct lmdb_backend *self = g_new0(struct lmdb_backend, 1);
    self->base = (struct backend) { .ops = &ops, .atomic = true };
    self->env = env;
    self->read_only = plan->read_only;
    pthread_mutex_init(&self->opening, NULL);
    g_snprintf(self->records_name, sizeof self->records_name, "%016" G_GINT64_MODIFIER "x.records",
               plan->lexicon);
    g_snprintf(self->sets_name, sizeof self->sets_name, "%016" G_GINT64_MODIFIER "x.sets", plan->lexicon);
    g_snprintf(self->counts_name, sizeof self->counts_name, "%016" G_GINT64_MODIFIER "x.counts",
               plan->lexicon);
    int code = open_databases(self);
    if (code && !(code == MDB_NOTFOUND && plan->read_only)) {
        lmdb_env_fail(env, code, error);
        close_backend(&self->base);
        return NULL;
    }
    return &self->base;
}
