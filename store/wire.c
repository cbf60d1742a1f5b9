#include "store/wire.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "store/fault.h"
#include "store/reply.h"
#include "store/resolve.h"

struct wire {
    redisContext *context;
    struct tls_session *tls; /* NULL: in the clear */
    const char *name;
    int64_t last_used;
    unsigned tag;
};

/* The errno of a connect() that ended within the deadline; -1 when it did not end. */
static int await_connect(int fd, struct deadline deadline)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };
    int ready, failure = 0;
    do
        ready = poll(&p, 1, deadline_left(deadline));
    while (ready < 0 && errno == EINTR);
    if (ready == 0)
        return -1;
    socklen_t size = sizeof failure;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) == 0 ? failure : errno;
}

/* A connected socket, or -1 with *failure: an errno, or -1 for "not in time". */
static int connect_to(int family, const struct sockaddr *address, socklen_t length, struct deadline deadline,
                      int *failure)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    *failure = 0;
    if (fd < 0) {
        *failure = errno;
        return -1;
    }
    if (connect(fd, address, length) != 0)
        *failure = errno == EINPROGRESS || errno == EINTR ? await_connect(fd, deadline) : errno;
    /* A UNIX socket whose backlog is full says EAGAIN: as good as no answer. */
    if (*failure == EAGAIN)
        *failure = -1;
    if (*failure == 0)
        return fd;
    close(fd);
    return -1;
}

static void tune_tcp(int fd)
{
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

static int connect_tcp(const struct wire_target *target, struct deadline deadline, GError **error)
{
    struct addrinfo *all = resolve_host(target->host, target->port, deadline, error);
    if (!all)
        return -1;
    unsigned left = 0;
    int fd = -1, failure = -1;
    for (struct addrinfo *a = all; a; a = a->ai_next)
        left++;
    for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next)
        fd = connect_to(a->ai_family, a->ai_addr, a->ai_addrlen, deadline_share(deadline, left--), &failure);
    freeaddrinfo(all);
    if (fd >= 0)
        tune_tcp(fd);
    else if (failure < 0)
        fault_timeout(error, target->name, deadline);
    else
        fault_errno(error, target->name, failure);
    return fd;
}

static int connect_unix(const struct wire_target *target, struct deadline deadline, GError **error)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    g_strlcpy(address.sun_path, target->path, sizeof address.sun_path);
    int failure, fd = connect_to(AF_UNIX, (struct sockaddr *)&address, sizeof address, deadline, &failure);
    if (fd < 0 && failure < 0)
        fault_timeout(error, target->name, deadline);
    else if (fd < 0)
        fault_errno(error, target->name, failure);
    return fd;
}

struct wire *wire_open(const struct wire_target *target, struct deadline deadline, GError **error)
{
    int fd = target->path ? connect_unix(target, deadline, error) : connect_tcp(target, deadline, error);
    if (fd < 0)
        return NULL;
    redisContext *context = redisConnectFd(fd);
    if (!context)
        g_error("out of memory");
    reply_use(context);
    context->flags &= ~REDIS_BLOCK; /* so that hiredis takes EAGAIN for what it is */
    struct wire *wire = g_new0(struct wire, 1);
    wire->context = context;
    wire->name = target->name;
    wire->last_used = g_get_monotonic_time();
    if (target->tls) {
        wire->tls = tls_start(target->tls, context, target->host, target->name, deadline, error);
        if (!wire->tls)
            wire_close(&wire);
    }
    return wire;
}

void wire_close(struct wire **wire)
{
    if (!*wire)
        return;
    redisFree((*wire)->context);
    tls_end((*wire)->tls);
    g_free(*wire);
    *wire = NULL;
}

#define HEAD_MAX 24 /* a mark, a number, a line end */

/* "*3\r\n", "$27\r\n": where it ends. */
static char *put_head(char *at, char mark, size_t number)
{
    char digits[20], *first = digits + sizeof digits;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    size_t n = (size_t)(digits + sizeof digits - first);
    *at++ = mark;
    memcpy(at, first, n);
    memcpy(at + n, "\r\n", 2);
    return at + n + 2;
}

/* hiredis formats word by word with a printf of its own; two dozen keys a message make that felt. */
void wire_append(struct wire *wire, int argc, const char **argv, const size_t *argvlen)
{
    size_t room = HEAD_MAX;
    for (int i = 0; i < argc; i++)
        room += HEAD_MAX + (argvlen ? argvlen[i] : strlen(argv[i])) + 2;
    char small[2048], *bytes = room <= sizeof small ? small : g_malloc(room);
    char *at = put_head(bytes, '*', (size_t)argc);
    for (int i = 0; i < argc; i++) {
        size_t n = argvlen ? argvlen[i] : strlen(argv[i]);
        at = put_head(at, '$', n);
        if (n > 0) /* an empty word may be NULL */
            memcpy(at, argv[i], n);
        memcpy(at + n, "\r\n", 2);
        at += n + 2;
    }
    if (redisAppendFormattedCommand(wire->context, bytes, (size_t)(at - bytes)) != REDIS_OK)
        g_error("out of memory");
    if (bytes != small)
        g_free(bytes);
}

