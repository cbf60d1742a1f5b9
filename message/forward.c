#include "message/forward.h"

#include <glib.h>
#include <string.h>

enum role { ROLE_NONE, ROLE_FROM = 1, ROLE_DATE = 2, ROLE_TO = 4, ROLE_SUBJECT = 8, ROLE_OTHER = 16 };

/* Names of header lines as mail programs write them, in lower case. A name may have several roles. */
static const struct {
    enum role role;
    const char *names;
} roles[] = {
    { ROLE_FROM, "|from|von|de|da|van|fra|från|lähettäjä|od|от|от "
                 "кого|kimden|gönderen|差出人|发件人|寄件者|寄件人|보낸 사람|보낸사람|من|"
                 "expéditeur|remitente|mittente|afzender|nadawca|odesílatel|feladó|de "
                 "la|expeditor|από|від|від кого|avsender|afsender|"
                 "remetente|absender|pošiljatelj|отправитель|người gửi|từ|จาก|מאת|" },
    { ROLE_DATE, "|sent|date|gesendet|datum|envoyé|envoyé le|enviado|enviado el|enviada em|enviado "
                 "em|fecha|inviato|data|data e hora|"
                 "verzonden|sendt|dato|skickat|lähetetty|päivämäärä|päiväys|wysłano|wysłane|odesláno|"
                 "отправлено|дата|tarih|gönderildi|"
                 "gönderme tarihi|gönderilme "
                 "tarihi|送信日時|日付|日時|发送时间|发送日期|日期|时间|寄件日期|傳送日期|보낸 "
                 "날짜|날짜|التاريخ|تاريخ|تم الإرسال|"
                 "küldve|dátum|trimis|ημερομηνία|στάλθηκε|надіслано|poslano|ngày|đã gửi|วันที่|ส่ง|תאריך|נשלח|" },
    { ROLE_TO, "|to|an|à|a|pour|para|aan|til|till|vastaanottaja|do|komu|кому|kime|alıcı|宛先|收件人|收件者|"
               "받는 사람|받는사람|إلى|címzett|către|"
               "προς|destinataire|destinatario|destinatário|ontvanger|za|đến|tới|ถึง|אל|" },
    { ROLE_SUBJECT, "|subject|betreff|objet|sujet|asunto|oggetto|onderwerp|emne|ämne|aihe|temat|předmět|"
                    "predmet|тема|konu|件名|主题|主題|主旨|제목|"
                    "الموضوع|tárgy|subiect|θέμα|assunto|zadeva|chủ đề|เรื่อง|נושא|" },
    { ROLE_OTHER, "|cc|bcc|kopie|copie|copia|cópia|kopia|kopi|копия|копія|reply-to|antwort an|répondre "
                  "à|抄送|副本|참조|importance|priority|"
                  "wichtigkeit|priorität|bilgi|organization|message-id|" },
};

/* What a line above a forward says, and how a subject begins. */
static const char *const marker_words[] = {
    "forwarded message",
    "forwarded by",
    "forwarded mail",
    "begin forwarded",
    "original message",
    "weitergeleitete nachricht",
    "weitergeleitete e-mail",
    "anfang der weitergeleiteten",
    "ursprüngliche nachricht",
    "originalnachricht",
    "message transféré",
    "message transmis",
    "message d'origine",
    "début du message",
    "mensaje reenviado",
    "mensaje original",
    "inicio del mensaje",
    "messaggio inoltrato",
    "messaggio originale",
    "inizio messaggio",
    "doorgestuurd bericht",
    "oorspronkelijk bericht",
    "begin doorgestuurd",
    "mensagem encaminhada",
    "mensagem original",
    "início da mensagem",
    "videresendt",
    "videresendte",
    "vidarebefordrat",
    "vidarebefordrade",
    "edelleenlähetetty",
    "wiadomość przekazana",
    "przekazana wiadomość",
    "oryginalna wiadomość",
    "přeposlaná zpráva",
    "původní zpráva",
    "пересылаемое сообщение",
    "пересланное сообщение",
    "переадресованное сообщение",
    "исходное сообщение",
    "начало переадресованного",
    "iletilen mesaj",
    "iletilmiş ileti",
    "orijinal mesaj",
    "転送メッセージ",
    "転送された",
    "转发的邮件",
    "转发邮件",
    "原始邮件",
    "轉寄郵件",
    "轉寄的",
    "전달된 메시지",
    "원본 메시지",
    "رسالة معاد توجيهها",
    "továbbított üzenet",
    "mesaj redirecționat",
    "προωθημένο μήνυμα",
    "переслане повідомлення",
};
static const char *const reply_words[] = {
    "original message",
    "ursprüngliche nachricht",
    "originalnachricht",
    "message d'origine",
    "mensaje original",
    "messaggio originale",
    "oorspronkelijk bericht",
    "mensagem original",
    "oryginalna wiadomość",
    "původní zpráva",
    "исходное сообщение",
    "orijinal mesaj",
    "原始邮件",
    "원본 메시지",
};
static const char *const subject_prefixes[] = {
    "fwd", "fw", "wg", "tr",     "rv",  "i",    "enc",  "doorst", "vs",   "vb",
    "vl",  "pd", "fs", "пересл", "ilt", "转发", "轉寄", "转寄",   "전달",
};

