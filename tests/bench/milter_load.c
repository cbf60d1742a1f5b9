/*
 * milter_load: an MTA's side of the milter protocol, for load and for bad manners.
 *
 *      milter_load [options] SOCKET PATH...        SOCKET: unix:/path or inet:port@host
 *
 * Each connection is a thread that negotiates, and hands in messages one after the other: macros, MAIL,
 * RCPT, headers, body, end. Commands that need no answer go out together with the next one that does, as
 * Postfix does it. With --chaos it also breaks off, resets and reuses connections at random places.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <libmilter/mfdef.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static gint connections = 8, total = 1000, per_connection = 0, version = 6, watched_pid = 0, settle = 5000;
static gboolean chaos, idle, quiet, show;

/* --- messages --------------------------------------------------------------------------------------- */

struct field {
    char *name, *value; /* the value with its leading space, lines ended by LF as an MTA hands them over */
};

struct mail {
    GArray *fields;
    GByteArray *body; /* lines ended by CRLF */
};

static GPtrArray *mails;

static void add_field(struct mail *mail, const char *line)
{
    const char *colon = strchr(line, ':');
    if (!colon || colon == line)
        return;
    struct field field = { g_strndup(line, (gsize)(colon - line)), g_strdup(colon + 1) };
    g_array_append_val(mail->fields, field);
}

static void add_body(struct mail *mail, const char *text)
{
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        size_t kept = n && line[n - 1] == '\r' ? n - 1 : n;
        g_byte_array_append(mail->body, (const guint8 *)line, (guint)kept);
        g_byte_array_append(mail->body, (const guint8 *)"\r\n", 2);
        line += n + (line[n] == '\n');
    }
}

static struct mail *parse_mail(const char *text)
{
    struct mail *mail = g_new0(struct mail, 1);
    mail->fields = g_array_new(FALSE, FALSE, sizeof(struct field));
    mail->body = g_byte_array_new();
    g_autoptr(GString) field = g_string_new(NULL);
    const char *line = g_str_has_prefix(text, "From ") ? strchr(text, '\n') + 1 : text;
    while (*line) {
        size_t n = strcspn(line, "\n");
        size_t kept = n && line[n - 1] == '\r' ? n - 1 : n;
        if (*line != ' ' && *line != '\t') {
            add_field(mail, field->str);
            g_string_truncate(field, 0);
        } else if (field->len) {
            g_string_append_c(field, '\n');
        }
        if (kept == 0)
            break;
        g_string_append_len(field, line, (gssize)kept);
        line += n + (line[n] == '\n');
    }
    add_field(mail, field->str);
    line += strcspn(line, "\n");
    add_body(mail, *line ? line + 1 : line);
    return mail;
}

static void load_path(const char *path)
{
    g_autofree char *text = NULL;
    gsize n;
    if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
        g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
        for (const char *name; folder && (name = g_dir_read_name(folder));) {
            g_autofree char *inner = g_build_filename(path, name, NULL);
            load_path(inner);
        }
    } else if (g_file_get_contents(path, &text, &n, NULL) && n > 0 && !memchr(text, 0, n)) {
        g_ptr_array_add(mails, parse_mail(text));
    }
}

/* --- the wire --------------------------------------------------------------------------------------- */

struct client {
    int fd;
    GByteArray *out;
    uint32_t actions, steps; /* negotiated */
    uint8_t *reply;
    uint32_t reply_size, reply_room;
    unsigned seed;
    bool waved_through; /* the filter accepts all of this connection's mail unseen */
    bool delivered;     /* the last thing said was the end of a mail that passed */
};

static int dial(const char *spec)
{
    const int one = 1;
    if (g_str_has_prefix(spec, "unix:")) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        g_strlcpy(address.sun_path, spec + 5, sizeof address.sun_path);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
            return fd;
        close(fd);
        return -1;
    }
    const char *at = strchr(spec, '@');
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(spec + 5)) };
    inet_pton(AF_INET, at ? at + 1 : "127.0.0.1", &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        return fd;
    }
    close(fd);
    return -1;
}

static void put(struct client *c, char command, const void *data, size_t n)
{
    uint32_t length = htonl((uint32_t)n + 1);
    g_byte_array_append(c->out, (const guint8 *)&length, 4);
    g_byte_array_append(c->out, (const guint8 *)&command, 1);
    g_byte_array_append(c->out, data, (guint)n);
}

