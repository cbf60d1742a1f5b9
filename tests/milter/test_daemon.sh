#!/bin/bash
# The daemon by itself: start-up errors, sockets, privileges, signals, metrics, limits, bad manners.
. "${SRCDIR:-$(dirname "$0")/../..}/tests/milter/lib.sh"
load=$BUILDDIR/tests/bench/milter_load
milter=$BUILDDIR/refrain-milter
metrics_port=$(free_port)

# runs STATUS TEXT ARGUMENTS...: the daemon ends by itself, with this status and this text on stderr.
runs() {
    local status=$1 text=$2 got
    shift 2
    timeout 20 "$milter" "$@" >"$dir/out.log" 2>&1
    got=$?
    [ $got = "$status" ] && has "$dir/out.log" "$text" || { echo "#   status $got: $(cat "$dir/out.log")"; return 1; }
}
loads() { "$load" "$@" >"$dir/load.log" 2>&1; }
configure() { write_config; cat >>"$dir/refrain.conf"; }

make_lexicon

# --- start-up errors, as in sysexits(3) -----------------------------------------------------------------
configure </dev/null
check "--version" runs 0 "refrain-milter 0" --version
check "--help" runs 0 "SIGHUP reloads" --help
check "an unknown option is a usage error" runs 64 "frobnicate: see refrain-milter --help" --frobnicate
check "an argument is a usage error" runs 64 "is not an option: see --help" start
check "a missing configuration is named" runs 78 "--config" -c "$dir/none.conf"
configure <<<'timeuot = 5s'
check "an unknown key is an error with file and line" runs 78 "refrain.conf:12: no such key in [store]: timeuot" -c "$dir/refrain.conf"
configure <<<$'[exempt]\nnetworks = 10.0.0.1/8'
check "so is a slip in a list" runs 78 'refrain.conf:13: networks: "10.0.0.1/8" is not a network' -c "$dir/refrain.conf"
configure </dev/null
check "a lexicon that is not there is an error" runs 78 "none.lex" -c "$dir/refrain.conf" --lexicon "$dir/none.lex"
check "a lexicon that is none is an error" runs 78 "refrain.conf" -c "$dir/refrain.conf" --lexicon "$dir/refrain.conf"
check "--check-config is content with a good one" runs 0 "all well" -n -c "$dir/refrain.conf"
check "--check-config asks the store" runs 69 "refrain-milter: " -n -c "$dir/refrain.conf" --store "redis+unix:$dir/nobody.sock"
sed -i "s|^socket = .*|socket = unix:$dir/nowhere/milter.sock|" "$dir/refrain.conf"
check "--check-config looks at the socket's folder" runs 78 "create it and let that user write to it" -n -c "$dir/refrain.conf"
sed -i "s|^socket = .*|socket = here|" "$dir/refrain.conf"
check "a socket must be one" runs 78 "use unix:/path, inet:port@host or inet6:port@host" -c "$dir/refrain.conf"
configure </dev/null
if [ "$(id -u)" = 0 ]; then
    sed -i 's|^user = .*|user = root|' "$dir/refrain.conf"
    check "mail is never filtered as root" runs 78 "never filtered as root" -c "$dir/refrain.conf"
    sed -i 's|^user = .*|user = nobody-of-that-name|' "$dir/refrain.conf"
    check "a user that is not there is named" runs 78 "there is no user nobody-of-that-name" -c "$dir/refrain.conf"
    configure </dev/null
    chmod 755 "$dir/socket"
    chown root "$dir/socket"
    check "the folder is looked at as the daemon's user" runs 78 "cannot be used by $user" -n -c "$dir/refrain.conf"
    chown "$user" "$dir/socket"
fi

