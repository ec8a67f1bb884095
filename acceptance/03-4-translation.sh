#!/usr/bin/env bash
# Translates English to French on the Tatoeba pairs. BLEU on held-out pairs must be at least 35 with
# a beam of 4 and larger than with greedy search, after at most 60 minutes of training. Takes about
# 40 minutes on two quiet cores.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh
cmake --preset release -DTRIREME_BUILD_TESTS=OFF >/dev/null
cmake --build --preset release -j "$(nproc)" --target example_translation
log=$PWD/$out/03-4-translation.log
root=$PWD
work=$(mktemp -d)
status=0
(cd "$work" && TRIREME_DATA=$TRIREME_DATA "$root/build/release/bin/translation") >"$log" 2>&1 || status=1
rm -rf "$work"
greedy=$(value_of 'greedy BLEU' "$log")
beam=$(value_of 'beam 4 BLEU' "$log")
seconds=$(value_of 'trained in' "$log")
at_least "${beam:-0}" 35 && at_least 3600 "${seconds:-3601}" || status=1
awk -v a="${beam:-0}" -v b="${greedy:-0}" 'BEGIN { exit !(a > b) }' || status=1
conclude "$status" "BLEU ${beam:-none} with beam 4, ${greedy:-none} greedy, trained in ${seconds:-?} s"
