/*
 * Read-ahead for libmilter's connections.
 *
 * For each command of the MTA libmilter asks the kernel five times: is there something (poll), is there
 * something (poll), five bytes please (read), is there something (poll), the rest please (read). An MTA sends
 * some thirty commands a message, most of them headers, and nearly all in one packet: 150 calls for bytes
 * that are there already, two fifths of what a message costs. libmilter has no place to put a buffer, so it
 * is put below it: the program is linked with libmilter.a, and the linker's --wrap sends the four calls of
 * all its objects here.
 *
 *      libmilter ── read, poll ──▶ read-ahead ── read, poll ──▶ kernel
 *
 * What is not a connection that was accept()ed passes through. A connection has a buffer only while it has
 * bytes that libmilter has not asked for yet; an idle one has none. libmilter hands a connection from thread
 * to thread under a lock of its own, and never lets two of them read from it, so that a buffer needs no lock.
 *
 * An MTA that hangs up is noticed when what it had sent before is used up, not earlier.
 *
 * `configure` makes sure that this libmilter reads by these calls; --disable-read-ahead goes without.
 */
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES 16384 /* envelope, headers and the text of most mail */
#define FILES 65536 /* connections above it are read as libmilter does it */

struct ahead {
    size_t at, n; /* what is left is bytes[at] to bytes[n - 1] */
    char bytes[BYTES];
};

/* By file descriptor, as the kernel has it. NULL: not ours; `none`: ours, with nothing in the buffer. */
static struct ahead none;
static _Atomic(struct ahead *) table[FILES];

/* The linker's names: what the program calls read() is __wrap_read(); the C library's is __real_read(). */
ssize_t __real_read(int fd, void *bytes, size_t n);
int __real_poll(struct pollfd *polls, nfds_t n, int timeout);
int __real_accept(int fd, struct sockaddr *address, socklen_t *length);
int __real_close(int fd);
ssize_t __wrap_read(int fd, void *bytes, size_t n);
int __wrap_poll(struct pollfd *polls, nfds_t n, int timeout);
int __wrap_accept(int fd, struct sockaddr *address, socklen_t *length);
int __wrap_close(int fd);

static struct ahead *get(int fd)
{
    return fd >= 0 && fd < FILES ? atomic_load(&table[fd]) : NULL;
}

static void put(int fd, struct ahead *ahead)
{
    struct ahead *before = fd >= 0 && fd < FILES ? atomic_exchange(&table[fd], ahead) : NULL;
    if (before != &none)
        free(before);
}

int __wrap_accept(int fd, struct sockaddr *address, socklen_t *length)
{
    int connection = __real_accept(fd, address, length);
    put(connection, &none);
    return connection;
}

/* Before the kernel gives the number to somebody else. */
int __wrap_close(int fd)
{
    put(fd, NULL);
    return __real_close(fd);
}

/* As many bytes as the kernel has, into a new buffer, which goes if there are none; read()'s result. */
static ssize_t fill(int fd, struct ahead *ahead)
{
    ssize_t got = __real_read(fd, ahead->bytes, BYTES);
    if (got <= 0) {
        free(ahead);
        return got;
    }
    ahead->at = 0;
    ahead->n = (size_t)got;
    put(fd, ahead);
    return got;
}

ssize_t __wrap_read(int fd, void *bytes, size_t n)
{
    struct ahead *ahead = get(fd);
    /* The rest of a large body goes straight to where it is wanted. */
    if (!ahead || (ahead == &none && n >= BYTES))
        return __real_read(fd, bytes, n);
    if (ahead == &none) {
        ahead = malloc(sizeof *ahead);
        if (!ahead)
            return __real_read(fd, bytes, n);
        ssize_t got = fill(fd, ahead);
        if (got <= 0)
            return got;
    }
    if (n > ahead->n - ahead->at)
        n = ahead->n - ahead->at;
    memcpy(bytes, ahead->bytes + ahead->at, n);
    ahead->at += n;
    if (ahead->at == ahead->n)
        put(fd, &none);
    return (ssize_t)n;
}

static bool is_ready(const struct pollfd *poll)
{
    const struct ahead *ahead = poll->events & POLLIN ? get(poll->fd) : NULL;
    return ahead && ahead != &none;
}

/* Those with bytes in their buffers are ready at once; the others are asked about, not waited for. */
int __wrap_poll(struct pollfd *polls, nfds_t n, int timeout)
{
    bool ready = false;
    for (nfds_t i = 0; i < n && !ready; i++)
        ready = is_ready(&polls[i]);
    if (!ready)
        return __real_poll(polls, n, timeout);
    int found = n > 1 ? __real_poll(polls, n, 0) : (polls->revents = 0);
    for (nfds_t i = 0; i < n && found >= 0; i++)
        if (is_ready(&polls[i])) {
            found += !polls[i].revents;
            polls[i].revents |= POLLIN;
        }
    return found;
}
