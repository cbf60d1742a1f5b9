#include "milter/socket.h"

#include <errno.h>
#include <grp.h>
#include <libmilter/mfapi.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"

/* Postfix processes come in bursts; libmilter's own 20 is little for them. */
#define BACKLOG 512

/* The socket that we made: another daemon's in the same place is not ours to remove. */
static struct {
    char *path;
    dev_t device;
    ino_t inode;
} made;

static bool fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool fail(GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (error)
        *error = g_error_new_valist(REFRAIN_ERROR, REFRAIN_ERROR_CONFIG, format, args);
    va_end(args);
    return false;
}

const char *socket_unix_path(const char *socket)
{
    if (g_str_has_prefix(socket, "unix:"))
        return socket + strlen("unix:");
    if (g_str_has_prefix(socket, "local:"))
        return socket + strlen("local:");
    return NULL;
}

/* "inet:port@host"; the host may be left out. */
static bool is_inet(const char *socket)
{
    const char *port = g_str_has_prefix(socket, "inet:")    ? socket + strlen("inet:")
                       : g_str_has_prefix(socket, "inet6:") ? socket + strlen("inet6:")
                                                            : NULL;
    if (!port)
        return false;
    g_autofree char *digits = g_strndup(port, strcspn(port, "@"));
    return g_ascii_string_to_unsigned(digits, 10, 1, 65535, NULL, NULL) && !g_str_has_suffix(port, "@");
}

static bool check_folder(const char *path, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path);
    if (access(folder, W_OK | X_OK) == 0)
        return true;
    struct passwd *us = getpwuid(geteuid());
    return fail(error,
                "the socket's folder %s cannot be used by %s: %s: create it and let that user write to it",
                folder, us ? us->pw_name : "this user", g_strerror(errno));
}

bool socket_check(const char *socket, GError **error)
{
    const char *path = socket_unix_path(socket);
    struct stat st;
    if (!path)
        return is_inet(socket) ||
               fail(error, "\"%s\" is not a socket: use unix:/path, inet:port@host or inet6:port@host",
                    socket);
    if (path[0] != '/')
        return fail(error, "the socket's path %s is relative: use an absolute one", path);
    if (strlen(path) >= sizeof((struct sockaddr_un *)NULL)->sun_path)
        return fail(error, "the socket's path %s is too long: use one below 108 characters", path);
    if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
        return fail(error, "%s is in the socket's place and is not a socket: move it away", path);
    return check_folder(path, error);
}

/* Only a socket on which nobody answers is removed. */
static bool remove_stale(const char *path, GError **error)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct stat st;
    if (lstat(path, &st) != 0)
        return true;
    g_strlcpy(address.sun_path, path, sizeof address.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused = connect(fd, (struct sockaddr *)&address, sizeof address) != 0 && errno == ECONNREFUSED;
    close(fd);
    if (!refused)
        return fail(error, "somebody listens on %s already: stop the other daemon, or choose another socket",
                    path);
    if (unlink(path) != 0)
        return fail(error, "the dead socket %s cannot be removed: %s", path, g_strerror(errno));
    return true;
}

static bool find_group(const char *name, gid_t *out, GError **error)
{
    struct group *group = getgrnam(name);
    if (!group)
        return fail(error, "there is no group %s: create it, or change socket-group", name);
    *out = group->gr_gid;
    return true;
}

static bool set_access(const struct config *config, const char *path, GError **error)
{
    gid_t group = 0;
    if (*config->milter.socket_group) {
        if (!find_group(config->milter.socket_group, &group, error))
            return false;
        if (lchown(path, (uid_t)-1, group) != 0)
            return fail(
                error,
                "the socket %s cannot be given to the group %s: %s: make the daemon's user a member of it",
                path, config->milter.socket_group, g_strerror(errno));
    }
    if (chmod(path, config->milter.socket_mode) != 0)
        return fail(error, "the mode of the socket %s cannot be set: %s", path, g_strerror(errno));
    return true;
}

static void remember(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0) {
        made.path = g_strdup(path);
        made.device = st.st_dev;
        made.inode = st.st_ino;
    }
}

bool socket_open(const struct config *config, GError **error)
{
    const char *path = socket_unix_path(config->milter.socket);
    if (!socket_check(config->milter.socket, error) || (path && !remove_stale(path, error)))
        return false;
    mode_t mask = umask(0177); /* nobody else connects before group and mode are set */
    bool open = smfi_setconn(config->milter.socket) == MI_SUCCESS && smfi_setbacklog(BACKLOG) == MI_SUCCESS &&
                smfi_opensocket(false) == MI_SUCCESS;
    int cause = errno;
    umask(mask);
    if (!open)
        return fail(error, "cannot listen on %s: %s: is another daemon running?", config->milter.socket,
                    g_strerror(cause));
    if (!path)
        return true;
    remember(path);
    return set_access(config, path, error);
}

void socket_remove(void)
{
    struct stat st;
    if (made.path && lstat(made.path, &st) == 0 && st.st_dev == made.device && st.st_ino == made.inode)
        unlink(made.path);
    g_clear_pointer(&made.path, g_free);
}

/* The user's own groups, and the one that the socket is given to. */
static bool set_groups(const struct config *config, const struct passwd *user, GError **error)
{
    gid_t groups[65];
    int n = G_N_ELEMENTS(groups) - 1;
    if (getgrouplist(user->pw_name, user->pw_gid, groups, &n) < 0)
        n = G_N_ELEMENTS(groups) - 1;
    if (*config->milter.socket_group && socket_unix_path(config->milter.socket)) {
        if (!find_group(config->milter.socket_group, &groups[n], error))
            return false;
        n++;
    }
    if (setgroups((size_t)n, groups) != 0 || setgid(user->pw_gid) != 0)
        return fail(error, "cannot take the groups of the user %s: %s", user->pw_name, g_strerror(errno));
    return true;
}

bool socket_drop_privileges(const struct config *config, GError **error)
{
    if (geteuid() != 0)
        return true;
    struct passwd *user = getpwnam(config->milter.user);
    if (!user)
        return fail(error, "there is no user %s: create it (useradd --system %s), or change user in [milter]",
                    config->milter.user, config->milter.user);
    if (user->pw_uid == 0)
        return fail(error, "mail is never filtered as root: change user in [milter]");
    if (!set_groups(config, user, error))
        return false;
    if (setuid(user->pw_uid) != 0 || setuid(0) == 0)
        return fail(error, "cannot become the user %s: %s", config->milter.user, g_strerror(errno));
    return true;
}
