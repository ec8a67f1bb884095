#!/usr/bin/env bash
# Runs .ci/run with an empty compiler cache in at most 35 minutes, then the conformance tables, the
# sanitizers and every fuzz target for a minute (as 01-3 and 01-4). Takes about an hour and a half.
source "$(dirname "$0")/common.sh"
show_quality 03-6 35
