#!/usr/bin/env bash
# Checks include rules and file sizes, and times a release build from clean without ccache.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
status=0
/usr/bin/python3 tools/check_layers.py || status=1
longest=$(git ls-files '*.cc' '*.h' '*.py' | xargs wc -l | grep -v ' total$' | sort -rn | head -n 1 | awk '{print $1, $2}')
at_least 620 "${longest%% *}" || status=1

build=$out/clean-release
rm -rf "$build"
start=$SECONDS
CCACHE_DISABLE=1 cmake --preset release -B "$build" >/dev/null
CCACHE_DISABLE=1 cmake --build "$build" -j 2 || status=1
took=$((SECONDS - start))
[ "$took" -le 600 ] || status=1
conclude "$status" "longest file $longest, release build from clean $took s with 2 jobs"
