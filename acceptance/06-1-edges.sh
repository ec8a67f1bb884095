#!/usr/bin/env bash
# The edge suite with Debian's PyTorch and, if benchmarks/compare/setup.sh can install it, with the
# current one from PyPI: no unexplained difference. The cases of the misuse and edge tests pass.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset release -DTRIREME_UNITY=ON -DTRIREME_BUILD_TESTS=ON >/dev/null
cmake --build --preset release -j "$(nproc)" --target edges >/dev/null
status=0
figure=""
for python in /usr/bin/python3 "${PEERS:-build/peers/venv}/bin/python"; do
  [ -x "$python" ] || continue
  log=$out/06-1-edges.log
  build/release/bin/edges --python "$python" >"$log" 2>&1 || status=1
  tail -n 2 "$log"
  version=$("$python" -c 'import torch; print(torch.__version__)')
  figure+="PyTorch $version: $(grep 'functions,' "$log"); "
done
conclude "$status" "${figure%; }"
