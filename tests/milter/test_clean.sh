#!/bin/bash
# What the milter let through as clean is remembered: a report of a text that is common in it is refused, and a
# fresh campaign is not.
. "${SRCDIR:-$(dirname "$0")/../..}/tests/milter/lib.sh"
load=$BUILDDIR/tests/bench/milter_load
make_lexicon

# Fifty letters that have nothing to do with each other, and the notice that is every tenth message.
mkdir "$dir/letters"
xz -dc "$SRCDIR/lexicon/english.df.xz" | awk -F '\t' -v folder="$dir/letters" '
    !/^#/ && $2 > 20 { word[n++] = $1 }
    END {
        for (letter = 0; letter < 50; letter++) {
            srand(letter + 1)
            file = folder "/" letter ".eml"
            printf "From: someone@example.net\nSubject: letter %d\n\n", letter > file
            for (i = 0; i < 80; i++) printf "%s%s", word[int(rand() * n)], i % 10 == 9 ? "\n" : " " > file
            close(file)
        }
    }'
notice=$mails/ham.eml

# A mail to a trap and to somebody else.
cat >"$dir/both.lua" <<'END'
local conn = mt.connect(socket)
mt.conninfo(conn, "client.example.net", "198.51.100.7")
mt.mailfrom(conn, "<offers@spam.example>")
mt.rcptto(conn, trap)
mt.rcptto(conn, "<somebody@example.org>")
mt.header(conn, "Subject", "letter")
mt.bodyfile(conn, mail)
mt.eom(conn)
mt.disconnect(conn)
END
chmod 755 "$dir/letters"

# clean_mail MESSAGES: that much clean mail goes through a daemon, which is stopped then and has written all of it.
clean_mail() {
    start_milter
    "$load" -q -c 4 -n "$1" "$socket" "$dir/letters" "$notice" "$notice" "$notice" "$notice" "$notice" >/dev/null 2>&1
    check "$store: the daemon lets $1 messages pass and ends well" stop_milter
}

# reports WANTED [OPTION...] MAIL: what refrain report says of it
reports() {
    local wanted=$1 said
    shift
    said=$(as_user "$BUILDDIR/tools/refrain" report -q -c "$dir/refrain.conf" "${@:1:$#-1}" - <"${!#}" 2>&1)
    [[ $said == $wanted ]] || { echo "# $said"; false; }
}

run() { # run STORE URL
    store=$1
    write_config "$2"
    printf '[report]\nclean-days = 1\n' >>"$dir/refrain.conf"
    clean_mail 400
    check "$store: little clean mail says nothing" reports "new*" "$notice"
    refrain forget -q --source admin >/dev/null
    clean_mail 400
    check "$store: statistics know the clean mail" eval '[ "$(refrain stats --json | jq .clean_week)" = 800 ]'
    check "$store: a common text is refused, and why" \
        reports 'refused*it resembles [0-9]*.[0-9] % of the clean mail on 1 of the last 7 days: --force stores it*' "$notice"
    check "$store: nothing was stored" eval '[ "$(refrain stats --json | jq .campaigns)" = 0 ]'
    check "$store: a fresh campaign is stored" reports "new*" "$mails/spam.eml"
    check "$store: --force stores what is common" reports "new*" --force "$notice"
    refrain forget -q --source admin >/dev/null

    # milter_load writes to this address: now it is a trap.
    printf '[trap]\nrecipients = %s\n' "$recipient" >>"$dir/refrain.conf"
    start_milter
    "$load" -q -c 1 -n 1 "$socket" "$notice" >/dev/null 2>&1
    check "$store: a trap is refused a common text" await has "$dir/milter.log" "report=refused"
    "$load" -q -c 1 -n 1 "$socket" "$mails/spam.eml" >/dev/null 2>&1
    check "$store: a trap reports a fresh campaign" await has "$dir/milter.log" "report=new"
    miltertest -D socket="$socket" -D trap="<$recipient>" -D mail="$dir/letters/0.eml" -s "$dir/both.lua" >/dev/null 2>&1
    stop_milter
    check "$store: what a trap gets too is not clean" eval '[ "$(refrain stats --json | jq .clean_week)" = 800 ]'
    refrain forget -q --source trap >/dev/null

    sed -i 's/clean-days = 1/clean-days = 2/' "$dir/refrain.conf"
    check "$store: what floods on one day only can be reported" reports "new*" "$notice"
}

recipient=$(sed -n 's/.*to\[\] = "<\([^>]*\)>.*/\1/p' "$SRCDIR/tests/bench/milter_load.c")
[ -n "$recipient" ] || die "to whom does milter_load write?"
run LMDB "lmdb:$dir/store"
if command -v redis-server >/dev/null; then
    port=$(free_port)
    redis-server --port "$port" --save '' --appendonly no --dir "$dir" >"$dir/redis.log" 2>&1 &
    pids="$pids $!"
    await listens "$port" || die "redis-server does not start"
    run Redis "redis://127.0.0.1:$port"
    ends() { redis-cli -p "$port" --scan --pattern 'rf:*:n*' | while read -r key; do [ "$(redis-cli -p "$port" ttl "$key")" -gt 0 ] && echo ends; done; }
    check "Redis: the counters end by themselves" [ "$(ends)" = ends ]
    size=$(redis-cli -p "$port" --scan --pattern 'rf:*:n*' | xargs redis-cli -p "$port" memory usage)
    echo "# a day of counters takes $size bytes"
    check "Redis: a day of counters is bounded" [ "${size:-0}" -gt 0 -a "${size:-0}" -le 70000 ]
fi
done_testing
