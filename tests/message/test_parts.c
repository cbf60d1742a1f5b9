#include "tests/message/reading.h"

#define MULTI(kind) "Subject: x\nMIME-Version: 1.0\nContent-Type: multipart/" kind "; boundary=\"b1\"\n\n"
#define PART(type)  "--b1\nContent-Type: " type "\n\n"
#define END         "\n--b1--\n"

static void test_the_parts_that_a_reader_sees_count(void **state)
{
    (void)state;
    CHECK_READINGS(
        { "plain", "Subject: winter sale\n\napple banana", "winter sale apple banana", "subject" },
        { "mixed",
          MULTI("mixed") "preamble\n" PART("text/plain") "apple"
                                                         "\n" PART("text/plain") "banana" END "epilogue",
          "apple banana", "preamble epilogue" },
        { "alternative",
          MULTI("alternative") PART("text/plain") "apple"
                                                  "\n" PART("text/html") "<p>banana" END,
          "banana", "apple" },
        { "the alternative that says nothing",
          MULTI("alternative") PART("text/plain") "apple"
                                                  "\n" PART("text/html") "<img src=x>" END,
          "apple", NULL },
        { "an alternative for programs",
          MULTI("alternative") PART("text/plain") "apple"
                                                  "\n" PART("text/calendar") "BEGIN:VCALENDAR" END,
          "apple", "vcalendar" },
        { "attached text",
          MULTI("mixed") PART(
              "text/plain") "apple"
                            "\n" PART(
                                "text/plain\nContent-Disposition: attachment; filename=x.txt") "banana" END,
          "apple", "banana" },
        { "inline text",
          MULTI("mixed") PART(
              "text/plain") "apple"
                            "\n" PART("text/plain\nContent-Disposition: inline; filename=x.txt") "banana" END,
          "apple banana", NULL },
        { "attached programs",
          MULTI("mixed") PART("text/plain") "apple"
                                            "\n" PART("application/octet-stream") "banana" END,
          "apple", "banana" },
        { "style sheet",
          MULTI("related") PART("text/html") "<p>apple"
                                             "\n" PART("text/css") "banana" END,
          "apple", "banana" },
        { "enriched", "Subject: x\nContent-Type: text/enriched\n\n<bold>apple</bold> banana", "apple banana",
          "bold" },
        { "delivery status",
          MULTI("report") PART("text/plain") "apple"
                                             "\n" PART("message/delivery-status") "Action: failed" END,
          "apple", "failed action" },
        { "two alternatives in a row",
          MULTI("mixed") PART("multipart/alternative; boundary=b2") "--b2\n\napple\n--b2\nContent-Type: "
                                                                    "text/html\n\nbanana\n--b2--\n"
                                                                    "\n" PART("text/plain") "cherry" END,
          "banana cherry", "apple" }, );
}

static void test_messages_inside_count_with_their_subjects(void **state)
{
    (void)state;
    CHECK_READINGS(
        { "forwarded",
          MULTI("mixed")
              PART("text/plain") "apple"
                                 "\n" PART("message/rfc822") "From: someone@mail.example\nSubject: cherry "
                                                             "pie\n\nbanana" END,
          "apple cherry banana", "someone mail" },
        { "forwarded as attachment",
          MULTI("mixed") PART(
              "text/plain") "apple"
                            "\n" PART("message/rfc822\nContent-Disposition: attachment") "Subject: cherry "
                                                                                         "pie\n\nbanana" END,
          "apple", "cherry banana" },
        { "digest",
          MULTI("digest") "--b1\n\nSubject: cherry pie\n\nbanana\n--b1\n\nSubject: grape\n\nlemon" END,
          "cherry banana grape lemon", NULL },
        { "multipart in a message in a multipart",
          MULTI("mixed") PART("message/rfc822") "Subject: grape\nContent-Type: multipart/alternative; "
                                                "boundary=b2\n\n--b2\n\napple\n--b2\nContent-Type: "
                                                "text/html\n\n<p>banana\n--b2--" END,
          "grape banana", "apple" },
        { "base64 around a message",
          "Subject: x\nContent-Type: message/rfc822\nContent-Transfer-Encoding: "
          "base64\n\nU3ViamVjdDogY2hlcnJ5Cgphb"
          "mFuYXMK\n",
          "cherry ananas", NULL }, );
}

