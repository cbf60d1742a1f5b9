/*
 * Innocent short mail of one program looks alike in its markup, and must not be taken for each other because
 * of it: of some hundreds of short texts in the template of each program a tenth is reported, and the others
 * are compared with them, once by all views and once by their words alone.
 */
#include "tests/accuracy/shipped.h"

#include <stdio.h>

#define TEXTS    300
#define REPORTED 10 /* one in so many */

/* Who, does, which, thing, where, when: so many of each that two texts rarely share half of their words. */
static const char *const lists[] = {
    ['w'] =
        "Anna Bernard Carla Dmitri Edith Farid Greta Henrik Ines Jonas Keiko Lorenz Maria Nadia Oskar Paula "
        "Rafael Sabine Tomas Wendy Grandmother Uncle Somebody Everyone Nobody Mother Teacher Plumber Doctor "
        "Neighbour",
    ['d'] =
        "lost found sold painted repaired borrowed carried cleaned counted delivered described dropped "
        "examined finished forgot hated heard hired ignored invited kept liked locked mailed measured missed "
        "moved needs noticed opened ordered packed photographed planted polished praised printed received "
        "refused remembered rented returned saved signed stole tasted translated watered weighed wrote",
    ['a'] =
        "ancient blue broken bright cheap clever cold crooked dark dusty early empty expensive famous "
        "fragile "
        "funny gentle golden green heavy hollow huge late lonely loud modern narrow noisy orange plain quiet "
        "rare round rusty shiny silent small spare strange striped sweet tall tiny useful warm wet wooden "
        "yellow young",
    ['t'] =
        "album bicycle blanket boat bottle bridge brochure budget cake camera carpet chair clock contract "
        "curtain desk diary drawing engine estimate fence flute garden guitar hammer handbook harbour "
        "invoice "
        "jacket kettle keyboard ladder lamp letter map mirror needle oven painting parcel pencil permit "
        "piano "
        "pillow projector puzzle radio recipe report rocket rope saddle scarf shelf spreadsheet statue "
        "suitcase table tent ticket timetable towel tractor trumpet tunnel umbrella vase violin wallet "
        "window",
    ['p'] =
        "airport attic bakery basement beach café castle cellar cinema clinic corner dentist factory farm "
        "forest garage hotel island kitchen library market meadow museum office palace platform river roof "
        "school stadium station swimming-pool theatre tower village workshop",
    ['n'] =
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday tomorrow tonight yesterday Easter "
        "September "
        "October winter summer spring autumn midnight noon breakfast lunch dinner Christmas January February",
};
static const char *const sentences[] = {
    "%w %d the %a %t at the %p on %n.",  "%w and %w %d a %t.",         "The %a %t at the %p: %w %d it.",
    "On %n %w %d my %t, not the %a %t!", "Is %w at the %p on %n?",     "%w %d %w at the %p, %n.",
    "A %a %t for %w, a %a one for %w.",  "%n, %p, %t: %w has it all.",
};

static void put_word(GString *out, const char *list, GRand *rand)
{
    char **words = g_strsplit(list, " ", -1);
    g_string_append(out, words[g_rand_int_range(rand, 0, (gint32)g_strv_length(words))]);
    g_strfreev(words);
}

static void put_sentence(GString *out, GRand *rand)
{
    for (const char *p = sentences[g_rand_int_range(rand, 0, G_N_ELEMENTS(sentences))]; *p; p++) {
        if (*p == '%')
            put_word(out, lists[(unsigned char)*++p], rand);
        else
            g_string_append_c(out, *p);
    }
}

static char *innocent_text(GRand *rand)
{
    GString *out = g_string_new(NULL);
    for (int n = g_rand_int_range(rand, 1, 4); n > 0; n--) {
        put_sentence(out, rand);
        g_string_append_c(out, ' ');
    }
    return g_string_free(out, FALSE);
}

