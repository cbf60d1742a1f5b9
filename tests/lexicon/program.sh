#!/bin/sh
# refrain-lexicon end to end: counts add up, whatever memory, threads and order; bad input is one clear
# line, exit 2, and nothing overwritten; an interrupted count leaves nothing behind.
program=$BUILDDIR/refrain-lexicon
tiny=$SRCDIR/tests/lexicon/tiny.df
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
unset TMPDIR REFRAIN_DATADIR

n=0
ok() { # ok "behaviour" command...: passes when the command does
    n=$((n + 1)); name=$1; shift
    if "$@" >step.out 2>step.err; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"; sed 's/^/# /' step.out step.err
    fi
}
refuses() { # refuses "words" arguments...: one line with these words, exit 2, out.df and out.lex untouched
    words=$1; shift
    echo precious >out.df; echo precious >out.lex
    "$program" "$@" >refuse.out 2>refuse.err
    [ $? -eq 2 ] && [ "$(wc -l <refuse.err)" -eq 1 ] && grep -q "^refrain-lexicon: .*: " refuse.err &&
        grep -q -- "$words" refuse.err && grep -q '^precious$' out.df && grep -q '^precious$' out.lex && [ ! -s refuse.out ] ||
        { cat refuse.err; return 1; }
}

none() { # none FILE...: no such file is there; a pattern that matched nothing is its own name
    for file; do [ ! -e "$file" ] || { echo "there is $file"; return 1; }; done
}

# A mail a file, and the same words as text, as lines, and in an mbox.
mkdir a b text
awk 'BEGIN {
    split("offer price winner casino letter friend transfer account urgent please", w, " ")
    for (i = 1; i <= 60; i++) {
        file = sprintf("%s/%03d.eml", i % 3 ? "a" : "b", i); line = ""
        for (j = 1; j <= 10; j++) if (i % (j + 1) == 0 || j == 10) line = line w[j] " "
        printf "From: someone@example.com\nSubject: %s%s\n\n%s\nwords%c%c%c follow\n", w[1 + i % 10], "", line, 97 + i % 5, 97 + i % 7, 97 + i % 11 >file
        close(file); print line >"lines.txt"; print line >("text/" i ".txt"); close("text/" i ".txt")
    }
}'

ok "counting mail says how much it was" sh -c '"$0" count a b -o all.df && grep -q "^# documents 60$" all.df && grep -q "^# sources a b$" all.df' "$program"
ok "a word of every mail is in every document" grep -q "^please	60$" all.df
ok "count A + count B merged is count A B" sh -c '"$0" count a -o a.df -q && "$0" count b -o b.df -q && "$0" merge b.df a.df -o sum.df && cmp sum.df all.df' "$program"
ok "the order of paths does not matter" sh -c '"$0" count b a -o again.df && cmp again.df all.df' "$program"
ok "one thread and four give the same" sh -c '"$0" count a b --threads 1 -o one.df && "$0" count a b --threads 4 -o four.df && cmp one.df all.df && cmp four.df all.df' "$program"
ok "plain text files are documents with --text" sh -c '"$0" count --text text -o text.df -q && grep -q "^# documents 60$" text.df' "$program"
ok "lines are documents with --lines" sh -c '"$0" count --lines lines.txt -o lines.df -q --collection c && "$0" count --text text -o text.df -q --collection c && grep -v "^# sources" lines.df >l && grep -v "^# sources" text.df >t && cmp l t' "$program"
ok "--group takes several lines as one document" sh -c '"$0" count --lines --group 20 lines.txt -o group.df -q && grep -q "^# documents 3$" group.df && grep -q "^please	3$" group.df' "$program"
ok "--min-count drops the tail" sh -c '"$0" count a b --min-count 10 -o cut.df && awk -F "\t" "!/^#/ && \$2 < 10 { bad = 1 } END { exit bad }" cut.df && grep -q "^please	60$" cut.df && [ $(wc -l <cut.df) -lt $(wc -l <all.df) ]' "$program"
ok "compressed text counts the same" sh -c 'gzip -k lines.txt && "$0" count --lines lines.txt.gz -o gz.df -q --collection c && grep -v "^# sources" gz.df >g && cmp g l' "$program"