#define LINE_MAX_BYTES 2000 /* a header line in a block is shorter */
#define BLOCK_LINES    60   /* recipients may take many */
#define MARKER_MAX     120
#define GAP_WORDS      30 /* a cover note between two blocks is shorter than a mail */

/* One line: what stands before it ("> "), and the rest. */
struct line {
    const char *text;
    size_t n;
    unsigned quote;    /* number of > before it */
    unsigned roles;    /* enum role: it is a header line */
    const char *value; /* of the header */
    size_t value_n;
};

struct lines {
    struct line *v;
    size_t n;
};

static struct line read_line_at(const char *at, size_t n)
{
    struct line line = { .text = at, .n = n };
    while (line.n > 0 && (line.text[line.n - 1] == '\r' || line.text[line.n - 1] == ' '))
        line.n--;
    for (;;) {
        size_t skip = 0;
        while (skip < line.n && (line.text[skip] == ' ' || line.text[skip] == '\t') && skip < 3)
            skip++;
        if (skip == line.n || line.text[skip] != '>')
            break;
        line.text += skip + 1;
        line.n -= skip + 1;
        line.quote++;
    }
    if (line.quote && line.n && *line.text == ' ') {
        line.text++;
        line.n--;
    }
    return line;
}

static bool blank(const struct line *line)
{
    for (size_t i = 0; i < line->n; i++)
        if (!strchr(" \t\xc2\xa0", line->text[i]))
            return false;
    return true;
}

/* --- the block ---------------------------------------------------------------------------------- */

/* The name before the colon, folded; "" when it is none. `value_out` is behind it. */
static void split_header(const struct line *line, char name[64], const char **value_out, size_t *n_out)
{
    static const char wide_colon[] = "：";
    name[0] = 0;
    const char *at = line->text, *end = line->text + MIN(line->n, 60);
    while (at < end && (*at == ' ' || *at == '\t' || *at == '*' || *at == '|'))
        at++;
    const char *colon = memchr(at, ':', (size_t)(end - at));
    const char *wide = g_strstr_len(at, end - at, wide_colon);
    const char *stop = wide && (!colon || wide < colon) ? wide : colon;
    if (!stop || stop == at)
        return;
    const char *value = stop + (stop == wide ? sizeof wide_colon - 1 : 1), *last = stop;
    while (last > at && (last[-1] == ' ' || last[-1] == '*' || last[-1] == '\t'))
        last--;
    if (last > at + 1 && last[-2] == '\xc2' && last[-1] == '\xa0') /* French: a hard space before the colon */
        last -= 2;
    if (!g_utf8_validate(at, last - at, NULL))
        return;
    g_autofree char *lower = g_utf8_strdown(at, last - at);
    if (strchr(lower, '|'))
        return;
    g_strlcpy(name, lower, 64);
    const char *line_end = line->text + line->n;
    while (value < line_end && (*value == ' ' || *value == '*' || *value == '\t'))
        value++;
    *value_out = value;
    *n_out = (size_t)(line_end - value);
}

static unsigned roles_of(const struct line *line, const char **value_out, size_t *n_out)
{
    char name[64], wanted[72];
    if (line->n > LINE_MAX_BYTES)
        return ROLE_NONE;
    split_header(line, name, value_out, n_out);
    if (!*name)
        return ROLE_NONE;
    unsigned found = ROLE_NONE;
    g_snprintf(wanted, sizeof wanted, "|%s|", name);
    for (size_t i = 0; i < G_N_ELEMENTS(roles); i++)
        if (strstr(roles[i].names, wanted))
            found |= roles[i].role;
    return found;
}

