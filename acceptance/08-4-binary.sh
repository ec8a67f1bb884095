#!/usr/bin/env bash
# A binary LeNet on MNIST: accuracy at least 0.985, saved weights at least 20x smaller than in f32,
# a product of one row that counts bits at least 5x as fast as f32 (the log has 16 rows, too);
# weights of 4 bits lose at most 0.5 points.
source "$(dirname "$0")/common.sh"
build_python "$out/08-4-build.log"
rm -rf "$out/binary" && mkdir -p "$out/binary"
PYTHONPATH=$PWD/build/release/python build/venv/bin/python acceptance/binary_lenet.py \
  "$out/binary" "${EPOCHS:-8}" 2>&1 | tee "$out/08-4-binary.log"
log=$out/08-4-binary.log
status=0
accuracy=$(value_of "binary accuracy" "$log")
smaller=$(value_of "binary smaller" "$log")
speed=$(value_of "product speed" "$log")
rows=$(value_of "speed of 16 rows" "$log")
lost=$(value_of "log4 points lost" "$log")
at_least "${accuracy:-0}" 0.985 || status=1
at_least "${smaller:-0}" 20 || status=1
at_least "${speed:-0}" 5 || status=1
at_least 0.5 "${lost:-9}" || status=1
conclude "$status" "binary LeNet: accuracy ${accuracy:-none} (>= 0.985), ${smaller:-none}x smaller (>= 20), product of one row ${speed:-none}x as fast as f32 (>= 5; 16 rows ${rows:-none}x); 4 bits lose ${lost:-none} points (<= 0.5)"
