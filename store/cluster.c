#include "store/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/fault.h"
#include "store/reply.h"
#include "store/url.h"

uint16_t cluster_crc16(const void *bytes, size_t n)
{
    /* The remainders of the 16 half bytes. */
    static const uint16_t table[16] = {
        0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
        0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
    };
    unsigned crc = 0;
    for (const unsigned char *p = bytes, *end = p + n; p < end; p++) {
        crc = (crc << 4 ^ table[(crc >> 12 ^ *p >> 4) & 15]) & 0xffff;
        crc = (crc << 4 ^ table[(crc >> 12 ^ *p) & 15]) & 0xffff;
    }
    return (uint16_t)crc;
}

unsigned cluster_slot(const char *key, size_t length)
{
    const char *open = memchr(key, '{', length);
    if (open) {
        const char *tag = open + 1;
        const char *close = memchr(tag, '}', length - (size_t)(tag - key));
        if (close && close > tag)
            return cluster_crc16(tag, (size_t)(close - tag)) % CLUSTER_SLOTS;
    }
    return cluster_crc16(key, length) % CLUSTER_SLOTS;
}

static void clear_range(void *range)
{
    g_free(((struct cluster_range *)range)->host);
}

/*
 *  1) 1) first slot   2) last slot   3) primary: 1) host  2) port  3) id …   4…) replicas
 */
static bool read_range(const redisReply *reply, const char *asked_host, struct cluster_range *out)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 3)
        return false;
    const redisReply *first = reply->element[0], *last = reply->element[1], *node = reply->element[2];
    if (first->type != REDIS_REPLY_INTEGER || last->type != REDIS_REPLY_INTEGER || first->integer < 0 ||
        last->integer < first->integer || last->integer >= CLUSTER_SLOTS)
        return false;
    if (node->type != REDIS_REPLY_ARRAY || node->elements < 2 ||
        node->element[1]->type != REDIS_REPLY_INTEGER || node->element[1]->integer < 1 ||
        node->element[1]->integer > 65535)
        return false;
    const redisReply *host = node->element[0];
    bool named = host->type == REDIS_REPLY_STRING && host->len > 0 && strcmp(host->str, "?") != 0;
    *out = (struct cluster_range) { (unsigned)first->integer, (unsigned)last->integer,
                                    g_strdup(named ? host->str : asked_host),
                                    (uint16_t)node->element[1]->integer };
    return true;
}

GArray *cluster_ask(struct wire *wire, const char *asked_name, const char *asked_host,
                    struct deadline deadline, GError **error)
{
    const char *argv[] = { "CLUSTER", "SLOTS" };
    redisReply *reply;
    wire_append(wire, 2, argv, NULL);
    if (!wire_ask(wire, &reply, 1, deadline, error))
        return NULL;
    GArray *ranges = NULL;
    if (reply->type == REDIS_REPLY_ERROR) {
        fault_reply(error, asked_name, reply, false);
    } else if (reply->type == REDIS_REPLY_ARRAY) {
        ranges = g_array_new(FALSE, FALSE, sizeof(struct cluster_range));
        g_array_set_clear_func(ranges, clear_range);
        struct cluster_range range;
        for (size_t i = 0; i < reply->elements; i++)
            if (read_range(reply->element[i], asked_host, &range))
                g_array_append_val(ranges, range);
    }
    if (ranges && ranges->len == 0) {
        g_clear_pointer(&ranges, g_array_unref);
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                    "redis %s: the cluster has no slots yet: finish redis-cli --cluster create", asked_name);
    } else if (!ranges && error && !*error) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_UNAVAILABLE,
                    "redis %s: CLUSTER SLOTS has no sensible answer: check its version", asked_name);
    }
    reply_free(reply);
    return ranges;
}

bool cluster_redirect(const redisReply *reply, const char *asked_host, unsigned *slot_out, char **host_out,
                      uint16_t *port_out)
{
    if (reply->type != REDIS_REPLY_ERROR)
        return false;
    g_auto(GStrv) words = g_strsplit(reply->str, " ", 4);
    guint64 slot;
    if (g_strv_length(words) != 3 || (strcmp(words[0], "MOVED") != 0 && strcmp(words[0], "ASK") != 0) ||
        !g_ascii_string_to_unsigned(words[1], 10, 0, CLUSTER_SLOTS - 1, &slot, NULL))
        return false;
    g_autofree char *address = NULL;
    /* A node without a name of its own: ":7000", and with Redis 7 "?:7000". */
    const char *port = strrchr(words[2], ':');
    bool unnamed = port && (port == words[2] || strncmp(words[2], "?:", 2) == 0);
    if (unnamed)
        address = g_strdup_printf(strchr(asked_host, ':') ? "[%s]%s" : "%s%s", asked_host, port);
    *slot_out = (unsigned)slot;
    return url_split_address(address ? address : words[2], host_out, port_out);
}
