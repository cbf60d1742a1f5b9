#!/bin/bash
# The same cases with Redis as the store, and Redis killed under it.
export STORE=redis
exec "${SRCDIR:-$(dirname "$0")/../..}/tests/milter/test_postfix.sh"
