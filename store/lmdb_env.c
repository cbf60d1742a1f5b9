#include "store/lmdb_env.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "store/turn.h"

#define MAP_START   (UINT64_C(1) << 20)
#define MAP_STEP    (UINT64_C(1) << 30) /* it doubles, but grows by no more than this */
#define MAP_LIMIT   (UINT64_C(64) << 30)
#define READERS_MAX 1024
#define NAMES_MAX   256 /* three a lexicon */
#define FORKED      (-1)
#define MISSING     (-2)
#define PATIENCE    5000 /* milliseconds for the turn to write */

/*
 * LMDB forbids opening a file twice in one process (closing one would drop the locks of the other), so the
 * process keeps a list of what is open, by device and inode. An environment does not survive a fork: a child
 * finds its parent's in the list, leaves it alone and opens its own.
 */
struct lmdb_env {
    struct lmdb_env *next;
    dev_t device;
    ino_t inode;
    pid_t pid;
    unsigned users;
    bool read_only;
    char *path;
    uint64_t limit;
    MDB_env *env;
    pthread_rwlock_t resize;   /* read-locked by every transaction: the map only changes between them */
    pthread_mutex_t databases; /* LMDB opens databases one at a time */
    struct turn *turn;         /* to write */
    _Atomic(MDB_txn *) writer; /* whose turn it is */
};

static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct lmdb_env *list;

/* --- errors ------------------------------------------------------------------------------------- */

static bool say(const char *path, uint64_t limit, int code, GError **error)
{
    char size[UNITS_MAX];
    enum refrain_error kind = REFRAIN_ERROR_REFUSED;
    const char *what = mdb_strerror(code), *advice;
    switch (code) {
    case FORKED:
        what = "it was opened before a fork";
        advice = "open it in the process that uses it";
        break;
    case MISSING:
        kind = REFRAIN_ERROR_MISSING;
        what = "there is no store";
        advice = "check the path, or report something first";
        break;
    case MDB_MAP_FULL:
        g_set_error(
            error, REFRAIN_ERROR, kind,
            "lmdb:%s has reached its limit of %s and nothing more is stored: run refrain expire, or raise "
            "the limit with ?max=SIZE behind the path",
            path, units_format_size(limit, size));
        return false;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO: /* LMDB's word for a write that was cut short */
        what = "the disk is full or fails";
        advice = "free some space, or see the system's log; what was stored before is not lost";
        break;
    case EACCES:
    case EPERM:
    case EROFS:
        advice =
            "who reads it writes its lock file too: join the group of the folder, or chown it to refrain";
        break;
    case ENOENT:
        advice = "make the folder above it first";
        break;
    case ENOTDIR:
        advice = "give the path of a folder";
        break;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_VERSION_MISMATCH:
        advice = "it is no store of this program or is damaged; move it away, then import a saved export";
        break;
    case MDB_READERS_FULL:
        kind = REFRAIN_ERROR_UNAVAILABLE;
        advice = "too many processes read it at once";
        break;
    case MDB_PANIC:
        kind = REFRAIN_ERROR_UNAVAILABLE;
        advice = "a write failed for good; restart the program, what was stored before is not lost";
        break;
    default:
        kind = REFRAIN_ERROR_UNAVAILABLE;
        advice = "try again";
        break;
    }
    g_set_error(error, REFRAIN_ERROR, kind, "lmdb:%s: %s: %s", path, what, advice);
    return false;
}

/* Somebody else has been writing for too long. */
static bool say_who_writes(const struct lmdb_env *env, GError **error)
{
    pid_t pid = turn_holder(env->turn);
    g_autofree char *file = g_strdup_printf("/proc/%d/comm", (int)pid), *name = NULL;
    g_autofree char *who = g_strdup("another process");
    if (pid > 0 && g_file_get_contents(file, &name, NULL, NULL)) {
        g_free(who);
        who = g_strdup_printf("process %d (%s)", (int)pid, g_strchomp(name));
    }
    g_set_error(
        error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
        "lmdb:%s: %s has been writing for %d seconds: see whether it is stopped; kill -CONT lets it go on, "
        "and nothing is lost when it is killed",
        env->path, who, PATIENCE / 1000);
    return false;
}

