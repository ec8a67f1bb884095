#!/usr/bin/env bash
# stored_cases.sh PROGRAM: runs the test data of Debian's package libonnx-testdata. PROGRAM is
# onnx_node_cases. Exits with 77 where the package is not installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
data=/usr/share/libonnx-testdata/data
[ -d $data ] || {
  echo "libonnx-testdata is not installed: tools/install-deps.sh --test"
  exit 77
}
tools/python-env.sh onnx || exit 77
build/venv/bin/python tests/onnx/stored_cases.py "$1" $data
