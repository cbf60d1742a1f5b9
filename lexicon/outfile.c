#include "lexicon/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

struct outfile {
    char *path, *temporary;
    FILE *stream;
    bool lasting;
};

static void fail(GError **error, const char *path, int code)
{
    const char *advice = code == ENOSPC   ? "free some space"
                         : code == EIO    ? "is the disk full?"
                         : code == ENOENT ? "create the folder first"
                                          : "choose another file with -o";
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_OUTPUT, "cannot write %s (%s): %s", path,
                g_strerror(code), advice);
}

struct outfile *outfile_open(const char *path, mode_t mode, bool lasting, GError **error)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_OUTPUT,
                    "%s is there already and not a file: choose another name with -o", path);
        return NULL;
    }
    char *temporary = g_strconcat(path, ".XXXXXX", NULL);
    int fd = g_mkstemp_full(temporary, O_RDWR | O_CLOEXEC, (int)mode);
    if (fd < 0) {
        fail(error, path, errno);
        g_free(temporary);
        return NULL;
    }
    struct outfile *file = g_new0(struct outfile, 1);
    file->path = g_strdup(path);
    file->temporary = temporary;
    file->stream = fdopen(fd, "w");
    file->lasting = lasting;
    return file;
}

FILE *outfile_stream(struct outfile *file)
{
    return file->stream;
}

static void outfile_free(struct outfile **file)
{
    g_free((*file)->path);
    g_free((*file)->temporary);
    g_free(*file);
    *file = NULL;
}

bool outfile_commit(struct outfile **file, GError **error)
{
    struct outfile *f = *file;
    errno = 0;
    bool good =
        !ferror(f->stream) && fflush(f->stream) == 0 && (!f->lasting || fsync(fileno(f->stream)) == 0);
    int code = errno ? errno : EIO; /* an earlier write failed: its errno is gone */
    if (fclose(f->stream) != 0 && good) {
        good = false;
        code = errno;
    }
    f->stream = NULL;
    if (good && g_rename(f->temporary, f->path) != 0) {
        good = false;
        code = errno;
    }
    if (!good) {
        fail(error, f->path, code);
        g_unlink(f->temporary);
    }
    outfile_free(file);
    return good;
}

void outfile_discard(struct outfile **file)
{
    if (!*file)
        return;
    fclose((*file)->stream);
    g_unlink((*file)->temporary);
    outfile_free(file);
}
