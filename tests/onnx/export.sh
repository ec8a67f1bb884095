#!/usr/bin/env bash
# export.sh BIN: exports networks of the bank, networks of sequences and single ops, and trained
# models by the command line, and compares ONNX Runtime and our own import with Trireme. BIN has the
# programs. Exits with 77 where ONNX Runtime cannot be installed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$1
"$root/tools/python-env.sh" onnx || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quietly() {
  "$@" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
  }
}

"$bin/onnx_export_networks" "$work"
jobs=(fashion_lenet)
! "$bin/trireme" data path sentence_polarity >/dev/null 2>&1 || jobs+=(text_convolution text_lstm)
for job in "${jobs[@]}"; do
  quietly "$bin/trireme" train "$root/examples/jobs/$job.toml" --set train.max_steps=3 \
    --run "$work/run_$job" -o "$work/$job"
  for rows in 3 4; do "$bin/onnx_export_case" "$work/$job" "$work/cases/${job}_$rows" $rows; done
done
quietly "$bin/trireme" quantize "$work/fashion_lenet" --calibrate fashion_mnist/train --examples 32 \
  -o "$work/bytes"
"$bin/onnx_export_case" "$work/bytes" "$work/cases/bytes" 3
"$root/build/venv/bin/python" "$root/tests/onnx/onnx_runtime.py" "$work"/cases/*

# Sizes that only a run knows, as of found translations, cannot be imported.
"$bin/onnx_node_cases" "$work/cases" >"$work/ours.txt"
if grep -v -e '^passed' -e '^missing beam_' "$work/ours.txt"; then exit 1; fi

# The command line: to ONNX and back, with the same predictions.
python="$root/build/venv/bin/python"
cd "$work"
"$python" -c 'import json; print(*json.load(open("fashion_lenet/model.json"))["labels"], sep="\n")' >labels.txt
"$bin/trireme" export fashion_lenet lenet.onnx --opset 20
"$bin/trireme" convert lenet.onnx again --image image --labels labels.txt
for model in fashion_lenet again; do
  quietly "$bin/trireme" predict $model --data fashion_mnist/test --rows 0:20 -o $model.csv
done
quietly "$bin/trireme" compile again
quietly "$bin/trireme" inspect again
"$python" - fashion_lenet.csv again.csv <<'PY'
import csv, sys

a, b = (list(csv.reader(open(path))) for path in sys.argv[1:])
assert len(a) == len(b) == 21
for one, other in zip(a[1:], b[1:]):
    one, other = dict(zip(a[0], one)), dict(zip(b[0], other))
    assert one["prediction"] == other["prediction"], (one, other)
    assert abs(float(one["score"]) - float(other["score"])) < 1e-5, (one, other)
PY
