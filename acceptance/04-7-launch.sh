#!/usr/bin/env bash
# Runs the demo of trireme launch: three processes train on Fashion-MNIST, one of them is killed,
# and the saved model must reach 0.85 on the test images. Also runs a job under Slurm with three
# nodes on this machine, and checks the manifests of a job and of a program: they must match
# Kubernetes' published schemas, and their commands must train.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset release -DTRIREME_BUILD_TESTS=ON -DTRIREME_BUILD_EXAMPLES=ON >/dev/null
cmake --build --preset release --target trireme_cli trireme_distributed_cli own_program -j "$(nproc)"
status=0
tools/launch_demo.sh "$trireme" 2>&1 | tee "$out/04-7-demo.log" || status=1
grep -q 'was ended by signal 9; another one is started' "$out/04-7-demo.log" || status=1
accuracy=$(sed -nE 's/^accuracy: ([0-9.]+) .*/\1/p' "$out/04-7-demo.log")
at_least "${accuracy:-0}" 0.85 || status=1
slurm=yes manifests=yes
tests/distributed/slurm_test.sh "$trireme" >"$out/04-7-slurm.log" 2>&1 || slurm=no
python3 tests/distributed/kubernetes_test.py "$trireme" "$PWD" build/release/bin/own_program >"$out/04-7-kubernetes.log" 2>&1 || manifests=no
[ "$slurm$manifests" = yesyes ] || status=1
conclude "$status" "accuracy ${accuracy:-none} after a process was killed; Slurm with 3 nodes: $slurm; valid manifests: $manifests"
