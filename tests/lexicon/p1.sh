#!/bin/sh
# The paper's experiment end to end: tests/lexicon/p1.sh FREQUENCIES PATH...  (from the build folder, after
# `make refrain-lexicon tests/lexicon/p1`). Extra options of `make` may come in MAKE_OPTIONS.
set -eu
frequencies=$1; shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "a fixed seed, so that the figures can be had again" >"$work/seed"
for k in 0 2 5 10; do
    ./refrain-lexicon make $frequencies --scheme dropout --lexicons $k --drop 0.33 --nidf 0.2:0.3 \
        --seed-file "$work/seed" ${MAKE_OPTIONS:-} --quiet -o "$work/$k.lex"
    ./tests/lexicon/p1 "$work/$k.lex" "$@"
done
