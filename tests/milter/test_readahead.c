/*
 * What libmilter reads must be what the MTA wrote, whatever was read ahead. This program is linked as
 * refrain-milter is: its read(), poll(), accept() and close() are those of milter/readahead.c.
 */
/* The C library would have read() go another way where it knows the size of the buffer. */
#undef _FORTIFY_SOURCE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct line {
    int mta, filter, listener;
};

static void dial(struct line *line)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    socklen_t length = sizeof(sa_family_t); /* the kernel chooses a name */
    line->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(line->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(line->listener, 1), 0);
    length = sizeof address;
    assert_int_equal(getsockname(line->listener, (struct sockaddr *)&address, &length), 0);
    line->mta = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(line->mta, (struct sockaddr *)&address, length), 0);
    line->filter = accept(line->listener, NULL, NULL);
    assert_true(line->filter >= 0);
}

static void hang_up(struct line *line)
{
    close(line->mta);
    close(line->filter);
    close(line->listener);
}

static void say(const struct line *line, const char *text)
{
    assert_int_equal(write(line->mta, text, strlen(text)), strlen(text));
}

static void assert_read(int fd, size_t n, const char *wanted)
{
    char bytes[64] = "";
    assert_in_range(n, 0, sizeof bytes - 1);
    assert_int_equal(read(fd, bytes, n), strlen(wanted));
    assert_string_equal(bytes, wanted);
}

static bool is_readable(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLIN | POLLPRI };
    int ready = poll(&one, 1, 0);
    assert_int_equal(ready, one.revents ? 1 : 0);
    return one.revents & POLLIN;
}

static int bytes_in_kernel(int fd)
{
    int n = -1;
    ioctl(fd, FIONREAD, &n);
    return n;
}

static void commands_sent_together_are_read_one_by_one(void **state)
{
    struct line line;
    dial(&line);
    say(&line, "firstsecond");
    assert_read(line.filter, 5, "first");
    assert_int_equal(bytes_in_kernel(line.filter), 0);
    assert_true(is_readable(line.filter));
    assert_read(line.filter, 20, "second");
    assert_false(is_readable(line.filter));
    hang_up(&line);
    (void)state;
}

static void what_comes_in_pieces_is_read_in_pieces(void **state)
{
    struct line line;
    dial(&line);
    say(&line, "he");
    assert_read(line.filter, 5, "he");
    assert_false(is_readable(line.filter));
    say(&line, "ader");
    assert_read(line.filter, 3, "ade");
    say(&line, "more");
    assert_read(line.filter, 10, "r");
    assert_read(line.filter, 10, "more");
    hang_up(&line);
    (void)state;
}

static void the_end_comes_after_what_was_read_ahead(void **state)
{
    struct line line;
    char byte;
    dial(&line);
    say(&line, "bye");
    shutdown(line.mta, SHUT_WR);
    assert_read(line.filter, 1, "b");
    assert_read(line.filter, 2, "ye");
    assert_true(is_readable(line.filter));
    assert_int_equal(read(line.filter, &byte, 1), 0);
    hang_up(&line);
    (void)state;
}

static void a_connection_without_bytes_says_so(void **state)
{
    struct line line;
    char byte;
    dial(&line);
    fcntl(line.filter, F_SETFL, O_NONBLOCK);
    assert_int_equal(read(line.filter, &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
    hang_up(&line);
    (void)state;
}

static void a_large_body_keeps_its_order(void **state)
{
    enum { SIZE = 100000 };
    static unsigned char sent[SIZE], got[SIZE];
    struct line line;
    size_t written = 0, done = 0;
    for (size_t i = 0; i < SIZE; i++)
        sent[i] = (unsigned char)(i * 2654435761u >> 13);
    dial(&line);
    fcntl(line.mta, F_SETFL, O_NONBLOCK);
    /* Small reads, as of a command's head, and large ones, as of its body, in turns. */
    for (unsigned turn = 0; done < SIZE; turn++) {
        ssize_t n = written < SIZE ? write(line.mta, sent + written, SIZE - written) : 0;
        written += n > 0 ? (size_t)n : 0;
        size_t wanted = turn % 3 == 0 ? 5 : turn % 3 == 1 ? 1000 : 40000;
        n = read(line.filter, got + done, MIN(wanted, SIZE - done));
        assert_true(n > 0);
        done += (size_t)n;
    }
    assert_memory_equal(got, sent, SIZE);
    hang_up(&line);
    (void)state;
}

static void of_many_connections_those_with_bytes_are_ready(void **state)
{
    struct line a, b, c;
    dial(&a);
    dial(&b);
    dial(&c);
    say(&a, "xyz");
    assert_read(a.filter, 1, "x"); /* in the buffer */
    say(&b, "b");                  /* in the kernel */
    struct pollfd polls[] = { { .fd = c.filter, .events = POLLIN },
                              { .fd = a.filter, .events = POLLIN },
                              { .fd = b.filter, .events = POLLIN } };
    assert_int_equal(poll(polls, 3, 60000), 2);
    assert_int_equal(polls[0].revents, 0);
    assert_int_equal(polls[1].revents, POLLIN);
    assert_int_equal(polls[2].revents, POLLIN);
    say(&a, "more"); /* in both: still one connection */
    assert_int_equal(poll(polls, 3, 60000), 2);
    hang_up(&a);
    hang_up(&b);
    hang_up(&c);
    (void)state;
}

static void who_asks_to_write_is_not_told_about_bytes(void **state)
{
    struct line line;
    dial(&line);
    say(&line, "xyz");
    assert_read(line.filter, 1, "x");
    struct pollfd one = { .fd = line.filter, .events = POLLOUT };
    assert_int_equal(poll(&one, 1, 1000), 1);
    assert_int_equal(one.revents, POLLOUT);
    hang_up(&line);
    (void)state;
}

static void the_next_connection_of_a_number_starts_empty(void **state)
{
    struct line line;
    dial(&line);
    say(&line, "left over");
    assert_read(line.filter, 1, "l");
    int number = line.filter;
    hang_up(&line);
    int other = open("/dev/null", O_RDONLY);
    assert_int_equal(dup2(other, number), number);
    assert_read(number, 5, "");
    close(number);
    if (other != number)
        close(other);
    (void)state;
}

static void what_was_not_accepted_is_not_read_ahead(void **state)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "abc", 3), 3);
    assert_read(ends[0], 1, "a");
    assert_int_equal(bytes_in_kernel(ends[0]), 2);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(close(-1), -1);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_sent_together_are_read_one_by_one),
        cmocka_unit_test(what_comes_in_pieces_is_read_in_pieces),
        cmocka_unit_test(the_end_comes_after_what_was_read_ahead),
        cmocka_unit_test(a_connection_without_bytes_says_so),
        cmocka_unit_test(a_large_body_keeps_its_order),
        cmocka_unit_test(of_many_connections_those_with_bytes_are_ready),
        cmocka_unit_test(who_asks_to_write_is_not_told_about_bytes),
        cmocka_unit_test(the_next_connection_of_a_number_starts_empty),
        cmocka_unit_test(what_was_not_accepted_is_not_read_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
