#!/usr/bin/env bash
# The conformance tables, the sanitizers and a minute of every fuzz target (as 01-3 and 01-4), after a
# full .ci/run with an empty compiler cache, whose minutes count. Takes about an hour and a half.
source "$(dirname "$0")/common.sh"
status=0
start=$SECONDS
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
CCACHE_DIR=$cache .ci/run >"$out/ci.log" 2>&1 || status=1
minutes=$(((SECONDS - start + 59) / 60))
tail -n 8 "$out/ci.log"
[ "$minutes" -le 35 ] || status=1
acceptance/01-3-conformance.sh | tee "$out/03-6-conformance.log" || status=1
acceptance/01-4-sanitizers.sh | tee "$out/03-6-sanitizers.log" || status=1
conclude "$status" "CI $minutes minutes; $(tail -n 1 "$out/03-6-conformance.log"); $(tail -n 1 "$out/03-6-sanitizers.log")"