bool lmdb_env_fail(const struct lmdb_env *env, int code, GError **error)
{
    if (code == ETIMEDOUT)
        return say_who_writes(env, error);
    return say(env->path, env->limit, code, error);
}

/* --- opening ------------------------------------------------------------------------------------ */

/* "/path?max=1G" -> "/path", 1 GiB. */
static char *split_limit(const char *text, uint64_t *limit_out, GError **error)
{
    const char *option = g_strrstr(text, "?max=");
    *limit_out = MAP_LIMIT;
    if (!option)
        return g_strdup(text);
    if (!units_parse_size(option + strlen("?max="), limit_out) || *limit_out < 65536) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG,
                    "store URL: ?max= is no size of at least 64K: write it like ?max=10G");
        return NULL;
    }
    return g_strndup(text, (gsize)(option - text));
}

/* The folder, and whether it was made just now: then its modes are ours to choose, whatever the umask. */
static int make_folder(const char *path, bool *made_out)
{
    *made_out = mkdir(path, 0770) == 0;
    if (*made_out)
        return chmod(path, 0770) == 0 ? 0 : errno;
    return errno == EEXIST ? 0 : errno;
}

static const char *const file_names[] = { "data.mdb", "lock.mdb" };

/* LMDB would make a lock file even where it only reads: a folder without a store is none of ours. */
static int find_store(const char *path)
{
    struct stat about;
    g_autofree char *data = g_build_filename(path, "data.mdb", NULL);
    int code = stat(data, &about) == 0 ? 0 : errno;
    return code == ENOENT ? MISSING : code;
}

/* In a folder that was made just now: the group may use them, whatever the umask. */
static void share_files(const char *path)
{
    for (size_t i = 0; i < G_N_ELEMENTS(file_names); i++) {
        g_autofree char *file = g_build_filename(path, file_names[i], NULL);
        (void)chmod(file, 0660);
    }
}

/*
 * What root makes belongs to whoever has the folder above: the daemon, which never runs as root, must be able
 * to use it. The folder changes hands last: until then nobody else can put a file into it.
 */
static void hand_over(const char *path)
{
    struct stat above;
    g_autofree char *parent = g_path_get_dirname(path);
    if (geteuid() != 0 || stat(parent, &above) != 0 || above.st_uid == 0)
        return;
    bool done = true;
    for (size_t i = 0; i < G_N_ELEMENTS(file_names); i++) {
        g_autofree char *file = g_build_filename(path, file_names[i], NULL);
        done &= lchown(file, above.st_uid, above.st_gid) == 0;
    }
    done &= lchown(path, above.st_uid, above.st_gid) == 0;
    if (!done)
        log_warning("lmdb:%s is root's: %s: chown it to the daemon's user", path, g_strerror(errno));
}

static uint64_t page_multiple(uint64_t size)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return MAX(size / page, 16) * page;
}

static int open_handle(struct lmdb_env *env, bool made)
{
    int dead, code = mdb_env_create(&env->env);
    if (code)
        return code;
    mdb_env_set_maxdbs(env->env, NAMES_MAX);
    mdb_env_set_maxreaders(env->env, READERS_MAX);
    mdb_env_set_mapsize(env->env, page_multiple(MIN(MAP_START, env->limit)));
    /* One flush a commit: a crash of the machine may undo the last commit, but never harms the file. */
    unsigned flags = MDB_NOTLS | MDB_NOMETASYNC | MDB_NORDAHEAD | (env->read_only ? MDB_RDONLY : 0);
    code = mdb_env_open(env->env, env->path, flags, 0660);
    if (code) {
        mdb_env_close(env->env);
        return code;
    }
    if (made) {
        share_files(env->path);
        hand_over(env->path);
    }
    int fd;
    mdb_env_get_fd(env->env, &fd);
    env->turn = turn_new(fd);
    mdb_reader_check(env->env, &dead);
    return 0;
}