static struct lines split(struct arena *arena, const char *text, size_t n)
{
    size_t count = 1;
    for (size_t i = 0; i < n; i++)
        count += text[i] == '\n';
    struct lines lines = { ARENA_ARRAY(arena, struct line, count), 0 };
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t length = end ? (size_t)(end - text) - at : n - at;
        struct line *line = &lines.v[lines.n++];
        *line = read_line_at(text + at, length);
        line->roles = roles_of(line, &line->value, &line->value_n);
        at += length + 1;
    }
    return lines;
}

struct block {
    size_t first, end; /* lines */
    const char *subject;
    size_t subject_n;
    unsigned roles;
};

static unsigned kinds(unsigned found)
{
    return (unsigned)__builtin_popcount(found & (ROLE_FROM | ROLE_DATE | ROLE_TO | ROLE_SUBJECT));
}

static bool take_header(struct block *block, const struct line *line)
{
    if ((line->roles & ROLE_SUBJECT) && !(block->roles & ROLE_SUBJECT)) {
        block->subject = line->value;
        block->subject_n = line->value_n;
    }
    block->roles |= line->roles;
    return line->roles != ROLE_NONE;
}

/* Is the line behind a blank one a header of a kind that the block has not had? */
static bool goes_on(const struct lines *lines, size_t at, const struct block *block)
{
    return at + 1 < lines->n && (lines->v[at + 1].roles & ~block->roles) != 0;
}

/*
 * The block that begins at a line: at least three kinds of header lines, the sender's and the subject's or
 * the date's among them. Long lists of recipients run over several lines; programs that turn HTML into
 * text put a blank line between the headers.
 */
static bool block_at(const struct lines *lines, size_t first, struct block *out)
{
    *out = (struct block) { .first = first, .end = first, .subject = "" };
    unsigned continued = 0;
    size_t last = MIN(lines->n, first + BLOCK_LINES);
    for (size_t at = first; at < last && lines->v[at].quote == lines->v[first].quote; at++) {
        if (take_header(out, &lines->v[at])) {
            out->end = at + 1;
            continued = 0;
        } else if (at == first || (blank(&lines->v[at]) ? !goes_on(lines, at, out) : ++continued > 4)) {
            break;
        }
    }
    return kinds(out->roles) >= 3 && (out->roles & ROLE_FROM) && (out->roles & (ROLE_SUBJECT | ROLE_DATE));
}

/* --- signs of a forward ------------------------------------------------------------------------- */

static bool has_any(const char *folded, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(folded, words[i]))
            return true;
    return false;
}

enum marker { MARKER_NONE, MARKER_REPLY, MARKER_FORWARD };

/* "---------- Forwarded message ---------", "Begin forwarded message:". */
static enum marker marker_of(const struct line *line)
{
    if (line->n == 0 || line->n > MARKER_MAX || !g_utf8_validate(line->text, (gssize)line->n, NULL))
        return MARKER_NONE;
    g_autofree char *folded = g_utf8_strdown(line->text, (gssize)line->n);
    bool framed = g_str_has_prefix(g_strchug(folded), "--") || g_str_has_prefix(folded, "==") ||
                  g_str_has_prefix(folded, "__") || g_str_has_suffix(folded, ":") ||
                  g_str_has_suffix(folded, "：");
    if (!framed || !has_any(folded, marker_words, G_N_ELEMENTS(marker_words)))
        return MARKER_NONE;
    return has_any(folded, reply_words, G_N_ELEMENTS(reply_words)) ? MARKER_REPLY : MARKER_FORWARD;
}

static bool subject_forwards(const char *subject)
{
    g_autofree char *folded = g_utf8_strdown(subject, -1);
    g_strstrip(folded);
    for (size_t i = 0; i < G_N_ELEMENTS(subject_prefixes); i++) {
        size_t n = strlen(subject_prefixes[i]);
        if (g_str_has_prefix(folded, subject_prefixes[i]) &&
            (folded[n] == ':' || g_str_has_prefix(folded + n, "：") || g_str_has_prefix(folded + n, " :")))
            return true;
    }
    return g_str_has_prefix(folded, "[fwd:");
}

