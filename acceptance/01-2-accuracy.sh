#!/usr/bin/env bash
# Trains three networks on MNIST, and compares housing with the closed form (least_squares.py).
source "$(dirname "$0")/common.sh"
build_release
status=0
figures=""

# reach JOB GOAL: trains a job of examples/jobs on MNIST for at most 5 epochs.
reach() {
  "$trireme" train "examples/jobs/$1.toml" --set train.epochs=5 --output "$out/$1" 2>&1 |
    tee "$out/$1.log"
  local accuracy
  accuracy=$(value_of "test accuracy" "$out/$1.log")
  at_least "${accuracy:-0}" "$2" || status=1
  figures+="$1 ${accuracy:-none} (>= $2), "
}
reach mnist_conv 0.990
reach mnist_mlp 0.975
reach mnist_softmax 0.92

"$trireme" train examples/jobs/housing_linear.toml --output "$out/housing" 2>&1 |
  tee "$out/housing.log"
ours=$(value_of "test mse" "$out/housing.log")
exact=$(/usr/bin/python3 acceptance/least_squares.py "$HOUSING_CSV" | tail -n 1)
awk -v a="${ours:-1e9}" -v b="$exact" 'BEGIN { exit !(a <= 1.01 * b) }' || status=1
conclude "$status" "${figures}housing mse ${ours:-none}, least squares $exact"
