#!/bin/bash
# On a terminal: columns that fit, colours, a progress bar. In a pipe: none of it.
. "$SRCDIR/tests/tools/lib.sh"
need script bsdutils
copy_mail
make_lexicon "$work/refrain.lex" a
configure "lmdb:$work/store"
unset NO_COLOR
export TERM=xterm
refrain report --quiet --source "a-partner-with-a-long-name" --label "Häuser, 手表 and more of the same from Rotterdam" spam.eml >/dev/null
refrain report --quiet spam-other.eml >/dev/null

on_terminal() { # on_terminal COLUMNS ARGUMENTS: what the terminal gets
    timeout 30 script -qec "stty cols $1; '$BUILDDIR/tools/refrain' -c refrain.conf $2" /dev/null </dev/null | tr -d '\r'
}
widest() { sed 's/\x1b\[[0-9;]*[mK]//g' | wc -L; }
fits() {
    for columns in 50 80 100 140; do
        on_terminal $columns list >list.out
        grep -q 'Häuser' list.out && [ "$(widest <list.out)" -le $columns ] || { cat list.out; return 1; }
    done
}
uncut() { refrain list | grep -q 'a-partner-with-a-long-name  Häuser, 手表 and more of the same from Rotterdam$'; }
coloured() {
    on_terminal 80 "explain spam.eml" | grep -q $'\x1b\\[31mRecognised' && ! refrain explain spam.eml | grep -q $'\x1b' &&
        ! NO_COLOR=1 on_terminal 80 "explain spam.eml" | grep -q $'\x1b'
}
# Work shows a bar once it has taken half a second: mail that comes without end does.
sign_mail() { # sign_mail WHILE OPTIONS: what the terminal gets on stderr, with mail coming while a condition holds
    timeout 30 script -qec "while $1; do cat few.mbox; done | '$BUILDDIR/tools/refrain' -c refrain.conf sign $2 - >/dev/null" \
        /dev/null </dev/null
}
# Where no bar is wanted, mail comes for the time in which there would have been one.
export SHELL=/bin/bash
for_a_second='[ "${EPOCHREALTIME/[^0-9]/}" -lt "${end:=$((${EPOCHREALTIME/[^0-9]/} + 1000000))}" ]'
bar() {
    for _ in $(seq 100); do printf 'From a@b Mon Nov 16 08:12:40 2026\n'; cat spam.eml; echo; done >few.mbox
    sign_mail "! grep -q 'messages .*/s' bar.out" >bar.out || { echo "no bar"; return 1; }
    sign_mail "$for_a_second" --quiet >quiet.out
    ! grep -q 'messages' quiet.out && while eval "$for_a_second"; do cat few.mbox; done | refrain sign - 2>pipe.err >/dev/null &&
        [ ! -s pipe.err ]
}
ok "the columns of list fit the terminal" fits
ok "in a pipe nothing is cut" uncut
ok "colours are for terminals" coloured
ok "a progress bar is for terminals" bar
plan
