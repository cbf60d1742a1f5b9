#!/bin/bash
# Messages a second through the milter socket, side by side in one run: a filter that does nothing,
# refrain-milter with Redis and with LMDB, and rspamd with its fuzzy_check alone where it is installed.
#   REFRAIN_CORPUS=DIR   a tree of mail; tests/fetch-corpus gets one
#   CONNECTIONS, MESSAGES   8 and 10000
. "${SRCDIR:-$(dirname "$0")/../..}/tests/milter/lib.sh"
[ -d "${REFRAIN_CORPUS-}" ] || { echo "skipped: set REFRAIN_CORPUS to a folder of mail; tests/fetch-corpus gets one"; exit 0; }
load=$BUILDDIR/tests/bench/milter_load
connections=${CONNECTIONS:-8}
messages=${MESSAGES:-10000}
tick=$(getconf CLK_TCK)

# Only mail: corpora come with other files too.
mkdir "$dir/corpus"
find -L "$REFRAIN_CORPUS" -type f \( -name '*.txt' -o -name '*.eml' \) ! -path '*/reuters/*' -size -2048k | sort | head -10000 |
    awk -v to="$dir/corpus" '{ printf "ln -s \"%s\" \"%s/%s%d\"\n", $0, to, /\/spam[^\/]*\// ? "spam" : "mail", NR }' | sh
printf '%s mails, %s connections, %s messages a run\n\n' "$(ls "$dir/corpus" | wc -l)" "$connections" "$messages"

# Seconds of processor time of some processes so far.
cpu() {
    local pid ticks=0 fields
    for pid in "$@"; do
        fields=$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | awk '{ print $12 + $13 }')
        ticks=$((ticks + ${fields:-0}))
    done
    awk -v t=$ticks -v k="$tick" 'BEGIN { print t / k }'
}

# measure NAME SOCKET PID...: one line, the best of three runs after one to warm up, because other programs
# disturb. Leaves rate and cost (ms of processor a message).
measure() {
    local name=$1 target=$2 before after this best=
    shift 2
    "$load" -q -c "$connections" -n $((messages / 10)) "$target" "$dir/corpus" >/dev/null || die "$name fails"
    rate=0 cost=1000
    for round in 1 2 3; do
        before=$(cpu "$@")
        "$load" -c "$connections" -n "$messages" "$target" "$dir/corpus" >"$dir/run.log" || die "$name fails: $(cat "$dir/run.log")"
        after=$(cpu "$@")
        this=$(sed -n 's/.* rate \([0-9]*\).*/\1/p' "$dir/run.log")
        cost=$(awk -v a="$after" -v b="$before" -v n="$messages" -v c=$cost \
            'BEGIN { x = (a - b) * 1000 / n; printf "%.3f", x < c ? x : c }')
        [ "$this" -le "$rate" ] || { rate=$this; best=$(grep -o 'p50.*p99 [0-9.]* ms' "$dir/run.log"); }
    done
    printf '%-24s %7s messages/s   %s ms processor a message   %s\n' "$name" "$rate" "$cost" "$best"
}
percent() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.0f %%", a * 100 / b }'; }
times() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", a / b }'; }

make_lexicon

noop=$dir/noop.sock
"$BUILDDIR/tests/bench/milter_noop" "unix:$noop" &
noop_pid=$!
pids="$pids $noop_pid"
await [ -S "$noop" ] || die "the no-op filter does not start"
measure "no-op filter" "unix:$noop" $noop_pid
noop_rate=$rate

# As shipped, with a log line for each message. A tenth of the spam is reported: files below a folder spam*.
run_refrain() { # NAME STORE-URL STORE-PID...
    local name=$1
    write_config "$2"
    shift 2
    start_milter
    report --quiet "$dir"/corpus/spam*7 || die "no spam is reported"
    measure "$name" "$socket" "$milter_pid"
    stop_milter
}

if command -v redis-server >/dev/null; then
    redis-server --port 0 --unixsocket "$dir/redis.sock" --unixsocketperm 777 --save '' --appendonly no --dir "$dir" \
        --logfile "$dir/redis.log" &
    pids="$pids $!"
    await redis-cli -s "$dir/redis.sock" ping >/dev/null || die "Redis does not start"
    run_refrain "refrain-milter, Redis" "redis+unix:$dir/redis.sock"
    refrain_rate=$rate refrain_cost=$cost
fi
run_refrain "refrain-milter, LMDB" "lmdb:$dir/store"
: "${refrain_rate:=$rate}" "${refrain_cost:=$cost}"

