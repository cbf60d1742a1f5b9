#!/bin/bash
# refrain report and check over an mbox: messages a second with one core and with two, and peak memory.
# MESSAGES (100000) messages of about 3 kB; words by the frequencies of the shipped collection.
set -eu
messages=${MESSAGES:-100000}
top=$(cd "${SRCDIR:-.}" && pwd) build=$(pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/refrain-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
xz -dc "$top/lexicon/english.df.xz" | awk -F '\t' '!/^#/ && $2 > 20 { print $1 }' >"$work/words"
"$build/refrain-lexicon" make "$top/lexicon/english.df.xz" -o "$work/refrain.lex" >/dev/null 2>&1

# A quarter of the messages are reworded copies of an earlier one.
awk -v n="$messages" '
    { word[NR] = $0 }
    function text(seed, changes,   i, out) {
        srand(seed)
        for (i = 0; i < 200; i++) { pick[i] = word[1 + int(rand() * rand() * NR)] }
        srand(seed * 7 + changes)
        for (i = 0; i < changes; i++) pick[int(rand() * 200)] = word[1 + int(rand() * NR)]
        out = ""
        for (i = 0; i < 200; i++) out = out pick[i] (i % 12 == 11 ? "\n" : " ")
        return out
    }
    END {
        for (m = 1; m <= n; m++) {
            body = m % 4 == 0 ? text(m - 3, 10) : text(m, 0)
            printf "From bench@example.org Mon Nov 16 08:12:40 2026\nReceived: from relay%d.example.net by mx.example.org; Mon, 16 Nov 2026 08:12:40 +0100\n", m
            printf "From: Sender %d <sender%d@example.net>\nTo: user@example.org\nSubject: offer number %d\nMessage-ID: <%d@example.net>\n", m, m, m, m
            printf "MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=\"b%d\"\n\n--b%d\nContent-Type: text/plain; charset=utf-8\n\n%s\n", m, m, body
            printf "--b%d\nContent-Type: text/html; charset=utf-8\n\n<html><body><p>%s</p><a href=\"http://shop%d.example/\">more</a></body></html>\n\n--b%d--\n\n", m, body, m, m
        }
    }' "$work/words" >"$work/bench.mbox"
printf '%s messages, %s MB\n' "$messages" "$(($(stat -c %s "$work/bench.mbox") / 1000000))"

run() { # run CORES COMMAND...: prints seconds and peak memory in MB
    local start end pid peak=0 now
    start=$(date +%s%N)
    taskset -c "$1" "$build/tools/refrain" --quiet --lexicon "$work/refrain.lex" --store "lmdb:$work/store" "${@:2}" "$work/bench.mbox" \
        >"$work/out" &
    pid=$!
    while now=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do peak=$now; sleep 0.1; done
    wait $pid || [ $? -eq 1 ]
    end=$(date +%s%N)
    echo "$(((end - start) / 1000000)) $((peak / 1024))"
}
rate() { awk -v n="$messages" -v ms="$1" 'BEGIN { printf "%d", n * 1000 / ms }'; }

for command in sign report check; do
    read -r one peak_one < <(rm -rf "$work/tmp"; [ $command != report ] || rm -rf "$work/store"; run 0 $command)
    read -r two peak_two < <([ $command != report ] || rm -rf "$work/store"; run 0,1 $command)
    awk -v c="$command" -v r1="$(rate "$one")" -v r2="$(rate "$two")" -v a="$one" -v b="$two" -v m1="$peak_one" -v m2="$peak_two" \
        'BEGIN { printf "%-7s one core %6d messages/s (%3d MB)   two cores %6d messages/s (%3d MB)   %.2fx\n", c, r1, m1, r2, m2, a / b }'
done
cut -f 1 "$work/out" | sort | uniq -c | awk '{ printf "%s %s  ", $2, $1 } END { print "" }'
