#include "tests/message/reading.h"

#define HTML "Subject: x\nContent-Type: text/html; charset=utf-8\n\n"

static void test_comments_script_style_and_title_are_not_seen(void **state)
{
    (void)state;
    CHECK_READINGS(
        { "comment", HTML "before<!-- secret -->after", "beforeafter", "secret" },
        { "comment with tags", HTML "<p>apple<!-- <b>secret</b> > --> banana", "apple banana", "secret" },
        { "comment that never ends", HTML "<p>apple <!-- secret> banana <!-- also secret", "apple banana",
          "secret also" },
        { "script", HTML "<script>secret();</script>apple", "apple", "secret" },
        { "script with tags in it", HTML "<script>if (a<b) { '</b>secret' }</script>apple", "apple",
          "secret" },
        { "style", HTML "<style>secret { color: red }</style>apple", "apple", "secret" },
        { "title", HTML "<head><title>secret</title></head><body>apple", "apple", "secret" },
        { "template", HTML "<template><p>secret</p></template><p>apple", "apple", "secret" },
        { "doctype", HTML "<!DOCTYPE html PUBLIC \"secret\"><p>apple", "apple", "secret" },
        { "conditional comment", HTML "<!--[if mso]><p>secret</p><![endif]--><p>apple", "apple",
          "secret" }, );
}

static void test_hidden_text_is_not_seen(void **state)
{
    (void)state;
    CHECK_READINGS(
        { "display", HTML "<div style='display:none'>secret <b>deeper</b></div>apple", "apple",
          "secret deeper" },
        { "display with noise", HTML "<div style='x:y; DISPLAY : None !important;'>secret</div>apple",
          "apple", "secret" },
        { "visibility", HTML "<span style='visibility:hidden'>secret</span> apple", "apple", "secret" },
        { "visible again",
          HTML "<div style='visibility:hidden'>secret <b style='visibility:visible'>apple</b></div>", "apple",
          "secret" },
        { "font size",
          HTML "<font style='font-size:0px'>secret</font> <b style='font-size:1px'>tiny</b> <i "
               "style='font-size:10px'>apple</i>",
          "apple", "secret tiny" },
        { "box without height",
          HTML "<div style='height:0;overflow:hidden'>secret</div><div style='height:0'>apple</div>", "apple",
          "secret" },
        { "preheader", HTML "<div style='max-height:0px; overflow:hidden'>secret</div>apple", "apple",
          "secret" },
        { "opacity", HTML "<div style='opacity:0'>secret</div><div style='opacity:0.5'>apple</div>", "apple",
          "secret" },
        { "attribute", HTML "<p hidden>secret</p><p>apple", "apple", "secret" },
        { "white on the page", HTML "<font color=white>secret</font> apple", "apple", "secret" },
        { "almost white", HTML "<font color=#fffffe>secret</font> apple", "apple", "secret" },
        { "same as its cell", HTML "<table bgcolor=#336699><tr><td><font color='#369'>secret</font> apple",
          "apple", "secret" },
        { "same as the page, in CSS",
          HTML "<body style='background: #00f'><p style='color: rgb(0, 0, 255)'>secret</p><p>apple", "apple",
          "secret" },
        { "transparent", HTML "<p style='color:transparent'>secret</p>apple", "apple", "secret" },
        { "white on black", HTML "<td bgcolor=black><font color=white>apple</font></td>", "apple", NULL },
        { "white on a picture", HTML "<body background='x.gif'><font color=white>apple</font>", "apple",
          NULL },
        { "white where a style sheet rules",
          HTML "<style>.x{background:black}</style><div class=x><font color=white>apple</font></div>",
          "apple", NULL },
        { "a link in white text",
          HTML "<font color=white>secret <a href='http://a.example/'>apple</a></font>",
          "apple http:a.example", "secret" },
        { "inside of hidden white", HTML "<font color=white>secret <font color=black>apple</font></font>",
          "apple", "secret" },
        { "links of hidden text",
          HTML "<div style='display:none'><a href='http://secret.example/'>x</a></div><a "
               "href='http://shown.example/'>y</a>",
          "http:shown.example", "http:secret.example" }, );
}

static void test_blocks_break_words_and_inline_elements_do_not(void **state)
{
    (void)state;
    CHECK_READINGS(
        { "inline", HTML "v<b></b>iagra pha<!-- x -->rmacy dis<font size=2>count</font>",
          "viagra pharmacy discount", NULL },
        { "cells", HTML "<table><tr><td>apple</td><td>banana</td></tr></table>", "apple banana",
          "applebanana" },
        { "cells that nobody closed", HTML "<table><tr><td>apple<td>banana<tr><td>cherry",
          "apple banana cherry", NULL },
        { "br", HTML "apple<br>banana<br/>cherry", "apple banana cherry", NULL },
        { "paragraphs", HTML "<p>apple</p><p>banana</p><div>cherry</div>grape", "apple banana cherry grape",
          NULL },
        { "list", HTML "<ul><li>apple<li>banana</ul>", "apple banana", NULL },
        { "entities",
          HTML "caf&eacute; &lt;apple&gt; ban&#97;na &#x63;herry &nbsp;grape&nbsp;lemon &bogus; R&D",
          "cafe apple banana cherry grape lemon", "nbsp eacute" },
        { "sections of other programs",
          HTML "apple<![if !supportEmptyParas]>&nbsp;<![endif]>banana v<![x]>iagra<![CDATA[secret]]>",
          "apple banana viagra", "supportemptyparas endif secret" },
        { "soft hyphen and zero width", HTML "ba&shy;nana che&#8203;rry gr<wbr>ape", "banana cherry grape",
          NULL }, );
}

