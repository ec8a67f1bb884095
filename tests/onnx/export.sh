#!/usr/bin/env bash
# export.sh BIN: trains models for a few steps, exports them, and compares ONNX Runtime and our own
# import with them. BIN has the programs. Exits with 77 where ONNX Runtime cannot be installed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$1
"$root/tools/python-env.sh" onnx || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for job in fashion_mlp fashion_lenet fashion_transformer; do
  "$bin/trireme" train "$root/examples/jobs/$job.toml" --set train.max_steps=3 --run "$work/run_$job" \
    -o "$work/$job" >"$work/$job.log" 2>&1 || {
    cat "$work/$job.log"
    exit 1
  }
  "$bin/onnx_export_case" "$work/$job" "$work/cases/$job"
done
"$root/build/venv/bin/python" "$root/tests/onnx/onnx_runtime.py" "$work"/cases/*
"$bin/onnx_node_cases" "$work/cases" | tee "$work/ours.txt"
[ "$(grep -c '^passed' "$work/ours.txt")" -eq 3 ]
