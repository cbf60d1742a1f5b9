#!/bin/bash
# The load test under ThreadSanitizer. Builds what it needs below ./build-tsan; run it at the top.
set -e
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$top/build-tsan}
mkdir -p "$build"
cd "$build"
[ -f Makefile ] || CFLAGS='-O1 -g' "$top/configure" -q --enable-sanitizers=thread
make -s -j2 refrain-milter refrain-lexicon tools/refrain tests/bench/milter_load
gcc -g -fsanitize=thread -shared -fPIC $(pkg-config --cflags glib-2.0) "$top/tests/milter/tsan_locks.c" -o tsan_locks.so
# GSlice hands memory from thread to thread in a way that is not seen either.
export TSAN_LOCKS=$build/tsan_locks.so G_SLICE=always-malloc
export SRCDIR=$top BUILDDIR=$build CONNECTIONS=${CONNECTIONS:-50} MESSAGES=${MESSAGES:-3000}
"$top/tests/milter/test_load.sh"
