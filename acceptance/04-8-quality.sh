#!/usr/bin/env bash
# Runs full CI from an empty compiler cache in at most 45 minutes, with real etcd and Slurm.
# ThreadSanitizer is one of its sections and must find nothing.
source "$(dirname "$0")/common.sh"
status=0
full_ci 45 || status=1
# passed TEST: fails unless the test ran and passed.
passed() { grep -Eq "Test +#[0-9]+: $1 \.+ +Passed" build/ci/system.log || { echo "not passed: $1"; status=1; }; }
# The last two start real etcd servers.
for test in slurm outage_test placed_test; do passed "$test"; done
# If one test failed, full_ci failed too.
tsan=$(grep -E '% tests passed' build/ci/threads.log | tail -n 1 || true)
conclude "$status" "CI $minutes minutes, with etcd and Slurm; under ThreadSanitizer: ${tsan:-nothing was run}"
