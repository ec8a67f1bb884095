#!/usr/bin/env bash
# Runs node_cases.py with its arguments, in an environment that has the package onnx. Exits with 77
# where it cannot be installed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
"$root/tools/python-env.sh" onnx || exit 77
exec "$root/build/venv/bin/python" "$root/tests/onnx/node_cases.py" "$@"
