#!/usr/bin/env bash
# .ci/run from an empty compiler cache in at most 30 minutes, package installation included. Run it
# on a quiet machine.
source "$(dirname "$0")/common.sh"
status=0
full_ci 30 || status=1
conclude "$status" "CI $minutes minutes"