bool wire_is_quiet(const struct wire *wire)
{
    struct pollfd p = { .fd = wire->context->fd, .events = POLLIN };
    return wire->context->reader->pos == wire->context->reader->len && poll(&p, 1, 0) == 0;
}

int64_t wire_last_used(const struct wire *wire)
{
    return wire->last_used;
}

unsigned *wire_tag(struct wire *wire)
{
    return &wire->tag;
}

/* The connection broke. What the server said last is a better reason than that it hung up. */
static void job_break(struct wire_job *job, int number)
{
    const redisReply *last = job->got > 0 ? job->replies[job->got - 1] : NULL;
    int why = job->wire->context->err == REDIS_ERR_EOF ? ECONNRESET : number;
    if (last && fault_kind(last) == FAULT_SERVER)
        fault_reply(&job->error, job->wire->name, last, false);
    else if (job->wire->context->err == REDIS_ERR_PROTOCOL || job->wire->context->err == REDIS_ERR_OOM)
        g_set_error(&job->error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                    "redis %s: the answer is not Redis': check that the store URL names the right port",
                    job->wire->name);
    else if (!tls_explain(job->wire->tls, job->wire->name, why, &job->error))
        fault_errno(&job->error, job->wire->name, why);
}

static void job_write(struct wire_job *job)
{
    int done = 0;
    if (redisBufferWrite(job->wire->context, &done) != REDIS_OK)
        job_break(job, errno);
    job->written = done;
}

static void job_read(struct wire_job *job)
{
    bool more;
    do
        more = redisBufferRead(job->wire->context) == REDIS_OK;
    while (more && tls_pending(job->wire->tls));
    int number = errno;
    while (more && job->got < job->n) {
        void *reply = NULL;
        more = redisGetReplyFromReader(job->wire->context, &reply) == REDIS_OK;
        if (!reply)
            break;
        job->replies[job->got++] = reply;
    }
    if (!more)
        job_break(job, number);
}

static bool job_is_over(const struct wire_job *job)
{
    return job->error || job->got == job->n;
}

/* One turn of the wheel: waits for any wire that can go on. False when the time is over. */
static bool turn(struct wire_job *jobs, size_t n_jobs, struct pollfd *polls, struct deadline deadline)
{
    for (size_t i = 0; i < n_jobs; i++)
        polls[i] = (struct pollfd) { .fd = job_is_over(&jobs[i]) ? -1 : jobs[i].wire->context->fd,
                                     .events = (short)(jobs[i].written ? POLLIN : POLLIN | POLLOUT) };
    int left = deadline_left(deadline);
    int ready = poll(polls, n_jobs, left);
    for (size_t i = 0; ready > 0 && i < n_jobs; i++) {
        if (polls[i].fd < 0 || !polls[i].revents)
            continue;
        if (polls[i].revents & POLLIN || jobs[i].written)
            job_read(&jobs[i]);
        else
            job_write(&jobs[i]);
    }
    return ready != 0 && (ready > 0 || errno == EINTR) && left > 0;
}

void wire_exchange(struct wire_job *jobs, size_t n_jobs, struct deadline deadline)
{
    struct pollfd one, *polls = n_jobs == 1 ? &one : g_new(struct pollfd, n_jobs);
    for (size_t i = 0; i < n_jobs; i++) {
        reply_begin(jobs[i].wire->context);
        job_write(&jobs[i]);
    }
    bool over;
    do {
        over = true;
        for (size_t i = 0; i < n_jobs; i++)
            over &= job_is_over(&jobs[i]);
    } while (!over && turn(jobs, n_jobs, polls, deadline));
    for (size_t i = 0; i < n_jobs; i++) {
        if (!job_is_over(&jobs[i]))
            fault_timeout(&jobs[i].error, jobs[i].wire->name, deadline);
        else if (!jobs[i].error && !jobs[i].written)
            fault_errno(&jobs[i].error, jobs[i].wire->name, EPROTO); /* answered before it was asked */
        jobs[i].wire->last_used = g_get_monotonic_time();
        reply_end(jobs[i].wire->context);
    }
    if (polls != &one)
        g_free(polls);
}

bool wire_ask(struct wire *wire, redisReply **replies, size_t n, struct deadline deadline, GError **error)
{
    struct wire_job job = { .wire = wire, .replies = replies, .n = n };
    wire_exchange(&job, 1, deadline);
    if (!job.error)
        return true;
    for (size_t i = 0; i < job.got; i++)
        reply_free(replies[i]);
    g_propagate_error(error, job.error);
    return false;
}
