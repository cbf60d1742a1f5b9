#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <archive.h>
#include <archive_entry.h>
#include <cmocka.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "message/source.h"

static char *folder;

static int make_folder(void **state)
{
    folder = g_dir_make_tmp("refrain-source-XXXXXX", NULL);
    return folder ? 0 : -1;
}

static int remove_folder(void **state)
{
    char *argv[] = { "rm", "-rf", folder, NULL };
    g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
    g_free(folder);
    return 0;
}

static char *path_of(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static void write_bytes(const char *name, const char *bytes, size_t n)
{
    g_autofree char *path = path_of(name), *parent = g_path_get_dirname(path);
    assert_int_equal(g_mkdir_with_parents(parent, 0700), 0);
    assert_true(g_file_set_contents(path, bytes, (gssize)n, NULL));
}

static void write_text(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

static void make_link(const char *target, const char *name)
{
    g_autofree char *path = path_of(name);
    assert_int_equal(symlink(target, path), 0);
}

/* All items as lines "path relative to the folder: content", with ~ for a line end; errors as "path! reason".
 */
static char *read_source(char *const *paths, enum message_source_form form, size_t max_bytes)
{
    struct message_source *source = message_source_new(paths, form, max_bytes);
    GString *out = g_string_new(NULL);
    for (struct message_source_item *item; (item = message_source_next(source));) {
        const char *path =
            g_str_has_prefix(item->path, folder) ? item->path + strlen(folder) + 1 : item->path;
        assert_true((item->data == NULL) == (item->error != NULL));
        if (item->error) {
            if (g_str_has_prefix(item->path, folder))
                assert_non_null(strstr(item->error->message, path));
            g_string_append_printf(out, "%s! %s\n", path, strrchr(item->error->message, ':') + 2);
        } else {
            gsize n;
            const char *bytes = g_bytes_get_data(item->data, &n);
            g_string_append_printf(out, "%s: ", path);
            for (gsize i = 0; i < n; i++)
                g_string_append_c(out, bytes[i] == '\n' ? '~' : bytes[i] == '\r' ? '^' : bytes[i]);
            g_string_append_c(out, '\n');
        }
        message_source_item_free(item);
    }
    guint64 done, total;
    message_source_position(source, &done, &total);
    if (total)
        assert_int_equal(done, total);
    message_source_free(&source);
    assert_null(source);
    return g_string_free(out, FALSE);
}

static char *read_path(const char *name, enum message_source_form form, size_t max_bytes)
{
    g_autofree char *path = path_of(name);
    return read_source((char *[]) { path, NULL }, form, max_bytes);
}

static void assert_mail(const char *name, const char *expected)
{
    g_autofree char *got = read_path(name, MESSAGE_SOURCE_MAIL, 0);
    assert_string_equal(got, expected);
}

#define FROM "From joe@example.org Wed Nov 18 10:16:58 2026\n"

static void a_file_is_a_message(void **state)
{
    write_text("one.eml", "Subject: one\n\nbody\n");
    assert_mail("one.eml", "one.eml: Subject: one~~body~\n");
}

static void an_empty_file_is_an_empty_message(void **state)
{
    write_text("empty.eml", "");
    assert_mail("empty.eml", "empty.eml: \n");
}

static void an_mbox_is_split_at_from_lines(void **state)
{
    write_text("box", FROM "A: 1\n\none\n\n" FROM
                           "A: 2\n\ntwo\n\nFrom here on\nno new mail\n>From there\n>>From where\n\n" FROM
                           "A: 3\n\nthree");
    assert_mail("box", "box#1: A: 1~~one~\n"
                       "box#2: A: 2~~two~~From here on~no new mail~From there~>From where~\n"
                       "box#3: A: 3~~three\n");
}

static void an_mbox_of_one_message_is_that_message(void **state)
{
    write_text("single", FROM "A: 1\n\none\n");
    assert_mail("single", "single: A: 1~~one~\n");
    write_text("bare", FROM);
    assert_mail("bare", "bare: \n");
}

static void an_mbox_with_crlf_is_split_too(void **state)
{
    write_text("crlf", "From a Wed Nov 18 10:16:58 2026\r\nA: 1\r\n\r\none\r\n\r\nFrom b Wed Nov 18 10:16:58 "
                       "2026\r\nA: 2\r\n\r\n>From x\r\n");
    assert_mail("crlf", "crlf#1: A: 1^~^~one^~\ncrlf#2: A: 2^~^~From x^~\n");
}

static void a_from_line_without_date_needs_an_empty_line_and_a_header(void **state)
{
    write_text("loose", "From a\nA: 1\n\none\n\nFrom b\nA: 2\n\ntwo\nFrom c\nA: no\n");
    assert_mail("loose", "loose#1: A: 1~~one~\nloose#2: A: 2~~two~From c~A: no~\n");
}

static void a_from_line_with_date_needs_no_empty_line(void **state)
{
    write_text("tight", FROM "A: 1\n\none\n" FROM "A: 2\n\ntwo\n");
    assert_mail("tight", "tight#1: A: 1~~one~\ntight#2: A: 2~~two~\n");
}

/* Whatever the window's size, each of many messages of all lengths comes out whole. */
static void messages_across_windows_come_out_whole(void **state)
{
    GString *box = g_string_new(NULL);
    for (int i = 0; i < 700; i++) {
        g_string_append(box, FROM "\n");
        for (int j = 0; j < i * 7; j++)
            g_string_append_c(box, j % 61 == 60 ? '\n' : 'a');
        g_string_append(box, i % 100 == 50 ? "\n\nFrom a\n\n" : "\n\n");
    }
    write_bytes("large", box->str, box->len);
    g_string_free(box, TRUE);
    g_autofree char *path = path_of("large");
    struct message_source *source = message_source_new((char *[]) { path, NULL }, MESSAGE_SOURCE_MAIL, 0);
    for (int i = 0; i < 700; i++) {
        struct message_source_item *item = message_source_next(source);
        assert_non_null(item);
        assert_int_equal(g_bytes_get_size(item->data), 1 + i * 7 + (i % 100 == 50 ? 9 : i == 699 ? 2 : 1));
        message_source_item_free(item);
    }
    assert_null(message_source_next(source));
    message_source_free(&source);
}

/* The line that parts two messages may lie across the edge of what is read at once. */
static void a_from_line_is_found_wherever_the_window_ends(void **state)
{
    for (int shift = 0; shift < 64; shift++) {
        int length = 64 * 1024 - 60 + shift - (int)strlen(FROM); /* the first read is of 64 kB */
        g_autofree char *body = g_strnfill((gsize)length, 'x'),
                        *box = g_strconcat(FROM, body, "\n\n", FROM, "A: 2\n", NULL);
        write_text("edge", box);
        g_autofree char *got = read_path("edge", MESSAGE_SOURCE_MAIL, 3);
        assert_string_equal(got, "edge#1: xxx\nedge#2: A: \n");
    }
}

static void a_message_is_cut_at_the_limit_and_the_next_one_is_found(void **state)
{
    GString *box = g_string_new(FROM "A: 1\n\n");
    for (int i = 0; i < 400000; i++)
        g_string_append(box, "xx\n");
    g_string_append(box, "\n" FROM "A: 2\n\ntwo\n");
    write_bytes("cut", box->str, box->len);
    g_string_free(box, TRUE);
    g_autofree char *got = read_path("cut", MESSAGE_SOURCE_MAIL, 10);
    assert_string_equal(got, "cut#1: A: 1~~xx~x\ncut#2: A: 2~~two~\n");
    write_text("long.eml", "Subject: a long one\n");
    g_autofree char *cut = read_path("long.eml", MESSAGE_SOURCE_MAIL, 7);
    assert_string_equal(cut, "long.eml: Subject\n");
}

static void a_maildir_is_cur_and_new(void **state)
{
    write_text("md/cur/1:2,S", "c1");
    write_text("md/new/2", "n2");
    write_text("md/tmp/3", "t3");
    write_text("md/.Junk/cur/4", "j4");
    write_text("md/dovecot-uidlist", "x");
    assert_mail("md", "md/cur/1:2,S: c1\nmd/new/2: n2\n");
}

static void an_mh_folder_goes_by_number(void **state)
{
    write_text("mh/10", "ten");
    write_text("mh/9", "nine");
    write_text("mh/,8", "removed");
    write_text("mh/.mh_sequences", "unseen: 9");
    assert_mail("mh", "mh/9: nine\nmh/10: ten\n");
}

static void a_tree_is_sorted_and_goes_down(void **state)
{
    write_text("tree/b.eml", "b");
    write_text("tree/a/z.eml", "z");
    write_text("tree/a/deep/er/y.eml", "y");
    write_text("tree/c", FROM "A: 1\n\n" FROM "A: 2\n");
    write_text("tree/.hidden/x", "x");
    assert_mail(
        "tree",
        "tree/a/deep/er/y.eml: y\ntree/a/z.eml: z\ntree/b.eml: b\ntree/c#1: A: 1~\ntree/c#2: A: 2~\n");
}

static void links_that_go_round_are_walked_once(void **state)
{
    write_text("loop/a/m", "m");
    make_link("..", "loop/a/up");
    make_link("a", "loop/b");
    make_link("self", "loop/self");
    assert_mail("loop", "loop/a/m: m\nloop/self! Too many levels of symbolic links\n");
}

static void what_cannot_be_read_is_said_and_the_rest_is_read(void **state)
{
    write_text("bad/a", "a");
    make_link("nowhere", "bad/b");
    write_text("bad/c", "c");
    g_autofree char *bad = path_of("bad"), *missing = path_of("missing");
    g_autofree char *got = read_source((char *[]) { missing, bad, NULL }, MESSAGE_SOURCE_MAIL, 0);
    assert_string_equal(
        got, "missing! No such file or directory\nbad/a: a\nbad/b! No such file or directory\nbad/c: c\n");
}

static void pipes_and_sockets_in_a_tree_are_left_out(void **state)
{
    write_text("pipes/a", "a");
    g_autofree char *pipe = path_of("pipes/b");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_mail("pipes", "pipes/a: a\n");
}

static void compress(const char *name, const char *bytes, size_t n, int (*add_filter)(struct archive *))
{
    g_autofree char *path = path_of(name);
    struct archive *archive = archive_write_new();
    archive_write_set_format_raw(archive);
    assert_int_equal(add_filter(archive), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(archive, path), ARCHIVE_OK);
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_write_header(archive, entry);
    assert_int_equal(archive_write_data(archive, bytes, n), n);
    archive_entry_free(entry);
    archive_write_free(archive);
}

static void compressed_files_are_told_by_their_bytes(void **state)
{
    static const char mail[] = "Subject: one\n\nbody\n", box[] = FROM "A: 1\n\none\n\n" FROM "A: 2\n\ntwo\n";
    compress("m.gz", mail, strlen(mail), archive_write_add_filter_gzip);
    compress("m.xz", mail, strlen(mail), archive_write_add_filter_xz);
    compress("m.zst", mail, strlen(mail), archive_write_add_filter_zstd);
    compress("box-without-ending", box, strlen(box), archive_write_add_filter_zstd);
    compress("nothing.gz", "", 0, archive_write_add_filter_gzip);
    assert_mail("m.gz", "m.gz: Subject: one~~body~\n");
    assert_mail("m.xz", "m.xz: Subject: one~~body~\n");
    assert_mail("m.zst", "m.zst: Subject: one~~body~\n");
    assert_mail("box-without-ending", "box-without-ending#1: A: 1~~one~\nbox-without-ending#2: A: 2~~two~\n");
    assert_mail("nothing.gz", "nothing.gz: \n");
    write_text("plain.gz", "not compressed");
    assert_mail("plain.gz", "plain.gz: not compressed\n");
}

static void a_damaged_file_is_an_error_and_the_next_one_is_read(void **state)
{
    GString *noise = g_string_new(NULL);
    GRand *random = g_rand_new_with_seed(3);
    for (int i = 0; i < 100000; i++)
        g_string_append_c(noise, (char)g_rand_int(random));
    g_rand_free(random);
    compress("whole.gz", noise->str, noise->len, archive_write_add_filter_gzip);
    g_string_free(noise, TRUE);
    g_autofree char *path = path_of("whole.gz");
    char *bytes;
    gsize n;
    assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    write_bytes("damaged/a.gz", bytes, n / 2);
    write_bytes("damaged/b.gz", bytes, 12);
    write_text("damaged/c", "fine");
    g_free(bytes);
    g_autofree char *got = read_path("damaged", MESSAGE_SOURCE_MAIL, 0);
    assert_true(g_str_has_prefix(got, "damaged/a.gz! "));
    assert_non_null(strstr(got, "\ndamaged/b.gz"));
    assert_true(g_str_has_suffix(got, "\ndamaged/c: fine\n"));
}

static void standard_input_is_a_message_or_an_mbox(void **state)
{
    static const char *const texts[] = { "A: 1\n\none\n", FROM "A: 1\n\none\n\n" FROM "A: 2\n" },
                             *const expected[] = { "-: A: 1~~one~\n", "-#1: A: 1~~one~\n-#2: A: 2~\n" };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        int ends[2], old = dup(STDIN_FILENO);
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], texts[i], strlen(texts[i])), strlen(texts[i]));
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        g_autofree char *got = read_source((char *[]) { "-", NULL }, MESSAGE_SOURCE_MAIL, 0);
        dup2(old, STDIN_FILENO);
        close(old);
        close(ends[0]);
        assert_string_equal(got, expected[i]);
    }
}