# --- the socket -----------------------------------------------------------------------------------------
echo precious >"$dir/socket/milter.sock"
check "a file in the socket's place is an error" runs 78 "is not a socket: move it away" -c "$dir/refrain.conf"
check "and stays" [ "$(cat "$dir/socket/milter.sock")" = precious ]
rm "$dir/socket/milter.sock"
start_milter
check "a second daemon on the same socket is refused" runs 78 "somebody listens on" -c "$dir/refrain.conf"
check "and the first goes on" loads -q -n 5 "$socket" "$mails/ham.eml"
kill -9 "$milter_pid"
wait "$milter_pid" 2>/dev/null
check "after a crash the socket is left behind" [ -S "$dir/socket/milter.sock" ]
sed -i 's|^socket-mode = .*|socket-mode = 0620|' "$dir/refrain.conf"
[ "$(id -u)" != 0 ] || sed -i 's|^socket-group =.*|socket-group = mail|' "$dir/refrain.conf"
start_milter
check "and the next start removes it" loads -q -n 5 "$socket" "$mails/ham.eml"
check "the socket's mode is as configured" [ "$(stat -c %a "$dir/socket/milter.sock")" = 620 ]
if [ "$(id -u)" = 0 ]; then
    check "and its group" [ "$(stat -c %G "$dir/socket/milter.sock")" = mail ]
    check "no thread has root's rights" eval '! grep -h "^[UG]id:" /proc/$milter_pid/task/*/status | grep -qw 0'
fi
stop_milter

# --- reload ---------------------------------------------------------------------------------------------
configure <<END
[metrics]
listen = $metrics_port
[milter]
pid-file = $dir/socket/pid
END
start_milter
check "the pid-file has the pid" [ "$(cat "$dir/socket/pid")" = "$milter_pid" ]
"$load" -c 10 -n 20000 "$socket" "$mails" >"$dir/load.log" 2>&1 &
load_pid=$!
# In bursts, so that most come while the main thread is busy with one: those are libmilter's to take, if it can.
for burst in $(seq 20); do
    before=$(reloads)
    for i in $(seq 100); do kill -HUP "$milter_pid"; done
    await eval '[ "$(reloads)" -gt "$before" ]' || break
done
check "every burst of SIGHUPs is a reload" [ "$(reloads)" -gt "$before" ]
check "thousands of SIGHUPs under load drop no session" wait $load_pid
check "and the daemon lives" kill -0 "$milter_pid"
cp "$dir/refrain.conf" "$dir/good.conf"
echo nonsense >>"$dir/refrain.conf"
reload_milter
check "a bad file is refused, with its line" has "$dir/milter.log" "reload refused, the old settings stay in force: $dir/refrain.conf:"
cp "$dir/good.conf" "$dir/refrain.conf"
check "and the old settings work" loads -q -n 5 "$socket" "$mails/ham.eml"
id_of() { get /metrics | sed -n 's/.*lexicon_info{id="\([0-9a-f]*\)"}.*/\1/p'; }
first=$(id_of)
printf 'another seed, of thirty-two bytes' | head -c 32 >"$dir/seed"
"$BUILDDIR/refrain-lexicon" make "$SRCDIR/lexicon/english.df.xz" --seed-file "$dir/seed" -o "$dir/refrain.lex" >/dev/null 2>&1
chmod 644 "$dir/refrain.lex"
reload_milter
check "a new lexicon is taken" eval '[ "$(id_of)" != "$first" ] && [ -n "$(id_of)" ]'
check "with its own campaigns" eval 'report "$mails/spam.eml" && "$load" -n 3 "$socket" "$mails/spam-close.eml" | grep -q "rejected 3"'

# --- metrics --------------------------------------------------------------------------------------------
get /metrics >"$dir/page"
check "messages are counted by verdict and action" grep -qE '^refrain_messages_total\{verdict="match",action="reject"\} 3' "$dir/page"
check "reloads are counted" grep -qE '^refrain_reloads_total\{result="refused"\} 1' "$dir/page"
check "latency has buckets" grep -qE '^refrain_message_duration_seconds_bucket\{le="\+Inf"\} [0-9]+' "$dir/page"
for name in store_errors_total store_breaker_open open_fds max_fds connections build_info start_time_seconds; do
    check "the page has $name" grep -qE "^refrain_$name[ {]" "$dir/page"
