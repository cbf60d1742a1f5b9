#!/bin/bash
# The daemon in front of a real Postfix: reject, tag, pass, exempt, quarantine, traps, and the store going away.
. "${SRCDIR:-$(dirname "$0")/../..}/tests/milter/lib.sh"
. "$SRCDIR/tests/milter/postfix.sh"
need_postfix

redis=$dir/redis.sock
start_redis() {
    redis-server --port 0 --unixsocket "$redis" --unixsocketperm 777 --save '' --appendonly no --dir "$dir" \
        --daemonize no --logfile "$dir/redis.log" &
    redis_pid=$!
    pids="$pids $redis_pid"
    await redis-cli -s "$redis" ping >/dev/null || die "Redis does not start"
}

make_lexicon
write_postfix
store_url=lmdb:$dir/store
if [ "${STORE-lmdb}" = redis ]; then
    command -v redis-server >/dev/null || skip_all "redis-server is not installed"
    store_url=redis+unix:$redis
    start_redis
fi

# configure: writes refrain.conf with further lines from standard input.
configure() { write_config "$store_url"; cat >>"$dir/refrain.conf"; }

configure <<END
[exempt]
END
start_milter
start_sasl alice sesame
start_postfix
report "$mails/spam.eml"

# --- the core cases -------------------------------------------------------------------------------------
send "$mails/spam-close.eml" offers@spam.example user@example.org
check "a close variant is rejected at the end of DATA" matches "$reply" '^550 5\.7\.1 '
check "with our text and the campaign" matches "$reply" 'Message resembles a reported spam campaign \([0-9a-f]{16}\)$'
check "the log has the queue id, the campaign and the time" \
    grep -qE '^refrain-milter: [0-9A-Za-z]{8,}: match campaign=[0-9a-f]{16} similarity=0\.[0-9]+ shared=[0-9]+/20 action=reject terms=[0-9]+ took=[0-9.]+ms$' "$dir/milter.log"

check "a looser variant is accepted" send "$mails/spam-loose.eml" offers@spam.example user@example.org
file=$(delivered user 1)
check "and delivered with X-Refrain" grep -qE '^X-Refrain: match; campaign=[0-9a-f]{16}; similarity=0\.[5-7][0-9]; action=tag$' "$file"
check "and X-Spam-Flag" grep -qx 'X-Spam-Flag: YES' "$file"

# What Postfix itself writes differs from delivery to delivery.
stable() { [ -f "$1" ] || die "no mail was delivered"; sed -e '/^Received: /,/^[^ \t]/{/^Received: /d;/^[ \t]/d}' -e '/^Delivered-To\|^X-Original-To\|^Return-Path/d' "$1"; }
clear_mail
send "$mails/ham.eml" ingrid@example.net user@example.org
stable "$(delivered user 1)" >"$dir/with"
clear_mail
smtp_port=$plain_port send "$mails/ham.eml" ingrid@example.net user@example.org
stable "$(delivered user 1)" >"$dir/without"
check "ham is delivered byte for byte as without the filter" cmp "$dir/with" "$dir/without"
check "and that is all of it" [ "$(wc -l <"$dir/with")" = "$(wc -l <"$mails/ham.eml")" ]

clear_mail
sed -e '1i X-Refrain: clean' -e '3i x-refrain-campaign: none' -e '5i X-REFRAIN: clean' "$mails/ham.eml" >"$dir/forged.eml"
send "$dir/forged.eml" ingrid@example.net user@example.org
stable "$(delivered user 1)" >"$dir/with"
check "forged X-Refrain headers are removed, and nothing else" cmp "$dir/with" "$dir/without"