static void a_text_is_a_document_whatever_it_begins_with(void **state)
{
    write_text("text/cur/a", "From here\n\nFrom there\n");
    write_text("text/new/b", "b");
    write_text("text/c", "c");
    g_autofree char *got = read_path("text", MESSAGE_SOURCE_TEXT, 0);
    assert_string_equal(got, "text/c: c\ntext/cur/a: From here~~From there~\ntext/new/b: b\n");
}

static void a_line_is_a_document(void **state)
{
    write_text("lines", "one\n\ntwo\r\n\r\nthree and more");
    g_autofree char *path = path_of("lines");
    struct message_source *source = message_source_new((char *[]) { path, NULL }, MESSAGE_SOURCE_LINES, 5);
    struct message_source_item *item = message_source_next(source);
    assert_non_null(item);
    assert_int_equal(item->line, 1);
    size_t at = 0, n;
    const char *line;
    static const char *const expected[] = { "one", "two", "three" };
    for (int i = 0; i < 3; i++) {
        assert_true(message_source_line(item, &at, &line, &n));
        assert_int_equal(n, strlen(expected[i]));
        assert_memory_equal(line, expected[i], n);
    }
    assert_false(message_source_line(item, &at, &line, &n));
    message_source_item_free(item);
    assert_null(message_source_next(source));
    message_source_free(&source);
}

