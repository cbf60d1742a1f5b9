#include <inttypes.h>
#include <string.h>

#include "lexicon/df-stream.h"
#include "lexicon/outfile.h"
#include "message/message.h"

struct df_writer {
    struct outfile *file;
    FILE *stream;
    uint32_t min_count;
    struct df_total total;
};

static struct df_writer *start(const char *path, uint32_t min_count, bool lasting, GError **error)
{
    struct outfile *file = outfile_open(path, 0644, lasting, error);
    if (!file)
        return NULL;
    struct df_writer *w = g_new0(struct df_writer, 1);
    w->file = file;
    w->stream = outfile_stream(file);
    w->min_count = min_count;
    fprintf(w->stream, "# refrain document frequencies 1\n# tokeniser %d\n", MESSAGE_TOKENISER);
    return w;
}

struct df_writer *df_writer_open(const char *path, uint32_t min_count, GError **error)
{
    return start(path, min_count, true, error);
}

struct df_writer *df_writer_open_scratch(const char *path, GError **error)
{
    return start(path, 1, false, error);
}

void df_writer_collection(struct df_writer *w, const struct df_head *head)
{
    w->total.documents += head->documents;
    fprintf(w->stream, "# collection %s\n# documents %" PRIu64 "\n", head->name, head->documents);
    if (!head->sources[0])
        return;
    fputs("# sources", w->stream);
    for (char **source = head->sources; *source; source++)
        fprintf(w->stream, " %s", *source);
    putc('\n', w->stream);
}

void df_writer_term(struct df_writer *w, const char *text, uint32_t count)
{
    if (count < w->min_count)
        return;
    w->total.terms++;
    char number[16];
    char *digit = number + sizeof number;
    *--digit = '\n';
    for (uint32_t rest = count; rest; rest /= 10)
        *--digit = (char)('0' + rest % 10);
    *--digit = '\t';
    fwrite_unlocked(text, 1, strlen(text), w->stream);
    fwrite_unlocked(digit, 1, (size_t)(number + sizeof number - digit), w->stream);
}

struct df_total df_writer_total(const struct df_writer *w)
{
    return w->total;
}

bool df_writer_commit(struct df_writer **writer, GError **error)
{
    bool good = outfile_commit(&(*writer)->file, error);
    g_free(*writer);
    *writer = NULL;
    return good;
}

void df_writer_discard(struct df_writer **writer)
{
    if (!*writer)
        return;
    outfile_discard(&(*writer)->file);
    g_free(*writer);
    *writer = NULL;
}
