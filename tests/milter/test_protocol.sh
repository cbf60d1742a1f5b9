#!/bin/bash
# The milter protocol by miltertest, in its oldest and its newest version, over unix: and inet: sockets.
. "${SRCDIR:-$(dirname "$0")/../..}/tests/milter/lib.sh"
command -v miltertest >/dev/null || skip_all "miltertest is not installed"

# Takes over the lines of a script, numbered on; a script that breaks off is a failure.
converse() {
    local line ended=
    miltertest -D socket="$socket" -D spam="$mails/spam-close.eml" -D ham="$mails/ham.eml" -D version="$1" \
        -s "$SRCDIR/tests/milter/protocol.lua" >"$dir/lua.log" 2>&1 && ended=yes
    while read -r line; do
        case $line in
        "ok "*) check "${line#ok * - }, $2" true ;;
        "not ok "*) check "${line#not ok * - }, $2" false ;;
        esac
    done <"$dir/lua.log"
    check "version $1: the script came to its end, $2" [ "$ended" = yes ]
}

make_lexicon
write_config </dev/null
start_milter
report "$mails/spam.eml"
converse 6 unix
converse 2 unix
check "queue ids are those of the end" has "$dir/milter.log" "Q7: match"
check "the daemon ends well" stop_milter

socket=inet:$(free_port)@127.0.0.1
write_config </dev/null
start_milter
converse 6 inet
stop_milter
done_testing