static void test_transfer_encodings_are_undone(void **state)
{
    (void)state;
    CHECK_READINGS(
        { "base64", "Subject: x\nContent-Transfer-Encoding: base64\n\nYXBwbGUgYmFu\nYW5h\n", "apple banana",
          NULL },
        { "quoted-printable", "Subject: x\nContent-Transfer-Encoding: Quoted-Printable\n\nap=70le ban=\nana",
          "apple banana", NULL },
        { "uuencode",
          "Subject: x\nContent-Transfer-Encoding: x-uuencode\n\nbegin 644 x\n,87!P;&4@8F%N86YA\n`\nend\n",
          "apple banana", NULL },
        { "text that says it is base64",
          "Subject: x\nContent-Transfer-Encoding: base64\n\nThis letter is about fresh apples and ripe "
          "bananas, nothing else.\n",
          "letter fresh apples ripe bananas", NULL },
        { "an encoding that nobody knows", "Subject: x\nContent-Transfer-Encoding: rot13\n\napple banana",
          "apple banana", NULL },
        { "base64 cut off", "Subject: x\nContent-Transfer-Encoding: base64\n\nYXBwbGUgYmFu\nYW5hIGNo",
          "apple banana", NULL },
        { "uuencoded block in text",
          "Subject: x\n\napple\nbegin 644 "
          "picture.jpg\nM87!P;&4@8F%N86YA87!P;&4@8F%N86YA87!P;&4@8F%N86YA87!P;&4@8F%N\n#86YA\n`"
          "\nend\nbanana\n",
          "apple banana", "picture" },
        { "a line that begins", "Subject: x\n\nbegin 2024 with apples\nand banana\n", "begin apples banana",
          NULL }, );
}

#define CHARSET(name) "Subject: x\nContent-Type: text/plain; charset=" name "\n\n"

static void test_charsets_are_converted_and_never_fail(void **state)
{
    (void)state;
    CHECK_READINGS(
        { "latin 1",
          CHARSET("iso-8859-1") "caf\xe9 gr\xfc\xdf"
                                "e\n",
          "cafe", NULL },
        { "windows quotes in latin 1", CHARSET("iso-8859-1") "\x93quoted\x94 apple\n", "quoted apple", NULL },
        { "utf-8", CHARSET("utf-8") "caf\xc3\xa9 apple\n", "cafe apple", NULL },
        { "utf-8 that says latin 1", CHARSET("iso-8859-1") "caf\xc3\xa9 apple\n", "cafe apple", NULL },
        { "latin 1 that says utf-8", CHARSET("utf-8") "caf\xe9 apple\n", "cafe apple", NULL },
        { "latin 1 that says nothing", "Subject: x\n\ncaf\xe9 apple\n", "cafe apple", NULL },
        { "unknown charset", CHARSET("x-no-such-thing") "caf\xe9 apple\n", "cafe apple", NULL },
        { "charset of garbage", CHARSET("\"\xff\xfe%s%n\"") "caf\xe9 apple\n", "cafe apple", NULL },
        { "cyrillic", CHARSET("koi8-r") "\xd1\xc2\xcc\xcf\xcb\xcf\n",
          "\xd1\x8f\xd0\xb1\xd0\xbb\xd0\xbe\xd0\xba\xd0\xbe", NULL },
        { "chinese that could be utf-8", CHARSET("gb2312") "\xc4\xa3\xd3\xa3\n", "\xe6\xa8\xa1\xe6\xa8\xb1",
          NULL },
        { "utf-7", CHARSET("utf-7") "caf+AOk- apple\n", "cafe apple", NULL },
        { "bad utf-8 among good", CHARSET("utf-8") "caf\xc3\xa9 \xff\xfe na\xc3\xafve\n", "cafe naive",
          NULL }, );
}

