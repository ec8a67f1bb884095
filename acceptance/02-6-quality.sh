#!/usr/bin/env bash
# The conformance tables, the sanitizers and a minute of every fuzz target (as 01-3 and 01-4), after a
# full .ci/run with an empty compiler cache, whose minutes count. Takes about an hour and a half.
source "$(dirname "$0")/common.sh"
show_quality 02-6 30
