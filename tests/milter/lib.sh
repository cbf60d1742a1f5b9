# Sourced by the end-to-end tests of the daemon: a private folder, a lexicon, a daemon, an SMTP client, TAP.
# Everything lives below $dir; what was started is stopped and removed at the end.
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}" "${BUILDDIR:=$PWD}"
mails=$SRCDIR/tests/milter/mail
dir=$(mktemp -d "${TMPDIR:-/tmp}/refrain-test-XXXXXX")
chmod 755 "$dir"
exec 9>&1 # TAP, also from where standard output goes elsewhere
pids=
tests=0
failures=0

# The daemon never runs as root.
if [ "$(id -u)" = 0 ]; then user=nobody; else user=$(id -un); fi

clean_up() {
    status=$?
    exec >&9
    type stop_mta >/dev/null 2>&1 && stop_mta
    for pid in $pids; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
    if [ "$failures" != 0 ] || [ "$status" != 0 ]; then
        for log in "$dir"/*.log; do [ "${log##*/}" != lexicon.log ] && [ -f "$log" ] && sed "s|^|# ${log##*/}: |" "$log" | tail -30; done
    fi
    if [ -n "${KEEP-}" ]; then echo "# kept $dir"; else rm -rf "$dir"; fi
    exit $status
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# check NAME COMMAND...: one line of TAP.
check() {
    local name=$1
    shift
    tests=$((tests + 1))
    if "$@"; then
        echo "ok $tests - $name"
    else
        failures=$((failures + 1))
        echo "not ok $tests - $name"
        echo "#   failed: $*"
    fi
}

done_testing() {
    echo "1..$tests"
    [ "$failures" = 0 ]
    exit
}

skip_all() {
    echo "1..0 # SKIP $*"
    exit 0
}

die() {
    echo "Bail out! $*" >&9
    exit 1
}

# await COMMAND...: until it succeeds, at most 20 seconds.
await() {
    local end=$((SECONDS + 20))
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.02
    done
}

has() { grep -qF -e "$2" "$1"; }
lacks() { ! grep -qF -e "$2" "$1"; }
matches() { [[ $1 =~ $2 ]]; }
listens() { (: </dev/tcp/127.0.0.1/"$1") 2>/dev/null; }

# A loopback port that nobody listens on.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        listens $port || { echo $port; return; }
    done
}

refrain() {
    local command=$1
    shift
    "$BUILDDIR/tools/refrain" "$command" -c "$dir/refrain.conf" "$@"
}

# As the daemon's user, so that files of an embedded store are its own.
as_user() {
    if [ "$(id -u)" = 0 ]; then setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups "$@"; else "$@"; fi
}
# report [OPTION...] MAIL: from standard input, as the user may not be able to read the source tree.
report() { as_user "$BUILDDIR/tools/refrain" report -c "$dir/refrain.conf" "${@:1:$#-1}" - <"${!#}" >>"$dir/report.log" 2>&1; }

# The same lexicon in every run.
make_lexicon() {
    head -c 32 /dev/zero >"$dir/seed"
    "$BUILDDIR/refrain-lexicon" make "$SRCDIR/lexicon/english.df.xz" --seed-file "$dir/seed" -o "$dir/refrain.lex" \
        >"$dir/lexicon.log" 2>&1 || die "no lexicon"
    chmod 644 "$dir/refrain.lex"
}

# write_config [STORE]: writes refrain.conf, which ends with [store]; sets socket.
write_config() {
    socket=${socket:-unix:$dir/socket/milter.sock}
    mkdir -p "$dir/socket" "$dir/store"
    [ "$(id -u)" != 0 ] || chown "$user" "$dir/socket" "$dir/store"
    cat >"$dir/refrain.conf" <<END
[milter]
socket = $socket
socket-group =
socket-mode = 0666
user = $user
[lexicon]
file = $dir/refrain.lex
[match]
reject-similarity = 0.80
[store]
url = ${1:-lmdb:$dir/store}
END
}

is_ready() { has "$dir/milter.log" " listens on "; }

# start_milter: sets milter_pid.
start_milter() {
    : >"$dir/milter.log"
    LD_PRELOAD=${TSAN_LOCKS-} "$BUILDDIR/refrain-milter" -c "$dir/refrain.conf" 2>"$dir/milter.log" &
    milter_pid=$!
    pids="$pids $milter_pid"
    await is_ready || die "refrain-milter does not start: $(cat "$dir/milter.log")"
}

stop_milter() {
    kill "$milter_pid" && wait "$milter_pid"
}

reloads() { grep -c 'reloaded\|reload refused' "$dir/milter.log"; }
reload_milter() {
    local before
    before=$(reloads)
    kill -HUP "$milter_pid"
    await eval '[ "$(reloads)" -gt '"$before"' ]'
}

# --- SMTP ----------------------------------------------------------------------------------------------

# Reads one reply, the last line of it into $reply.
read_reply() {
    while IFS= read -r -t 60 reply <&3; do
        reply=${reply%$'\r'}
        [[ $reply =~ ^[0-9]{3}- ]] || return 0
    done
    reply="broken"
    return 1
}
say() {
    printf '%s\r\n' "$1" >&3 2>/dev/null || { reply=broken; return 1; }
    read_reply
}

# send FILE FROM TO...: hands in a message at $smtp_port; $reply is the answer to DATA, or to what failed.
# XCLIENT holds attributes that Postfix shall believe of the client; AUTH is user:password, to log in with.
send() {
    local file=$1 from=$2 to
    shift 2
    exec 3<>"/dev/tcp/127.0.0.1/$smtp_port" || return 1
    read_reply
    say "EHLO client.example.net"
    if [ -n "${XCLIENT-}" ]; then say "XCLIENT $XCLIENT" && say "EHLO client.example.net"; fi
    if [ -n "${AUTH-}" ]; then
        say "AUTH PLAIN $(printf '\0%s\0%s' "${AUTH%%:*}" "${AUTH#*:}" | base64)"
        logged_in=$reply
    fi
    say "MAIL FROM:<$from>"
    for to in "$@"; do say "RCPT TO:<$to>"; done
    if say DATA && [[ $reply == 354* ]]; then
        sed -e 's/^\./../' -e 's/$/\r/' "$file" >&3
        say .
    fi
    printf 'QUIT\r\n' >&3
    exec 3>&-
    [[ $reply == 250* ]]
}

# get PATH: from the metrics port.
get() {
    exec 4<>"/dev/tcp/127.0.0.1/$metrics_port" || return 1
    printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&4
    cat <&4
    exec 4>&-
}
