#!/usr/bin/env bash
# Quantizes trained models to bytes after training: at most 0.5 points lost (units of BLEU for the
# translator), and at least 3.7 times fewer bytes of parameters. Trains ResNet-20 on CIFAR-10, LeNet
# on Fashion-MNIST, a text convolution, an LSTM, a translator and DeepFM, which takes about half an
# hour on two quiet cores; MODELS names some of them. A table with sizes, scores and times of a
# prediction is build/acceptance/08-2-int8.md.
source "$(dirname "$0")/common.sh"
build_release
status=0
table=$out/08-2-int8.md
printf '| model | metric | f32 | i8 | points lost | bytes | smaller | ms f32 | ms i8 |\n|---|---|---|---|---|---|---|---|---|\n' >"$table"
smallest=999 largest=-999

# measure NAME JOB CALIBRATION TEST [SETTING...]
measure() {
  local name=$1 job=$2 calibration=$3 test=$4 json row
  shift 4
  if [ -n "${MODELS:-}" ] && [[ " $MODELS " != *" $name "* ]]; then return; fi
  local settings=()
  for setting in "$@"; do settings+=(--set "$setting"); done
  "$trireme" train "$job" --output "$out/08-2-$name" "${settings[@]}" >"$out/08-2-$name.log" 2>&1 || status=1
  json=$out/08-2-$name.json
  "$trireme" quantize "$out/08-2-$name" --calibrate "$calibration" --data "$test" ${LIMIT:+--limit "$LIMIT"} \
    -o "$out/08-2-$name-i8" --json >"$json" || status=1
  row=$(python3 - "$json" "$name" <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))
points = 1 if r["metric"] == "bleu" else 100
lost = (r["before"] - r["after"]) * points
smaller = r["parameter_bytes_before"] / r["parameter_bytes"]
print(f"| {sys.argv[2]} | {r['metric']} | {r['before']:.4f} | {r['after']:.4f} | {lost:.2f} | "
      f"{r['parameter_bytes']} | {smaller:.2f} | {r['milliseconds_before']:.3f} | "
      f"{r['milliseconds']:.3f} |")
PYTHON
  )
  echo "$row" | tee -a "$table"
  lost=$(echo "$row" | cut -d'|' -f6) smaller=$(echo "$row" | cut -d'|' -f8)
  at_least 0.5 "$lost" && at_least "$smaller" 3.7 || status=1
  smallest=$(printf '%s\n' "$smallest" "$smaller" | sort -g | head -n 1)
  largest=$(printf '%s\n' "$largest" "$lost" | sort -g | tail -n 1)
}

measure lenet examples/jobs/fashion_lenet.toml fashion_mnist/train fashion_mnist/test
measure text_convolution examples/jobs/text_convolution.toml sentence_polarity/train sentence_polarity/test
measure lstm examples/jobs/text_lstm.toml sentence_polarity/train sentence_polarity/test
measure deepfm examples/jobs/frappe_deepfm.toml frappe/train frappe/test
measure resnet20 examples/cifar10_resnet20.toml cifar10/train cifar10/test
LIMIT=500 measure translator examples/jobs/translation.toml tatoeba/train tatoeba/test train.epochs=4
conclude "$status" "largest loss$largest points (<= 0.5), smallest ratio of bytes$smallest (>= 3.7)"