# More words than a small memory holds.
awk 'BEGIN { srand(7); for (i = 0; i < 20000; i++) { line = ""; for (j = 0; j < 12; j++) {
    x = int(exp(rand() * 11)); w = "word"; while (x) { w = w sprintf("%c", 97 + x % 26); x = int(x / 26) } line = line w " " } print line } }' >zipf.txt
ok "little memory gives the same file as much" sh -c '"$0" count --lines zipf.txt -o much.df >much.out && "$0" count --lines zipf.txt --memory 1M -o little.df >little.out && cmp much.df little.df' "$program"
ok "little memory spilled sorted runs" sh -c 'grep -q " [0-9][0-9]* sorted runs$" little.out && ! grep -q " [12] sorted runs\?$" little.out'
ok "no temporary file is left" none refrain-count-* *.df.??????

head -c 32 /dev/zero | tr '\0' 's' >seed; head -c 32 /dev/zero | tr '\0' 't' >seed2
ok "make explains its choice" sh -c '"$0" make "$1" --seed-file seed -o one.lex >made && grep -q "typical document" made && grep -q "campaigns" made && grep -q "adaptive" made' "$program" "$tiny"
ok "the same frequencies and seed give the same bytes" sh -c '"$0" make "$1" --seed-file seed -o two.lex -q && cmp one.lex two.lex' "$program" "$tiny"
ok "another seed gives another id" sh -c '"$0" make "$1" --seed-file seed2 -o three.lex -q && ! cmp -s one.lex three.lex && [ "$("$0" info one.lex | grep " id ")" != "$("$0" info three.lex | grep " id ")" ]' "$program" "$tiny"
ok "without a seed each lexicon is another" sh -c '"$0" make "$1" -o r1.lex -q && "$0" make "$1" -o r2.lex -q && ! cmp -s r1.lex r2.lex' "$program" "$tiny"
ok "files are merged on the way" sh -c '"$0" merge "$1" all.df -o both.df -q && "$0" make both.df --seed-file seed -o m1.lex -q && "$0" make all.df "$1" --seed-file seed -o m2.lex -q && cmp m1.lex m2.lex' "$program" "$tiny"
ok "many campaigns ask for more terms and more sets" sh -c '"$0" make "$1" --campaigns 1000000 -o big.lex -q && "$0" info big.lex --json | grep -q "\"keep\":4,.*\"bucket_bits\":21"' "$program" "$tiny"
ok "the paper'\''s scheme can be made" sh -c '"$0" make "$1" --scheme dropout --lexicons 10 --drop 0.33 --nidf 0.2:0.3 -o paper.lex -q && "$0" info paper.lex --json | grep -q "\"scheme\":\"dropout\",\"lexicons\":10,\"keep\":2,\"drop\":0.33,\"nidf\":\[0.2,0.3\]"' "$program" "$tiny"
ok "info draws a histogram" sh -c '"$0" info one.lex | grep -q "0.0 to 0.1 .* #" && "$0" info "$1" | grep -q "^  german  *200 "' "$program" "$tiny"
printf '# refrain document frequencies 1\n# tokeniser 1\n# collection few\n# documents 9\n# sources letters\noften\t5\nonce\t1\n' >few.df
ok "info calls common what make calls so" sh -c '"$0" info few.df --json | grep -q "\"common\":1[,}]" && "$0" make few.df --min-count 1 -o few.lex -q && "$0" info few.lex --json | grep -q "\"common\":1[,}]"' "$program"
ok "show knows frequency, class and lexicons" sh -c '"$0" show one.lex Dear UNHEARD xy http://www.Example.com/x >shown && grep -q "^dear  *90 documents  nidf 0.36[0-9]  common" shown && grep -q "^unheard  *not known" shown && grep -q "^xy  *not a term" shown && grep -q "^http:example.com  *3 documents" shown' "$program"
ok "show lists the lexicons of a dropout" sh -c '"$0" show paper.lex --json about | grep -q "\"class\":\"below\",\"lexicons\":\[\]" && "$0" show --lexicon paper.lex --json casino | grep -q "\"class\":\"secondary\",\"lexicons\":\[0,"' "$program"
printf '[lexicon]\nfile = %s/one.lex\n' "$work" >refrain.conf
ok "the lexicon of a configuration is shown" sh -c '"$0" show -c refrain.conf Dear >shown2 && grep -q "^dear  *90 documents" shown2 && "$0" info -c refrain.conf | grep -q "one.lex"' "$program"
ok "the shipped frequencies make a lexicon without being named" sh -c 'REFRAIN_DATADIR=$1 "$0" make -o shipped.lex >shipped && grep -q " in 1[0-9] collections$" shipped' "$program" "$SRCDIR/lexicon"

