#!/usr/bin/env bash
# Full CI, with real etcd and Slurm, in 45 minutes from an empty compiler cache; conformance tables, sanitizers and a minute of
# every fuzz target.
source "$(dirname "$0")/common.sh"
show_quality 04-8 45
