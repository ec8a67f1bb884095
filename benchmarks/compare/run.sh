#!/usr/bin/env bash
# Trireme against its peers on this machine: sets the peers up, measures, writes docs/performance.md.
# Arguments go to compare.py (--rounds, --seconds, --models, --threads, --json).
set -euo pipefail
cd "$(dirname "$0")/../.."
benchmarks/compare/setup.sh
exec build/peers/venv/bin/python benchmarks/compare/compare.py "$@"
