#!/bin/bash
# What goes wrong gives one clear line on stderr, exit code 2, and nothing half done.
. "$SRCDIR/tests/tools/lib.sh"
need jq jq
need redis-server redis-server
copy_mail
make_lexicon "$work/refrain.lex" a
configure "lmdb:$work/lmdb"
refrain report --quiet spam.eml >/dev/null

fails() { # fails "words" command...: exit 2, one line on stderr that begins with "refrain: " and has the words
    words=$1; shift
    "$@" >fails.out 2>fails.err
    code=$?
    [ $code -eq 2 ] && [ "$(wc -l <fails.err)" -eq 1 ] && grep -q '^refrain: .*: ' fails.err &&
        grep -q -- "$words" fails.err || { echo "exit $code"; cat fails.out fails.err; return 1; }
}
count() { refrain list --json "$@" 2>/dev/null | wc -l; }
lines() { wc -l <"$1" 2>/dev/null || echo 0; }
has_lines() { [ "$(lines "$1")" -ge "$2" ]; }

# --- paths
missing_path() { fails 'nothing.eml' refrain check nothing.eml && fails 'nothing.eml' refrain report -q nothing.eml; }
eval_missing_path() { fails 'nothing.eml' refrain eval --spam spam.eml --ham nothing.eml && [ ! -s fails.out ] && fails '"x" is too much' refrain eval --spam spam.eml --ham ham.eml x; }
others_go_on() { fails 'nothing.eml' refrain check nothing.eml spam.eml && grep -q '^match' fails.out; }
unreadable_path() {
    cp spam.eml secret.eml && chmod 000 secret.eml
    chmod 755 "$work" && chmod a+r refrain.lex refrain.conf && chmod -R a+rwX lmdb
    if [ "$(id -u)" -eq 0 ]; then
        cp "$BUILDDIR/tools/refrain" program && chmod 755 program
        fails 'secret.eml: Permission denied' setpriv --reuid 65534 --clear-groups "$work/program" -c refrain.conf sign secret.eml
    else
        fails 'secret.eml: Permission denied' refrain sign secret.eml
    fi
}
directory_loop() {
    mkdir -p loop/a && cp spam.eml loop/ && ln -s .. loop/a/up && ln -s ../../loop loop/a/again
    [ "$(timeout 20 "$BUILDDIR/tools/refrain" -c refrain.conf sign loop | wc -l)" -eq 1 ]
}
ok "a path that is not there is named" missing_path
ok "eval measures nothing when a path is not there" eval_missing_path
ok "the other paths are still looked at" others_go_on
ok "a path that may not be read is named" unreadable_path
ok "a directory loop ends, and each message is seen once" directory_loop

