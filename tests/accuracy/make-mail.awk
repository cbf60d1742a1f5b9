# awk -f make-mail.awk campaigns.txt innocent.txt: writes spam.mbox and ham.mbox into the current folder. The
# random numbers are its own, so that every awk writes the same bytes.
function random(n) { state = (state * 16807) % 2147483647; return int(state / 2147483647 * n) }
function gibberish(   word, i) {
    word = ""
    for (i = 0; i < 9; i++) word = word substr("bcdfghjklmnpqrstvwxz", random(20) + 1, 1)
    return word
}
function filled(text,   from, to, n, choice) {
    while ((from = index(text, "{")) > 0) {
        to = index(text, "}")
        n = split(substr(text, from + 1, to - from - 1), choice, "|")
        text = substr(text, 1, from - 1) choice[random(n) + 1] substr(text, to + 1)
    }
    while ((from = index(text, "#")) > 0) text = substr(text, 1, from - 1) gibberish() substr(text, from + 1)
    return text
}
# n of the texts, in any order
function several(texts, of, n,   order, i, j, swap, out) {
    for (i = 1; i <= of; i++) order[i] = i
    out = ""
    for (i = 1; i <= n; i++) {
        j = i + random(of - i + 1); swap = order[i]; order[i] = order[j]; order[j] = swap
        out = out filled(texts[order[i]]) ".\n"
    }
    return out
}
# What lists and providers put below everybody's mail.
function footer(   kind) {
    kind = random(3)
    if (kind == 0) return "-- \nGarden and Village list: garden@lists.example\nhttp://lists.example/garden for (un)subscription information\nList maintainer: owner@lists.example\n"
    if (kind == 1) return "_______________________________\nGet your free mailbox with ten gigabytes of storage, calendar and photo albums at\nhttp://provider.example/free today\n"
    return ""
}
function mail(file, subject, body) {
    printf "From nobody Mon Jan  1 00:00:00 2001\nSubject: %s\nMIME-Version: 1.0\nContent-Type: text/plain\n\n%s\n", subject, body >file
}
function page(file, subject, body) {
    printf "From nobody Mon Jan  1 00:00:00 2001\nSubject: %s\nMIME-Version: 1.0\nContent-Type: text/html\n\n<html><head><meta content=\"MSHTML 6.00\" name=GENERATOR><style></style></head>\n<body bgColor=#ffffff><div><font face=Arial size=2>%s</font></div></body></html>\n\n", subject, body >file
}
BEGIN { state = 20040822 }
/^#/ { next }
FILENAME ~ /campaigns/ { campaign[++campaigns] = $0; next }
{ sentence[++sentences] = $0 }
END {
    for (variant = 0; variant < 14; variant++)
        for (c = 1; c <= campaigns; c++) {
            n = split(campaign[c], part, " / ")
            mail("spam.mbox", "offer " gibberish(), several(part, n, n - (variant % 3 == 2)) footer())
            if (variant % 7 == 0)
                mail("spam.mbox", gibberish(), filled(part[c % n + 1]) ".\n" footer())
            if (variant % 2 == 0)
                page("spam.mbox", gibberish(), "Hot deal " c * 7 ": <a href=\"http://deal" c ".example/" substr("abcdefghij", c, 1) "?" random(9999) "\">" substr("zero alfa beta gama kilo lima mike oscar papa quebec", c * 4, 9) " now</a>")
        }
    for (i = 0; i < 150; i++) {
        mail("ham.mbox", "Re: note", several(sentence, sentences, 3 + random(5)) footer())
        if (i % 2 == 0) mail("ham.mbox", "hello", several(sentence, sentences, 1) footer())
        if (i % 3 == 0) page("ham.mbox", "hi", several(sentence, sentences, 1))
    }
}
