#!/bin/bash
# Plays the transcripts of every command on LMDB and on Redis, and compares stdout, stderr and exit code.
#
#   $ command            run in a folder with the fixture mails; `refrain` knows its configuration
#   text                 a line of stdout
#   2> text              a line of stderr
#   ~                    an empty line
#   ? 2                  the exit code, where it is not 0
#
# A command that ends in "# sorted" prints in no order: its lines are compared sorted.
#
# What differs from run to run is replaced: campaign ids by C1, C2, … in the order in which they appear,
# ages and times by AGE and TIME, the store's name, version, size and latency. Runs of spaces are one, and zeros at
# the end of a similarity go, as the versions of jq differ in that.
# REWRITE=1 writes what it sees back into the transcripts, to be read before it is committed.
. "$SRCDIR/tests/tools/lib.sh"
need jq jq
need redis-server redis-server
copy_mail
make_lexicon "$work/refrain.lex" a
make_lexicon "$work/other.lex" b

normalise() {
    store_name=$(printf '%s' "$store_url" | sed 's/[?+.]/[&]/g')
    sed -E -e "s#$store_name#STORE#g; s#$work#WORK#g" \
        -e 's/(LMDB|Redis) [0-9][^,]*(, [0-9.]+ [KMGT]?B, answers in [0-9.]+ ms)/SERVER, SIZE, answers in TIME/' \
        -e 's/(LMDB|Redis) [0-9][^,]*, ([0-9,]+ campaigns), [0-9.]+ ms/SERVER, \2, TIME/' \
        -e 's/("similarity":[0-9]+)(\.[0-9]*[1-9])?\.?0+([,}])/\1\2\3/' \
        -e 's/20[0-9]{2}-[0-9]{2}-[0-9]{2}[ T][0-9:]+Z? ?(\((now|[0-9]+[smhd] ago)\))?/TIME/g' \
        -e 's/ (now|[0-9]+s) +(now|[0-9]+s) / AGE AGE /' -e '/\t/!s/ +/ /g' -e 's/[ ]+$//; s/^$/~/' |
        awk -v ids="$work/ids" '
            BEGIN {
                hex = "[0-9a-f][0-9a-f][0-9a-f][0-9a-f]"; hex = hex hex hex hex
                while ((getline line < ids) > 0) { split(line, f, " "); name[f[1]] = f[2]; if (f[2] ~ /^C[0-9]/) n++ }
            }
            {
                rest = $0; out = ""
                while (match(rest, hex)) {
                    id = substr(rest, RSTART, 16)
                    if (!(id in name)) { name[id] = "C" ++n; print id, name[id] >> ids }
                    out = out substr(rest, 1, RSTART - 1) name[id]; rest = substr(rest, RSTART + 16)
                }
                print out rest
            }'
}

play() { # play FILE: prints the transcript as it really goes
    local line
    while IFS= read -r line; do
        case $line in
        '$ '*)
            printf '%s\n' "$line"
            command=${line#"$ "}
            # C1 in a command is the id that was called so.
            while [[ $command =~ (^|[^A-Za-z0-9])(C[0-9]+)($|[^A-Za-z0-9]) ]]; do
                id=$(awk -v name="${BASH_REMATCH[2]}" '$2 == name { print $1 }' ids)
                command=${command//${BASH_REMATCH[2]}/${id:-missing}}
            done
            (eval "$command") >command.out 2>command.err </dev/null
            code=$?
            sed 's/^/2> /' command.err >>command.out
            [ $code -eq 0 ] || echo "? $code" >>command.out
            normalise <command.out >command.seen
            case $line in
            *'# sorted') sort command.seen ;;
            *) cat command.seen ;;
            esac ;;
        '#'*|'') printf '%s\n' "$line" ;;
        esac
    done <"$1"
}

compare() { # compare FILE
    printf '%s LEXICON\n0123456789abcdef NOBODY\n' "$lexicon_id" >ids
    play "$1" >played
    if [ -n "${REWRITE-}" ] && [ "$store" = lmdb ]; then cp played "$1"; fi
    diff -u "$1" played
}

redis_start redis
for store in lmdb redis; do
    for transcript in "$SRCDIR"/tests/tools/transcripts/*.txt; do
        case $store in
        lmdb)  rm -rf lmdb.*; store_url=lmdb:$work/lmdb.$store ;;
        redis) redis-cli -s redis.sock flushall >/dev/null; store_url='redis+unix:'$work'/redis.sock?db=0' ;;
        esac
        configure "$store_url"
        refrain import --quiet - </dev/null # an empty store is there
        lexicon_id=$(refrain sign --json spam.eml | jq -r .lexicon)
        name=${transcript##*/}
        ok "$store: ${name%.txt}" compare "$transcript"
    done
done
plan