# --- the command line
usage() {
    fails 'no command "frob"' refrain frob && fails 'unknown option --frob' refrain list --frob &&
        fails 'refrain check PATH' refrain check && fails '"x" is too much' refrain stats x &&
        fails 'jobs' refrain check --jobs 100000 spam.eml && fails 'control character' refrain report --label "$(printf 'a\tb')" spam.eml
}
no_command() { ! "$BUILDDIR/tools/refrain" 2>help.err && grep -q '^Usage' help.err; }
after_dashes() { cp spam.eml ./-spam.eml && refrain check -- -spam.eml | grep -q '^match.*-spam.eml$'; }
options_anywhere() {
    "$BUILDDIR/tools/refrain" --config refrain.conf --quiet check spam.eml | grep -q ^match &&
        "$BUILDDIR/tools/refrain" check spam.eml -c refrain.conf | grep -q ^match
}
help() {
    for command in $("$BUILDDIR/tools/refrain" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        "$BUILDDIR/tools/refrain" "$command" --help | grep -q "^  refrain $command" || return 1
        "$BUILDDIR/tools/refrain" help "$command" | grep -q "^  refrain $command" || return 1
    done
}
ok "a wrong command line says what is wrong" usage
ok "no command at all prints the help on stderr" no_command
ok "what follows -- is a path" after_dashes
ok "common options stand before or behind the command" options_anywhere
ok "every command has its help" help

# --- config and lexicon
wrong_config() {
    echo 'nonsense = 1' >bad.conf
    fails 'bad.conf' "$BUILDDIR/tools/refrain" -c bad.conf check spam.eml && fails 'absent.conf' "$BUILDDIR/tools/refrain" -c absent.conf check spam.eml
}
wrong_lexicon() {
    head -c 1000 refrain.lex >cut.lex
    fails 'ham.eml' refrain --lexicon ham.eml check spam.eml && fails 'cut.lex' refrain --lexicon cut.lex check spam.eml &&
        fails 'absent.lex' refrain --lexicon absent.lex check spam.eml
}
foreign_lexicon() {
    make_lexicon "$work/foreign.lex" z
    refrain --lexicon foreign.lex check spam.eml >foreign.out 2>foreign.err; [ $? -eq 1 ] &&
        grep -q 'under others' foreign.err && [ "$(lines foreign.err)" -eq 1 ]
}
ping_says_each() {
    refrain --lexicon absent.lex ping >ping.out; [ $? -eq 2 ] && grep -q '^config *ok' ping.out && grep -q '^lexicon *FAILED' ping.out
}
ok "a bad configuration is named with its file" wrong_config
ok "a lexicon that is none is refused" wrong_lexicon
ok "a lexicon without campaigns, beside others with some, says so" foreign_lexicon
ok "ping says which of the parts is ill" ping_says_each

# --- campaigns
unknown_campaign() {
    fails 'no campaign' refrain show 0123456789abcdef && fails 'no campaign' refrain forget 0123456789abcdef &&
        fails 'no campaign' refrain show 0123 && fails 'is no campaign' refrain show xyz && [ "$(count)" -eq 1 ]
}
ok "an unknown campaign is an error, and nothing is removed" unknown_campaign

# --- the store
store_down() {
    fails 'redis' refrain --store "redis+unix:$work/none.sock" check spam.eml &&
        fails 'redis' refrain --store "redis+unix:$work/none.sock" list &&
        fails 'redis' refrain --store "redis+unix:$work/none.sock" report -q spam.eml ham.eml && [ ! -s fails.out ] &&
        fails 'store' refrain --store 'nonsense:' check spam.eml && fails 'one slash' refrain --store 'lmdb://store' check spam.eml
}
no_store() { # it is empty, that is said, and nothing is made where somebody only looks, or has nothing to add
    mkdir -p hollow && touch plain
    fails 'a folder' refrain --store "lmdb:$work/plain" list || return 1
    for url in "lmdb:$work/typo" "lmdb:$work/typo?max=1G" "lmdb:$work/hollow"; do
        for command in list stats expire export 'explain spam.eml' 'check spam.eml' 'forget --source x'; do
            refrain --store "$url" $command >no.out 2>no.err; code=$?
            case $command in check*) want=1 ;; *) want=0 ;; esac
            [ $code = $want ] && grep -q 'there is no store yet' no.err || { echo "$command: $code"; return 1; }
        done
        for command in 'show 0123' 'forget 0123'; do
            refrain --store "$url" $command >no.out 2>no.err; [ $? -eq 2 ] && grep -q 'no campaign' no.err || return 1
        done
        refrain --store "$url" ping >ping.out 2>/dev/null; [ $? -eq 2 ] && grep -q '^store *FAILED .*there is no store' ping.out || return 1
    done
    [ ! -e typo ] && [ -z "$(ls hollow)" ] && refrain --store "lmdb:$work/typo" report -q spam.eml >/dev/null &&
        refrain --store "lmdb:$work/typo" check spam.eml 2>no.err | grep -q ^match && [ ! -s no.err ]
}
dies_midway() { # one line, not one a message
    redis_start dying
    configure "redis+unix:$work/dying.sock"
    kill "$redis_pid"; wait "$redis_pid" 2>/dev/null
    fails 'redis' refrain report -q spam.eml spam-other.eml newsletter.eml ham.eml
}
read_only_store() {
    redis_start readonly --replicaof 127.0.0.1 1 --replica-serve-stale-data yes
    configure "redis+unix:$work/readonly.sock"
    fails 'readonly.sock' refrain report -q spam.eml && refrain check spam.eml >readonly.out; [ $? -eq 1 ] && grep -q ^clean readonly.out
}
full_store() {
    redis_start full
    configure "redis+unix:$work/full.sock"
    refrain report -q spam.eml >/dev/null || return 1
    redis-cli -s full.sock config set maxmemory 1 >/dev/null
    fails 'memory' refrain report -q spam-other.eml && redis-cli -s full.sock config set maxmemory 0 >/dev/null &&
        [ "$(count)" -eq 1 ] && refrain check spam.eml | grep -q ^match
}
ok "a store that is down is one line" store_down
ok "a store that is not there is empty, said, and not made by who only looks" no_store
ok "a store that dies is one line, not one a message" dies_midway
ok "a store that may only be read refuses reports and still answers" read_only_store
ok "a full store refuses a report wholly" full_store
configure "lmdb:$work/lmdb"