static void free_env(struct lmdb_env *env)
{
    pthread_rwlock_destroy(&env->resize);
    pthread_mutex_destroy(&env->databases);
    g_free(env->path);
    g_free(env);
}

static struct lmdb_env *new_env(char *path, uint64_t limit, const struct stat *folder, bool read_only)
{
    struct lmdb_env *env = g_new0(struct lmdb_env, 1);
    env->device = folder->st_dev;
    env->inode = folder->st_ino;
    env->pid = getpid();
    env->users = 1;
    env->read_only = read_only;
    env->path = path;
    env->limit = limit;
    pthread_mutex_init(&env->databases, NULL);
    /* Many short readers must not keep the one who grows the map waiting. */
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&env->resize, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    return env;
}

/* With the list's mutex held. */
static struct lmdb_env *share(const struct stat *folder, bool read_only, GError **error)
{
    for (struct lmdb_env *env = list; env; env = env->next) {
        if (env->device != folder->st_dev || env->inode != folder->st_ino || env->pid != getpid())
            continue;
        if (env->read_only && !read_only) {
            g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_REFUSED,
                        "lmdb:%s is open for reading only in this process: close it first", env->path);
            return NULL;
        }
        env->users++;
        return env;
    }
    return NULL;
}

struct lmdb_env *lmdb_env_open(const char *text, bool read_only, bool must_exist, GError **error)
{
    uint64_t limit;
    struct stat folder;
    bool made = false;
    GError *failure = NULL;
    char *path = split_limit(text, &limit, error);
    if (!path)
        return NULL;
    int code = must_exist ? find_store(path) : make_folder(path, &made);
    if (code == 0 && stat(path, &folder) != 0)
        code = errno;
    pthread_mutex_lock(&list_mutex);
    struct lmdb_env *env = code == 0 ? share(&folder, read_only, &failure) : NULL;
    if (env || failure || code) {
        if (code)
            say(path, limit, code, &failure);
        g_free(path);
    } else {
        env = new_env(path, limit, &folder, read_only);
        code = open_handle(env, made);
        if (code == 0) {
            env->next = list;
            list = env;
        } else {
            say(path, limit, code, &failure);
            free_env(env);
            env = NULL;
        }
    }
    pthread_mutex_unlock(&list_mutex);
    if (failure)
        g_propagate_error(error, failure);
    return env;
}

void lmdb_env_close(struct lmdb_env *env)
{
    pthread_mutex_lock(&list_mutex);
    if (env->pid == getpid() && --env->users == 0) {
        struct lmdb_env **link = &list;
        while (*link != env)
            link = &(*link)->next;
        *link = env->next;
        if (!env->read_only)
            mdb_env_sync(env->env, 1);
        mdb_env_close(env->env);
        turn_free(env->turn);
        free_env(env);
    }
    pthread_mutex_unlock(&list_mutex);
}

MDB_env *lmdb_env_handle(struct lmdb_env *env)
{
    return env->env;
}

/* --- transactions ------------------------------------------------------------------------------- */

static int adopt_size(struct lmdb_env *env)
{
    pthread_rwlock_wrlock(&env->resize);
    int code = mdb_env_set_mapsize(env->env, 0);
    pthread_rwlock_unlock(&env->resize);
    return code;
}

static int begin(struct lmdb_env *env, bool write, MDB_txn **txn_out)
{
    int dead;
    for (unsigned attempt = 0;; attempt++) {
        pthread_rwlock_rdlock(&env->resize);
        int code = mdb_txn_begin(env->env, NULL, write ? 0 : MDB_RDONLY, txn_out);
        if (code == 0)
            return 0;
        pthread_rwlock_unlock(&env->resize);
        if (attempt == 8)
            return code;
        /* Another process grew the map, or died while it read. */
        if (code == MDB_MAP_RESIZED)
            code = adopt_size(env);
        else if (code == MDB_READERS_FULL)
            code = mdb_reader_check(env->env, &dead);
        if (code)
            return code;
    }
}

