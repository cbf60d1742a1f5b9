#!/bin/bash
# sign, report, check and refrain-lexicon count under ThreadSanitizer, which must have nothing to say. Builds what it
# needs below ./build-tsan; run it at the top.
#   MESSAGES   how many (3000, some batches of reports)
set -e
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$top/build-tsan}
mkdir -p "$build"
cd "$build"
[ -f Makefile ] || CFLAGS='-O1 -g' "$top/configure" -q --enable-sanitizers=thread
make -s -j2 refrain-lexicon tools/refrain tests/base/test_pool
# The locks inside GLib and GMime: see there. GSlice hands memory from thread to thread in a way that is not seen either.
gcc -g -fsanitize=thread -shared -fPIC $(pkg-config --cflags glib-2.0) "$top/tests/milter/tsan_locks.c" -o tsan_locks.so
export G_SLICE=always-malloc TSAN_OPTIONS=exitcode=66
work=$(mktemp -d "${TMPDIR:-/tmp}/refrain-tsan.XXXXXX")
trap 'rm -rf "$work"' EXIT

xz -dc "$top/lexicon/english.df.xz" | awk -F '\t' -v n="${MESSAGES:-3000}" '
    !/^#/ && $2 > 20 { word[words++] = $1 }
    END {
        for (m = 0; m < n; m++) {
            srand(int(m / 3) + 1)
            printf "From a@example.org Mon Nov 16 08:12:40 2026\nFrom: a@example.org\nSubject: message %d\n\n", m
            for (i = 0; i < 100; i++) printf "%s%s", word[int(rand() * words)], i % 10 == 9 ? "\n" : " "
            printf "\n"
        }
    }' >"$work/mbox"

quietly() { # quietly COMMAND...: it succeeds, and there is no warning
    local code=0
    LD_PRELOAD=$build/tsan_locks.so "$@" >"$work/out" 2>"$work/err" || code=$?
    if [ $code -gt 1 ] || grep -q ThreadSanitizer "$work/err"; then
        sed -n '1,60p' "$work/err" >&2
        echo "$(grep -c 'WARNING: ThreadSanitizer' "$work/err") warnings, exit $code: $*" >&2
        exit 1
    fi
    echo "nothing to say: ${*##*/} ($(wc -l <"$work/out") lines)"
}
quietly ./refrain-lexicon count "$work/mbox" -o "$work/words.df"
quietly ./refrain-lexicon make "$top/lexicon/english.df.xz" -o "$work/refrain.lex"
for command in sign report check report; do
    quietly tools/refrain --jobs 4 --lexicon "$work/refrain.lex" --store "lmdb:$work/store" "$command" "$work/mbox"
done
quietly tests/base/test_pool