# --- output and interruption
full_disk() { fails 'cannot write the output' sh -c "'$BUILDDIR/tools/refrain' -c refrain.conf list >/dev/full"; }
closed_pipe() { (refrain list; echo $? >pipe.code) 2>pipe.err | true; [ ! -s pipe.err ]; }
big_mbox() { # distinct campaigns, so that each report is one
    awk -v n="$1" 'BEGIN {
        split("harbour violin granite saddle comet walnut lantern ferry orchid anvil turnip bishop glacier pepper meadow compass"\
              " hammock sparrow quarry velvet chimney parsley tunnel magnet", w, " ")
        srand(1)
        for (i = 1; i <= n; i++) {
            printf "From a@b Mon Nov 16 08:12:40 2026\nSubject: number %d\n\n", i
            for (j = 0; j < 30; j++) printf "%s%s ", w[1 + int(rand() * 24)], substr("abcdefghijklmnopqrstuvwxyz", 1 + int(rand() * 24), 3)
            print "\n"
        }
    }' >big.mbox
}
interrupted() { # (a shell starts background jobs deaf to SIGINT) what was printed is stored, and nothing else
    big_mbox 20000
    configure "lmdb:$work/stopped"
    env --default-signal=INT "$BUILDDIR/tools/refrain" -c refrain.conf report --quiet big.mbox >stopped.out 2>stopped.err &
    pid=$!
    await has_lines stopped.out 100
    kill -INT $pid; wait $pid; code=$?
    [ $code -eq 2 ] && [ "$(lines stopped.err)" -eq 1 ] && grep -q '^refrain: interrupted: ' stopped.err &&
        [ "$(lines stopped.out)" -lt 20000 ] &&
        [ "$(cut -f 2 stopped.out | grep -v '^-' | sort -u | wc -l)" -eq "$(count)" ] ||
        { echo "exit $code, $(lines stopped.out) lines, $(count) campaigns"; cat stopped.err; return 1; }
}
computes() { [ "$(awk '{ print $14 + $15 }' /proc/$1/stat)" -ge "$(getconf CLK_TCK)" ]; }
eval_interrupted() { # after a second of processor time it has read, and computes for long
    env --default-signal=INT "$BUILDDIR/tools/refrain" -c refrain.conf eval --compare --paper --spam big.mbox --ham big.mbox >eval.out 2>eval.err &
    pid=$!
    await computes $pid
    kill -INT $pid; wait $pid; code=$?
    [ $code -eq 2 ] && [ ! -s eval.out ] && [ "$(lines eval.err)" -eq 1 ] && grep -q '^refrain: interrupted: ' eval.err ||
        { echo "exit $code"; cat eval.err; return 1; }
}
full_embedded() { # what was printed is stored, and nothing else, though reports are flushed together
    configure "lmdb:$work/small?max=1M"
    fails 'limit of 1.0 MB' refrain report --quiet big.mbox &&
        [ "$(lines fails.out)" -gt 100 ] && [ "$(cut -f 2 fails.out | sort -u | wc -l)" -eq "$(count)" ]
}
order_of_input() { # whatever the number of threads
    refrain sign --jobs 1 big.mbox >one.out && refrain sign --jobs 4 big.mbox >four.out && cmp one.out four.out &&
        [ "$(sed 's/.*#//' four.out | sort -cn 2>&1)" = "" ]
}
ok "output that cannot be written is an error" full_disk
ok "a reader that goes away is none to talk about" closed_pipe
ok "SIGINT ends a report with what was printed stored, and nothing else" interrupted
ok "SIGINT ends an eval at once" eval_interrupted
ok "a full embedded store keeps what was printed, and nothing else" full_embedded
ok "output is in the order of the input on any number of threads" order_of_input
plan
