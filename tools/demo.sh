#!/usr/bin/env bash
# The demo: tools/demo.sh path/to/trireme. Trains the small convolutional network on Fashion-MNIST;
# the command prints test accuracy and confusion matrix and draws a sheet of test images.
set -euo pipefail
cd "$(dirname "$0")/.."
trireme=${1:-build/release/bin/trireme}
out=${TRIREME_DEMO_DIR:-build/demo}
mkdir -p "$out"

start=$(date +%s.%N)
"$trireme" train examples/jobs/fashion_conv.toml --output "$out/fashion_conv" \
  --save-sheet "$out/fashion_conv.png" </dev/null
echo "trained and tested in $(echo "$(date +%s.%N) $start" | awk '{ printf "%.1f", $1 - $2 }') s"
echo "sheet of test images, wrong ones marked: $out/fashion_conv.png"
