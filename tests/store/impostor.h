/*
 * A listener that is not Redis, and does what its function does with each connection, one after the other.
 */
#ifndef TESTS_STORE_IMPOSTOR_H
#define TESTS_STORE_IMPOSTOR_H

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

struct impostor {
    int listener;
    uint16_t port;
    pthread_t thread;
    void (*serve)(int fd);
};

static inline void *impostor_run(void *user)
{
    struct impostor *impostor = user;
    int fd;
    while ((fd = accept(impostor->listener, NULL, NULL)) >= 0) {
        impostor->serve(fd);
        close(fd);
    }
    return NULL;
}

static inline void impostor_start(struct impostor *impostor, void (*serve)(int fd))
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    impostor->serve = serve;
    impostor->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(impostor->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(impostor->listener, 8), 0);
    assert_int_equal(getsockname(impostor->listener, (struct sockaddr *)&address, &length), 0);
    impostor->port = ntohs(address.sin_port);
    pthread_create(&impostor->thread, NULL, impostor_run, impostor);
}

static inline void impostor_stop(struct impostor *impostor)
{
    shutdown(impostor->listener, SHUT_RDWR);
    pthread_join(impostor->thread, NULL);
    close(impostor->listener);
}

static inline void impostor_smtp(int fd)
{
    char buffer[64];
    if (send(fd, "220 mail.example ESMTP\r\n", 24, MSG_NOSIGNAL) > 0)
        while (recv(fd, buffer, sizeof buffer, 0) > 0)
            ;
}

/* Always something new, never a whole reply: no single read() waits for long. */
static inline void impostor_trickle(int fd)
{
    char byte = '$';
    while (send(fd, &byte, 1, MSG_NOSIGNAL) == 1) {
        byte = '1';
        poll(NULL, 0, 20);
    }
}

#endif