static void test_japanese_is_the_same_in_each_of_its_charsets(void **state)
{
    (void)state;
    g_autofree char *utf8 =
        read_body(CHARSET("utf-8") "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe3\x81\xae\xe6\x96\x87\n");
    g_autofree char *jis = read_body(CHARSET("iso-2022-jp") "\x1b$BF|K\\8l$NJ8\x1b(B\n");
    g_autofree char *sjis = read_body(CHARSET("shift_jis") "\x93\xfa\x96{\x8c\xea\x82\xcc\x95\xb6\n");
    assert_true(strlen(utf8) > 2);
    assert_string_equal(jis, utf8);
    assert_string_equal(sjis, utf8);
}

static void test_subjects_are_decoded(void **state)
{
    (void)state;
    CHECK_READINGS(
        { "q", "Subject: =?iso-8859-1?Q?caf=E9_apple?=\n\n", "cafe apple", NULL },
        { "b", "Subject: =?utf-8?b?Y2Fmw6kgYXBwbGU=?=\n\n", "cafe apple", NULL },
        { "cut inside a character and folded", "Subject: =?utf-8?q?caf=C3?=\n =?utf-8?q?=A9s_apple?=\n\n",
          "cafes apple", NULL },
        { "words beside encoded words", "Subject: apple =?utf-8?q?banana?= cherry\n\n", "apple banana cherry",
          NULL },
        { "unknown charset", "Subject: =?x-nobody?q?apple?=\n\n", "apple", "nobody" },
        { "broken words", "Subject: =?utf-8?q?apple =?bogus =?\n\n", "apple", NULL },
        { "raw bytes", "Subject: caf\xe9 apple\n\n", "cafe apple", NULL },
        { "folded", "Subject: apple\n\tbanana\n cherry\n\n", "apple banana cherry", NULL },
        { "two charsets in one word", "Subject: =?utf-8?q?app?= =?iso-8859-1?q?les?=\n\n", "apples", NULL },
        { "language", "Subject: =?us-ascii*en?q?apple?=\n\n", "apple", NULL },
        { "spelt otherwise", "SUBJECT : apple banana\n\n", "apple banana", NULL }, );
}

static void test_broken_structure_is_read_both_ways(void **state)
{
    (void)state;
    CHECK_READINGS(
        { "no boundary parameter",
          "Subject: x\nContent-Type: multipart/mixed\n\n--abc\nContent-Type: text/plain\nX-Hidden: "
          "secret\n\napple "
          "banana\n--abc--\n",
          "apple banana", "content plain hidden secret" },
        { "another boundary",
          MULTI("mixed") "--zzzzz\nContent-Type: text/html\n\n<p>apple <b>banana</b>\n--zzzzz--\n",
          "apple banana", "html" },
        { "no end", MULTI("mixed") PART("text/plain") "apple banana", "apple banana", NULL },
        { "two content types",
          "Subject: x\nContent-Type: multipart/mixed; boundary=b1\nContent-Type: "
          "application/octet-stream\n\n--b1\n\napple\n--b1--\n",
          "apple", NULL },
        { "two encodings",
          "Subject: x\nContent-Transfer-Encoding: base64\nContent-Transfer-Encoding: 7bit\n\napple\n",
          "apple", NULL },
        { "two content types, the other way",
          "Subject: x\nContent-Type: application/octet-stream\nContent-Type: multipart/mixed; "
          "boundary=b1\n\n--b1\n\napple\n--b1--\n",
          "apple", NULL },
        { "content type of garbage", "Subject: x\nContent-Type: ;;;///\n\napple", "apple", NULL },
        { "multipart that is quoted",
          "Subject: x\nContent-Type: multipart/mixed; boundary=b1\nContent-Transfer-Encoding: "
          "base64\n\n--b1\n\napple\n--b1--\n",
          "apple", NULL },
        { "part without a blank line", MULTI("mixed") "--b1\nContent-Type: text/plain\napple banana\n" END,
          "apple banana", NULL }, );
}

