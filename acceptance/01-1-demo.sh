#!/usr/bin/env bash
# Runs make demo and make test in a clean clone. Shows their wall times and the demo's accuracy.
source "$(dirname "$0")/common.sh"
clone=$(mktemp -d)/trireme
trap 'rm -rf "$(dirname "$clone")"' EXIT
git clone --quiet . "$clone"

start=$SECONDS
(cd "$clone" && make demo) 2>&1 | tee "$out/demo.log"
demo=$((SECONDS - start))
sheet=$(sed -n 's/.*marked: //p' "$out/demo.log" | tail -n 1)
accuracy=$(value_of "test accuracy" "$out/demo.log")
training=$(sed -nE 's/.*trained and tested in ([0-9.]+) s.*/\1/p' "$out/demo.log" | tail -n 1)

start=$SECONDS
tests=0
(cd "$clone" && make test) >"$out/test.log" 2>&1 || tests=1
test=$((SECONDS - start))
tail -n 8 "$out/test.log"

status=0
at_least "${accuracy:-0}" 0.90 || status=1
at_least 90 "${training:-999}" || status=1
grep -qi confusion "$out/demo.log" || status=1
[ -n "$sheet" ] && file=$clone/$sheet && [ "$(head -c 4 "$file" | tail -c 3)" = PNG ] || status=1
[ "$tests" -eq 0 ] || status=1
conclude "$status" "test accuracy ${accuracy:-none}, training ${training:-?} s, make demo ${demo} s, make test ${test} s (exit $tests)"