int lmdb_env_begin(struct lmdb_env *env, bool write, MDB_txn **txn_out)
{
    if (env->pid != getpid())
        return FORKED;
    if (!write)
        return begin(env, false, txn_out);
    int code = turn_take(env->turn, deadline_in(PATIENCE));
    if (code)
        return code;
    code = begin(env, true, txn_out);
    if (code == 0)
        atomic_store(&env->writer, *txn_out);
    else
        turn_give(env->turn);
    return code;
}

static bool is_writer(struct lmdb_env *env, const MDB_txn *txn)
{
    return txn == atomic_load(&env->writer);
}

static void end(struct lmdb_env *env, bool wrote)
{
    pthread_rwlock_unlock(&env->resize);
    if (wrote) {
        atomic_store(&env->writer, NULL);
        turn_give(env->turn);
    }
}

int lmdb_env_commit(struct lmdb_env *env, MDB_txn *txn)
{
    bool wrote = is_writer(env, txn);
    int code = mdb_txn_commit(txn);
    end(env, wrote);
    return code;
}

void lmdb_env_abort(struct lmdb_env *env, MDB_txn *txn)
{
    bool wrote = is_writer(env, txn);
    mdb_txn_abort(txn);
    end(env, wrote);
}

int lmdb_env_grow(struct lmdb_env *env, bool to_delete)
{
    MDB_envinfo info;
    uint64_t limit = page_multiple(env->limit + (to_delete ? env->limit / 4 : 0));
    pthread_rwlock_wrlock(&env->resize);
    /* Another process may have grown it already. */
    int code = mdb_env_set_mapsize(env->env, 0);
    if (code == 0)
        code = mdb_env_info(env->env, &info);
    if (code == 0) {
        uint64_t now = info.me_mapsize, next = MIN(now + MIN(now, MAP_STEP), limit);
        code = next > now ? mdb_env_set_mapsize(env->env, next) : MDB_MAP_FULL;
    }
    pthread_rwlock_unlock(&env->resize);
    return code;
}

void lmdb_env_reserve(struct lmdb_env *env, uint64_t room)
{
    MDB_envinfo info;
    MDB_stat stat;
    pthread_rwlock_wrlock(&env->resize);
    if (mdb_env_set_mapsize(env->env, 0) == 0 && mdb_env_info(env->env, &info) == 0 &&
        mdb_env_stat(env->env, &stat) == 0) {
        uint64_t wanted = (info.me_last_pgno + 1) * stat.ms_psize + room;
        uint64_t next = page_multiple(MIN(wanted + room, env->limit));
        if (wanted > info.me_mapsize && next > info.me_mapsize)
            mdb_env_set_mapsize(env->env, next);
    }
    pthread_rwlock_unlock(&env->resize);
}

static int open_database(struct lmdb_env *env, const char *name, unsigned flags, MDB_dbi *dbi_out)
{
    MDB_txn *txn;
    int code = lmdb_env_begin(env, flags & MDB_CREATE, &txn);
    if (code)
        return code;
    code = mdb_dbi_open(txn, name, flags, dbi_out);
    if (code == 0)
        return lmdb_env_commit(env, txn);
    lmdb_env_abort(env, txn);
    return code;
}

int lmdb_env_database(struct lmdb_env *env, const char *name, unsigned flags, MDB_dbi *dbi_out)
{
    pthread_mutex_lock(&env->databases);
    int code = open_database(env, name, flags & ~(unsigned)MDB_CREATE, dbi_out);
    if (code == MDB_NOTFOUND && flags & MDB_CREATE)
        code = open_database(env, name, flags, dbi_out);
    pthread_mutex_unlock(&env->databases);
    return code;
}