# --- exempt ---------------------------------------------------------------------------------------------
clear_mail
XCLIENT=ADDR=198.51.100.7 AUTH=alice:open send "$mails/spam-close.eml" offers@spam.example user@example.org
check "who fails to log in is judged like any other" matches "$logged_in $reply" '^535 .* 550 5\.7\.1 '
XCLIENT=ADDR=198.51.100.7 AUTH=alice:sesame send "$mails/spam-close.eml" offers@spam.example user@example.org
check "who logs in by AUTH PLAIN is an authenticated sender, and his mail passes" matches "$logged_in $reply" '^235 .* 250 '
file=$(delivered user 1)
check "without a header" lacks "$file" X-Refrain
check "and the log says why" has "$dir/milter.log" "skipped exempt=authenticated action=none"

configure <<END
[exempt]
networks = 192.0.2.0/24, 2001:db8::/32
senders = boss@example.net
recipients = postmaster@example.org
dkim-domains = big-provider.example
[trap]
recipients = trap@example.org
[action]
subject-prefix = [SPAM]
add-clean-header = yes
reject-text = 100% like {campaign}, write to help@example.org
END
reload_milter
check "a reload is logged" has "$dir/milter.log" "reloaded $dir/refrain.conf"
send "$mails/spam-close.eml" offers@spam.example user@example.org
check "a percent sign in the reply comes through as it is" matches "$reply" '^550 5\.7\.1 100% like [0-9a-f]{16}, write to help@example.org$'
for client in 192.0.2.77 IPV6:2001:db8::25; do
    check "mail of an exempt network passes ($client)" \
        eval 'XCLIENT="ADDR=$client" send "$mails/spam-close.eml" offers@spam.example user@example.org'
done
check "mail of an exempt sender passes" send "$mails/spam-close.eml" boss@example.net user@example.org
check "mail to an exempt recipient passes" send "$mails/spam-close.eml" offers@spam.example postmaster@example.org
send "$mails/spam-close.eml" offers@spam.example postmaster@example.org user@example.org
check "mail to an exempt recipient and another one does not" matches "$reply" '^550 '

{ echo "Authentication-Results: mx.example.org; dkim=pass header.d=big-provider.example"; cat "$mails/spam-close.eml"; } >"$dir/signed.eml"
check "mail with a DKIM signature of an exempt domain passes" send "$dir/signed.eml" offers@spam.example user@example.org
{ echo "Received: from x by y; Mon, 2 Nov 2026 10:00:00 +0000"; cat "$dir/signed.eml"; } >"$dir/forged.eml"
send "$dir/forged.eml" offers@spam.example user@example.org
check "results that came with the message prove nothing" matches "$reply" '^550 '
sed 's/mx.example.org; dkim/mx.spam.example; dkim/' "$dir/signed.eml" >"$dir/forged.eml"
send "$dir/forged.eml" offers@spam.example user@example.org
check "results of another server prove nothing" matches "$reply" '^550 '

clear_mail
send "$mails/spam-loose.eml" offers@spam.example user@example.org
check "the subject gets its prefix" grep -qx 'Subject: \[SPAM\] Your mortgage approval' "$(delivered user 1)"
clear_mail
send "$mails/ham.eml" ingrid@example.net user@example.org
stable "$(delivered user 1)" >"$dir/with"
check "X-Refrain: clean is the only difference when it is asked for" \
    [ "$(diff "$dir/without" "$dir/with" | grep '^[<>]')" = "> X-Refrain: clean" ]

# --- traps ----------------------------------------------------------------------------------------------
clear_mail
check "mail to a trap is accepted" send "$mails/trap.eml" offers@spam.example trap@example.org
check "reported with the source trap" eval 'refrain list --source trap 2>/dev/null | grep -q trap'
check "and logged" grep -qE 'trap report=new campaign=[0-9a-f]{16} action=discard' "$dir/milter.log"
send "$mails/trap.eml" offers@spam.example user@example.org
check "what a trap got, nobody else gets" matches "$reply" '^550 '
check "mail to a trap is discarded" [ "$(count_mail trap)" = 0 ]

