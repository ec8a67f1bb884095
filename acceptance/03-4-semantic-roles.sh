#!/usr/bin/env bash
# Trains semantic role labelling on PropBank's English Web Treebank, with given predicates. Shows F1
# on held-out sentences and the training time.
source "$(dirname "$0")/common.sh"
build_release
cmake --build --preset release --target example_semantic_roles -j "$(nproc)"
status=0
bin=$PWD/build/release/bin
start=$SECONDS
(cd "$out" && TRIREME_NUM_THREADS=2 "$bin/semantic_roles") 2>&1 | tee "$out/03-4-roles.log"
seconds=$((SECONDS - start))
f1=$(value_of "test f1" "$out/03-4-roles.log")
at_least "${f1:-0}" 0.65 || status=1
at_least 3600 "$seconds" || status=1
conclude "$status" "semantic roles: F1 ${f1:-none} (>= 0.65, aim 0.70) in $seconds s (<= 3600)"
