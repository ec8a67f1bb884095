#!/usr/bin/env bash
# sklearn.sh PROGRAM: compares models of scikit-learn, imported, with ONNX Runtime. PROGRAM is
# onnx_node_cases. Exits with 77 where skl2onnx cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/python-env.sh skl2onnx || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build/venv/bin/python tests/onnx/sklearn_models.py "$work/cases"
"$1" "$work/cases" --interpreter | tee "$work/results.txt"
[ "$(grep -c '^passed' "$work/results.txt")" -ge 85 ]
[ "$(grep -vc '^passed' "$work/results.txt")" -eq 0 ]