static bool flush(struct client *c)
{
    size_t done = 0;
    while (done < c->out->len) {
        ssize_t n = send(c->fd, c->out->data + done, c->out->len - done, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    g_byte_array_set_size(c->out, 0);
    return true;
}

static bool read_exactly(int fd, void *into, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = recv(fd, (char *)into + done, n - done, 0);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* The reply's letter, or 0 when the connection broke. */
static char read_reply(struct client *c)
{
    uint32_t length;
    if (!flush(c) || !read_exactly(c->fd, &length, 4))
        return 0;
    length = ntohl(length);
    if (length == 0 || length > 1 << 20)
        return 0;
    if (length + 2 > c->reply_room)
        c->reply = g_realloc(c->reply, c->reply_room = length + 2);
    c->reply_size = length;
    c->reply[length] = c->reply[length + 1] = 0; /* strings that a filter did not end */
    return read_exactly(c->fd, c->reply, length) ? (char)c->reply[0] : 0;
}

/* --- the conversation ------------------------------------------------------------------------------- */

static bool negotiate(struct client *c)
{
    uint32_t offer[3] = { htonl((uint32_t)version), htonl(version >= 6 ? SMFI_CURR_ACTS : SMFI_V2_ACTS),
                          htonl(version >= 6 ? SMFI_CURR_PROT : SMFI_V2_PROT) };
    uint32_t answer[3];
    put(c, SMFIC_OPTNEG, offer, sizeof offer);
    if (read_reply(c) != SMFIC_OPTNEG || c->reply_size < 13)
        return false;
    memcpy(answer, c->reply + 1, sizeof answer);
    c->actions = ntohl(answer[1]);
    c->steps = ntohl(answer[2]);
    return true;
}

static void put_macros(struct client *c, char command, const char *const *pairs)
{
    g_autoptr(GByteArray) data = g_byte_array_new();
    g_byte_array_append(data, (const guint8 *)&command, 1);
    for (; *pairs; pairs++)
        g_byte_array_append(data, (const guint8 *)*pairs, (guint)strlen(*pairs) + 1);
    put(c, SMFIC_MACRO, data->data, data->len);
}

/* A command that the filter wants to see; waits for the answer unless it said that there is none. */
static char say(struct client *c, char command, uint32_t unwanted, uint32_t silent, const void *data,
                size_t n)
{
    if (c->steps & unwanted)
        return SMFIR_CONTINUE;
    put(c, command, data, n);
    return c->steps & silent ? SMFIR_CONTINUE : read_reply(c);
}

static bool greet(struct client *c)
{
    static const char *const macros[] = { "j", "mx.example.org", "{daemon_name}", "load", NULL };
    static const char host[] = "client.example.net\0"
                               "4\x30\x39"
                               "192.0.2.99";
    put_macros(c, SMFIC_CONNECT, macros);
    char r = say(c, SMFIC_CONNECT, SMFIP_NOCONNECT, SMFIP_NR_CONN, host, sizeof host);
    c->waved_through = r == SMFIR_ACCEPT;
    if (c->waved_through)
        return true;
    if (r != SMFIR_CONTINUE)
        return false;
    return say(c, SMFIC_HELO, SMFIP_NOHELO, SMFIP_NR_HELO, "client.example.net", 19) == SMFIR_CONTINUE;
}

static bool say_envelope(struct client *c, int number)
{
    char id[32];
    snprintf(id, sizeof id, "L%08d", number);
    const char *const queue[] = { "i", id, NULL }, *const none[] = { NULL };
    static const char from[] = "<sender@example.net>", to[] = "<user@example.org>";
    put_macros(c, SMFIC_MAIL, none);
    if (say(c, SMFIC_MAIL, SMFIP_NOMAIL, SMFIP_NR_MAIL, from, sizeof from) != SMFIR_CONTINUE)
        return false;
    put_macros(c, SMFIC_RCPT, queue);
    if (say(c, SMFIC_RCPT, SMFIP_NORCPT, SMFIP_NR_RCPT, to, sizeof to) != SMFIR_CONTINUE)
        return false;
    if (version >= 4 && say(c, SMFIC_DATA, SMFIP_NODATA, SMFIP_NR_DATA, "", 0) != SMFIR_CONTINUE)
        return false;
    return true;
}

static bool say_headers(struct client *c, const struct mail *mail)
{
    g_autoptr(GByteArray) data = g_byte_array_new();
    for (guint i = 0; i < mail->fields->len; i++) {
        const struct field *f = &g_array_index(mail->fields, struct field, i);
        const char *value = f->value;
        if (!(c->steps & SMFIP_HDR_LEADSPC) && *value == ' ')
            value++;
        g_byte_array_set_size(data, 0);
        g_byte_array_append(data, (const guint8 *)f->name, (guint)strlen(f->name) + 1);
        g_byte_array_append(data, (const guint8 *)value, (guint)strlen(value) + 1);
        if (data->len > MILTER_MAX_DATA_SIZE - 8)
            continue;
        if (say(c, SMFIC_HEADER, SMFIP_NOHDRS, SMFIP_NR_HDR, data->data, data->len) != SMFIR_CONTINUE)
            return false;
    }
    return say(c, SMFIC_EOH, SMFIP_NOEOH, SMFIP_NR_EOH, "", 0) == SMFIR_CONTINUE;
}

static bool say_body(struct client *c, const struct mail *mail)
{
    for (size_t at = 0; at < mail->body->len; at += MILTER_CHUNK_SIZE) {
        size_t n = MIN(mail->body->len - at, (size_t)MILTER_CHUNK_SIZE);
        char r = say(c, SMFIC_BODY, SMFIP_NOBODY, SMFIP_NR_BODY, mail->body->data + at, n);
        if (r == SMFIR_SKIP)
            break;
        if (r != SMFIR_CONTINUE)
            return false;
    }
    return true;
}

enum result {
    RESULT_PASSED,
    RESULT_MARKED,
    RESULT_REJECTED,
    RESULT_TEMPFAILED,
    RESULT_DISCARDED,
    RESULT_BROKEN,
    RESULTS
};
static const char *const result_names[RESULTS] = { "passed",     "marked",    "rejected",
                                                   "tempfailed", "discarded", "broken" };

/* What the filter asks the MTA to do, for people. */
static void show_reply(const struct client *c)
{
    const char *data = (const char *)c->reply + 1;
    uint32_t place = c->reply[0] == SMFIR_INSHEADER || c->reply[0] == SMFIR_CHGHEADER ? 4 : 0;
    const char *name = data + place, *value = name + strlen(name) + 1;
    switch (c->reply[0]) {
    case SMFIR_ADDHEADER:
    case SMFIR_INSHEADER:
        printf("  added     %s: %s\n", name, value + (*value == ' '));
        break;
    case SMFIR_CHGHEADER:
        printf("  %s %s\n", *value ? "changed  " : "removed  ", name);
        break;
    case SMFIR_QUARANTINE:
        printf("  held      %s\n", data);
        break;
    case SMFIR_REPLYCODE:
        printf("  answered  %s\n", data);
        break;
    case SMFIR_DISCARD:
        puts("  discarded");
        break;
    case SMFIR_CONTINUE:
    case SMFIR_ACCEPT:
        puts("  accepted");
        break;
    default:
        break;
    }
}

/* Changes come first, the verdict last. */
static enum result end_mail(struct client *c, int number)
{
    char id[32];
    snprintf(id, sizeof id, "L%08d", number);
    const char *const queue[] = { "i", id, NULL };
    bool marked = false;
    put_macros(c, SMFIC_BODYEOB, queue);
    put(c, SMFIC_BODYEOB, "", 0);
    for (;;) {
        char reply = read_reply(c);
        if (show && reply)
            show_reply(c);
        switch (reply) {
        case SMFIR_ADDHEADER:
        case SMFIR_INSHEADER:
        case SMFIR_CHGHEADER:
        case SMFIR_QUARANTINE:
            marked = true;
            break;
        case SMFIR_PROGRESS:
            break;
        case SMFIR_CONTINUE:
        case SMFIR_ACCEPT:
            return marked ? RESULT_MARKED : RESULT_PASSED;
        case SMFIR_REJECT:
            return RESULT_REJECTED;
        case SMFIR_REPLYCODE:
            return c->reply[1] == '4' ? RESULT_TEMPFAILED : RESULT_REJECTED;
        case SMFIR_TEMPFAIL:
            return RESULT_TEMPFAILED;
        case SMFIR_DISCARD:
            return RESULT_DISCARDED;
        default:
            return RESULT_BROKEN;
        }
    }
}

/* --- bad manners ------------------------------------------------------------------------------------ */

enum manner { MANNER_GOOD, MANNER_DROP, MANNER_RESET, MANNER_REUSE, MANNER_HALF };

static enum manner pick_manner(struct client *c)
{
    return chaos ? (enum manner)(rand_r(&c->seed) % 10 < 6 ? 0 : rand_r(&c->seed) % 5) : MANNER_GOOD;
}

/* libmilter takes QUIT_NC only right after a mail that passed; elsewhere it leaves what follows unanswered.
 */
static bool reuse(struct client *c)
{
    if (!c->delivered)
        return true;
    put(c, SMFIC_QUIT_NC, "", 0);
    return flush(c) && greet(c);
}

/* False: the connection is gone. */
static bool misbehave(struct client *c, enum manner manner, const struct mail *mail, int number)
{
    int stage = rand_r(&c->seed) % 4;
    if (manner == MANNER_REUSE)
        return reuse(c);
    bool ok = (stage < 1 || say_envelope(c, number)) && (stage < 2 || say_headers(c, mail)) &&
              (stage < 3 || say_body(c, mail));
    if (!ok || manner == MANNER_DROP)
        return false;
    if (manner == MANNER_HALF) { /* a length, and nothing behind it */
        uint32_t length = htonl(1000);
        g_byte_array_append(c->out, (const guint8 *)&length, 4);
        g_byte_array_append(c->out, (const guint8 *)"B", 1);
        flush(c);
        return false;
    }
    put(c, SMFIC_ABORT, "", 0);
    return flush(c);
}

/* --- threads ---------------------------------------------------------------------------------------- */

static atomic_int next_number, finished;
static atomic_int results[RESULTS], broken_connections;
static const char *target;
static uint32_t *latency; /* microseconds, by number */

static bool open_client(struct client *c)
{
    c->fd = dial(target);
    c->delivered = false;
    g_byte_array_set_size(c->out, 0);
    return c->fd >= 0 && negotiate(c) && greet(c);
}

static void close_client(struct client *c)
{
    if (c->fd >= 0) {
        put(c, SMFIC_QUIT, "", 0);
        flush(c);
        close(c->fd);
    }
    c->fd = -1;
}

static void drop_client(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

static enum result hand_in(struct client *c, int number)
{
    const struct mail *mail = g_ptr_array_index(mails, (guint)number % mails->len);
    enum manner manner = pick_manner(c);
    if (c->waved_through)
        return RESULT_PASSED;
    if (manner != MANNER_GOOD && !misbehave(c, manner, mail, number)) {
        drop_client(c);
        if (!open_client(c))
            return RESULT_BROKEN;
    }
    int64_t start = g_get_monotonic_time();
    if (!say_envelope(c, number) || !say_headers(c, mail) || !say_body(c, mail))
        return RESULT_BROKEN;
    enum result result = end_mail(c, number);
    latency[number] = (uint32_t)(g_get_monotonic_time() - start);
    c->delivered = result == RESULT_PASSED || result == RESULT_MARKED;
    return result;
}

static void *work(void *argument)
{
    struct client c = { .fd = -1, .out = g_byte_array_new(), .seed = GPOINTER_TO_UINT(argument) };
    int number, here = 0;
    while ((number = atomic_fetch_add(&next_number, 1)) < total) {
        if (c.fd < 0 && !open_client(&c)) {
            atomic_fetch_add(&broken_connections, 1);
            drop_client(&c);
            continue;
        }
        enum result result = hand_in(&c, number);
        atomic_fetch_add(&results[result], 1);
        atomic_fetch_add(&finished, 1);
        if (result == RESULT_BROKEN)
            drop_client(&c);
        else if (per_connection && ++here % per_connection == 0)
            close_client(&c);
    }
    close_client(&c);
    g_byte_array_unref(c.out);
    g_free(c.reply);
    return NULL;
}

/* --- results ---------------------------------------------------------------------------------------- */

static long resident_kilobytes(void)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", watched_pid);
    g_autofree char *text = NULL;
    const char *line =
        watched_pid && g_file_get_contents(path, &text, NULL, NULL) ? strstr(text, "VmRSS:") : NULL;
    return line ? atol(line + 6) : 0;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double percentile(double share)
{
    return latency[(size_t)((double)(total - 1) * share)] / 1000.0;
}

static void print_results(double seconds, long settled, long last)
{
    qsort(latency, (size_t)total, sizeof *latency, by_value);
    printf("messages %d  connections %d  seconds %.2f  rate %.0f/s  p50 %.2f ms  p99 %.2f ms  max %.2f ms\n",
           total, connections, seconds, total / seconds, percentile(0.5), percentile(0.99), percentile(1));
    for (int i = 0; i < RESULTS; i++)
        printf("%s %d  ", result_names[i], results[i]);
    printf("unconnected %d\n", broken_connections);
    if (watched_pid)
        printf("rss after %d messages %ld kB, at the end %ld kB\n", settle, settled, last);
}

/* What a connection costs that has handed in a message and waits for the next one. */
static int measure_idle(void)
{
    struct client *clients = g_new0(struct client, (gsize)connections);
    bool good = true;
    long before = 0;
    for (int i = 0; i < connections && good; i++) {
        clients[i].out = g_byte_array_new();
        good = open_client(&clients[i]) && hand_in(&clients[i], 0) != RESULT_BROKEN;
        if (i == 0) /* the first one pays for what is made once */
            before = resident_kilobytes();
    }
    long grown = resident_kilobytes() - before;
    printf("%d idle connections: %.1f kB each\n", connections, (double)grown / connections);
    for (int i = 0; i < connections; i++) {
        close_client(&clients[i]);
        g_clear_pointer(&clients[i].out, g_byte_array_unref);
        g_free(clients[i].reply);
    }
    g_free(clients);
    return good ? 0 : 1;
}

static void parse_options(int *argc, char ***argv)
{
    const GOptionEntry entries[] = {
        { "connections", 'c', 0, G_OPTION_ARG_INT, &connections, "parallel connections", "N" },
        { "messages", 'n', 0, G_OPTION_ARG_INT, &total, "messages in all", "N" },
        { "per-connection", 'm', 0, G_OPTION_ARG_INT, &per_connection, "messages on one connection (0: all)",
          "N" },
        { "version", 'v', 0, G_OPTION_ARG_INT, &version, "protocol version, 2 or 6", "N" },
        { "pid", 0, 0, G_OPTION_ARG_INT, &watched_pid, "print the memory of this process", "PID" },
        { "settle", 0, 0, G_OPTION_ARG_INT, &settle, "messages after which memory must not grow", "N" },
        { "chaos", 0, 0, G_OPTION_ARG_NONE, &chaos, "break off, reset and reuse connections at random",
          NULL },
        { "show", 0, 0, G_OPTION_ARG_NONE, &show, "print what the filter does with each message, and no rate",
          NULL },
        { "idle", 0, 0, G_OPTION_ARG_NONE, &idle,
          "only open the connections, and print what each costs --pid", NULL },
        { "quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet, "print the rate alone", NULL },
        { 0 },
    };
    g_autoptr(GOptionContext) context = g_option_context_new("SOCKET PATH...");
    g_autoptr(GError) error = NULL;
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, &error) || *argc < 3 || connections < 1 || total < 1) {
        fprintf(stderr, "milter_load: %s: see --help\n",
                error ? error->message : "a socket and mail are needed");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    parse_options(&argc, &argv);
    target = argv[1];
    mails = g_ptr_array_new();
    for (int i = 2; i < argc; i++)
        load_path(argv[i]);
    if (mails->len == 0) {
        fprintf(stderr, "milter_load: no mail in %s\n", argv[2]);
        return 2;
    }
    latency = g_new0(uint32_t, (gsize)total);
    if (idle)
        return measure_idle();
    pthread_t *threads = g_new(pthread_t, (gsize)connections);
    int64_t start = g_get_monotonic_time();
    for (int i = 0; i < connections; i++)
        pthread_create(&threads[i], NULL, work, GUINT_TO_POINTER((guint)i + 1));
    long settled = 0;
    while (watched_pid && atomic_load(&finished) < MIN(settle, total) &&
           atomic_load(&next_number) < total + connections)
        g_usleep(2000);
    settled = resident_kilobytes();
    for (int i = 0; i < connections; i++)
        pthread_join(threads[i], NULL);
    g_free(threads);
    double seconds = (double)(g_get_monotonic_time() - start) / 1e6;
    long last = resident_kilobytes();
    if (quiet)
        printf("%.0f\n", total / seconds);
    else if (!show)
        print_results(seconds, settled, last);
    return results[RESULT_BROKEN] || broken_connections ? 1 : 0;
}
