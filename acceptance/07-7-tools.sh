#!/usr/bin/env bash
# The Python package beside other tools, in a virtual environment with packages of PyPI: tests with
# pandas, polars, a notebook that runs, and TensorBoard; the stubs pass pyright, and the examples in
# its strict mode.
source "$(dirname "$0")/common.sh"
build_python "$out/07-7-tools.log"
tools/python-env.sh pyright >>"$out/07-7-tools.log" 2>&1
status=0
for test in data notebook tensorboard; do
  PYTHONPATH=build/release/python build/venv/bin/python -m unittest -v "python/tests/test_$test.py" \
    >>"$out/07-7-tools.log" 2>&1 || status=1
done
skipped=$(grep -c ' skipped ' "$out/07-7-tools.log") || true
[ "$skipped" -eq 0 ] || status=1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check() {  # check NAME MODE FILE...
  mkdir "$work/$1"
  cp -r "${@:3}" "$work/$1"
  printf '{"include": ["."], "typeCheckingMode": "%s", "extraPaths": ["%s"], "pythonVersion": "3.11",
           "venvPath": "%s", "venv": "venv"}' "$2" "$PWD/build/release/python" "$PWD/build" \
    >"$work/$1/pyrightconfig.json"
  build/venv/bin/pyright -p "$work/$1" | tee -a "$out/07-7-tools.log" | tail -n 1
}
examples=$(check examples strict examples/{gan,siamese,vae,clicks_by_processes}.py) || status=1
stubs=$(check stubs standard build/release/python/trireme) || status=1
conclude "$status" "$skipped tests skipped; examples: $examples; package: $stubs"