# rspamd as it ships, but fuzzy_check alone: its milter proxy scans every message, asks its fuzzy storage for the
# hashes of each, and the storage asks a Redis. It has learnt the same tenth of the spam. It compiles its patterns
# for half a minute when it starts.
write_rspamd_config() {
    cat >"$dir/rspamd/rspamd.conf" <<END
options { filters = "fuzzy_check"; tempdir = "$dir/rspamd"; pidfile = "$dir/rspamd/pid"; hs_cache_dir = "$dir/rspamd";
    control_socket = "$dir/rspamd/control.sock mode=0600"; dns { nameserver = ["127.0.0.1:9"]; timeout = 0.1s; } }
logging { type = "file"; filename = "$dir/rspamd/rspamd.log"; level = "error"; }
actions { reject = 15; add_header = 6; }
redis { servers = "$dir/rspamd/redis.sock"; }
worker "rspamd_proxy" { bind_socket = "$dir/rspamd/milter.sock mode=0666"; milter = yes; timeout = 120s;
    count = $(nproc); upstream "local" { default = yes; self_scan = yes; } }
worker "fuzzy" { bind_socket = "127.0.0.1:$1"; backend = "redis"; sync = 1s; expire = 90d; allow_update = ["127.0.0.1"];
    count = 1; }
worker "controller" { bind_socket = "127.0.0.1:$2"; secure_ip = ["127.0.0.1"]; count = 1; }
fuzzy_check { min_bytes = 1k; timeout = 2s; retransmits = 1;
    rule "local" { algorithm = "mumhash"; servers = "127.0.0.1:$1"; symbol = "FUZZY_UNKNOWN"; mime_types = ["*"];
        max_score = 20.0; read_only = no; skip_unknown = yes; short_text_direct_hash = true; min_length = 64;
        fuzzy_map = { FUZZY_DENIED { max_score = 20.0; flag = 1; } } } }
group "fuzzy" { symbols = { "FUZZY_DENIED" { weight = 20.0; } } }
END
}

fuzzy_storage() { rspamadm control -s "$dir/rspamd/control.sock" fuzzystat 2>/dev/null | sed -n "s/^fuzzy_$1: *//p"; }
has_learnt() { [ "$(redis-cli -s "$dir/rspamd/redis.sock" dbsize)" -gt 0 ]; }

if command -v rspamd >/dev/null && command -v redis-server >/dev/null && [ "$(id -u)" = 0 ]; then
    fuzzy_port=$(free_port)
    control_port=$(free_port)
    mkdir "$dir/rspamd"
    write_rspamd_config "$fuzzy_port" "$control_port"
    chown -R nobody "$dir/rspamd"
    redis-server --port 0 --unixsocket "$dir/rspamd/redis.sock" --unixsocketperm 777 --save '' --appendonly no \
        --dir "$dir/rspamd" --logfile "$dir/rspamd/redis.log" &
    pids="$pids $!"
    rspamd -f -c "$dir/rspamd/rspamd.conf" -u nobody -g nogroup >"$dir/rspamd.log" 2>&1 &
    rspamd_pid=$!
    pids="$pids $rspamd_pid"
    await [ -S "$dir/rspamd/milter.sock" ] || await [ -S "$dir/rspamd/milter.sock" ] || await [ -S "$dir/rspamd/milter.sock" ]
    if [ -S "$dir/rspamd/milter.sock" ]; then
        await rspamc -h "127.0.0.1:$control_port" stat >/dev/null
        rspamc -h "127.0.0.1:$control_port" -f 1 -w 20 fuzzy_add "$dir"/corpus/spam*7 >"$dir/rspamd-learn.log" 2>&1
        await has_learnt || die "rspamd does not learn"
        measure "rspamd, fuzzy_check" "unix:$dir/rspamd/milter.sock" $(pgrep -P $rspamd_pid)
        rspamd_rate=$rate rspamd_cost=$cost
        echo "    rspamd learnt $(grep -c '^success = true' "$dir/rspamd-learn.log") messages, $(sed -n '2p' "$dir/run.log"); hashes looked up$(fuzzy_storage checked | sed 's/.*v0.8//; s/)//')"
    fi
else
    echo "rspamd is not installed: not compared"
fi

echo
echo "refrain-milter has $(percent "$refrain_rate" "$noop_rate") of the no-op filter's rate (at least 50 % is the aim)"
[ -z "${rspamd_rate-}" ] || echo "and $(times "$refrain_rate" "$rspamd_rate") times rspamd's, with $(percent "$refrain_cost" "$rspamd_cost") of its processor time (3 times and 25 % are the aim)"
