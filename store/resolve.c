#include "store/resolve.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* Held by the asking thread and by the resolving one; the last to let go frees it. */
struct job {
    pthread_mutex_t lock;
    pthread_cond_t done_cond;
    unsigned holders;
    bool done;
    char *host;
    char port[8];
    int result;
    struct addrinfo *addresses;
};

static int look_up(const char *host, const char *port, int flags, struct addrinfo **out)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags };
    return getaddrinfo(host, port, &hints, out);
}

/* Takes the lock with it. */
static void job_let_go(struct job *job)
{
    bool last = --job->holders == 0;
    pthread_mutex_unlock(&job->lock);
    if (!last)
        return;
    if (job->addresses)
        freeaddrinfo(job->addresses);
    pthread_cond_destroy(&job->done_cond);
    pthread_mutex_destroy(&job->lock);
    g_free(job->host);
    g_free(job);
}

static void *job_run(void *user)
{
    struct job *job = user;
    struct addrinfo *addresses = NULL;
    int result = look_up(job->host, job->port, 0, &addresses);
    pthread_mutex_lock(&job->lock);
    job->result = result;
    job->addresses = addresses;
    job->done = true;
    pthread_cond_signal(&job->done_cond);
    job_let_go(job);
    return NULL;
}

static bool start(void *(*run)(void *), void *user)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    bool started = pthread_create(&thread, &attributes, run, user) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

static struct job *job_new(const char *host, const char *port)
{
    struct job *job = g_new0(struct job, 1);
    pthread_mutex_init(&job->lock, NULL);
    deadline_cond_init(&job->done_cond);
    job->host = g_strdup(host);
    g_strlcpy(job->port, port, sizeof job->port);
    job->result = EAI_AGAIN;
    job->holders = 1;
    return job;
}

struct addrinfo *resolve_host(const char *host, uint16_t port, struct deadline deadline, GError **error)
{
    char port_text[8];
    struct addrinfo *addresses = NULL;
    snprintf(port_text, sizeof port_text, "%u", (unsigned)port);
    if (look_up(host, port_text, AI_NUMERICHOST | AI_NUMERICSERV, &addresses) == 0)
        return addresses;

    struct job *job = job_new(host, port_text);
    pthread_mutex_lock(&job->lock);
    job->holders++;
    if (!start(job_run, job)) {
        job->holders--;
        job->done = true;
    }
    while (!job->done && deadline_wait(deadline, &job->done_cond, &job->lock))
        ;
    if (!job->done)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                    "redis %s: the name server did not answer within %" G_GINT64_FORMAT
                    " ms: check /etc/resolv.conf, or write the address in digits",
                    host, deadline.budget);
    else if (job->result != 0)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                    "redis %s: unknown host (%s): check the name in the store URL", host,
                    gai_strerror(job->result));
    else
        addresses = g_steal_pointer(&job->addresses);
    job_let_go(job);
    return addresses;
}