ok "an unknown command is an error" refuses "see refrain-lexicon" nothing
ok "an unknown option is an error" refuses "see refrain-lexicon make" make --wrong
ok "an unreadable path is an error" refuses "nowhere" count nowhere -o out.df
ok "one unreadable path among good ones is an error" refuses "nowhere" count a nowhere -o out.df
mkdir empty; printf '\n\n' >empty.txt
ok "an empty folder is an error" refuses "no document" count empty -o out.df
ok "empty lines are an error" refuses "no document" count --lines empty.txt -o out.df
ok "a missing output is an error" refuses "add -o" count a
ok "an output in no folder is an error" refuses "cannot" count a -o none/out.df
ok "an output that is a folder is an error" refuses "not a file" count a -o b
ok "nonsense memory is an error" refuses "no amount of memory" count a -o out.df --memory lots
ok "too little memory is an error" refuses "at least 1M" count a -o out.df --memory 10
ok "a name of two words is an error" refuses "one word" count a -o out.df --collection "a b"
sed 's/tokeniser 1/tokeniser 77/' "$tiny" >old.df
ok "another tokeniser is an error in make" refuses "tokeniser 77" make old.df -o out.lex
ok "another tokeniser is an error in merge" refuses "tokeniser 77" merge "$tiny" old.df -o out.df
printf '# refrain document frequencies 1\n# tokeniser 1\n# collection c\n# documents 5\nwo\trd\t3\n' >tab.df
ok "a term with a tab is an error" refuses "hold a tab" merge tab.df -o out.df
ok "a nonsense range is an error" refuses "nidf range" make "$tiny" --scheme dropout --nidf 0.5:0.4 -o out.lex
ok "a range that is no range is an error" refuses "nidf range" make "$tiny" --scheme dropout --nidf half -o out.lex
ok "a nonsense share is an error" refuses "share to drop" make "$tiny" --scheme dropout --drop 1.5 -o out.lex
ok "too many lexicons are an error" refuses "1 to 64" make "$tiny" --lexicons 65 -o out.lex
ok "a nonsense scheme is an error" refuses "adaptive or dropout" make "$tiny" --scheme magic -o out.lex
echo short >short
ok "a short seed file is an error" refuses "too short" make "$tiny" --seed-file short -o out.lex
ok "missing frequencies are an error" refuses "cannot open" make none.df -o out.lex
ok "a lexicon is not a frequency file" refuses "not a frequency file" make one.lex -o out.lex
head -c 700 one.lex >cut.lex
ok "a cut lexicon is an error" refuses "cut off" info cut.lex

# Interrupted: the input never ends, so only the signal can end it.
mkfifo pipe
"$program" count --lines - --memory 1M -o never.df <pipe >/dev/null 2>stopped.err &
counter=$!
{ while cat zipf.txt 2>/dev/null; do :; done; } >pipe 2>/dev/null &
feeder=$!
until ls refrain-count-*/run-* >/dev/null 2>&1; do kill -0 $counter 2>/dev/null || break; done
kill -INT $counter
wait $counter; code=$?
kill $feeder 2>/dev/null; wait $feeder 2>/dev/null
ok "an interrupted count says so and exits 2" sh -c '[ $0 -eq 2 ] && grep -q "^refrain-lexicon: interrupted: " stopped.err' $code
ok "an interrupted count leaves nothing behind" none never.df* refrain-count-*
echo "1..$n"
