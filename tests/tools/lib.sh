# What the tests of the refrain program share: a folder of their own, a lexicon, a store, TAP.

work=$(mktemp -d "${TMPDIR:-/tmp}/refrain-tools.XXXXXX") || exit 99
servers=
finish() {
    for pid in $servers; do kill "$pid" 2>/dev/null; done
    for pid in $servers; do wait "$pid" 2>/dev/null; done
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 99' INT TERM
cd "$work" || exit 99
export LC_ALL=C.UTF-8 TZ=UTC NO_COLOR=1
unset COLUMNS

tests=0
ok() { # ok "behaviour" command...: passes when the command does
    tests=$((tests + 1)); behaviour=$1; shift
    if "$@" >step.out 2>&1; then
        echo "ok $tests - $behaviour"
    else
        echo "not ok $tests - $behaviour"; sed 's/^/# /' step.out
    fi
}
plan() { echo "1..$tests"; }
need() { # need PROGRAM PACKAGE: without it the test says so and is skipped as a whole
    command -v "$1" >/dev/null 2>&1 || { echo "1..0 # SKIP $1 is missing: apt-get install $2"; exit 0; }
}
await() { # await command...: until it succeeds, at most 20 seconds
    for _ in $(seq 400); do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done
    echo "# waited in vain: $*" >&2
    return 1
}

make_lexicon() { # make_lexicon FILE SEED-LETTER: the same bytes every time, whatever frequencies are shipped
    head -c 32 /dev/zero | tr '\0' "$2" >seed
    "$BUILDDIR/refrain-lexicon" make "$SRCDIR/tests/tools/words.df" --seed-file seed -o "$1" >make.out 2>&1 ||
        { cat make.out >&2; exit 99; }
}

redis_start() { # redis_start NAME [option...]: a server of its own on $work/NAME.sock
    name=$1; shift
    redis-server --port 0 --unixsocket "$work/$name.sock" --save '' --appendonly no --dir "$work" \
        --logfile "$work/$name.log" "$@" >/dev/null 2>&1 &
    redis_pid=$!
    servers="$servers $redis_pid"
    await redis-cli -s "$work/$name.sock" ping
}

configure() { # configure URL [lines of refrain.conf]: writes refrain.conf
    printf '[lexicon]\nfile = %s/refrain.lex\n[store]\nurl = %s\ntimeout = 5s\n[milter]\nsocket = unix:%s/milter.sock\n' \
        "$work" "$1" "$work" >refrain.conf
    [ $# -lt 2 ] || printf '%s\n' "$2" >>refrain.conf
}
refrain() { "$BUILDDIR/tools/refrain" -c "$work/refrain.conf" "$@"; }

copy_mail() { # the fixtures under short names
    for file in "$SRCDIR"/tests/mail/tools-*.eml; do
        name=${file##*/tools-}
        cp "$file" "$name" && chmod u+w "$name"
    done
}
