#!/usr/bin/env bash
# Full CI in 45 minutes from an empty compiler cache, with real etcd and Slurm and clean under ThreadSanitizer, which is one of its
# sections.
source "$(dirname "$0")/common.sh"
status=0
full_ci 45 || status=1
# passed TEST: it was not left out.
passed() { grep -Eq "Test +#[0-9]+: $1 \.+ +Passed" build/ci/system.log || { echo "not passed: $1"; status=1; }; }
for test in slurm outage_test placed_test; do passed "$test"; done  # Slurm's own servers; the last two start etcd's
tsan=$(grep -E '% tests passed' build/ci/threads.log | tail -n 1 || true)  # where one failed, so did full_ci
conclude "$status" "CI $minutes minutes, with etcd and Slurm; under ThreadSanitizer ${tsan:-nothing was run}"