/* Does a line above the block say so? Blank lines and lines of dashes may stand between. */
static enum marker marker_above(const struct lines *lines, size_t first)
{
    for (size_t at = first, seen = 0; at-- > 0 && seen < 4; seen++) {
        enum marker marker = marker_of(&lines->v[at]);
        if (marker != MARKER_NONE)
            return marker;
        const struct line *line = &lines->v[at];
        bool rule = line->n > 0 && strspn(line->text, "-_=* ") >= line->n;
        if (!blank(line) && !rule)
            return MARKER_NONE;
    }
    return MARKER_NONE;
}

/* --- the inner text ----------------------------------------------------------------------------- */

static unsigned words_between(const struct lines *lines, size_t from, size_t to)
{
    unsigned words = 0;
    for (size_t i = from; i < to && words <= GAP_WORDS; i++)
        for (size_t at = 0; at < lines->v[i].n; at++) {
            bool here = g_ascii_isalnum(lines->v[i].text[at]) || (unsigned char)lines->v[i].text[at] >= 0x80;
            bool before = at > 0 && (g_ascii_isalnum(lines->v[i].text[at - 1]) ||
                                     (unsigned char)lines->v[i].text[at - 1] >= 0x80);
            words += here && !before;
        }
    return words;
}

/* The first block; or the one inside it, when a forward was forwarded with hardly a word. */
static bool find_block(const struct lines *lines, struct block *out)
{
    bool found = false;
    for (size_t at = 0; at < lines->n; at++) {
        struct block block;
        if (blank(&lines->v[at]) || !block_at(lines, at, &block))
            continue;
        if (found && words_between(lines, out->end, block.first) > GAP_WORDS)
            break;
        *out = block;
        found = true;
        at = block.end - 1;
    }
    return found;
}

/* The lines behind the block, without as many quote marks as the block has. */
static void take_text(struct arena *arena, const struct lines *lines, const struct block *block,
                      struct forward *out)
{
    unsigned quote = lines->v[block->first].quote;
    size_t room = 1;
    for (size_t i = block->end; i < lines->n; i++)
        room += lines->v[i].n + lines->v[i].quote * 2 + 1;
    char *text = arena_alloc(arena, room), *at = text;
    for (size_t i = block->end; i < lines->n; i++) {
        const struct line *line = &lines->v[i];
        if (line->quote < quote && !blank(line))
            break; /* the quoted mail is over */
        for (unsigned mark = quote; mark < line->quote; mark++) {
            *at++ = '>';
            *at++ = ' ';
        }
        memcpy(at, line->text, line->n);
        at += line->n;
        *at++ = '\n';
    }
    *at = 0;
    out->text = text;
    out->n = (size_t)(at - text);
    out->subject = arena_strndup(arena, block->subject, block->subject_n);
}

/*
 * Something in the text looks like another mail: a marker, some header lines, or a good part of it with one
 * quote mark before each line. (Spam likes to decorate a line or two with >>>.)
 */
static bool looks_quoted(const struct lines *lines)
{
    unsigned quoted = 0, said = 0, found = ROLE_NONE;
    for (size_t i = 0; i < lines->n; i++) {
        said += !blank(&lines->v[i]);
        quoted += lines->v[i].quote == 1 && !blank(&lines->v[i]);
        found |= lines->v[i].roles;
        if (marker_of(&lines->v[i]) != MARKER_NONE)
            return true;
    }
    return (quoted >= 3 && quoted * 3 >= said) || ((found & ROLE_FROM) && (found & ROLE_SUBJECT));
}

static bool has_forward_marker(const struct lines *lines)
{
    for (size_t i = 0; i < lines->n; i++)
        if (marker_of(&lines->v[i]) == MARKER_FORWARD)
            return true;
    return false;
}

struct forward forward_find(struct arena *arena, const char *subject, const char *text, size_t n)
{
    struct forward forward = { .kind = FORWARD_NONE, .subject = "", .text = "" };
    struct lines lines = split(arena, text, n);
    struct block block = { 0 };
    bool said = subject_forwards(subject);
    if (find_block(&lines, &block)) {
        bool clear = said || marker_above(&lines, block.first) == MARKER_FORWARD;
        forward.kind = clear ? FORWARD_CLEAR : FORWARD_QUOTED;
        take_text(arena, &lines, &block, &forward);
    } else if (has_forward_marker(&lines) || (said && looks_quoted(&lines))) {
        forward.kind = FORWARD_DOUBTFUL;
    }
    return forward;
}
