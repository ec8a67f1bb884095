#!/usr/bin/env bash
# `pip install .` in a fresh virtual environment and the Python example of the README in at most 10
# minutes from a clean clone, and in at most 1 minute from a wheel of at most 60 MB. `import
# trireme` in at most 0.15 s. The command `trireme` of the wheel launches four processes of a Python
# program. Imports beside torch, paddle, numpy and protobuf in every order.
# WITHOUT_BUILD=1 uses the wheel in build/wheels. Needs the network; downloads 1 GB.
source "$(dirname "$0")/common.sh"
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-python3}

# The block of the README in python.
awk '/^```python$/ { on = 1; next } /^```$/ { on = 0 } on' README.md >"$work/example.py"
[ -s "$work/example.py" ]

# example ENVIRONMENT: trains, and saves the model.
example() { (cd "$work" && rm -rf fashion && "$1/bin/python" example.py && [ -e fashion/model.json ]); }

source_minutes="not measured"
if [ -z "${WITHOUT_BUILD:-}" ]; then
  start=$SECONDS
  tools/install-deps.sh --wheel >"$out/07-1-install.log"
  "$python" -m venv "$work/source"
  cache=$(mktemp -d)
  CCACHE_DIR=$cache "$work/source/bin/pip" install -q . >>"$out/07-1-install.log" 2>&1 || status=1
  rm -rf "$cache"
  example "$work/source" >>"$out/07-1-install.log" 2>&1 || status=1
  seconds=$((SECONDS - start))
  [ "$seconds" -le 600 ] || status=1
  source_minutes="$seconds s"
  tools/wheel.sh "$python" >>"$out/07-1-install.log" 2>&1 || status=1
fi
wheel=$(ls build/wheels/*.whl)
size=$(stat -c %s "$wheel")
[ "$size" -le 60000000 ] || status=1

start=$SECONDS
"$python" -m venv "$work/wheel"
"$work/wheel/bin/pip" install -q "$wheel"
example "$work/wheel" >"$out/07-1-wheel.log" 2>&1 || status=1
wheel_seconds=$((SECONDS - start))
[ "$wheel_seconds" -le 60 ] || status=1

(cd "$work" && wheel/bin/trireme launch --trainers 2 --servers 2 \
  --program "$work/wheel/bin/python $OLDPWD/examples/clicks_by_processes.py" -- 20000) \
  >>"$out/07-1-wheel.log" 2>&1 || status=1
grep -q 'test auc: ' "$out/07-1-wheel.log" || status=1

import_time=$(for _ in 1 2 3 4 5; do
  "$work/wheel/bin/python" -c 'import time; t = time.perf_counter(); import trireme; print(time.perf_counter() - t)'
done | sort -g | head -n 1)
at_least 0.15 "$import_time" || status=1

"$work/wheel/bin/pip" install -q torch paddlepaddle protobuf >>"$out/07-1-wheel.log" 2>&1 || status=1
orders=0
for order in $("$python" -c 'import itertools
for p in itertools.permutations(["trireme", "torch", "paddle", "numpy", "google.protobuf"]): print(",".join(p))'); do
  if "$work/wheel/bin/python" -c "import importlib
for name in '$order'.split(','): importlib.import_module(name)
import trireme as tr
x = tr.Input((2,))
assert tr.Session(x.program).run({'input': importlib.import_module('numpy').ones((1, 2), 'f4')}, tr.sum(x)) == 2
import torch
assert float((torch.ones(3, 3) @ torch.ones(3, 3)).sum()) == 27" >>"$out/07-1-imports.log" 2>&1; then
    orders=$((orders + 1))
  else
    echo "does not work: $order"
    status=1
  fi
done
conclude "$status" "from source $source_minutes, wheel of $size bytes $wheel_seconds s, import $import_time s, $orders of 120 orders of imports"