static void test_alt_and_links_are_seen(void **state)
{
    (void)state;
    CHECK_READINGS(
        { "alt", HTML "<img src=cid:1 alt='cheap pills'>apple", "cheap pills apple", NULL },
        { "hosts", HTML "<a href='HTTP://User@WWW.Example.COM:8080/path/word?query'>click here</a>",
          "click here http:example.com", "path word query user" },
        { "https, ftp, no scheme",
          HTML "<a href='https://one.example/'>a</a><a href='ftp://two.example/x'>b</a><a "
               "href='//three.example/'>c</a>",
          "http:one.example http:two.example http:three.example", NULL },
        { "area, form, picture, base",
          HTML "<base href='http://base.example/'><map><area href='http://area.example/'></map><form "
               "action='http://form.example/'></form><img src='http://img.example/x.gif'>apple",
          "http:base.example http:area.example http:form.example http:img.example", NULL },
        { "no host",
          HTML "<a href='mailto:joe@mail.example'>x</a><a href='#top'>y</a><a href='/relative/path'>z</a><a "
               "href='javascript:void(0)'>q</a>apple",
          "apple", "http:mail.example" },
        { "entities in links", HTML "<a href='http://a&#46;example/?a=1&amp;b=2'>apple</a>",
          "apple http:a.example", NULL },
        { "spaces and line ends in links", HTML "<a href=' \nhttp://a.example/\n'>apple</a>",
          "apple http:a.example", NULL },
        { "a link as its own text", HTML "<a href='http://a.example/'>http://a.example/longpath</a>",
          "http:a.example", "longpath" }, );
}

static void test_broken_markup_still_gives_its_text(void **state)
{
    (void)state;
    CHECK_READINGS(
        { "unclosed tag at the end", HTML "<p>apple <a href=", "apple", NULL },
        { "unquoted and doubled attributes", HTML "<p align=center align=left ==>apple</p>", "apple", NULL },
        { "crossed tags", HTML "<b><i>apple</b>banana</i> cherry", "cherry", NULL },
        { "end tags only", HTML "</div></td></table>apple</html> banana", "apple banana", NULL },
        { "two bodies", HTML "<html><body>apple</body></html><html><body>banana", "apple banana", NULL },
        { "no tags at all", HTML "apple banana", "apple banana", NULL },
        { "less than", HTML "apple < banana <3 cherry", "apple banana cherry", NULL },
        { "a lying meta charset",
          HTML "<meta http-equiv=Content-Type content='text/html; charset=utf-16'>caf\xc3\xa9 apple",
          "cafe apple", NULL },
        { "unknown elements", HTML "<o:p>apple</o:p> <custom-thing>banana</custom-thing>", "apple banana",
          NULL },
        { "HTML that says it is plain", "Subject: x\n\n  <html><body>apple <b class=\"secret\">banana</b>",
          "apple banana", "class secret body" }, );
}

static void test_text_behind_any_depth_is_seen(void **state)
{
    (void)state;
    static const char *const tags[] = { "<div>", "<b>", "<table><tr><td>", "<div style='color:black'>" };
    for (size_t i = 0; i < G_N_ELEMENTS(tags); i++) {
        GString *mail = g_string_new(HTML "<p>before</p>");
        for (int depth = 0; depth < 5000; depth++)
            g_string_append(mail, tags[i]);
        g_string_append(mail, "apple</x></y>");
        for (int depth = 0; depth < 5000; depth++)
            g_string_append(mail, "</div></b></td></tr></table>");
        g_string_append(mail, "<p>behind");
        g_autofree char *terms = read_view(mail->str, mail->len, MESSAGE_BODY, &message_default_limits, NULL);
        assert_string_equal(terms, " apple before behind ");
        g_string_free(mail, TRUE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comments_script_style_and_title_are_not_seen),
        cmocka_unit_test(test_hidden_text_is_not_seen),
        cmocka_unit_test(test_blocks_break_words_and_inline_elements_do_not),
        cmocka_unit_test(test_alt_and_links_are_seen),
        cmocka_unit_test(test_broken_markup_still_gives_its_text),
        cmocka_unit_test(test_text_behind_any_depth_is_seen),
    };
    return cmocka_run_group_tests(tests, init_message, NULL);
}