report "$mails/spam.eml"
sed -e 's/twenty/thirty/g' -e 's/mountain/river/' "$mails/trap.eml" >"$dir/mixed.eml"
check "mail to a trap and to others is judged like any other" \
    eval '! send "$dir/mixed.eml" offers@spam.example trap@example.org user@example.org && [[ $reply == 550* ]]'
check "and is a report all the same" grep -qE 'match campaign=.* report=(merged|duplicate) .*action=reject' "$dir/milter.log"
check "exempt mail to a trap is no report" \
    eval 'AUTH=alice:sesame send "$mails/ham.eml" alice@example.org trap@example.org && [ -n "$(delivered trap 1)" ]'

configure <<END
[exempt]
senders = boss@example.net
action = tag
END
reload_milter
clear_mail
check "exempt mail may still be tagged" send "$mails/spam-close.eml" boss@example.net user@example.org
check "and never worse" grep -qE '^X-Refrain: match; .* action=tag$' "$(delivered user 1)"

# --- quarantine, dry run --------------------------------------------------------------------------------
configure <<END
[action]
on-reject = quarantine
END
reload_milter
clear_mail
check "quarantined mail is accepted" send "$mails/spam-close.eml" offers@spam.example user@example.org
check "and waits in the hold queue" await eval '[ "$(find "$dir/queue/hold" -type f | wc -l)" = 1 ]'
check "and is not delivered" [ "$(count_mail user)" = 0 ]

configure <<END
[action]
dry-run = yes
END
reload_milter
check "a dry run rejects nothing" send "$mails/spam-close.eml" offers@spam.example user@example.org
check "adds nothing" lacks "$(delivered user 1)" X-Refrain
check "and logs what it would do" has "$dir/milter.log" "action=none would=reject"

# --- the store goes away --------------------------------------------------------------------------------
if [ "${STORE-lmdb}" = redis ]; then
    configure <<END
timeout = 150ms
END
    reload_milter
    clear_mail
    kill -STOP $redis_pid
    check "a store that hangs holds up no mail" send "$mails/spam-close.eml" offers@spam.example user@example.org
    kill -CONT $redis_pid
    check "for longer than its timeout" grep -qE ': unavailable action=none .*took=(1[3-9]|[2-9][0-9])[0-9]\.[0-9]+ms' "$dir/milter.log"
    rejects() { send "$mails/spam-close.eml" offers@spam.example user@example.org; [[ $reply == "550 5.7.1 "* ]]; }
    check "and is used again when it wakes up" await rejects
    : >"$dir/milter.log"
    kill -9 $redis_pid
    wait $redis_pid 2>/dev/null
    clear_mail
    for i in 1 2 3 4 5; do send "$mails/spam-close.eml" offers@spam.example user@example.org || break; done
    check "mail keeps flowing with Redis killed" [ "$i" = 5 ]
    check "marked as unavailable" grep -qx 'X-Refrain: unavailable' "$(delivered user 5)"
    check "said once in the log" [ "$(grep -c 'does not answer' "$dir/milter.log")" = 1 ]
    check "and in no other words" [ "$(grep -ac 'redis\.sock' "$dir/milter.log")" = 1 ]
    echo "on-failure = tempfail" >>"$dir/refrain.conf"
    reload_milter
    send "$mails/ham.eml" offers@spam.example user@example.org
    check "or is put off when that is wished" matches "$reply" '^451 4\.3\.0 '
    check "but never for authenticated senders" \
        eval 'AUTH=alice:sesame send "$mails/ham.eml" ingrid@example.net user@example.org'
    start_redis
    report "$mails/spam.eml"
    check "when Redis is back, so is the filter" await rejects
    check "and the log says so, once" [ "$(grep -c 'answers again' "$dir/milter.log")" = 1 ]
fi

# --- the daemon goes away -------------------------------------------------------------------------------
check "SIGTERM ends the daemon with 0" stop_milter
check "its socket is gone" [ ! -e "$dir/queue/refrain/milter.sock" ]
check "mail keeps flowing without the daemon" send "$mails/spam-close.eml" offers@spam.example user@example.org
done_testing
