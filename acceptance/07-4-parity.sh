#!/usr/bin/env bash
# Every item of docs/reference/parity.md exists in C++, in Python and, where it makes sense, in job
# files, and has an independent oracle. Attention over 16,384 positions is measured when it exists.
source "$(dirname "$0")/common.sh"
build_python "$out/07-4-build.log"
status=0
PYTHONPATH=build/release/python build/venv/bin/python tools/check_parity.py --open |
  tee "$out/07-4-parity.log" || status=1
conclude "$status" "$(tail -n 1 "$out/07-4-parity.log")"