/* Each %s is the text; a template has it once or twice. */
static const struct template
{
    const char *program, *mail;
}
templates[] = {
    { "plain text", "Subject: hello\nContent-Type: text/plain; charset=utf-8\n\n%s\n" },
    { "Outlook",
      "Subject: RE:\nMIME-Version: 1.0\nX-Mailer: Microsoft Office Outlook 12.0\n"
      "Content-Type: multipart/alternative; boundary=\"o\"\n\n--o\nContent-Type: text/plain; "
      "charset=utf-8\n\n"
      "%s\n\n--o\nContent-Type: text/html; charset=utf-8\n\n"
      "<html xmlns:v=\"urn:schemas-microsoft-com:vml\" xmlns:o=\"urn:schemas-microsoft-com:office:office\" "
      "xmlns:w=\"urn:schemas-microsoft-com:office:word\"><head><meta name=Generator content=\"Microsoft Word "
      "12\"><style><!-- @font-face {font-family:Calibri;} p.MsoNormal, li.MsoNormal {margin:0cm; "
      "font-size:11.0pt;} a:link {color:blue;} --></style><!--[if gte mso 9]><xml><o:shapedefaults "
      "v:ext=\"edit\" spidmax=\"1026\" /></xml><![endif]--></head><body lang=EN-GB link=blue "
      "vlink=purple><div class=Section1><p class=MsoNormal>%s<o:p></o:p></p><p class=MsoNormal><o:p>&nbsp;"
      "</o:p></p></div></body></html>\n--o--\n" },
    { "Outlook Express",
      "Subject: hi\nMIME-Version: 1.0\nX-Mailer: Microsoft Outlook Express 6.00.2900\n"
      "Content-Type: multipart/alternative; boundary=\"e\"\n\n--e\nContent-Type: text/plain; "
      "charset=utf-8\n\n"
      "%s\n--e\nContent-Type: text/html; charset=utf-8\n\n"
      "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.0 Transitional//EN\">\n<HTML><HEAD>\n<META "
      "http-equiv=Content-Type content=\"text/html; charset=utf-8\">\n<META content=\"MSHTML "
      "6.00.2900.2180\" "
      "name=GENERATOR>\n<STYLE></STYLE>\n</HEAD>\n<BODY bgColor=#ffffff>\n<DIV><FONT face=Arial "
      "size=2>%s</FONT></DIV>\n<DIV><FONT face=Arial size=2></FONT>&nbsp;</DIV></BODY></HTML>\n--e--\n" },
    { "Word HTML",
      "Subject: note\nMIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n\n"
      "<html xmlns:o=\"urn:schemas-microsoft-com:office:office\" xmlns=\"http://www.w3.org/TR/REC-html40\">"
      "<head><meta name=ProgId content=Word.Document><meta name=Originator content=\"Microsoft Word 9\">"
      "<link rel=File-List href=\"cid:filelist.xml@01C1\"><!--[if gte mso 9]><xml><w:WordDocument><w:View>"
      "Normal</w:View><w:Zoom>0</w:Zoom></w:WordDocument></xml><![endif]--><style><!-- @page Section1 "
      "{size:595.3pt 841.9pt; margin:70.85pt;} --></style></head><body lang=EN-US "
      "style='tab-interval:35.4pt'><div class=Section1><p class=MsoNormal><span "
      "style='font-family:Arial;mso-bidi-font-family:\"Times New Roman\"'>%s<![if !supportEmptyParas]>&nbsp;"
      "<![endif]><o:p></o:p></span></p></div></body></html>\n" },
    { "Gmail", "Subject: re\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=\"g\"\n\n--g\n"
               "Content-Type: text/plain; charset=\"UTF-8\"\n\n%s\n\n--g\nContent-Type: text/html; "
               "charset=\"UTF-8\"\n\n<div dir=\"ltr\"><div class=\"gmail_default\" "
               "style=\"font-family:arial,helvetica,sans-serif;font-size:small\">%s</div><div "
               "class=\"gmail_extra\"><br></div></div>\n\n--g--\n" },
    { "Apple Mail",
      "Subject: Re\nMIME-Version: 1.0 (Mac OS X Mail 9.3)\nX-Mailer: Apple Mail (2.3124)\nContent-Type: "
      "multipart/alternative; boundary=\"Apple-Mail=_1\"\n\n--Apple-Mail=_1\nContent-Type: text/plain; "
      "charset=utf-8\n\n%s\n\nSent from my iPhone\n--Apple-Mail=_1\nContent-Type: text/html; "
      "charset=utf-8\n\n<html><head><meta http-equiv=\"Content-Type\" content=\"text/html\"></head><body "
      "style=\"word-wrap: break-word; -webkit-nbsp-mode: space;\" class=\"\">%s<div class=\"\"><br "
      "class=\"\"></div><div class=\"\">Sent from my iPhone</div></body></html>\n--Apple-Mail=_1--\n" },
    { "Thunderbird",
      "Subject: Re: \nMIME-Version: 1.0\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:102.0) "
      "Thunderbird/102.3.0\nContent-Type: text/html; charset=UTF-8\n\n<html>\n  <head>\n    <meta "
      "http-equiv=\"content-type\" content=\"text/html; charset=UTF-8\">\n  </head>\n  <body "
      "bgcolor=\"#FFFFFF\" text=\"#000000\">\n    <p>%s</p>\n    <pre class=\"moz-signature\" cols=\"72\">-- "
      "\nSent from a free mail program\nhttps://mail.example/free/download</pre>\n  </body>\n</html>\n" },
    { "stationery",
      "Subject: hi\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary=\"r\"\n\n--r\nContent-Type: "
      "text/html; charset=utf-8\n\n<HTML><HEAD><STYLE>BODY {margin-left: 4em;}</STYLE></HEAD><BODY "
      "background=\"cid:ivy@stationery\" bgColor=#ffffff><DIV><FONT face=Georgia "
      "color=#336600>%s</FONT></DIV></BODY></HTML>\n--r\nContent-Type: image/gif; "
      "name=\"Ivy.gif\"\nContent-ID: <ivy@stationery>\nContent-Transfer-Encoding: "
      "base64\n\n{picture}\n--r--\n" },
    { "web shop",
      "Subject: Your order\nMIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n\n<html><body><table "
      "width=\"600\" cellpadding=\"0\"><tr><td background=\"https://shop.example/img/head.png\"><img "
      "src=\"https://shop.example/img/logo.png\" alt=\"Shop\"></td></tr><tr><td>%s</td></tr><tr><td><a "
      "href=\"https://shop.example/account\">Account</a> <a href=\"https://shop.example/help\">Help</a> <a "
      "href=\"https://shop.example/imprint\">Imprint</a></td></tr></table></body></html>\n" },
};

