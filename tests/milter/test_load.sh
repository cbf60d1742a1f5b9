#!/bin/bash
# Load: 200 connections, 20,000 mails. No error, and no growth of memory once it is filled.
#   CONNECTIONS, MESSAGES   other sizes (a build with ThreadSanitizer: 50 and 3000)
#   STORE_URL               another store than LMDB
#   TSAN_LOCKS              see tsan.sh
#   CORPUS                  a folder of mail instead of the few mails here
. "${SRCDIR:-$(dirname "$0")/../..}/tests/milter/lib.sh"
load=$BUILDDIR/tests/bench/milter_load
connections=${CONNECTIONS:-200}
messages=${MESSAGES:-20000}
metrics_port=$(free_port)
sanitized=$(sed -n 's/^SAN_CFLAGS = *//p' "$BUILDDIR/Makefile") # sanitizers need memory of their own

make_lexicon
write_config "${STORE_URL-}"
cat >>"$dir/refrain.conf" <<END
[log]
level = warning
[metrics]
listen = $metrics_port
END
LD_PRELOAD=${TSAN_LOCKS-} "$BUILDDIR/refrain-milter" -c "$dir/refrain.conf" 2>"$dir/milter.log" &
milter_pid=$!
pids="$pids $milter_pid"
await [ -S "$dir/socket/milter.sock" ] || die "refrain-milter does not start"
report "$mails/spam.eml"

"$load" -c "$connections" --idle --pid "$milter_pid" "$socket" "$mails/ham.eml" >"$dir/load.log"
sed 's/^/# /' "$dir/load.log"
[ -n "$sanitized" ] || check "an idle connection costs little" eval '[ "$(sed "s/.*: \(-\{0,1\}[0-9]*\).*/\1/" "$dir/load.log")" -le 64 ]'

# rss 1|2: kB after the first quarter, or at the end.
rss() { sed -n "s/^rss after [0-9]* messages \([0-9]*\) kB, at the end \([0-9]*\) kB/\\$1/p" "$dir/load.log"; }
run() {
    "$load" -c "$connections" -n "$messages" --settle $((messages / 4)) --pid "$milter_pid" "$socket" \
        "${CORPUS:-$mails}" >"$dir/load.log" 2>&1
}

# The heaps of the threads fill with the first messages, how fast depends on the machine: what a first run filled is
# what a second one may use. A leak of 400 bytes a message is seen.
run
filled=$(rss 2)
run
status=$?
sed 's/^/# /' "$dir/load.log"
check "$messages mails over $connections connections without an error" [ $status = 0 ]
settled=$(rss 1) last=$(rss 2)
[ "${filled:-0}" -le "${settled:-0}" ] || settled=$filled
[ -n "$sanitized" ] || check "memory does not grow once it is filled" [ "${last:-0}" -le $((${settled:-0} * 110 / 100 + 4096)) ]
check "no session is left" await eval 'get /metrics | grep -qE "^refrain_connections 0"'
check "the daemon ends well" stop_milter

# What begins while it stops must find nothing that is gone: sanitizers see it. The MTA's side may break off.
has_judged() { get /metrics | awk -v least="$1" '/^refrain_messages_total/ { n += $2 } END { exit n < least }'; }
for judged in 100 500 1000; do
    LD_PRELOAD=${TSAN_LOCKS-} "$BUILDDIR/refrain-milter" -c "$dir/refrain.conf" 2>"$dir/milter.log" &
    milter_pid=$!
    pids="$pids $milter_pid"
    await [ -S "$dir/socket/milter.sock" ] || die "refrain-milter does not start again"
    "$load" -c 2 -n 1000000 "$socket" "$mails" >/dev/null 2>&1 &
    load_pid=$!
    pids="$pids $load_pid"
    await has_judged $judged || die "no load arrives"
    check "it ends well under load, after $judged mails" stop_milter
    kill $load_pid 2>/dev/null
    wait $load_pid
done
done_testing