static void many_lines_come_in_batches_and_none_is_lost(void **state)
{
    GString *text = g_string_new(NULL);
    for (int i = 1; i <= 100000; i++)
        g_string_append_printf(text, "line %d\n", i);
    for (int i = 0; i < 600000; i++)
        g_string_append_c(text, 'x');
    g_string_append(text, "\nlast");
    compress("lines.xz", text->str, text->len, archive_write_add_filter_xz);
    g_string_free(text, TRUE);
    g_autofree char *path = path_of("lines.xz");
    struct message_source *source = message_source_new((char *[]) { path, NULL }, MESSAGE_SOURCE_LINES, 0);
    unsigned number = 0, items = 0;
    for (struct message_source_item *item; (item = message_source_next(source)); items++) {
        assert_int_equal(item->line, number + 1);
        const char *line;
        for (size_t at = 0, n; message_source_line(item, &at, &line, &n);) {
            g_autofree char *expected = g_strdup_printf("line %u", ++number);
            if (number <= 100000)
                assert_int_equal(n, strlen(expected));
            if (number <= 100000)
                assert_memory_equal(line, expected, n);
            else if (number == 100002)
                assert_memory_equal(line, "last", 4);
        }
        message_source_item_free(item);
    }
    assert_int_equal(number, 100002);
    assert_true(items > 3 && items < 20);
    message_source_free(&source);
}