/* 1,500 bytes that are the same in every mail. */
static char *picture(void)
{
    GString *out = g_string_new(NULL);
    for (unsigned i = 0; i < 2000; i++)
        g_string_append_c(out, i % 72 == 71 ? '\n' : "GIFivyLEAF"[i * i % 10]);
    return g_string_free(out, FALSE);
}

static char *fill(const char *mail, const char *text)
{
    char **pieces = g_strsplit(mail, "%s", -1), *filled = g_strjoinv(text, pieces), *shown = picture();
    g_strfreev(pieces);
    pieces = g_strsplit(filled, "{picture}", -1);
    char *out = g_strjoinv(shown, pieces);
    g_strfreev(pieces);
    g_free(filled);
    g_free(shown);
    return out;
}

static struct signature_set only_words(const struct signature_set *set)
{
    struct signature_set words = { 0 };
    for (unsigned i = 0; i < set->n; i++)
        if (set->v[i].view == MESSAGE_BODY)
            words.v[words.n++] = set->v[i];
    return words;
}

struct hits {
    unsigned all, words, of;
};

/* All pairs of a reported and another mail, whatever the lexicons would propose. */
static struct hits count_hits(const struct signature_set *sets, unsigned n)
{
    struct hits hits = { 0 };
    for (unsigned i = 0; i < n; i++) {
        bool all = false, words = false;
        struct signature_set own = only_words(&sets[i]);
        for (unsigned j = 0; i % REPORTED && j < n; j += REPORTED) {
            struct signature_set other = only_words(&sets[j]);
            all |= recognise(&sets[i], &sets[j]) != SIGNATURE_STRANGER;
            words |= recognise(&own, &other) != SIGNATURE_STRANGER;
        }
        hits.all += all;
        hits.words += words;
        hits.of += i % REPORTED > 0;
    }
    return hits;
}

static struct hits hits_in(const struct lexicon *lexicon, const char *mail, guint32 seed)
{
    struct signature_set *sets = g_new(struct signature_set, TEXTS);
    GRand *rand = g_rand_new_with_seed(seed);
    GHashTable *texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (unsigned i = 0; i < TEXTS; i++) {
        char *text = innocent_text(rand);
        while (!g_hash_table_add(texts, text))
            text = innocent_text(rand);
        char *filled = fill(mail, text);
        sets[i] = sign_mail(lexicon, filled);
        g_free(filled);
    }
    struct hits hits = count_hits(sets, TEXTS);
    g_hash_table_destroy(texts);
    g_rand_free(rand);
    g_free(sets);
    return hits;
}

static void innocent_mail_is_not_hit_for_its_template(void **state)
{
    bool well = true;
    for (unsigned t = 0; t < G_N_ELEMENTS(templates); t++) {
        struct hits hits = hits_in(*state, templates[t].mail, 1);
        well &= hits.all <= hits.words;
        if (hits.all)
            print_message("# %s: %u of %u hit, %u by their words alone\n", templates[t].program, hits.all,
                          hits.of, hits.words);
    }
    assert_true(well);
}

/* The other side: a line and a link that comes again is found in any of them. */
static void the_same_short_text_is_found_in_every_template(void **state)
{
    static const char first[] = "Cheap watches, look: http://watches.example/buy?id=811 only today",
                      again[] = "Cheap watches look http://watches.example/buy?id=4093 - only today!";
    for (unsigned t = 0; t < G_N_ELEMENTS(templates); t++) {
        char *reported = fill(templates[t].mail, first), *varied = fill(templates[t].mail, again);
        struct signature_set a = sign_mail(*state, reported), b = sign_mail(*state, varied);
        if (recognise(&b, &a) == SIGNATURE_STRANGER)
            fail_msg("%s: not found again", templates[t].program);
        g_free(reported);
        g_free(varied);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(innocent_mail_is_not_hit_for_its_template),
        cmocka_unit_test(the_same_short_text_is_found_in_every_template),
    };
    return cmocka_run_group_tests(tests, open_shipped, close_shipped);
}
