#include "message/reader.h"

#include <archive.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define BLOCK 65536

/*
 *   fd ──▶ block ──▶ caller                the first block, which told what the file is; later reads go
 * straight fd ──▶ block ──▶ archive ──▶ caller    compressed
 */
struct reader {
    char *path;
    int fd;
    struct archive *archive; /* NULL: plain */
    bool empty; /* there is nothing in the archive */
    guint64 position, size;
    int last_errno;
    size_t start, end; /* of what is left in block */
    unsigned char block[BLOCK];
};

static const struct {
    unsigned char bytes[6];
    unsigned char n;
} magics[] = {
    { { 0x1f, 0x8b, 0x08 }, 3 },               /* gzip */
    { { 0xfd, '7', 'z', 'X', 'Z', 0x00 }, 6 }, /* xz */
    { { 0x28, 0xb5, 0x2f, 0xfd }, 4 },         /* zstd */
    { { 'B', 'Z', 'h' }, 3 },                  /* bzip2 */
    { { 0x04, 0x22, 0x4d, 0x18 }, 4 },         /* lz4 */
};

#define LONGEST_MAGIC 6

static gssize read_fd(struct reader *reader, void *bytes, size_t n)
{
    gssize got;
    do
        got = read(reader->fd, bytes, n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        reader->last_errno = errno;
    else
        reader->position += (guint64)got;
    return got;
}

static void set_error(const struct reader *reader, const char *reason, GError **error)
{
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INPUT, "cannot read %s: %s",
                strcmp(reader->path, "-") ? reader->path : "standard input", reason);
}

static la_ssize_t feed_archive(struct archive *archive, void *data, const void **bytes_out)
{
    struct reader *reader = data;
    if (reader->start == reader->end) {
        gssize got = read_fd(reader, reader->block, BLOCK);
        if (got < 0) {
            archive_set_error(archive, reader->last_errno, "%s", g_strerror(reader->last_errno));
            return ARCHIVE_FATAL;
        }
        reader->start = 0;
        reader->end = (size_t)got;
    }
    *bytes_out = reader->block + reader->start;
    size_t n = reader->end - reader->start;
    reader->start = reader->end;
    return (la_ssize_t)n;
}

static void set_archive_error(const struct reader *reader, GError **error)
{
    const char *reason = archive_error_string(reader->archive);
    set_error(reader, reason ? reason : "the compressed data is damaged", error);
}

/* Only filters inside libarchive: its "all" would also start programs. */
static bool open_archive(struct reader *reader, GError **error)
{
    struct archive *archive = reader->archive = archive_read_new();
    archive_read_support_filter_gzip(archive);
    archive_read_support_filter_xz(archive);
    archive_read_support_filter_zstd(archive);
    archive_read_support_filter_bzip2(archive);
    archive_read_support_filter_lz4(archive);
    archive_read_support_format_raw(archive);
    archive_read_support_format_empty(archive);
    struct archive_entry *entry;
    int status = archive_read_open(archive, reader, NULL, feed_archive, NULL);
    if (status == ARCHIVE_OK)
        status = archive_read_next_header(archive, &entry);
    reader->empty = status == ARCHIVE_EOF;
    if (status == ARCHIVE_OK || status == ARCHIVE_EOF || status == ARCHIVE_WARN)
        return true;
    set_archive_error(reader, error);
    return false;
}

/* A pipe may give its first bytes one by one. */
static bool read_start(struct reader *reader, GError **error)
{
    gssize got = 1;
    while (reader->end < LONGEST_MAGIC && got > 0) {
        got = read_fd(reader, reader->block + reader->end, BLOCK - reader->end);
        reader->end += got > 0 ? (size_t)got : 0;
    }
    if (got < 0)
        set_error(reader, g_strerror(reader->last_errno), error);
    return got >= 0;
}

static bool is_compressed(const struct reader *reader)
{
    for (size_t i = 0; i < G_N_ELEMENTS(magics); i++)
        if (reader->end >= magics[i].n && !memcmp(reader->block, magics[i].bytes, magics[i].n))
            return true;
    return false;
}

struct reader *reader_open(const char *path, GError **error)
{
    struct reader *reader = g_new(struct reader, 1);
    memset(reader, 0, offsetof(struct reader, block));
    reader->path = g_strdup(path);
    bool standard_input = !strcmp(path, "-");
    reader->fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    if (reader->fd < 0)
        set_error(reader, g_strerror(errno), error);
    else if (fstat(reader->fd, &status) == 0 && S_ISREG(status.st_mode))
        reader->size = (guint64)status.st_size;
    if (reader->fd < 0 || !read_start(reader, error) ||
        (is_compressed(reader) && !open_archive(reader, error)))
        reader_close(&reader);
    return reader;
}

gssize reader_read(struct reader *reader, void *bytes, size_t n, GError **error)
{
    if (reader->empty)
        return 0;
    if (reader->archive) {
        la_ssize_t got = archive_read_data(reader->archive, bytes, n);
        if (got < 0)
            set_archive_error(reader, error);
        return got < 0 ? -1 : (gssize)got;
    }
    size_t left = MIN(n, reader->end - reader->start);
    if (left) {
        memcpy(bytes, reader->block + reader->start, left);
        reader->start += left;
        return (gssize)left;
    }
    gssize got = read_fd(reader, bytes, n);
    if (got < 0)
        set_error(reader, g_strerror(reader->last_errno), error);
    return got;
}

guint64 reader_position(const struct reader *reader)
{
    return reader->position;
}

guint64 reader_size(const struct reader *reader)
{
    return reader->size;
}

void reader_close(struct reader **reader)
{
    if (!*reader)
        return;
    if ((*reader)->archive)
        archive_read_free((*reader)->archive);
    if ((*reader)->fd > STDIN_FILENO)
        close((*reader)->fd);
    g_free((*reader)->path);
    g_free(*reader);
    *reader = NULL;
}