static void no_paths_give_nothing(void **state)
{
    g_autofree char *got = read_source((char *[]) { NULL }, MESSAGE_SOURCE_MAIL, 0);
    assert_string_equal(got, "");
    struct message_source *unread = message_source_new((char *[]) { folder, NULL }, MESSAGE_SOURCE_MAIL, 0);
    message_source_item_free(message_source_next(unread));
    message_source_free(&unread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_a_message),
        cmocka_unit_test(an_empty_file_is_an_empty_message),
        cmocka_unit_test(an_mbox_is_split_at_from_lines),
        cmocka_unit_test(an_mbox_of_one_message_is_that_message),
        cmocka_unit_test(an_mbox_with_crlf_is_split_too),
        cmocka_unit_test(a_from_line_without_date_needs_an_empty_line_and_a_header),
        cmocka_unit_test(a_from_line_with_date_needs_no_empty_line),
        cmocka_unit_test(messages_across_windows_come_out_whole),
        cmocka_unit_test(a_from_line_is_found_wherever_the_window_ends),
        cmocka_unit_test(a_message_is_cut_at_the_limit_and_the_next_one_is_found),
        cmocka_unit_test(a_maildir_is_cur_and_new),
        cmocka_unit_test(an_mh_folder_goes_by_number),
        cmocka_unit_test(a_tree_is_sorted_and_goes_down),
        cmocka_unit_test(links_that_go_round_are_walked_once),
        cmocka_unit_test(what_cannot_be_read_is_said_and_the_rest_is_read),
        cmocka_unit_test(pipes_and_sockets_in_a_tree_are_left_out),
        cmocka_unit_test(compressed_files_are_told_by_their_bytes),
        cmocka_unit_test(a_damaged_file_is_an_error_and_the_next_one_is_read),
        cmocka_unit_test(standard_input_is_a_message_or_an_mbox),
        cmocka_unit_test(a_text_is_a_document_whatever_it_begins_with),
        cmocka_unit_test(a_line_is_a_document),
        cmocka_unit_test(many_lines_come_in_batches_and_none_is_lost),
        cmocka_unit_test(no_paths_give_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