done
check "every line is Prometheus text" eval '! sed "1,/^\r$/d" "$dir/page" | grep -qvE "^(# (HELP|TYPE) refrain_[a-z_]+ .+|refrain_[a-z_]+(\{[a-z]+=\"[^\"]*\"(,[a-z]+=\"[^\"]*\")*\})? [0-9.e+-]+)$"'
check "/healthz is well" eval 'get /healthz | grep -qx ok'
check "other pages are not there" eval 'get /etc/passwd | grep -q "404"'
check "no address is in it" eval '! grep -q "@" "$dir/page"'

# --- bad manners ----------------------------------------------------------------------------------------
check "broken, reset and reused connections do no harm (version 6)" loads --chaos -c 20 -n 4000 "$socket" "$mails"
check "nor in version 2" loads --chaos -v 2 -c 20 -n 1000 "$socket" "$mails"
check "no session is left" await eval 'get /metrics | grep -qE "^refrain_connections 0"'
check "no message text or address is in the log" eval '! grep -qiE "mortgage|ingrid|example\.net|garden" "$dir/milter.log"'

# --- the end --------------------------------------------------------------------------------------------
if command -v miltertest >/dev/null; then
    miltertest -D socket="$socket" -D begun="$dir/begun" -D go="$dir/go" -D mail="$mails/ham.eml" \
        -s "$SRCDIR/tests/milter/drain.lua" >"$dir/drain.log" 2>&1 &
    drain_pid=$!
    await [ -e "$dir/begun" ]
    kill "$milter_pid"
    check "SIGTERM takes no new connections" await [ ! -e "$dir/socket/milter.sock" ]
    check "waits for the message under way" kill -0 "$milter_pid"
    touch "$dir/go"
    wait $drain_pid
    check "which gets its verdict" has "$dir/drain.log" passed
    check "and then ends with 0" wait "$milter_pid"
else
    check "SIGTERM ends with 0" stop_milter
fi
check "the pid-file is gone" [ ! -e "$dir/socket/pid" ]

# --- limits ---------------------------------------------------------------------------------------------
configure <<END
[milter]
max-connections = 3
[limits]
message-bytes = 64K
END
start_milter
{ cat "$mails/spam-close.eml"; for i in $(seq 20000); do echo "line $i of many"; done; } >"$dir/large.eml"
check "a large message is judged by what was read" loads -n 4 "$socket" "$dir/large.eml"
check "and the log says what was cut" has "$dir/milter.log" 'cut="'
check "connections above max-connections are let through" loads -c 12 --idle "$socket" "$mails/ham.eml"
check "and the log says so" has "$dir/milter.log" "more than 3 connections"
check "said once at a time" eval '[ "$(grep -c "more than 3" "$dir/milter.log")" -lt 12 ]'
stop_milter

# --- inet6 ----------------------------------------------------------------------------------------------
if (exec 5<>/dev/udp/::1/9) 2>/dev/null; then
    unix_socket=$socket
    port=$(free_port)
    socket=inet6:$port@::1 configure </dev/null
    start_milter
    check "an inet6: socket is listened on" eval '(: </dev/tcp/::1/$port)'
    stop_milter
    socket=$unix_socket
fi

# --- systemd --------------------------------------------------------------------------------------------
configure </dev/null
"$BUILDDIR/tests/milter/notify_listen" "$dir/notify" >"$dir/notify.log" &
pids="$pids $!"
await [ -S "$dir/notify" ]
chmod 777 "$dir/notify"
export NOTIFY_SOCKET=$dir/notify WATCHDOG_USEC=100000
start_milter
check "readiness is told" await has "$dir/notify.log" READY=1
check "the watchdog is fed" await eval '[ "$(grep -c WATCHDOG=1 "$dir/notify.log")" -gt 3 ]'
reload_milter
check "a reload is told" has "$dir/notify.log" RELOADING=1
stop_milter
check "the end is told" has "$dir/notify.log" STOPPING=1
done_testing