static void test_headers_may_be_broken_or_missing(void **state)
{
    (void)state;
    CHECK_READINGS({ "no header", "apple banana\ncherry\n", "apple banana cherry", NULL },
                   { "blank line first", "\napple banana\n", "apple banana", NULL },
                   { "mbox line", "From joe Mon Jan  1 00:00:00 2024\nSubject: apple\n\nbanana",
                     "apple banana", "subject" },
                   { "junk between headers",
                     "Received: here\nthis is no header\nContent-Type: text/html\nSubject: apple\n\n<p "
                     "class=\"secret\">banana",
                     "apple banana", "class secret" },
                   { "junk ends the header", "Subject: apple\nbanana split\nand cherry\n",
                     "apple banana split cherry", NULL },
                   { "header only", "Subject: apple\n", "apple", NULL },
                   { "no line end", "Subject: apple", "apple", NULL },
                   { "bare CR", "Subject: apple\rContent-Type: text/html\r\r<p>banana</p>\r<p>cherry\r",
                     "apple banana cherry", NULL },
                   { "mixed line ends", "Subject: apple\r\nX-Y: z\n\r\nbanana\ncherry\r\n",
                     "apple banana cherry", NULL },
                   { "addresses are not text",
                     "From: \"Secret Name\" <joe@mail.example>\nTo: Hidden Person <p@mail.example>\nSubject: "
                     "apple\n\nbanana",
                     "apple banana", "secret hidden person mail" }, );
}

static void test_nuls_do_not_end_the_text(void **state)
{
    (void)state;
    static const char mail[] = "Subject: ap\0ple\n\nban\0ana\0 cherry\n";
    g_autofree char *terms = read_view(mail, sizeof mail - 1, MESSAGE_BODY, &message_default_limits, NULL);
    assert_string_equal(terms, " apple banana cherry ");
}

static void test_empty_input_has_no_terms(void **state)
{
    (void)state;
    static const char *const mails[] = { "", "\n", "\r", "\r\n\r\n", ":", "Subject:", " ", "--", "\n--" };
    for (size_t i = 0; i < G_N_ELEMENTS(mails); i++) {
        g_autofree char *terms = read_body(mails[i]);
        assert_string_equal(terms, "  ");
    }
}

static void test_a_mail_cut_anywhere_is_read(void **state)
{
    (void)state;
    const char *mail = "Subject: =?utf-8?q?caf=C3=A9?=\r\n" MULTI("mixed")
        PART("text/html; charset=utf-16") "<p style='color:red'>apple &eacute; <img alt=x "
                                          "src=\"http://a.example/\">"
                                          "\n" PART("text/plain\nContent-Transfer-Encoding: "
                                                    "base64") "YXBwbGUgYmFuYW5h"
                                                              "\n" PART("message/rfc822") "Subject: "
                                                                                          "=?iso-2022-"
                                                                                          "jp?B?"
                                                                                          "GyRCRnxLXDh"
                                                                                          "sGyhC?="
                                                                                          "\n\nbegin "
                                                                                          "644 "
                                                                                          "x\n#"
                                                                                          "86YA\nend"
                                                                                          "\n" END;
    for (size_t n = 0; n <= strlen(mail); n++) {
        g_autofree char *terms = read_view(mail, n, MESSAGE_BODY, &message_default_limits, NULL);
        assert_non_null(terms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_parts_that_a_reader_sees_count),
        cmocka_unit_test(test_messages_inside_count_with_their_subjects),
        cmocka_unit_test(test_transfer_encodings_are_undone),
        cmocka_unit_test(test_charsets_are_converted_and_never_fail),
        cmocka_unit_test(test_japanese_is_the_same_in_each_of_its_charsets),
        cmocka_unit_test(test_subjects_are_decoded),
        cmocka_unit_test(test_broken_structure_is_read_both_ways),
        cmocka_unit_test(test_headers_may_be_broken_or_missing),
        cmocka_unit_test(test_nuls_do_not_end_the_text),
        cmocka_unit_test(test_empty_input_has_no_terms),
        cmocka_unit_test(test_a_mail_cut_anywhere_is_read),
    };
    return cmocka_run_group_tests(tests, init_message, NULL);
}
